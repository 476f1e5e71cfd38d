// Whether the chain of an Einsum is a member of the mapspace, or one is that costs no more: the
// rules L1 to L8, S1 and S2 of docs/mapspace.md that no other check looks at. A chain that breaks
// one runs, but may cost less than the optimum. Copies are not looked at.
#include <algorithm>
#include <map>
#include <tuple>

#include "legality_places.hpp"

namespace tessera::mapspace::legality {

using workload::TensorMask;

namespace {

class Member {
public:
    Member(Checker& checker, const Leaf& leaf)
        : checker_(checker), options_(*checker.options), leaf_(leaf), places_(leaf, options_) {}

    void check() {
        for (int gap = -1; gap < static_cast<int>(places_.holders().size()); ++gap) {
            const std::vector<int> loops = places_.loops_in(gap);
            for (const int loop : loops) {
                indexing(loop);
                spatial_place(loop, gap);
                partial_kind(loop);
            }
            one_each(loops, gap);
            order(loops, gap);
            below_holder(loops, gap);
            line_buffer(gap);
            prologues(loops, gap);
        }
        fused_loops();
    }

private:
    std::string einsum() const {
        return "Einsum " + in_quotes(leaf_.view().name);
    }
    std::string text(int loop) const {
        return "the " + loop_text(leaf_, leaf_.nodes[loop]);
    }
    std::string holder_text(int holder) const {
        const Node& node = leaf_.nodes[holder];
        return in_quotes(leaf_.level(node).name) + " holding " + in_quotes(leaf_.tensor(node).name);
    }
    Violation& add(const char* rule, int node, const std::string& what) {
        return checker_.add(rule, Severity::constraint, einsum() + ": " + what, &leaf_,
                            &leaf_.nodes[node]);
    }

    /// What does not index the tensor at all is another check's (legality_nest.cpp).
    void indexing(int loop) {
        const Node& node = leaf_.nodes[loop];
        const Place place = places_.place_of(loop);
        const int tensor = places_.unindexed(node.variable, place);
        if (tensor < 0 || leaf_.view().tensors[tensor].relevancy[node.variable] ==
                              workload::Relevancy::irrelevant) {
            return;
        }
        add("L1", loop,
            text(loop) + " stands above the first holder of tensor " +
                in_quotes(leaf_.view().tensors[tensor].name) +
                ", which has the variable inside a sum or a multiple: the tiles of its iterations "
                "overlap, and no outer memory has what they share")
            .tensor = leaf_.view().tensors[tensor].name;
    }

    void spatial_place(int loop, int gap) {
        const Node& node = leaf_.nodes[loop];
        const int right = node.kind == Kind::spatial ? places_.spatial_gap(node.level) : gap;
        const bool same_run = right < gap && places_.run_begin(gap) <= right;
        if (right != gap && !same_run) {
            add("L3", loop,
                text(loop) + " of " + in_quotes(leaf_.level(node).name) + " stands " +
                    (right < gap ? "below" : "above") + " its place, which is " +
                    (right < 0 ? "above all holders"
                               : "right below " + holder_text(places_.holders()[right])));
        }
    }

    /// L6 with one of the two switches.
    void partial_kind(int loop) {
        const Node& node = leaf_.nodes[loop];
        if (node.base > 0 || node.outer % node.tile == 0 || !options_.partial_tiles() ||
            options_.partial_inner_tiles) {
            return;
        }
        const auto may = [&](bool temporal) {
            return temporal ? options_.imperfect_temporal : options_.imperfect_spatial;
        };
        const std::vector<Place> further = places_.further(loop);
        const bool next =
            std::ranges::any_of(further, [&](const Place& place) { return may(place.temporal()); });
        if (!may(node.kind == Kind::temporal) && !next) {
            add("L6", loop,
                text(loop) + " leaves a partial tile; only " +
                    (options_.imperfect_temporal ? "temporal" : "spatial") + " loops may");
        }
    }

    /// L2. In an unfused gap such loops cost what one does.
    void one_each(const std::vector<int>& loops, int gap) {
        if (!matters(gap)) {
            return;
        }
        std::map<std::tuple<int, int, int>, int> seen;
        for (const int loop : loops) {
            const Node& node = leaf_.nodes[loop];
            if (loop == places_.window(gap)) {
                continue;
            }
            const Place place = places_.place_of(loop);
            const auto [first, fresh] =
                seen.try_emplace({node.variable, place.level, place.dim}, loop);
            if (!fresh) {
                add("L2", loop,
                    text(loop) + " and " + text(first->second) +
                        " stand between the same two holders; one may");
            }
        }
    }

    /// The order of loops counts for more than what one holder needs.
    bool matters(int gap) const {
        return places_.fused(gap) || places_.has_network();
    }

    /// L4. Without networks the other order costs no more, unless a tile falls into pieces by it.
    void order(const std::vector<int>& loops, int gap) {
        for (std::size_t j = 0; j < loops.size() && !places_.fused(gap); ++j) {
            for (std::size_t i = 0; i < j; ++i) {
                const Node& upper = leaf_.nodes[loops[i]];
                const Node& lower = leaf_.nodes[loops[j]];
                if (upper.kind == Kind::spatial && lower.kind == Kind::temporal &&
                    (places_.has_network() ||
                     (upper.variable == lower.variable && splits_tile(loops[i])))) {
                    add("L4", loops[j],
                        text(loops[j]) + " stands below " + text(loops[i]) +
                            "; where no holder of a shared tensor follows, temporal loops stand "
                            "above spatial ones");
                    return;
                }
            }
        }
    }

    /// A holder above the spatial loop is inside its fan-out, and its tensor has the variable.
    bool splits_tile(int spatial) const {
        const Node& loop = leaf_.nodes[spatial];
        return std::any_of(leaf_.nodes.begin(), leaf_.nodes.begin() + spatial,
                           [&](const Node& node) {
                               return node.holder() && node.level >= loop.level &&
                                      leaf_.tensor(node).relevancy[loop.variable] !=
                                          workload::Relevancy::irrelevant;
                           });
    }

    /// L5. Where another of the holders that no loop separates could stand last, the chain is a
    /// member, but as written it is charged as one that is none.
    void below_holder(const std::vector<int>& loops, int gap) {
        const std::string why = gap < 0 || loops.empty() ? "" : misplaced(loops, gap, gap);
        if (why.empty()) {
            return;
        }
        bool other = false;
        for (int h = places_.run_begin(gap); h < gap; ++h) {
            other = other || (may_stand_last(h, gap) && misplaced(loops, gap, h).empty());
        }
        Violation& v = add("L5", loops.front(), why);
        if (other) {
            v.severity = Severity::warning;
        }
    }

    /// What is wrong if the holder stands right above the gap.
    std::string misplaced(const std::vector<int>& loops, int gap, int holder) const {
        const int at = places_.holders()[holder];
        const workload::LocalTensor& tensor = leaf_.tensor(leaf_.nodes[at]);
        if (leaf_.nodes[at].first) {
            return "";
        }
        const auto partial = [&](int loop) {
            const Node& node = leaf_.nodes[loop];
            return node.kind == Kind::temporal &&
                   (tensor.expression_indexing >> node.variable & 1) &&
                   !(tensor.directly_indexing >> node.variable & 1);
        };
        for (const int loop : loops) {
            const Node& node = leaf_.nodes[loop];
            if (node.kind == Kind::temporal && places_.belongs_above(node.variable, gap, holder)) {
                return text(loop) + " stands below " + holder_text(at) +
                       ", whose tensor it indexes; it belongs above";
            }
            if (places_.fused(gap) && partial(loop) && !partial(loops.front())) {
                return text(loop) + " indexes the tensor of " + holder_text(at) +
                       " in part; such a loop stands first below it";
            }
        }
        return "";
    }

    /// H2 for a holder below those that follow it.
    bool may_stand_last(int holder, int gap) const {
        const Node& own = leaf_.nodes[places_.holders()[holder]];
        for (int h = holder + 1; h <= gap; ++h) {
            const Node& other = leaf_.nodes[places_.holders()[h]];
            const bool forced = options_.force_memory_hierarchy_order &&
                                leaf_.level(own).force_memory_hierarchy_order &&
                                leaf_.level(other).force_memory_hierarchy_order;
            if (other.level > own.level && (forced || other.tensor == own.tensor ||
                                            (other.first && leaf_.tensor(other).fusable))) {
                return false;
            }
        }
        return true;
    }

    /// S1.
    void line_buffer(int gap) {
        const int at = gap < 0 ? -1 : places_.holders()[gap];
        const int loop = gap < 0 ? -1 : leaf_.line_buffer_loop(at);
        if (loop < 0 || !options_.line_buffers) {
            return;
        }
        const Node& holder = leaf_.nodes[at];
        const Node& node = leaf_.nodes[loop];
        const workload::LocalTensor& tensor = leaf_.tensor(holder);
        if (tensor.state_variable >= 0) {
            return;  // legality_states.cpp
        }
        const bool may = std::ranges::any_of(tensor.windows, [&](const workload::Window& window) {
            return window.variable == node.variable;
        });
        const bool outermost = node.previous < 0 || leaf_.nodes[node.previous].trips == 1;
        if (!may || !outermost || node.kind != Kind::temporal || tensor.persistent ||
            holder.level == leaf_.path.first_memory()) {
            add("S1", at,
                "the line buffer of " + holder_text(at) + " cannot move with " + text(loop) +
                    ": that has to be the outermost loop over a variable that an overlapping rank "
                    "has once, in time, right below an intermediate inside the outermost memory");
        }
    }

    /// S2.
    void prologues(const std::vector<int>& loops, int gap) {
        for (const int loop : loops) {
            const Node& node = leaf_.nodes[loop];
            if (node.base == 0) {
                continue;
            }
            const auto& known = leaf_.view().rank_variables[node.variable].prologues;
            const bool brought = std::ranges::any_of(known, [&](const workload::Prologue& p) {
                return p.base == node.base && p.prologue == node.prologue;
            });
            const bool fused = places_.fused(gap) || loop == places_.window(gap);
            if (!brought || !fused || node.base % node.tile != 0) {
                add("S2", loop,
                    text(loop) + " has a prologue of " + std::to_string(node.prologue) +
                        " values that no reader brings about, or is not shared with one");
            }
        }
    }

    /// L8: a loop that has to end its variable does not count.
    void fused_loops() {
        int total = 0;
        std::map<int, int> per_variable;
        for (int gap = -1; gap < static_cast<int>(places_.holders().size()); ++gap) {
            for (const int loop : places_.loops_in(gap)) {
                const Node& node = leaf_.nodes[loop];
                if (!places_.fused(gap) && loop != places_.window(gap)) {
                    continue;
                }
                if (node.base > 0 || node.tile > 1 || !places_.further(loop).empty()) {
                    ++total;
                    ++per_variable[node.variable];
                }
            }
        }
        exceeds("max_fused_loops", total, options_.max_fused_loops, "fused loops");
        for (const auto& [variable, count] : per_variable) {
            exceeds("max_fused_loops_per_rank_variable", count,
                    options_.max_fused_loops_per_rank_variable,
                    "fused loops over " + in_quotes(leaf_.view().rank_variables[variable].name));
        }
    }

    void exceeds(const char* code, int count, int limit, const std::string& what) {
        if (limit != MapSpaceOptions::unlimited && count > limit) {
            Violation& v = checker_.add(code, Severity::constraint,
                                        einsum() + " has " + std::to_string(count) + " " + what +
                                            ", allowed " + std::to_string(limit),
                                        &leaf_);
            v.found = count;
            v.limit = limit;
        }
    }

    Checker& checker_;
    const MapSpaceOptions& options_;
    const Leaf& leaf_;
    Places places_;
};

}  // namespace

void Checker::check_member(const Leaf& leaf) {
    if (!options) {
        return;
    }
    if (!leaf.view().is_copy_operation) {
        Member(*this, leaf).check();
        return;
    }
    // What stands below the last outermost holder of a copy costs nothing, a toll neither: it
    // belongs above the holders of memories further in. A written tree may have these above the
    // split because other branches share them, so this is a warning.
    for (std::size_t i = 0; i < leaf.nodes.size(); ++i) {
        const Node& toll = leaf.nodes[i];
        const bool below = std::any_of(
            leaf.nodes.begin(), leaf.nodes.begin() + static_cast<std::ptrdiff_t>(i),
            [&](const Node& other) { return other.holder() && other.level > toll.level; });
        if (toll.kind == Kind::toll && below) {
            add("H2", Severity::warning,
                "Einsum " + in_quotes(leaf.view().name) + ": toll " +
                    in_quotes(leaf.level(toll).name) +
                    " of a copy stands below a memory further in, where nothing passes it",
                &leaf, &toll);
        }
    }
}

/// Leaves stand in the order of the file where the mapspace has no other.
void Checker::check_einsum_order() {
    if (!options || options->all_einsum_orders) {
        return;
    }
    for (std::size_t l = 1; l < leaves.size(); ++l) {
        if (leaves[l]->einsum < leaves[l - 1]->einsum) {
            add("einsum_order", Severity::constraint,
                "Einsum " + in_quotes(leaves[l]->view().name) + " runs after " +
                    in_quotes(leaves[l - 1]->view().name) +
                    "; this mapspace has the order of the workload alone",
                leaves[l].get());
        }
    }
}

}  // namespace tessera::mapspace::legality
