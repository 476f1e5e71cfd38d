// The later metric: of all mappings that are as good by the metric asked for, whose optimum is
// proven by now, the best by another one. See docs/ffm-proofs.md, 2.28.
//   limits        what the Einsums may cost by the first metric, from its class bounds
//   class bounds  least costs by the later metric within these limits
//   cutoffs       as in find_optimum(): explored and joined in both metrics
//   one Einsum    best-first search within the limit, in the later metric alone
// Until it ends, the mapping found is the best one known.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <new>

#include "base/leave.hpp"
#include "heuristics/best_first.hpp"
#include "run.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/mapper/order.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::ffm {
namespace {

/// Costs by the first metric are rounded to multiples of the limit times two to the minus this:
/// what is equal but for rounding is equal in the join, and sums of multiples are exact.
constexpr int digits_of_first = 40;
/// Partial rows of a template that a beam through the tile shapes keeps, and rows of a step of a
/// join that looks for a mapping.
constexpr std::size_t tile_shape_beam = 64, join_beam = 400;
/// See best_first.hpp.
constexpr std::size_t sample_every = 16, first_round = 8, largest_round = 128;

model::Formula energy_of(const model::TemplateFormulas& f) {
    return f.dynamic_energy_j + f.leak_energy_j;
}
model::Formula latency_of(const model::TemplateFormulas& f) {
    return f.latency_s;
}

/// What the Einsums of a class may cost: of equal ones, that which may cost most. Negative: no
/// mapping that is good enough has the class.
double most_of(const Completions& others, double limit) {
    return others.empty() ? -1.0 : limit - *std::min_element(others.begin(), others.end());
}

}  // namespace

void Run::find_later() {
    const mapper::Metric first = options_.metrics.front();
    if (!later_wanted_ || silent_ || options_.metrics.size() != 1 || first == mapper::Metric::edp ||
        result_.status != mapper::Status::optimal || result_.solutions.size() != 1) {
        return;
    }
    const PhaseTimer timer(*this, "later metric", "templates");
    begin_later(first);
    try {
        watch_.stopped() ? throw base::Stopped() : search_later();
    } catch (const base::Stopped&) {  // the best one known holds
        save();
    } catch (const std::bad_alloc&) {
        watch_.end("out-of-memory");
    }
    result_.later = later_->result;
    if (later_->result.proven) {
        say("proven by " + std::string(mapper::facts(later_->result.metric).name) + ", too");
    }
}

/// Everything that was explored goes; templates stay.
void Run::begin_later(mapper::Metric first) {
    if (recorder_.stores_checkpoints()) {
        first_state_ = state();
    }
    Later& later = later_.emplace();
    later.first = first == mapper::Metric::energy ? 0 : 1;
    later.result.metric = mapper::later_metric(first);
    later.limit = base::most_of_same_cost(metric_of_first());
    later.known = mapper::metric_value(later.result.metric, result_.solutions.front().report);
    result_.statistics.evaluated += evaluated();
    const bool one = best_first_applies();
    context_.want_energy = !one || later.first == 1;
    context_.want_latency = !one || later.first == 0;
    goal_ = one ? mapspace::JoinGoal::single : mapspace::JoinGoal::pareto;
    const std::unique_ptr<Exploration> before = std::move(exploration_);
    const bool bounded = before->class_bounds.relaxation() != nullptr;
    std::vector<std::vector<Completions>> others;
    if (bounded) {
        others = before->class_bounds.relaxation()->completions();
    }
    CostLimits limits{later.first == 0 ? energy_of : latency_of, {}};
    std::vector<std::vector<double>> least;
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        EinsumSpace& space = spaces_[e];
        limits.most.emplace_back();
        least.emplace_back();
        for (std::size_t k = 0; k < space.classes.size() && space.same == e; ++k) {
            limits.most[e].push_back(bounded ? most_of(others[e][k], later.limit) : later.limit);
            least[e].push_back(bounded ? space.classes[k].least[0] : 0.0);
        }
        for (std::size_t i = 0; i < space.templates->size() && space.same == e; ++i) {
            TemplateEntry& t = (*space.templates)[i];
            t.unmatched |= before->class_bounds.least(e, i)[0] > limits.most[e][t.of_class] ||
                           !before->rows.may_have(e, i, later.limit);
        }
        space.classes.clear();
        space.groups.clear();
        space.least.clear();
        space.needs.clear();
    }
    saved_later_ = read_saved_state(saved_.later);
    cutoffs_ = {saved_later_.refuted_cutoff, saved_later_.joins};
    exploration_ = std::make_unique<Exploration>(context_, spaces_);
    exploration_->explorer.set_cost_limits(std::move(limits));
    exploration_->rows.keep(saved_later_.searches, [this] { save(); });
    if (!one) {
        exploration_->class_bounds.take_known(before->class_bounds, least, later.first);
        note_costs_of_result();
    }
}

/// Where each Einsum is by itself, the known mapping has a legal pmapping of each: no class bound
/// is above its costs.
void Run::note_costs_of_result() {
    if (!exploration_->class_bounds.nothing_shared()) {
        return;
    }
    std::map<std::string, std::vector<double>> costs;
    for (const model::EinsumReport& e : result_.solutions.front().report.einsums) {
        costs[e.einsum] = {e.energy_j(), e.latency_s};
    }
    std::vector<std::vector<double>> of_einsums;
    for (const workload::Einsum& e : problem_.workload->einsums) {
        of_einsums.push_back(costs.at(e.name));
    }
    exploration_->class_bounds.note_costs(of_einsums);
}

void Run::search_later() {
    if (goal_ == mapspace::JoinGoal::single) {
        search_later_of_one();
        return;
    }
    ClassBounds& bounds = exploration_->class_bounds;
    bounds.restore(saved_later_.class_bounds);
    if (options_.mapspace.partial_tiles()
            ? !bounds.find_from_root_bounds()
            : !bounds.find([this] { save(); }, std::numeric_limits<double>::infinity(), false)) {
        throw base::Stopped();
    }
    save();
    raise_later_bound(least_later());
    const double bound = later_->result.bound;
    for (const double excess : cutoffs_above(bound, later_->known)) {
        const double cutoff = bound * (1 + excess);
        if (later_->result.proven || !context_.switches.cutoffs || !(bound > 0) ||
            !(cutoff < later_->below())) {
            break;
        }
        if (!cutoffs_.refuted_before(cutoff) && !find_later_below(cutoff)) {
            cutoffs_.refute(cutoff);
            exploration_->rows.kept().forget();
            save();
        }
        raise_later_bound(std::min(cutoff, later_->known));
    }
    if (!later_->result.proven) {
        find_later_below(later_->below());
        raise_later_bound(later_->known);
    }
}

/// Nothing is below the bound. At the best one known, that is proven.
void Run::raise_later_bound(double bound) {
    Later& later = *later_;
    later.result.bound = std::max(later.result.bound, std::min(bound, later.known));
    later.result.proven |= !(later.result.bound < later.below());
}

/// What the class bounds say of the later metric.
double Run::least_later() const {
    double least = std::numeric_limits<double>::infinity();
    for (const mapspace::CostPoint& p : exploration_->class_bounds.bound()) {
        if (p[later_->first] <= later_->limit) {
            least = std::min(least, p[1 - later_->first]);
        }
    }
    return least;
}

/// A mapping must be below each of these in one metric.
std::vector<std::vector<double>> Run::later_points(double cutoff) const {
    std::vector<double> limit(2, 0.0), below(2, 0.0);
    limit[later_->first] = later_->limit;
    below[1 - later_->first] = cutoff;
    return {below, limit};
}

/// Explores and joins everything below the cutoff. True if there was something: the best of it is
/// known then. \throws base::Stopped
bool Run::find_later_below(double cutoff) {
    const base::StopScope scope({watch_.stop()});
    std::vector<std::vector<double>> points = later_points(cutoff);
    if (!exploration_->rows.find(incumbents_at(points), long_exploration)) {
        exploration_->rows.find_some(incumbents_at(points), tile_shape_beam);
        offer_later(take_later_groups(points), JoinEffort::beam, points);
        points = later_points(std::min(cutoff, later_->below()));
        exploration_->rows.find(incumbents_at(points), 0);
    }
    const Groups groups = take_later_groups(points);
    if (!offer_later(groups, JoinEffort::little, points)) {
        offer_later(groups, JoinEffort::beam, points);
        offer_later(groups, JoinEffort::all, later_points(std::min(cutoff, later_->below())));
    }
    return later_->known <= cutoff;
}

/// Costs by the first metric are rounded, so that rows that differ in nothing else are equal in it.
Groups Run::take_later_groups(const std::vector<std::vector<double>>& points) {
    Groups groups = take_groups();
    const double unit = std::ldexp(1.0, std::ilogb(later_->limit) - digits_of_first);
    for (auto& einsum : groups) {
        for (mapspace::PmappingGroup& g : einsum) {
            for (std::size_t r = 0; r < g.rows(); ++r) {
                double& cost = g.values[r * static_cast<std::size_t>(g.stride()) + later_->first];
                cost = std::round(cost / unit) * unit;
            }
            mapspace::prune_pareto(g);
        }
    }
    drop_useless(groups, points);
    return groups;
}

/// Joins below the points and takes what is better than what is known. False: the join was given
/// up. \throws base::Stopped
bool Run::offer_later(const Groups& groups, JoinEffort effort,
                      const std::vector<std::vector<double>>& points) {
    mapspace::JoinOptions j = join_options();
    j.beam = effort == JoinEffort::beam ? join_beam : 0;
    j.most_rows = effort == JoinEffort::little ? rows_of_long_join : 0;
    j.most_pairs = effort == JoinEffort::little ? pairs_of_long_join : 0;
    j.stop = watch_.stop();
    j.incumbents = points;
    const mapspace::JoinResult found =
        mapspace::join(*problem_.workload, groups, context_.tracked, j);
    result_.statistics.evaluated += found.rows_joined;
    recorder_.worker(0, "ffm").generated(found.rows_joined);
    recorder_.worker(0, "ffm").evaluated(found.rows_joined);
    base::poll_stop();
    const auto later = [&](const mapspace::JoinedMapping& m) {
        return m.objectives.size() == 2 ? m.objectives[1 - later_->first] : m.objectives[0];
    };
    const auto best = std::ranges::min_element(found.mappings, {}, later);
    if (best != found.mappings.end() && later(*best) < later_->below()) {
        take_later(solution(groups, *best));
    }
    return !found.given_up;
}

void Run::take_later(mapper::Solution found) {
    const mapper::Metric first = options_.metrics.front();
    if (!mapper::better(first, found.report, result_.solutions.front().report)) {
        throw base::Stopped();  // at the limit but for rounding: nothing is proven of it
    }
    later_->known = mapper::metric_value(later_->result.metric, found.report);
    report_incumbent(found, "later metric");
    say("incumbent: " + number(later_->known) + " by " + mapper::facts(later_->result.metric).name);
    result_.solutions.front() = std::move(found);
}

void Run::search_later_of_one() {
    const base::StopScope scope({watch_.stop()});
    base::LeftOnStop<BestFirst> best_first(BestFirst(exploration_->explorer));
    BestFirst& boxes = *best_first;
    const auto take = [&](bool found) {
        if (found) {
            offer_later(take_groups(), JoinEffort::beam, {});
        }
        base::poll_stop();
    };
    take(boxes.local_search_templates(later_->below()));
    boxes.make_boxes(later_->below(), sample_every);
    take(boxes.local_search_boxes(later_->below()));
    boxes.make_boxes(later_->below(), 1);
    raise_later_bound(boxes.bound_of_rank(0));
    take(boxes.local_search_boxes(later_->below()));
    std::size_t rank = 0;
    for (std::size_t round = first_round; boxes.bound_of_rank(rank) < later_->below();
         round = std::min(2 * round, largest_round)) {
        take(boxes.explore_boxes(rank, round, later_->below()));
        rank += round;
        raise_later_bound(boxes.bound_of_rank(rank));
    }
    raise_later_bound(later_->known);
}

}  // namespace tessera::ffm
