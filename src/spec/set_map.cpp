#include "spec/set_map.hpp"

#include <bit>

#include "tessera/spec/node.hpp"

namespace tessera::spec {

SetMap::SetMap(const Node& node) {
    if (node.is_scalar()) {
        items_.push_back({Expression(), Expression::parse(node)});
        return;
    }
    if (!node.is_map()) {
        fail(node, {"a map from sets of tensors to values is needed here, not " + node.describe(),
                    "", "e.g. {weight: 4, Other: 8}", ""});
    }
    for (const Node::Entry& entry : node.entries) {
        Expression key;
        if (entry.key != "Other") {
            key = Expression::parse_text(entry.key, entry.key_position, entry.value.path);
        }
        items_.push_back({key, Expression::parse(entry.value)});
    }
}

std::vector<std::optional<Expression>> SetMap::assign(const Symbols& symbols) const {
    const SetUniverse* universe = symbols.universe();
    if (universe == nullptr) {
        throw Bug("sets of tensors were evaluated without an Einsum");
    }
    std::vector<std::optional<Expression>> result(universe->tensors.size());
    for (const Item& item : items_) {
        if (item.key.empty()) {
            continue;
        }
        for (std::uint64_t rest = item.key.tensors(symbols); rest != 0; rest &= rest - 1) {
            const auto tensor = static_cast<std::size_t>(std::countr_zero(rest));
            if (result[tensor]) {
                item.key.fail(
                    "tensor '" + universe->tensors[tensor] + "' is in two keys of this map",
                    "disjoint sets", "take it out of one, or use the key Other");
            }
            result[tensor] = item.value;
        }
    }
    for (const Item& item : items_) {
        for (std::size_t tensor = 0; item.key.empty() && tensor < result.size(); ++tensor) {
            if (!result[tensor]) {
                result[tensor] = item.value;
            }
        }
    }
    return result;
}

}  // namespace tessera::spec
