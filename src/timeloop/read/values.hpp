// Typed access to Timeloop inputs: either spelling of a key, `variables` wherever a value is
// expected, and one way of complaining.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keys.hpp"
#include "spec/fields.hpp"
#include "tessera/spec/expression.hpp"
#include "tessera/spec/node.hpp"
#include "timeloop/read.hpp"

namespace tessera::timeloop {

/// Of an environment variable: anything but 0.
bool switched_on(const char* variable, bool otherwise);

using Keys = std::initializer_list<const char*>;

/// What all readers of one document share. The document must outlive it.
class Values {
public:
    Values(const Document& document, std::vector<std::string>& warnings);

    Dialect dialect() const {
        return dialect_;
    }
    /// The variables of the document.
    const spec::Symbols& symbols() const {
        return symbols_;
    }
    void warn(const spec::Node& node, const std::string& text) const;
    void warn(const std::string& text) const;
    /// What the sections over these values asked for.
    AskedKeys& keys() const {
        return keys_;
    }
    /// A warning for each key of the sections read that none of them asked for.
    void warn_unread() const;
    /// Runs a reader; then warns of the keys that it did not ask for, or names them in its error.
    template <class Reader>
    auto watched(const Reader& reader) const {
        try {
            auto result = reader();
            warn_unread();
            return result;
        } catch (const UserError& error) {
            const std::string slips = keys_.slips() + misspelt_sections(root_);
            if (slips.empty()) {
                throw;
            }
            rethrow_with(error, slips);
        }
    }

    /// A literal, the name of a variable, or an expression of variables. \throws UserError
    double number(const spec::Node& node, const spec::Range& range) const;
    std::int64_t integer(const spec::Node& node, const spec::Range& range) const;
    bool boolean(const spec::Node& node) const;
    std::string text(const spec::Node& node) const;
    /// A list of texts; a single one counts as a list of one.
    std::vector<std::string> texts(const spec::Node& node) const;

private:
    /// Makes the scalars of a map known to expressions. Null: nothing
    void define(const spec::Node* names);
    std::optional<spec::Value> evaluated(const spec::Node& node) const;

    Dialect dialect_;
    std::vector<std::string>& warnings_;
    const spec::Node& root_;
    mutable AskedKeys keys_;
    spec::Symbols symbols_;
    std::vector<std::string> names_;
};

/// A map of the input, read key by key; Values::warn_unread() names the keys that nobody asked for.
/// Of several keys the first one present counts. Holds references.
class Section {
public:
    Section(const spec::Node& node, const Values& values, std::string what);

    const spec::Node& node() const {
        return node_;
    }
    const Values& values() const {
        return values_;
    }
    /// The value, or nullptr if absent or empty.
    const spec::Node* find(Keys keys) const;
    /// \throws UserError naming the nearest key that is present
    const spec::Node& required(Keys keys) const;

    std::optional<std::int64_t> integer(Keys keys, const spec::Range& range) const;
    std::optional<double> number(Keys keys, const spec::Range& range) const;
    std::optional<bool> boolean(Keys keys) const;
    std::optional<std::string> text(Keys keys) const;
    /// Keys that are read elsewhere, or that change nothing here.
    const Section& allow(Keys keys) const;
    /// Other tools have keys of their own in here: only slips of known ones are named.
    const Section& free_form() const;
    /// The keys that nobody asked for so far: "'MM', 'x'".
    std::string others() const;
    /// Another reader comes to the same keys: it warns of unknown ones.
    const Section& read_later() const;

private:
    const spec::Node& node_;
    const Values& values_;
    std::string what_;
    AskedKeys::Map* asked_;  ///< of Values::keys()
};

/// Throws UserError for an input that no model of ours costs: better no figure than a wrong one.
[[noreturn]] void refuse(const spec::Node& node, const std::string& what,
                         const std::string& remedy);

/// Nothing, or a list or map without items.
inline bool is_empty(const spec::Node& node) {
    return !node.is_scalar() && node.items.empty() && node.entries.empty();
}

/// The items of a list. \throws UserError if `node` is none
const std::vector<spec::Node>& list_of(const spec::Node& node, const std::string& what);

/// `arch` or `architecture`; nullptr: neither.
inline const spec::Node* architecture_of(const spec::Node& root) {
    const spec::Node* arch = find_key(root, "arch");
    return arch == nullptr ? find_key(root, "architecture") : arch;
}

template <class Items>
std::vector<std::string> names_of(const Items& items) {
    std::vector<std::string> result;
    for (const auto& item : items) {
        result.push_back(item.name);
    }
    return result;
}

/// The name of a component without its range (`PE[0..15]` -> `PE`) and how many it stands for.
struct ComponentName {
    std::string name;
    std::int64_t count = 1;
};
/// \throws UserError
ComponentName component_name_of(const spec::Node& node, const std::string& text);

/// Replaces values of the top-level `variables`. \throws UserError for a name that is not among
/// them
void define_variables(spec::Node& root, const spec::Defines& defines);

}  // namespace tessera::timeloop
