#include "timeloop/optimal/members.hpp"

#include <algorithm>
#include <numeric>

namespace tessera::timeloop {
namespace {

// Of the free part of [prefix][free][suffix]: unit loops stand at its front, or around a split
// where they are needed.
struct Parts {
    std::vector<int> running, unit;
};

Parts free_parts(const TilingLevel& tiling, const LoopBlock& block) {
    Parts parts;
    for (const int d : tiling.free) {
        (block.factors[d].end > 1 ? parts.running : parts.unit).push_back(d);
    }
    return parts;
}

}  // namespace

Members::Members(const Geometry& geometry, const Mapping& mapping)
    : g_(geometry), mapping_(mapping) {
    for (const TilingLevel& tiling : g_.space.levels()) {
        const auto add = tiling.spatial ? &Members::add_splits : &Members::add_orders;
        (this->*add)(tiling, block_of(mapping_, tiling), choices_.emplace_back());
    }
}

void Members::add_orders(const TilingLevel& tiling, const LoopBlock& block,
                         std::vector<Choice>& out) {
    if (tiling.canonical) {
        out.push_back({block.permutation, 0});
        return;
    }
    Parts parts = free_parts(tiling, block);
    do {
        std::vector<int> order = tiling.prefix;
        order.insert(order.end(), parts.unit.begin(), parts.unit.end());
        order.insert(order.end(), parts.running.begin(), parts.running.end());
        order.insert(order.end(), tiling.suffix.begin(), tiling.suffix.end());
        out.push_back({std::move(order), 0});
    } while (std::next_permutation(parts.running.begin(), parts.running.end()));
}

// Where the split falls among unit dimensions does not matter: they are put where they are needed.
void Members::add_splits(const TilingLevel& tiling, const LoopBlock& block,
                         std::vector<Choice>& out) {
    Parts parts = free_parts(tiling, block);
    if (tiling.canonical) {
        parts.running.clear();
        parts.unit.clear();
    }
    const auto fits = [&](const std::vector<int>& order, int split) {
        std::int64_t x = 1, y = 1;
        for (int i = 0; i < g_.dimensions; ++i) {
            (i < split ? x : y) *= block.factors[order[i]].end;
        }
        return x <= tiling.fanout_x && y <= tiling.fanout_y;
    };
    std::vector<std::vector<std::pair<int, bool>>> seen;
    do {
        for (std::size_t before = 0; before <= parts.unit.size(); ++before) {
            for (std::size_t at = 0; at <= parts.running.size(); ++at) {
                std::vector<int> order = tiling.prefix;
                const auto middle = parts.running.begin() + static_cast<std::ptrdiff_t>(at);
                const auto cut = parts.unit.begin() + static_cast<std::ptrdiff_t>(before);
                order.insert(order.end(), parts.running.begin(), middle);
                order.insert(order.end(), parts.unit.begin(), cut);
                order.insert(order.end(), middle, parts.running.end());
                order.insert(order.end(), cut, parts.unit.end());
                order.insert(order.end(), tiling.suffix.begin(), tiling.suffix.end());
                if (tiling.canonical) {
                    order.resize(g_.dimensions);
                    std::iota(order.begin(), order.end(), 0);
                }
                const auto fixed =
                    static_cast<int>(std::min<std::int64_t>(tiling.split, g_.dimensions));
                for (int split = fixed < 0 ? 0 : fixed;
                     split <= (fixed < 0 ? g_.dimensions : fixed); ++split) {
                    if (!fits(order, split)) {
                        continue;
                    }
                    std::vector<std::pair<int, bool>> loops;
                    for (int i = 0; i < g_.dimensions; ++i) {
                        if (block.factors[order[i]].end > 1) {
                            loops.emplace_back(order[i], i < split);
                        }
                    }
                    if (std::find(seen.begin(), seen.end(), loops) == seen.end()) {
                        seen.push_back(loops);
                        out.push_back({order, split});
                    }
                }
            }
        }
    } while (std::next_permutation(parts.running.begin(), parts.running.end()));
}

double Members::count() const {
    double product = 1;
    for (const auto& choices : choices_) {
        product *= static_cast<double>(choices.size());
    }
    return product;
}

bool Members::visit_from(std::size_t level, const std::function<bool(const Mapping&)>& visit) {
    if (level == choices_.size()) {
        return visit(mapping_);
    }
    const TilingLevel& tiling = g_.space.levels()[level];
    LoopBlock& block = block_of(mapping_, tiling);
    for (const Choice& choice : choices_[level]) {
        block.permutation = choice.order;
        block.split = tiling.spatial ? choice.split : block.split;
        if (!visit_from(level + 1, visit)) {
            return false;
        }
    }
    return true;
}

bool Members::each(const std::function<bool(const Mapping&)>& visit) {
    return visit_from(0, visit);
}

}  // namespace tessera::timeloop
