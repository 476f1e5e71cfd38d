// Constraints on loops: spatial dimensions, repeated fetches, limits of the mapspace.
#include <algorithm>
#include <map>

#include "legality_constraints.hpp"
#include "legality_places.hpp"
#include "tessera/base/comparison.hpp"

namespace tessera::mapspace::legality {

using workload::Relevancy;

namespace {

// Not base::holds(): templates, their tile shapes and the model are held to account by this.
bool meets(const arch::LoopBound& bound, double trips) {
    switch (bound.op) {
        case arch::LoopBound::Op::equal:
            return trips == bound.value;
        case arch::LoopBound::Op::less_equal:
            return trips <= bound.value;
        case arch::LoopBound::Op::greater_equal:
            return trips >= bound.value;
        case arch::LoopBound::Op::less:
            return trips < bound.value;
        default:
            return trips > bound.value;
    }
}

}  // namespace

/// The mapspace has a place for a loop over one of the variables.
bool Constraints::may_loop(int l, int d, workload::RankVariableMask variables) const {
    if (!checker_.options || leaf_.view().is_copy_operation) {
        return false;
    }
    const Places places(leaf_, *checker_.options);
    for (std::size_t v = 0; v < leaf_.view().rank_variables.size(); ++v) {
        if ((variables >> v & 1) && leaf_.view().rank_variables[v].bound > 1 &&
            places.spatial_fits(static_cast<int>(v), l, d)) {
            return true;
        }
    }
    return false;
}

void Constraints::loop_bound(int l, int d, const arch::LoopBound& bound) {
    const arch::PathDim& dim = leaf_.path.levels[l].spatial[d];
    double product = 1;
    std::string text;
    const Node* last = nullptr;
    const auto report = [&](const std::string& what, double trips) {
        // A loop that is not written has one trip; it may also be one that another rule forbids.
        const bool absent = last == nullptr && !may_loop(l, d, bound.variables);
        Violation& v = checker_.add(
            "loop_bounds", absent ? Severity::warning : Severity::constraint,
            einsum() + ": " + what + " in " + in_quotes(leaf_.path.levels[l].name) + " along " +
                in_quotes(dim.name) + " makes " + number(trips) + " trips, required " +
                base::sign_of(bound.op) + " " + number(bound.value),
            &leaf_, last);
        v.level = leaf_.path.levels[l].name;
        v.found = trips;
        v.limit = bound.value;
        v.where = bound.where;
    };
    for (std::size_t var = 0; var < leaf_.view().rank_variables.size(); ++var) {
        if (!(bound.variables >> var & 1)) {
            continue;
        }
        double trips = 1;
        if (!bound.product) {
            last = nullptr;
        }
        for (const Node& node : leaf_.nodes) {
            if (node.kind == Kind::spatial && node.level == l && node.dim == d &&
                node.variable == static_cast<int>(var)) {
                trips *= static_cast<double>(node.trips);
                last = &node;
            }
        }
        const std::string& name = leaf_.view().rank_variables[var].name;
        product *= trips;
        text += (text.empty() ? "" : " * ") + name;
        if (!bound.product && !meets(bound, trips)) {
            report("the spatial loop over " + in_quotes(name), trips);
        }
    }
    if (bound.product && !text.empty() && !meets(bound, product)) {
        report("the product of the spatial loops over " + text, product);
    }
}

void Constraints::dimensions() {
    for (int l = 0; l < static_cast<int>(leaf_.path.levels.size()); ++l) {
        for (int d = 0; d < static_cast<int>(leaf_.path.levels[l].spatial.size()); ++d) {
            const arch::PathDim& dim = leaf_.path.levels[l].spatial[d];
            double used = 1;
            for (const Node& node : leaf_.nodes) {
                if (node.kind != Kind::spatial || node.level != l || node.dim != d ||
                    node.trips == 1) {
                    continue;
                }
                used *= static_cast<double>(node.trips);
                for (std::size_t t = 0; t < leaf_.view().tensors.size(); ++t) {
                    const workload::LocalTensor& tensor = leaf_.view().tensors[t];
                    if ((dim.reuse >> t & 1) &&
                        tensor.relevancy[node.variable] != Relevancy::irrelevant) {
                        Violation& v = add(
                            "reuse",
                            einsum() + ": the " + loop_text(leaf_, node) + " makes " +
                                std::to_string(node.trips) + " trips in " +
                                in_quotes(leaf_.path.levels[l].name) + " along " +
                                in_quotes(dim.name) + ", required 1: it indexes " +
                                in_quotes(tensor.name) + ", which all instances must share (reuse)",
                            &node);
                        v.tensor = tensor.name;
                        v.found = static_cast<double>(node.trips);
                        v.limit = 1;
                        v.where = dim.where;
                    }
                }
            }
            for (const arch::LoopBound& bound : dim.loop_bounds) {
                loop_bound(l, d, bound);
            }
            const double usage = arch::share_in_use(dim, used);
            if (usage < dim.min_usage && !leaf_.view().is_copy_operation) {
                Violation& v = checker_.add("min_usage", Severity::warning,
                                            einsum() + " uses " + number(usage) + " of " +
                                                in_quotes(leaf_.path.levels[l].name) + " along " +
                                                in_quotes(dim.name) + ", wanted at least " +
                                                number(dim.min_usage),
                                            &leaf_);
                v.level = leaf_.path.levels[l].name;
                v.found = usage;
                v.limit = dim.min_usage;
                v.where = dim.where;
            }
        }
    }
}

void Constraints::refetch(const char* code, const Node& holder, std::size_t begin,
                          std::size_t end) {
    for (std::size_t i = begin + 1; i < end && i < leaf_.nodes.size(); ++i) {
        const Node& loop = leaf_.nodes[i];
        if (loop.kind == Kind::temporal && loop.trips > 1 &&
            leaf_.tensor(holder).relevancy[loop.variable] != Relevancy::relevant) {
            Violation& v =
                add(code,
                    einsum() + ": the " + loop_text(leaf_, loop) + " makes " +
                        std::to_string(loop.trips) + " trips, required 1: each would move tensor " +
                        in_quotes(leaf_.tensor(holder).name) + " of " +
                        in_quotes(leaf_.level(holder).name) + " again (" +
                        (code == std::string("no_refetch") ? "no_refetch_from_above"
                                                           : "no_resend_to_below") +
                        ")",
                    &holder);
            v.found = static_cast<double>(loop.trips);
            v.limit = 1;
            v.where = leaf_.level(holder).where;
        }
    }
}

void Constraints::refetches() {
    for (std::size_t i = 0; i < leaf_.nodes.size(); ++i) {
        const Node& holder = leaf_.nodes[i];
        if (holder.kind != Kind::storage) {
            continue;
        }
        const arch::PathLevel& level = leaf_.level(holder);
        if (level.no_refetch_from_above >> holder.tensor & 1) {
            refetch("no_refetch", holder,
                    static_cast<std::size_t>(leaf_.first_holder(holder.tensor)), i);
        }
        if (level.no_resend_to_below >> holder.tensor & 1) {
            std::size_t next = i + 1;
            while (next < leaf_.nodes.size() &&
                   !(leaf_.nodes[next].holder() && leaf_.nodes[next].tensor == holder.tensor)) {
                ++next;
            }
            refetch("no_resend", holder, i, next);
        }
    }
}

// Fused loops are counted by rule L8 (legality_member.cpp).
void Constraints::limits() {
    if (!checker_.options) {
        return;
    }
    const MapSpaceOptions& options = *checker_.options;
    std::map<std::pair<int, int>, int> per_dim;
    for (std::size_t i = 0; i < leaf_.nodes.size(); ++i) {
        const Node& node = leaf_.nodes[i];
        if (leaf_.line_buffer_loop(static_cast<int>(i)) >= 0 && !options.line_buffers) {
            add("line_buffers",
                einsum() + " has a line buffer of tensor " + in_quotes(leaf_.tensor(node).name) +
                    "; they are switched off",
                &node);
        }
        if (node.kind == Kind::spatial && node.trips > 1 && node.tile > 1) {
            ++per_dim[{node.level, node.dim}];
        }
    }
    for (const auto& [dim, count] : per_dim) {
        const int limit = options.max_loops_per_spatial_dimension;
        if (limit != MapSpaceOptions::unlimited && count > limit) {
            const arch::PathLevel& level = leaf_.path.levels[dim.first];
            Violation& v = add("max_loops_per_spatial_dimension",
                               einsum() + " has " + std::to_string(count) + " loops in " +
                                   in_quotes(level.name) + " along " +
                                   in_quotes(level.spatial[dim.second].name) + ", allowed " +
                                   std::to_string(limit));
            v.found = count;
            v.limit = limit;
        }
    }
}

// As the templates leave them out: by the holder that stands last before the loop.
void Constraints::copies() {
    if (!checker_.options || checker_.options->copies_in_distributed_memories) {
        return;
    }
    const Node* holder = nullptr;
    for (const Node& node : leaf_.nodes) {
        if (node.kind == Kind::storage) {
            holder = leaf_.level(node).distributed() ? &node : nullptr;
        }
        if (node.kind != Kind::spatial || node.trips == 1 || holder == nullptr) {
            continue;
        }
        const workload::LocalTensor& tensor = leaf_.tensor(*holder);
        if (((tensor.directly_indexing | tensor.expression_indexing) >> node.variable & 1) == 0) {
            add("copies",
                einsum() + ": the " + loop_text(leaf_, node) + " copies tensor " +
                    in_quotes(tensor.name) + " among the units of " +
                    in_quotes(leaf_.level(*holder).name) + "; such copies are switched off",
                &node);
        }
    }
}

void Constraints::loops() {
    dimensions();
    refetches();
    limits();
    copies();
}

}  // namespace tessera::mapspace::legality
