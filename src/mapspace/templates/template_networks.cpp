// Orders of loops below a network.
//
// Hops of a tensor grow with every spatial loop outside its tile, by what the loop spreads and by a
// factor (src/model/network_analysis.hpp), so that two loops one of which spreads do not commute.
// A gap therefore gets its loops in every order, except that
//   - temporal loops next to each other keep their order: they commute;
//   - in an unfused gap they stand above the spatial loops (L4 of docs/mapspace.md);
//   - what stands first for the sake of the holder above stays there: the loop along which a line
//     buffer moves, and a loop that partially indexes the holder's tensor (L5).
#include <algorithm>
#include <optional>

#include "template_internal.hpp"

namespace tessera::mapspace::detail {
namespace {

using Order = std::vector<int>;  ///< places in the gap

/// The loops [begin, end) of one gap, and the orders in which they are tried.
struct SpreadGap {
    int begin = 0, end = 0;
    std::vector<Order> orders;
};

bool spreads(const Space& space, const Item& item) {
    return item.kind == NodeKind::spatial && space.path.spreads_over_network(item.level);
}

/// Loops at the head of the gap that keep their place.
int fixed_loops(const Space& space, const Items& items, int begin, int end, bool fused) {
    if (!fused) {
        const auto spatial =
            std::find_if(items.begin() + begin, items.begin() + end,
                         [](const Item& item) { return item.kind == NodeKind::spatial; });
        return static_cast<int>(spatial - items.begin()) - begin;
    }
    if (begin == 0) {
        return 0;  // no holder stands above: none of the Einsum's tensors is in the outermost
                   // memory
    }
    const Item& above = items[begin - 1];
    const bool partial =
        !above.backing && items[begin].kind == NodeKind::temporal &&
        (space.indexing[above.tensor] & ~space.direct[above.tensor]) >> items[begin].rank_variable &
            1;
    return above.line_buffer || partial ? 1 : 0;
}

/// All orders of one gap. A temporal loop stands right below another one only if it did before.
class Orders {
public:
    Orders(const Items& items, SpreadGap& gap, std::size_t most)
        : items_(items), gap_(gap), most_(most), used_(gap.end - gap.begin, 0) {}

    /// False: there are more than `most`.
    bool extend(int fixed) {
        if (order_.size() == used_.size()) {
            gap_.orders.push_back(order_);
            return gap_.orders.size() <= most_;
        }
        for (int next = 0; next < static_cast<int>(used_.size()); ++next) {
            const bool stays = static_cast<int>(order_.size()) < fixed;
            if (used_[next] || (stays && next != static_cast<int>(order_.size())) ||
                (temporal(next) && !order_.empty() && temporal(order_.back()) &&
                 order_.back() > next)) {
                continue;
            }
            used_[next] = 1;
            order_.push_back(next);
            const bool fits = extend(fixed);
            order_.pop_back();
            used_[next] = 0;
            if (!fits) {
                return false;
            }
        }
        return true;
    }

private:
    bool temporal(int place) const {
        return items_[gap_.begin + place].kind == NodeKind::temporal;
    }

    const Items& items_;
    SpreadGap& gap_;
    std::size_t most_;
    Order order_;
    std::vector<char> used_;
};

/// The gaps in which a loop spreads data, one after the other. Nothing if they have too many
/// orders.
std::optional<std::vector<SpreadGap>> spread_gaps(const Space& space, const Items& items) {
    std::vector<SpreadGap> gaps;
    const int n = static_cast<int>(items.size());
    const int fused = fused_end(space, items);
    std::size_t orders = 1;
    for (int begin = 0, end = 0; begin < n; begin = end + 1) {
        end = begin;
        bool spread = false;
        for (; end < n && items[end].loop(); ++end) {
            spread |= spreads(space, items[end]);
        }
        if (!spread) {
            continue;
        }
        SpreadGap gap{begin, end, {}};
        const int fixed = fixed_loops(space, items, begin, end, begin < fused);
        if (!Orders(items, gap, max_orders_below_networks / orders).extend(fixed)) {
            return std::nullopt;
        }
        orders *= gap.orders.size();
        gaps.push_back(std::move(gap));
    }
    return gaps;
}

}  // namespace

bool order_below_networks(const Space& space, Items& items,
                          const std::function<void(Items&)>& sink) {
    const std::optional<std::vector<SpreadGap>> all = spread_gaps(space, items);
    const std::vector<SpreadGap> gaps = all.value_or(std::vector<SpreadGap>{});
    std::vector<std::size_t> pick(gaps.size(), 0);
    do {
        Items ordered = items;
        for (std::size_t g = 0; g < gaps.size(); ++g) {
            const Order& order = gaps[g].orders[pick[g]];
            for (std::size_t i = 0; i < order.size(); ++i) {
                ordered[gaps[g].begin + i] = items[gaps[g].begin + order[i]];
            }
        }
        sink(ordered);
    } while (next_combination(pick, [&](std::size_t g) { return gaps[g].orders.size(); }));
    return all.has_value();
}

}  // namespace tessera::mapspace::detail
