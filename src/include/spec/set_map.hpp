#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/spec/expression.hpp"

namespace tessera::spec {

/// A map from sets of tensors to values, such as `bits_per_value: {weight: 4, Other: 8}`. The keys
/// must be disjoint in every Einsum; `Other` stands for all tensors that no other key holds.
class SetMap {
public:
    SetMap() = default;
    /// A scalar counts as {All: scalar}. \throws UserError for other kinds of node.
    explicit SetMap(const Node& node);

    bool empty() const {
        return items_.empty();
    }
    /// For every tensor of the universe of `symbols` the value that applies to it, if any.
    /// \throws UserError if two keys share a tensor or a key is no set of tensors.
    std::vector<std::optional<Expression>> assign(const Symbols& symbols) const;

private:
    struct Item {
        Expression key;  ///< empty: Other
        Expression value;
    };
    std::vector<Item> items_;
};

}  // namespace tessera::spec
