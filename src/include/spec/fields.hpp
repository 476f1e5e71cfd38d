#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "spec/outline.hpp"
#include "spec/set_map.hpp"
#include "tessera/spec/expression.hpp"
#include "tessera/spec/node.hpp"

namespace tessera::spec {

/// What a number may be.
struct Range {
    double lowest = -std::numeric_limits<double>::infinity();
    double highest = std::numeric_limits<double>::infinity();
    bool above_lowest = false;  ///< lowest itself is not allowed
    bool finite = true;         ///< `inf` is not allowed

    static Range at_least(double value) {
        return {.lowest = value};
    }
    static Range above(double value) {
        return {.lowest = value, .above_lowest = true};
    }
    static Range between(double low, double high) {
        return {.lowest = low, .highest = high};
    }
    Range or_infinite() const;

    bool holds(double value) const;
    /// "a number >= 0", for messages.
    std::string text(bool integer = false) const;
};

/// Evaluates to a number inside `range`. \throws UserError
double number_in(const Expression& expression, const Symbols& symbols, const Range& range);
/// Evaluates to an integer inside `range`. \throws UserError
std::int64_t integer_in(const Expression& expression, const Symbols& symbols, const Range& range);

/// Reads a map by consuming its keys; what nobody asked for is an error at the end. Getters throw
/// UserError with the position, the path and the remedy. Holds a reference to the node.
class Fields {
public:
    /// `what` is used in messages, e.g. "a memory". An empty value counts as an empty map.
    Fields(const Node& node, std::string what);

    const Node& node() const {
        return node_;
    }
    bool has(std::string_view key) const {
        return node_.find(key) != nullptr;
    }

    /// The value or nullptr; an empty value counts as absent.
    const Node* optional(const std::string& key);
    /// The value; absent or empty is an error.
    const Node& required(const std::string& key);

    /// A name: text without expressions. Must not be empty.
    std::string name(const std::string& key);
    std::string text(const std::string& key, const std::string& otherwise);
    /// One of `choices`.
    std::string choice(const std::string& key, const std::vector<std::string>& choices,
                       const std::string& otherwise);
    /// The items of a list; absent is an empty list. A single value counts as a list of one if
    /// `single` is set.
    std::vector<const Node*> list(const std::string& key, bool single = false);

    /// A scalar expression; absent: empty.
    Expression expression(const std::string& key);
    /// An expression whose text may be quoted (sets and conditions); absent: empty.
    Expression set_expression(const std::string& key);
    /// Values for sets of tensors; absent: empty.
    SetMap set_map(const std::string& key);

    // Evaluated at once. Absent: `otherwise`; without it, the field is required.
    double number(const std::string& key, const Symbols& symbols, const Range& range,
                  std::optional<double> otherwise = std::nullopt);
    std::int64_t integer(const std::string& key, const Symbols& symbols, const Range& range,
                         std::optional<std::int64_t> otherwise = std::nullopt);
    bool boolean(const std::string& key, const Symbols& symbols, std::optional<bool> otherwise);

    /// Allows a key without reading it. `why`: it has no effect, for this reason.
    void ignore(const std::string& key, const std::string& why = "");

    /// Throws for the first key that no getter asked for, with the nearest key and all known ones.
    void finish() const;

private:
    /// For who asks what a reader asks.
    void outline(const std::string& key, OutlinedKey as) const;

    const Node& node_;
    std::string what_;
    std::set<std::string> known_;
};

/// Text of a scalar used as a set or condition; quoting plays no role. \throws UserError
Expression set_expression_of(const Node& node);

}  // namespace tessera::spec
