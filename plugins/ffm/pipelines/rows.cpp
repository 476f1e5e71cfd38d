// Pmappings for LoopTrees with pipelines, and their join. All that is bounded stays as it is: the
// weighted sum of busy times bounds the latency of every mapping with pipelines. What is compared
// is more: rows by the busy time of each component and by every memory of limited size
// (docs/ffm-proofs.md, 2.34).
#include <algorithm>
#include <limits>

#include "../run.hpp"
#include "mapspace/pipeline_join.hpp"
#include "mapspace/shape_problem.hpp"
#include "model/rounds.hpp"
#include "model/weighted_looptree.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::ffm {

namespace {

/// Rows of all templates together for exact class bounds, before what is of no use is left out.
constexpr double rows_of_bounds = 2e6;
/// Rows of a step, and pairs of rows of a join, after which it is given up: some 2 GiB.
constexpr std::size_t most_rows = 4'000'000;
constexpr std::uint64_t most_pairs = 2'000'000'000;

/// By Einsum; empty: it has one size for all.
std::vector<mapspace::OwnSize> own_sizes(const std::vector<EinsumSpace>& spaces,
                                         const mapspace::TrackedMemory& memory) {
    std::vector<mapspace::OwnSize> out;
    double largest = 0, least = std::numeric_limits<double>::infinity();
    for (const EinsumSpace& space : spaces) {
        double own_least = std::numeric_limits<double>::infinity(), own_largest = 0;
        for (const auto& path : space.paths) {
            for (const arch::PathLevel& level : path->levels) {
                if (level.name == memory.name) {
                    own_least = std::min(own_least, level.size_bits);
                    own_largest = std::max(own_largest, level.size_bits);
                }
            }
        }
        largest = std::max(largest, own_largest);
        least = std::min(least, own_least);
        mapspace::OwnSize& own = out.emplace_back();
        if (own_largest > 0) {
            own.taken_bits = std::max(0.0, memory.size_bits - own_least);
            own.share = memory.size_bits / own_largest;
        }
    }
    return least < largest ? out : std::vector<mapspace::OwnSize>();
}

}  // namespace

bool Run::pipelines_known() const {
    const workload::Workload& w = *problem_.workload;
    return w.einsums.size() <= model::most_branches &&
           std::ranges::all_of(w.tensors, [](const auto& t) { return t.previous_readers.empty(); });
}

bool Run::begin_pipelines(const PipelineRelaxation& relaxation, double known) {
    pipelines_ = true;
    relaxation_ = relaxation;
    silent_ = true;
    beam_tried_ = true;  // a mapping in turn below a cutoff ends nothing
    try {
        open_paths();
        if (!pipelines_known()) {
            return false;
        }
        context_.busy = {relaxation.components.begin(), relaxation.components.end()};
        context_.busy_s = model::WeightedLoopTree::busy_s;
        open();
        if (too_many_ || !result_.reasons.empty()) {
            return false;
        }
        exploration_ = std::make_unique<Exploration>(context_, spaces_);
        ClassBounds& bounds = exploration_->class_bounds;
        class_bounds_known_ = bounds.find([] {}, rows_of_bounds, false);
        if (class_bounds_known_ && bounds.open()) {
            bounds.look_below(known);
            class_bounds_known_ =
                bounds.find([] {}, std::numeric_limits<double>::infinity(), false);
            exploration_->rows.forget_completions();
        }
    } catch (const base::Stopped&) {
        return false;
    }
    return class_bounds_known_ && !watch_.stopped();
}

Run::Pipelined Run::best_pipelines(double cutoff) {
    Pipelined out;
    try {
        const std::optional<Groups> groups = useful_groups({point_of(cutoff)});
        count_useful(*groups);
        const base::StopScope scope({watch_.stop()});
        mapspace::PipelineJoinOptions join;
        join.progress = [this](int joined, std::size_t states, std::size_t rows) {
            say("join of pipelines: " + std::to_string(joined) + " of " +
                std::to_string(problem_.workload->einsums.size()) + " Einsums, " +
                std::to_string(rows) + " partial mappings in " + std::to_string(states) +
                " states");
        };
        join.order = options_.mapspace.all_einsum_orders ? mapspace::EinsumOrder::all
                                                         : mapspace::EinsumOrder::file;
        join.goal = goal_;
        join.threads = threads_;
        join.cutoff = cutoff;
        join.completion_sums = sums_of_completions;
        join.match_tile_shapes = mapspace::matches_tile_shapes(context_);
        for (const mapspace::TrackedMemory& memory : context_.tracked) {
            join.own_sizes.push_back(own_sizes(spaces_, memory));
            out.exact = out.exact && join.own_sizes.back().empty();
        }
        join.most_rows = most_rows;
        join.most_pairs = most_pairs;
        const mapspace::PipelineJoinResult found =
            mapspace::join_pipelines(*problem_.workload, *groups, context_.tracked, join);
        result_.statistics.evaluated += found.rows_joined;
        out.complete = !found.given_up;
        out.all_orders = found.all_orders;
        out.loop_orders = result_.statistics.loop_orders;
        if (found.best) {
            out.best = mapping_of(*groups, found.best->mapping);
            out.at_once = found.best->at_once;
            out.value = value_at(found.best->mapping.objectives);
        }
    } catch (const base::Stopped&) {
    }
    return out;
}

}  // namespace tessera::ffm
