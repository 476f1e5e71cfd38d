// Mapper `search`: runs any search strategy on a mapspace (search/driver.hpp). Map:
//   searched_space.hpp  the space of templates, or of the rows of pmapping tables
//   best.hpp            the best mappings so far, each checked by cost model and legality checker
//   Run                 opens the space, runs the strategy, says what came of it
#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <thread>

#include "searched_space.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapper/mapper.hpp"
#include "tessera/mapspace/feasibility.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/search/driver.hpp"
#include "tessera/search/open_space.hpp"
#include "tessera/search/watch.hpp"
#include "tessera/telemetry/recorder.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::search {
namespace {

using Clock = std::chrono::steady_clock;

/// A question on the way is given so much CPU time: a fifth of what limits the search at most.
double cpu_s_of_proof(const base::Budget& budget) {
    double out = 1;
    for (const double limit : {budget.max_time_s, budget.max_cpu_s}) {
        out = limit > 0 ? std::min(out, limit / 5) : out;
    }
    return out;
}

class Run {
public:
    Run(const model::Problem& problem, const model::CostModel& model,
        const mapper::Options& options, DriverSettings settings, bool tables)
        : problem_(problem),
          model_(model),
          tables_(tables),
          options_(options),
          settings_(std::move(settings)),
          recorder_(options.recorder != nullptr ? *options.recorder : unread_),
          watch_(options.budget, options.stop, recorder_, options.metrics.size() == 1),
          best_(problem, model, options_, recorder_, "search:" + settings_.strategy) {
        options_.stop = watch_.stop();
        if (options_.threads <= 0) {
            options_.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
        }
        std::vector<std::string> names;
        for (const workload::Einsum& einsum : problem.workload->einsums) {
            names.push_back(einsum.name);
        }
        recorder_.set_einsums(names);
    }

    mapper::Result run() {
        std::optional<OpenSpace> open;
        std::unique_ptr<SearchedSpace> space;
        settings_.make_strategy = [this] {
            const auto knobs = options_.knobs.find(settings_.strategy);
            return plugin::Registry<SearchStrategy>::instance().create(
                settings_.strategy,
                knobs == options_.knobs.end() ? plugin::KnobSettings{} : knobs->second);
        };
        settings_.make_worker = [&space] { return space->make_worker(); };
        settings_.set_value = [this](Outcome& outcome) { set_value(outcome, options_); };
        settings_.better = [this](const Outcome& a, const Outcome& b) {
            return better(a, b, options_);
        };
        settings_.seed = options_.seed;
        settings_.threads = options_.threads;
        settings_.budget = options_.budget;
        settings_.several_metrics = options_.metrics.size() > 1;
        if (model_.has_formulas()) {
            settings_.proves_infeasible = [this] {
                return mapspace::proves_infeasible(problem_, model_, options_.mapspace,
                                                   cpu_s_of_proof(options_.budget));
            };
        }
        Driver driver(settings_, watch_, recorder_);
        try {
            open_space(open, space);
            const std::unique_ptr<PointWriter> writer = space->make_writer();
            best_.work_with(writer.get());
            driver.run(space->space(), best_, known_points(), options_.resume);
            phase("search");
            ended_ = driver.ended();
        } catch (const LimitReached&) {  // while the space was opened; the watch knows which
        } catch (const std::bad_alloc&) {
            if (best_.kept().empty()) {
                throw;
            }
            watch_.end("out-of-memory");
        }
        best_.work_with(nullptr);
        recorder_.end_phase();
        finish(driver);
        return std::move(result_);
    }

private:
    void open_space(std::optional<OpenSpace>& open, std::unique_ptr<SearchedSpace>& space) {
        recorder_.begin_phase("templates", 0, "templates");
        if (!model_.has_formulas()) {
            formulas_ = plugin::Registry<model::CostModel>::instance().create("looptree");
        }
        open.emplace(problem_, formulas_ ? *formulas_ : model_,
                     OpenOptions{options_.mapspace, options_.threads, options_.stop});
        // Tables know the order of the workload alone.
        all_orders_ =
            tables_ ? open->n_orders() == 1 && open->has_all_orders() : open->has_all_orders();
        for (std::uint32_t e = 0; e < open->n_einsums(); ++e) {
            result_.statistics.templates += open->n_templates(e);
        }
        phase("templates");
        if (!tables_) {
            space = formulas_ ? space_judged(*open, problem_, *formulas_, model_)
                              : space_of_templates(*open);
            return;
        }
        if (formulas_) {
            throw UserError("cost model '" + model_.name() +
                            "' gives no formulas, which pmapping tables are made with; set "
                            "--knob search.space=templates");
        }
        recorder_.begin_phase("tables", 0, "templates");
        space = space_of_tables(*open, model_, options_);
        result_.statistics.table_rows = space->table_rows();
        phase("tables");
    }

    /// The mappings to begin with, those that are points of the space.
    std::vector<Candidate> known_points() {
        std::vector<Candidate> points;
        for (const mapper::Solution& known : options_.start) {
            if (!best_.begin_with(known, points.emplace_back())) {
                points.pop_back();
                recorder_.log(
                    "a mapping to begin with is no point of the searched space: it is "
                    "kept, but nothing is derived from it");
            }
        }
        return points;
    }

    void phase(const std::string& name) {
        const auto now = Clock::now();
        result_.statistics.phases.emplace_back(name,
                                               std::chrono::duration<double>(now - from_).count());
        from_ = now;
    }

    void finish(const Driver& driver) {
        result_.statistics.wall_s = std::chrono::duration<double>(Clock::now() - start_).count();
        result_.statistics.threads = options_.threads;
        result_.statistics.evaluated = driver.evaluated();
        result_.statistics.trained_on = driver.preparation().trained_on;
        result_.statistics.tuned_by = driver.preparation().tuned_by;
        result_.statistics.tuned_s = driver.tuned_s();
        result_.statistics.pareto = best_.kept().size();
        result_.statistics.charged = recorder_.charged();
        result_.statistics.all_orders = all_orders_;
        std::vector<const Best::Kept*> order;
        for (const Best::Kept& kept : best_.kept()) {
            order.push_back(&kept);
        }
        std::sort(order.begin(), order.end(),
                  [](const auto* a, const auto* b) { return a->values < b->values; });
        for (const Best::Kept* kept : order) {
            result_.solutions.push_back({*kept->mapping, kept->report});
        }
        // Templates are left out by what the model of the formulas says, which proves nothing of
        // another one.
        const bool proven = (ended_ && !formulas_) || driver.infeasible();
        result_.status = proven ? mapper::Status::optimal : mapper::Status::feasible;
        if (!proven) {
            result_.stopped_by = watch_.reason() != nullptr ? watch_.reason() : "strategy";
        }
        if (proven && order.empty()) {
            result_.status = mapper::Status::infeasible;
            result_.reasons = {driver.infeasible()
                                   ? "no mapping meets all constraints"
                                   : "none of the " + std::to_string(driver.evaluated()) +
                                         " mappings of the space fits all memories"};
        }
        if (proven && !order.empty() && options_.metrics.size() == 1) {
            result_.bound = order.front()->values.front();
            recorder_.bound(*result_.bound);
            result_.later = mapper::LaterMetric{mapper::later_metric(options_.metrics.front()),
                                                true, order.front()->values.back()};
        }
    }

    const model::Problem& problem_;
    const model::CostModel& model_;
    const bool tables_;
    plugin::Owned<model::CostModel> formulas_;  ///< of the space, if the model has none
    bool all_orders_ = false;
    mapper::Options options_;
    DriverSettings settings_;
    telemetry::Recorder unread_;
    telemetry::Recorder& recorder_;
    Watch watch_;
    Best best_;
    bool ended_ = false;
    mapper::Result result_;
    Clock::time_point start_ = Clock::now(), from_ = start_;
};

}  // namespace

class Search : public mapper::Mapper {
public:
    static std::vector<plugin::Knob> knobs() {
        plugin::Knob strategy;
        strategy.name = "strategy";
        strategy.standard = "random";
        strategy.text = "the search strategy; --strategy NAME says the same";
        return {strategy,
                plugin::Knob::integer("batch", 1024, 1, 1 << 20, "candidates",
                                      "proposals that are evaluated together, at most"),
                plugin::Knob::integer("islands", 4, 1, 256, "",
                                      "objects of a strategy that works on few candidates at a "
                                      "time; they tell each other the best mapping"),
                plugin::Knob::choice("space", "templates", {"templates", "tables"},
                                     "what is searched: templates with their tile shapes, or the "
                                     "rows of Pareto tables, which are made first")};
    }

    explicit Search(const plugin::KnobValues& knobs)
        : strategy_(knobs.text("strategy")),
          batch_(static_cast<std::size_t>(knobs.integer("batch"))),
          n_islands_(static_cast<std::size_t>(knobs.integer("islands"))),
          tables_(knobs.text("space") == "tables") {}

    std::string name() const override {
        return "search";
    }

    mapper::Result map(const model::Problem& problem, const model::CostModel& model,
                       const mapper::Options& options) override {
        DriverSettings settings;
        settings.strategy = strategy_;
        settings.batch = batch_;
        settings.n_islands = n_islands_;
        return Run(problem, model, options, std::move(settings), tables_).run();
    }

private:
    std::string strategy_;
    std::size_t batch_, n_islands_;
    bool tables_;
};

TESSERA_PLUGIN(tessera::mapper::Mapper, Search, "search",
               "runs a search strategy: proposes, evaluates, keeps the best", "");

}  // namespace tessera::search
