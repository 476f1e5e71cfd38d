// What a spec says without effect. Warnings read like errors, "file:1:2: path: what: 'value';
// remedy", and are fit to be shown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/fields.hpp"
#include "tessera/spec/position.hpp"

namespace tessera::spec {

/// Hears what this thread reads while it lives: each warning once. Of several the innermost hears.
class HeardWarnings {
public:
    HeardWarnings();
    ~HeardWarnings();
    HeardWarnings(const HeardWarnings&) = delete;
    HeardWarnings& operator=(const HeardWarnings&) = delete;

    const std::vector<std::string>& lines() const {
        return lines_;
    }

private:
    friend void warn(const Position& where, std::string_view path, const Complaint& complaint);
    std::vector<std::string> lines_;
    HeardWarnings* const outer_;
};

/// Nobody may hear it.
void warn(const Position& where, std::string_view path, const Complaint& complaint);

/// Allows a key, and warns if it is there: it has no effect. `why`: what stands in its place.
void warn_ignored(Fields& fields, const std::string& key, const std::string& why);

/// A warning for each key of the sections `mapper`, `model` and `config`, which configure
/// AccelForge: which option has its effect here.
void warn_of_settings(const Node& root);

}  // namespace tessera::spec
