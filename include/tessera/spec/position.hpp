#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/error.hpp"

namespace tessera::spec {

/// The parts of a message to the user. Empty parts are left out.
struct Complaint {
    std::string what = {};      ///< what is wrong, without a full stop
    std::string value = {};     ///< the offending value as written
    std::string expected = {};  ///< what would be accepted
    std::string remedy = {};    ///< what to do about it
};

/// "path: what: 'value' (expected ...); remedy".
std::string complaint_text(std::string_view path, const Complaint& complaint);

/// Throws UserError at `position` with complaint_text().
[[noreturn]] void fail(const Position& position, std::string_view path, const Complaint& complaint);

/// "did you mean 'x'?" with the nearest candidate, or "", for use in a remedy.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

/// "a, b, c" for messages; long lists are cut with the number of names left out.
std::string name_list(const std::vector<std::string>& names, std::size_t at_most = 16);

}  // namespace tessera::spec
