// Vertical order of the holders of one storage choice.
//
// A permutation is kept if every pair (upper, lower) satisfies
//   outermost   holders of the outermost memory and persistent ones stand first; no loop stands
//               above or among them, so the outermost memory's are listed in one order only
//   hierarchy   no holder of an outer memory below one of an inner memory, unless switched off for
//               one of them; always for the same tensor and below a backing holder of a fusable
//               tensor
//   options     for each memory at least one of its tensor_order_options fits all its holders
// Tolls come last: each has one useful place, as high as its tensor and the fan-outs allow, because
// what passes it is counted per visit of the holder below wherever it stands.
#include <algorithm>

#include "template_internal.hpp"

namespace tessera::mapspace::detail {

using arch::LevelKind;

HolderOrders::HolderOrders(const Space& space, const std::vector<Choice>& choices)
    : space_(space), options_(space.path.levels.size()) {
    choices_.reserve(choices.size());
    for (const Choice& choice : choices) {
        choices_.push_back(choice.stored);
    }
    std::sort(choices_.begin(), choices_.end());
}

void HolderOrders::enumerate(const Choice& choice, const Sink& sink) {
    collect(choice);
    read_options(choice);
    relate(choice);
    prefix_.clear();
    backed_ = 0;
    last_ = -1;
    place(sink);
}

void HolderOrders::collect(const Choice& choice) {
    nodes_.clear();
    tolls_.clear();
    TensorMask seen = 0;
    for (std::size_t l = 0; l < choice.stored.size(); ++l) {
        for_each_bit(choice.stored[l], [&](int t) {
            const TensorMask bit = TensorMask{1} << t;
            Item item;
            item.kind =
                space_.path.levels[l].kind == LevelKind::toll ? NodeKind::toll : NodeKind::storage;
            item.tensor = static_cast<std::int8_t>(t);
            item.level = static_cast<std::int8_t>(l);
            item.backing = !(seen & bit);
            item.persistent = item.backing && (space_.persistent & bit);
            item.must_keep = item.backing || (choice.must[l] & bit);
            (item.kind == NodeKind::toll ? tolls_ : nodes_).push_back(item);
        });
        seen |= choice.stored[l];
    }
    if (nodes_.size() > 64) {
        throw UserError("Einsum '" + space_.path.einsum.name +
                        "': more than 64 tensor holders in one mapping");
    }
}

bool HolderOrders::may_precede(const Item& upper, const Item& lower) const {
    const auto outermost = [&](const Item& i) {
        return i.persistent || i.level == space_.first_memory;
    };
    if (outermost(lower) && !outermost(upper)) {
        return false;
    }
    if (upper.level == space_.first_memory && lower.level == space_.first_memory) {
        return upper.tensor < lower.tensor;
    }
    const auto& levels = space_.path.levels;
    bool ordered = space_.options.force_memory_hierarchy_order && !upper.persistent &&
                   !lower.persistent && levels[upper.level].force_memory_hierarchy_order &&
                   levels[lower.level].force_memory_hierarchy_order;
    ordered |= upper.backing && (space_.fusable >> upper.tensor & 1);
    ordered |= upper.tensor == lower.tensor;
    return !ordered || upper.level <= lower.level;
}

// Bit k: option k of the memory allows upper above lower.
std::uint64_t HolderOrders::options_met(const Item& upper, const Item& lower) const {
    std::uint64_t met = 0;
    const auto& options = options_[upper.level];
    for (std::size_t k = 0; k < options.size(); ++k) {
        const auto place_of = [&](int tensor) {
            for (std::size_t p = 0; p < options[k].size(); ++p) {
                if (options[k][p] >> tensor & 1) {
                    return static_cast<int>(p);
                }
            }
            return -1;
        };
        const int a = place_of(upper.tensor), b = place_of(lower.tensor);
        if (a < 0 || b < 0 || a <= b) {
            met |= std::uint64_t{1} << k;
        }
    }
    return met;
}

// An inner holder right below an outer one of the same tensor and fan-out makes the outer one
// superfluous: without it the same tiles come straight from above it, every count is at most as
// large and memory is freed. That needs the choice without it to be allowed, and the outer one must
// not be the one that spares the first read of an output.
bool may_spare_holder(const Space& space, const Item& outer, const Item& inner) {
    const auto& levels = space.path.levels;
    if (outer.tensor != inner.tensor || outer.must_keep || outer.level > inner.level ||
        space.fanout(outer.level) != space.fanout(inner.level)) {
        return false;
    }
    return !space.path.einsum.tensors[outer.tensor].output ||
           !levels[outer.level].skip_initial_output_write ||
           levels[inner.level].skip_initial_output_write;
}

bool HolderOrders::spare(const Choice& choice, const Item& outer, const Item& inner) const {
    if (!may_spare_holder(space_, outer, inner)) {
        return false;
    }
    std::vector<TensorMask> without = choice.stored;
    without[outer.level] &= ~(TensorMask{1} << outer.tensor);
    return std::binary_search(choices_.begin(), choices_.end(), without);
}

// The options may name what the choice keeps in each memory.
void HolderOrders::read_options(const Choice& choice) {
    const auto& levels = space_.path.levels;
    const auto has_options = [](const arch::PathLevel& level) {
        return level.kind == LevelKind::memory && !level.tensor_order_options.empty();
    };
    if (std::none_of(levels.begin(), levels.end(), has_options)) {
        return;
    }
    spec::Symbols symbols = space_.path.symbols.child();
    TensorMask above = 0;
    for (std::size_t l = 0; l < levels.size(); ++l) {
        if (levels[l].holds_tensors()) {
            symbols.set(levels[l].name, spec::Value(spec::TensorSet{choice.stored[l]}));
            above |= choice.stored[l];
        }
    }
    symbols.set("Above", spec::Value(spec::TensorSet{above}));
    for (std::size_t l = 0; l < levels.size(); ++l) {
        options_[l].clear();
        for (const auto& option : levels[l].tensor_order_options) {
            std::vector<TensorMask> places;
            for (const spec::Expression& expression : option) {
                if (const TensorMask m = arch::evaluate_tensors(expression, symbols) & space_.all) {
                    places.push_back(m);
                }
            }
            if (!places.empty()) {
                options_[l].push_back(std::move(places));
            }
        }
    }
}

void HolderOrders::relate(const Choice& choice) {
    const std::size_t n = nodes_.size();
    left_.assign(space_.path.levels.size(), ~std::uint64_t{0});
    not_below_.assign(n, 0);
    spare_.assign(n, 0);
    met_.assign(n * n, ~std::uint64_t{0});
    for (std::size_t u = 0; u < n; ++u) {
        for (std::size_t l = 0; l < n; ++l) {
            if (u == l) {
                continue;
            }
            const Item& upper = nodes_[u];
            const Item& lower = nodes_[l];
            not_below_[u] |= std::uint64_t{!may_precede(upper, lower)} << l;
            spare_[l] |= std::uint64_t{spare(choice, upper, lower)} << u;
            if (upper.level == lower.level && upper.level != space_.first_memory &&
                !options_[upper.level].empty()) {
                met_[u * n + l] = options_met(upper, lower);
            }
        }
    }
    remaining_ = n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
}

void HolderOrders::place(const Sink& sink) {
    // A copy moves data between backing holders only; what would follow costs nothing and does
    // nothing.
    if (!remaining_ || (space_.copy && backed_ == space_.all)) {
        emit(sink);
        return;
    }
    const std::size_t n = nodes_.size();
    const std::uint64_t candidates = remaining_;
    for_each_bit(candidates, [&](int c) {
        const std::uint64_t rest = candidates & ~(std::uint64_t{1} << c);
        if (not_below_[c] & rest) {
            return;
        }
        const Item& node = nodes_[c];
        const std::uint64_t left = left_[node.level];
        std::uint64_t now = left;
        for_each_bit(rest, [&](int r) { now &= met_[c * n + r]; });
        if (!now) {
            return;
        }
        const TensorMask backed = backed_;
        const int last = last_;
        left_[node.level] = now;
        remaining_ = rest;
        prefix_.push_back(node);
        prefix_.back().spare_outer = last >= 0 && (spare_[c] >> last & 1);
        last_ = c;
        if (node.backing) {
            backed_ |= TensorMask{1} << node.tensor;
        }
        place(sink);
        prefix_.pop_back();
        left_[node.level] = left;
        remaining_ = candidates;
        backed_ = backed;
        last_ = last;
    });
}

void HolderOrders::emit(const Sink& sink) const {
    if (tolls_.empty()) {
        sink(prefix_);
        return;
    }
    Items items = prefix_;
    for (const Item& toll : tolls_) {  // outer levels first, then by tensor
        int low = 0, high = static_cast<int>(items.size());
        for (int i = 0; i < static_cast<int>(items.size()); ++i) {
            if (items[i].tensor == toll.tensor && items[i].level < toll.level) {
                low = i + 1;
            }
            if (items[i].tensor == toll.tensor && items[i].level > toll.level) {
                high = std::min(high, i);
            }
        }
        for (int i = low; i < high; ++i) {
            if (space_.fanout(items[i].level) < space_.fanout(toll.level)) {
                low = i + 1;
            }
        }
        for (int i = low; i < high; ++i) {
            if (items[i].level < toll.level ||
                (items[i].level == toll.level && items[i].tensor < toll.tensor)) {
                low = i + 1;
            }
        }
        items.insert(items.begin() + low, toll);
    }
    sink(items);
}

}  // namespace tessera::mapspace::detail
