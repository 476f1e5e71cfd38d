// Conditions on one Einsum's nest alone.
#include <algorithm>
#include <numeric>

#include "legality_internal.hpp"

namespace tessera::mapspace::legality {

namespace {

/// L6: the least tile shape with the trip count of `tile` that is a multiple of every divisor of
/// `outer` that divides `tile`, so that it can be split alike further in.
std::int64_t least_partial_tile(std::int64_t outer, std::int64_t tile) {
    const std::int64_t trips = (outer + tile - 1) / tile;
    const std::int64_t step = std::gcd(outer, tile);
    return step * ((outer / step + trips - 1) / trips);
}

void check_tiles(Checker& checker, const Leaf& leaf) {
    for (const Node& node : leaf.nodes) {
        if (!node.loop()) {
            continue;
        }
        const std::string loop = loop_text(leaf, node);
        const auto report = [&](const char* code, Severity severity, const std::string& what) {
            Violation& v = checker.add(
                code, severity, "Einsum " + in_quotes(leaf.view().name) + ": " + loop + " " + what,
                &leaf, &node);
            v.found = static_cast<double>(node.tile);
            v.limit = static_cast<double>(node.outer);
        };
        const bool below_prologue = node.previous >= 0 && leaf.nodes[node.previous].base > 0;
        if (node.base > 0) {
            const bool fits = node.tile >= 1 && node.tile + node.prologue <= node.outer &&
                              node.base <= node.outer && node.outer <= node.base + node.prologue;
            if (!fits || node.previous >= 0 || node.kind != Kind::temporal) {
                report("tile_shape", Severity::physical,
                       "has a prologue of " + std::to_string(node.prologue) + " values over " +
                           std::to_string(node.trips) + " iterations, which does not give the " +
                           std::to_string(node.outer) +
                           " values of the variable; only its outermost loop can, in time");
            }
        } else if (below_prologue && node.tile != 1) {
            report("tile_shape", Severity::physical,
                   "has tile shape " + std::to_string(node.tile) +
                       ", but below a loop with a prologue the only one is 1");
        } else if (node.tile < 1 || node.tile > node.outer) {
            report("tile_shape", Severity::physical,
                   "has tile shape " + std::to_string(node.tile) + ", outside 1 to " +
                       std::to_string(node.outer) + ", the tile around it");
        } else if (node.outer % node.tile != 0) {
            const bool outermost =
                node.previous < 0 || checker.problem.convention().partial_inner_tiles;
            if (!outermost || !leaf.view().rank_variables[node.variable].simple) {
                report("tile_shape", Severity::physical,
                       "has tile shape " + std::to_string(node.tile) + ", which does not divide " +
                           std::to_string(node.outer) +
                           (outermost ? " (the variable is part of a sum)"
                                      : " (only the outermost loop over a variable may leave a "
                                        "partial tile)"));
            } else if (checker.options && !checker.options->partial_tiles()) {
                report("imperfect", Severity::constraint,
                       "has tile shape " + std::to_string(node.tile) + ", which does not divide " +
                           std::to_string(node.outer) + "; partial tiles are switched off");
            } else if (const std::int64_t least = least_partial_tile(node.outer, node.tile);
                       checker.options && checker.problem.convention().least_partial_tiles &&
                       least < node.tile) {
                report("imperfect", Severity::constraint,
                       "has tile shape " + std::to_string(node.tile) + ", larger than its " +
                           std::to_string(node.trips) + " iterations over " +
                           std::to_string(node.outer) + " need; tile shape " +
                           std::to_string(least) + " makes as many, and is in the mapspace");
            }
        }
    }
}

void check_unit_loops(Checker& checker, const Leaf& leaf) {
    for (std::size_t v = 0; v < leaf.view().rank_variables.size(); ++v) {
        std::int64_t tile = leaf.view().rank_variables[v].bound;
        for (const Node& node : leaf.nodes) {
            if (node.loop() && node.variable == static_cast<int>(v)) {
                tile = node.tile + node.prologue;
            }
        }
        if (tile != 1) {
            Violation& found = checker.add(
                "unit_loop", Severity::physical,
                "Einsum " + in_quotes(leaf.view().name) + ": the innermost tile of " +
                    in_quotes(leaf.view().rank_variables[v].name) + " has " + std::to_string(tile) +
                    " values, the compute takes 1; add a loop with tile shape 1",
                &leaf);
            found.found = static_cast<double>(tile);
            found.limit = 1;
        }
    }
}

void check_fanouts(Checker& checker, const Leaf& leaf) {
    for (std::size_t l = 0; l < leaf.path.levels.size(); ++l) {
        const auto& dims = leaf.path.levels[l].spatial;
        for (std::size_t d = 0; d < dims.size(); ++d) {
            double used = 1;
            const Node* last = nullptr;
            std::string loops;
            for (const Node& node : leaf.nodes) {
                if (node.kind == Kind::spatial && node.level == static_cast<int>(l) &&
                    node.dim == static_cast<int>(d)) {
                    // The reference counts a partial last tile as a part of an instance.
                    used *= checker.problem.convention().round_up_partial_tiles
                                ? static_cast<double>(node.trips)
                                : static_cast<double>(node.outer) / static_cast<double>(node.tile);
                    loops += (loops.empty() ? "" : ", ") + loop_text(leaf, node);
                    last = &node;
                }
            }
            const double limit =
                arch::most_used(dims[d], checker.problem.convention().check_physical);
            if (last && used > limit) {
                Violation& v =
                    checker.add("fanout", Severity::physical,
                                "Einsum " + in_quotes(leaf.view().name) + " uses " + number(used) +
                                    " instances of " + in_quotes(leaf.path.levels[l].name) +
                                    " along " + in_quotes(dims[d].name) + ", which has " +
                                    number(static_cast<double>(dims[d].fanout)) +
                                    (dims[d].usage_scale != 1
                                         ? " with usage_scale " + number(dims[d].usage_scale)
                                         : "") +
                                    " (" + loops + ")",
                                &leaf, last);
                v.found = used;
                v.limit = limit;
                v.where = dims[d].where;
            }
        }
    }
}

void check_holder_order(Checker& checker, const Leaf& leaf) {
    for (std::size_t i = 0; i < leaf.nodes.size(); ++i) {
        for (std::size_t j = i + 1; j < leaf.nodes.size(); ++j) {
            const Node& upper = leaf.nodes[i];
            const Node& lower = leaf.nodes[j];
            if (upper.holder() && lower.holder() && upper.tensor == lower.tensor &&
                upper.level > lower.level) {
                checker.add("holder_order", Severity::physical,
                            "Einsum " + in_quotes(leaf.view().name) + " holds tensor " +
                                in_quotes(leaf.tensor(upper).name) + " in " +
                                in_quotes(leaf.level(upper).name) + " above " +
                                in_quotes(leaf.level(lower).name) +
                                ", which feeds it in the architecture",
                            &leaf, &lower);
            }
        }
    }
}

bool indexes(const workload::LocalTensor& tensor, int variable) {
    return tensor.relevancy[variable] != workload::Relevancy::irrelevant;
}

// A tensor sees spatial loops right above its first holder inside their fan-out. If that exchanges
// a spatial and a temporal loop over one of its variables, the holder's tile falls into pieces.
void check_split_tiles(Checker& checker, const Leaf& leaf) {
    const int n = static_cast<int>(leaf.nodes.size());
    for (int t = 0; t < static_cast<int>(leaf.view().tensors.size()); ++t) {
        std::vector<int> holders;
        for (int i = 0; i < n; ++i) {
            if (leaf.nodes[i].holder() && leaf.nodes[i].tensor == t) {
                holders.push_back(i);
            }
        }
        // Number of the tensor's holders above a loop, as written and as the tensor sees it.
        const auto written = [&](int i) {
            return std::lower_bound(holders.begin(), holders.end(), i) - holders.begin();
        };
        const auto seen = [&](int i) -> std::ptrdiff_t {
            if (leaf.nodes[i].kind == Kind::temporal) {
                return written(i);
            }
            std::size_t k = 0;
            while (k < holders.size() && leaf.nodes[holders[k]].level < leaf.nodes[i].level) {
                ++k;
            }
            return static_cast<std::ptrdiff_t>(k);
        };
        for (int i = 0; i < n; ++i) {
            for (int j = i + 1; j < n; ++j) {
                const Node& a = leaf.nodes[i];
                const Node& b = leaf.nodes[j];
                if (!a.loop() || !b.loop() || a.variable != b.variable || a.trips == 1 ||
                    b.trips == 1 || !indexes(leaf.view().tensors[t], a.variable) ||
                    seen(i) <= seen(j)) {
                    continue;
                }
                checker
                    .add("split_tile", Severity::physical,
                         "Einsum " + in_quotes(leaf.view().name) + ": between the " +
                             loop_text(leaf, a) + " and the " + loop_text(leaf, b) + " tensor " +
                             in_quotes(leaf.view().tensors[t].name) +
                             " would be held in pieces that are not adjacent; give one of the "
                             "loops one trip",
                         &leaf, &b)
                    .tensor = leaf.view().tensors[t].name;
            }
        }
    }
}

// Loops above the outermost holder of a tensor: an output's partial sums would be lost, an input
// would have to be brought again from nowhere.
void check_outermost_loops(Checker& checker, const Leaf& leaf) {
    for (int t = 0; t < static_cast<int>(leaf.view().tensors.size()); ++t) {
        const workload::LocalTensor& tensor = leaf.view().tensors[t];
        const int first = leaf.first_holder(t);
        for (int i = 0; i < first; ++i) {
            const Node& loop = leaf.nodes[i];
            if (!loop.loop() || loop.trips == 1 || indexes(tensor, loop.variable)) {
                continue;
            }
            const std::string both = "Einsum " + in_quotes(leaf.view().name) + " holds tensor " +
                                     in_quotes(tensor.name) + " first in " +
                                     in_quotes(leaf.level(leaf.nodes[first]).name) +
                                     ", inside the " + loop_text(leaf, loop) +
                                     ", which does not index it";
            if (tensor.output && (loop.kind == Kind::temporal || tensor.intermediate)) {
                checker.add("partial_sums", Severity::physical,
                            both + ": the sums of earlier iterations are lost", &leaf,
                            &leaf.nodes[first]);
            } else if (!tensor.output && !tensor.intermediate && loop.kind == Kind::temporal &&
                       checker.options) {
                checker.add("recomputation", Severity::constraint,
                            both + ": every iteration would load it again from nowhere", &leaf,
                            &leaf.nodes[first]);
            }
        }
    }
}

}  // namespace

void Checker::check_nest(const Leaf& leaf) {
    check_tiles(*this, leaf);
    check_unit_loops(*this, leaf);
    check_fanouts(*this, leaf);
    check_holder_order(*this, leaf);
    check_split_tiles(*this, leaf);
    check_outermost_loops(*this, leaf);
}

}  // namespace tessera::mapspace::legality
