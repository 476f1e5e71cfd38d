// Mapper `ffm`: optimal fused mappings from Pareto-optimal partial mappings (FFM), tile shapes
// explored by partial Pareto pruning (TCM). Map:
//   parts         long cascades: the best mappings of their parts, equal ones once
//   restricted    overlaps and many templates: mappings of smaller mapspaces (restricted.cpp)
//   open          templates of every Einsum on every compute that may run it
//   by need       where an Einsum has too many: those that can be of use (templates/by_need.cpp)
//   local search  networks that share nothing: a beam and a local search per Einsum, before proofs
//   improve       with partial tiles: the mapping that was found without
//   class bounds  least energy and latency of every Einsum: bounds from the first moment
//   incumbent     a mapping of templates without fused loops
//   optimum       all tile shapes that can still beat a cutoff close to the bound, pmappings
//                 grouped by what the join must know, and the exact join, bounded likewise; last
//                 cutoff: the incumbent
//   finish        LoopTrees of the winners, evaluated again by the cost model and checked
//   overlap       with knob overlap=pipeline: what runs at once (pipelines/overlap.cpp has a map)
//   later metric  of all mappings that are as good, the best by energy or latency
//                 (later_metric.cpp)
//   one Einsum with many templates: best-first branch and bound instead (one_einsum.cpp)
// incumbent.cpp has the steps that find mappings, optimum.cpp those that prove something.

#include <new>
#include <thread>

#include "base/leave.hpp"
#include "pipelines/overlap.hpp"
#include "run.hpp"
#include "templates/open.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/mapping/assemble.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::ffm {
namespace {

double seconds_since(std::chrono::steady_clock::time_point from) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
}

constexpr std::size_t unlimited_templates = std::numeric_limits<std::size_t>::max();
/// Of one Einsum; where there are more, those of use are looked for.
constexpr std::size_t many_templates = 6000;
/// The same, of which a search of pipelines is not begun.
constexpr std::size_t most_pipeline_templates = 20'000;

/// Paths are those of the run.
void take_given(const std::vector<TemplateEntry>& given, EinsumSpace& space) {
    for (const TemplateEntry& t : given) {
        TemplateEntry& own = space.templates->emplace_back();
        own.path_index = t.path_index;
        own.path = space.paths[static_cast<std::size_t>(t.path_index)].get();
        own.tmpl = t.tmpl;
    }
}

bool wants(const mapper::Options& o, mapper::Metric m) {
    return std::find(o.metrics.begin(), o.metrics.end(), m) != o.metrics.end();
}

mapspace::JoinGoal goal_of(const mapper::Options& o) {
    if (o.metrics.size() > 1) {
        return mapspace::JoinGoal::pareto;
    }
    return wants(o, mapper::Metric::edp) ? mapspace::JoinGoal::edp : mapspace::JoinGoal::single;
}

}  // namespace

Run::Run(const model::Problem& problem, const model::CostModel& model,
         const mapper::Options& options)
    : problem_(problem),
      options_(without_spent(options)),
      recorder_(options.recorder != nullptr ? *options.recorder : unread_),
      watch_(options_.budget, options.stop, recorder_, options.metrics.size() == 1) {
    problem_.paths = problem_.paths_or_new();
    options_.stop = watch_.stop();
    saved_ = read_saved_state(options.resume);
    cutoffs_ = {saved_.refuted_cutoff, saved_.joins};
    saved_perfect_ = saved_.perfect;
    context_.recorder = &recorder_;
    context_.problem = &problem_;
    context_.model = &model;
    context_.options = &options_;
    context_.mapspace = &options_.mapspace;
    context_.switches = switches_without(options.without);
    const bool both = options.metrics.size() > 1 || wants(options, mapper::Metric::edp);
    context_.want_energy = both || wants(options, mapper::Metric::energy);
    context_.want_latency = both || wants(options, mapper::Metric::latency);
    goal_ = goal_of(options);
    threads_ = options.threads > 0
                   ? options.threads
                   : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    options_.threads = threads_;
}

Run::~Run() {
    if (!silent_) {
        base::leave(std::move(exploration_));
        base::leave(std::move(spaces_));
    }
}

Run::PhaseTimer::PhaseTimer(Run& run, const char* name, const char* unit) : run_(run) {
    auto& phases = run_.result_.statistics.phases;
    const auto it =
        std::find_if(phases.begin(), phases.end(), [&](const auto& p) { return p.first == name; });
    at_ = static_cast<std::size_t>(it - phases.begin());
    if (it == phases.end()) {
        phases.emplace_back(name, 0.0);
    }
    if (unit != nullptr) {
        run_.recorder_.begin_phase(name, 0, unit);
    }
}

Run::PhaseTimer::~PhaseTimer() {
    run_.result_.statistics.phases[at_].second += seconds_since(from_);
}

mapper::Result Run::run() {
    try {
        search_all();
    } catch (const base::Stopped&) {
        end_early();
    } catch (const std::bad_alloc&) {
        if (!incumbent_.known()) {
            throw;
        }
        watch_.end("out-of-memory");
        end_early();
    }
    result_.statistics.mapspace_size = mapspace_size(spaces_);
    find_later();
    result_.statistics.evaluated += evaluated();
    result_.statistics.wall_s = seconds_since(start_);
    result_.statistics.threads = threads_;
    const bool open = result_.later && !result_.later->proven;
    if ((result_.status == mapper::Status::feasible || open) && watch_.reason() != nullptr) {
        result_.stopped_by = watch_.reason();
    }
    recorder_.end_phase();
    return std::move(result_);
}

void Run::end_early() {
    save();  // what a stop leaves: a job of short parts advances
    exhausted_ = false;
    finish_with_incumbent();
}

void Run::search_all() {
    open_paths();
    bound_network();
    find_by_parts();
    bound_network();
    if (problem_.workload->einsums.size() >= long_cascade) {
        find_restricted();
    }
    bound_network();
    network_bound_.reset();
    open();
    if (result_.reasons.empty()) {
        take_start();
        find_perfect();
        find_any();
        if (best_first_applies() && search_best_first()) {
            return;
        }
        find_root_bounds();
        improve();
        find_class_bounds();
    }
    if (result_.reasons.empty()) {
        find_incumbent();
        find_optimum();
    }
}

void Run::open_paths() {
    const base::StopScope scope({watch_.stop(), first_until()});
    EqualEinsums equal;
    for (std::size_t e = 0; e < problem_.workload->einsums.size(); ++e) {
        base::poll_stop();
        EinsumSpace& space = spaces_.emplace_back(open_einsum(context_, static_cast<int>(e)));
        if (context_.switches.equal_einsums && !space.paths.empty()) {
            space.same = equal.first(space);
        }
    }
}

void Run::open() {
    const PhaseTimer timer(*this, "templates");
    const workload::Workload& w = *problem_.workload;
    std::vector<std::string> names;
    for (const auto& einsum : w.einsums) {
        names.push_back(einsum.name);
    }
    recorder_.set_einsums(names);
    telemetry::Phase& opening = recorder_.begin_phase("templates", w.einsums.size(), "Einsums");
    const base::StopScope scope({watch_.stop(), first_until()});
    const std::size_t most = pipelines_                        ? most_pipeline_templates
                             : !by_need_applies()              ? unlimited_templates
                             : context_.switches.all_templates ? many_templates
                                                               : 0;
    std::vector<std::size_t> many;
    for (std::size_t e = 0; e < w.einsums.size(); ++e) {
        base::poll_stop();
        EinsumSpace& space = spaces_[e];
        if (space.same != e) {
            space.templates = spaces_[space.same].templates;
        } else if (!given_.empty()) {
            take_given(*given_[e], space);
        } else if (!make_templates(context_, space, most)) {
            many.push_back(e);
        }
        opening.advance();
    }
    if (!many.empty() && pipelines_) {
        too_many_ = true;
        return;
    }
    if (!many.empty()) {
        find_impossible();
        if (!result_.reasons.empty()) {
            return;
        }
        find_restricted();
        make_templates_by_need(many);
    }
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        EinsumSpace& space = spaces_[e];
        result_.statistics.templates += space.templates->size();
        for (const auto& one : *space.templates) {
            result_.statistics.loop_orders &= !one.tmpl.one_order;
        }
        recorder_.einsum(e).templates_total = space.templates->size();
        if (space.templates->empty()) {
            std::ranges::move(explain_empty(w, space), std::back_inserter(result_.reasons));
        }
    }
    context_.tracked = tracked_memories(spaces_);
    add_limited(relaxation_.memories, spaces_, context_.tracked);
    if (context_.switches.template_semijoin && result_.reasons.empty()) {
        mark_unmatched(context_, spaces_);
    }
    say("templates: " + std::to_string(result_.statistics.templates) + " of " +
        std::to_string(w.einsums.size()) + " Einsums");
}

/// Of Einsums with few templates, before what takes long.
void Run::find_impossible() {
    for (const EinsumSpace& space : spaces_) {
        const bool few = !space.templates->empty() || space.paths.empty();
        if (few && space.same == static_cast<std::size_t>(space.einsum) &&
            !has_tile_shapes(context_, space)) {
            std::ranges::move(explain_empty(*problem_.workload, space),
                              std::back_inserter(result_.reasons));
        }
    }
}

UsedPmapping Run::used(const Groups& groups, const mapspace::JoinedEinsum& part) const {
    const auto einsum = static_cast<std::size_t>(part.einsum);
    const mapspace::PmappingGroup& g = groups[einsum][static_cast<std::size_t>(part.group)];
    const std::size_t index = g.source_template[part.row];
    const TemplateEntry& t = (*spaces_[einsum].templates)[index];
    const auto n = static_cast<std::ptrdiff_t>(t.tmpl.symbols.size());
    const auto row = t.tiles.begin() + static_cast<std::ptrdiff_t>(g.source_row[part.row]) * n;
    return {index, {row, row + n}};
}

mapping::Mapping Run::mapping_of(const Groups& groups, const mapspace::JoinedMapping& m) const {
    std::vector<mapping::Branch> branches;
    std::vector<int> shared;
    for (std::size_t e = 0; e < m.einsums.size(); ++e) {
        const mapspace::JoinedEinsum& part = m.einsums[e];
        const auto einsum = static_cast<std::size_t>(part.einsum);
        const UsedPmapping own = used(groups, part);
        const TemplateEntry& t = (*spaces_[einsum].templates)[own.index];
        const std::vector<std::int64_t> tiles(own.shapes.begin(), own.shapes.end());
        const arch::Path& path = *spaces_[einsum].paths[static_cast<std::size_t>(t.path_index)];
        branches.push_back(
            {&path, mapspace::fill(path, t.tmpl, tiles.data(), part.order, problem_.convention())});
        if (e + 1 < m.einsums.size()) {
            shared.push_back(part.shared_with_next);
        }
    }
    return mapping::assemble(branches, shared);
}

mapper::Solution Run::solution(const Groups& groups, const mapspace::JoinedMapping& m) const {
    mapper::Solution s;
    s.mapping = mapping_of(groups, m);
    s.report = context_.model->evaluate(problem_, s.mapping);
    check_agreement(context_, m, s.report);
    check_legality(problem_, options_.mapspace, s.mapping);
    return s;
}

class Ffm : public mapper::Mapper {
public:
    static std::vector<plugin::Knob> knobs() {
        return {plugin::Knob::choice(
            "overlap", "none", {"none", "pipeline"},
            "what runs at once: nothing, or branches below shared loops (docs/pipelines.md)")};
    }
    explicit Ffm(const plugin::KnobValues& knobs)
        : pipelines_(knobs.text("overlap") == "pipeline") {}

    std::string name() const override {
        return "ffm";
    }

    bool overlaps() const override {
        return pipelines_;
    }

    mapper::Result map(const model::Problem& problem, const model::CostModel& model,
                       const mapper::Options& options) override {
        if (!model.has_formulas()) {
            throw UserError("mapper 'ffm' explores formulas, and cost model '" + model.name() +
                            "' gives none; use --model looptree, or a mapper that only evaluates");
        }
        return pipelines_ ? map_with_pipelines(problem, model, options)
                          : Run(problem, model, options).run();
    }

private:
    bool pipelines_;
};

TESSERA_PLUGIN(tessera::mapper::Mapper, Ffm, "ffm",
               "optimal fused mappings by pruning and joining partial mappings",
               "Fast and Fusiest (FFM) and the Turbo-Charged Mapper (TCM)");

}  // namespace tessera::ffm
