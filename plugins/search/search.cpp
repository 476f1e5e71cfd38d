// Mapper `search`: runs any search strategy. Map:
//   worker_pool.hpp  threads that evaluate a batch; who evaluates a candidate does not matter
//   islands.hpp      several objects of a strategy that works on few candidates at a time
//   best.hpp         the best mappings so far, each checked by cost model and legality checker
//   Run              open the space; ask, evaluate, tell, until the budget or the strategy ends
// The outcome depends on the seed, the batch size and the number of islands, not on the number of
// threads, as long as no limit on time cuts it short.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <limits>
#include <new>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>

#include "best.hpp"
#include "islands.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/json.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/mapper/mapper.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/search/open_space.hpp"
#include "tessera/search/point_text.hpp"
#include "tessera/search/watch.hpp"
#include "tessera/telemetry/recorder.hpp"
#include "worker_pool.hpp"

namespace tessera::search {
namespace {

using Clock = std::chrono::steady_clock;

/// How many candidates are asked for: a strategy should hear of them ten times a second or more, on
/// spaces where one of them takes milliseconds too. It goes by the work that candidates were, not
/// by the clock, so that a search is the same on every machine. The first batch is one candidate:
/// nothing is known of the work yet, and one candidate can be a second of it.
class BatchSize {
public:
    explicit BatchSize(std::size_t most) : most_(most), size_(std::min(most, first)) {}

    std::size_t get() const {
        return size_;
    }
    void set(std::size_t size) {
        size_ = std::clamp<std::size_t>(size, 1, most_);
    }
    /// After a batch.
    void note(std::size_t candidates, std::uint64_t work) {
        const double fit = static_cast<double>(candidates) * static_cast<double>(work_of_batch) /
                           static_cast<double>(std::max<std::uint64_t>(work, 1));
        set(static_cast<std::size_t>(
            std::min({fit, static_cast<double>(growth * size_), static_cast<double>(most_)})));
    }

private:
    static constexpr std::size_t first = 1, growth = 4;
    /// Search steps (Worker::take_work): 50 ms or less of one thread.
    static constexpr std::uint64_t work_of_batch = 50000;
    const std::size_t most_;
    std::size_t size_;
};

class Run {
public:
    Run(const model::Problem& problem, const model::CostModel& model,
        const mapper::Options& options, std::string strategy, std::size_t batch,
        std::size_t n_islands)
        : problem_(problem),
          model_(model),
          options_(options),
          name_(std::move(strategy)),
          batch_(batch),
          n_islands_(n_islands),
          batch_size_(batch),
          recorder_(options.recorder != nullptr ? *options.recorder : unread_),
          watch_(options.budget, options.stop, recorder_, options.metrics.size() == 1),
          best_(problem, model, options_, recorder_, "search:" + name_) {
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
        strategy_ = make_strategy();
        refuse_endless();
        try {
            search_all();
        } catch (const LimitReached&) {  // while the space was opened; the watch knows which
            ended_ = false;
        } catch (const std::bad_alloc&) {
            if (best_.kept().empty()) {
                throw;
            }
            watch_.end("out-of-memory");
            ended_ = false;
        }
        recorder_.end_phase();
        finish();
        return std::move(result_);
    }

private:
    void search_all() {
        recorder_.begin_phase("templates", 0, "templates");
        OpenOptions open{options_.mapspace, options_.threads, options_.stop};
        const OpenSpace space(problem_, model_, open);
        for (std::uint32_t e = 0; e < space.n_einsums(); ++e) {
            result_.statistics.templates += space.n_templates(e);
        }
        phase("templates");
        progress_ = &recorder_.begin_phase("search", options_.budget.max_evals, "candidates");
        if (strategy_->width() == 0) {
            search_batches(space);
        } else {
            search_islands(space);
        }
        phase("search");
    }

    plugin::Owned<SearchStrategy> make_strategy() const {
        const auto knobs = options_.knobs.find(name_);
        return plugin::Registry<SearchStrategy>::instance().create(
            name_, knobs == options_.knobs.end() ? plugin::KnobSettings{} : knobs->second);
    }

    void refuse_endless() const {
        const base::Budget& b = options_.budget;
        const bool limited = b.max_evals > 0 || b.max_time_s > 0 || b.max_cpu_s > 0 ||
                             b.stall_evals > 0 || b.target.has_value();
        if (!limited && !strategy_->ends()) {
            throw UserError("strategy '" + name_ +
                            "' never ends by itself; give it a limit, for example --max-time 10s");
        }
    }

    /// Of the process, as Budget::max_cpu_s is.
    static double cpu_s() {
        return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
    }

    /// The fraction of the budget that is used up; negative: it has no limit of that kind.
    double used() const {
        const base::Budget& b = options_.budget;
        double most = -1;
        if (b.max_evals > 0) {
            most = static_cast<double>(asked_) / static_cast<double>(b.max_evals);
        }
        if (b.max_time_s > 0) {
            most = std::max(most, recorder_.now_s() / b.max_time_s);
        }
        if (b.max_cpu_s > begun_cpu_s_) {
            most = std::max(most, (cpu_s() - begun_cpu_s_) / (b.max_cpu_s - begun_cpu_s_));
        }
        return most;
    }

    /// Candidates that may still be asked for.
    std::uint64_t evals_left() const {
        return options_.budget.max_evals > 0 ? options_.budget.max_evals - asked_
                                             : std::numeric_limits<std::uint64_t>::max();
    }

    /// The mappings to begin with, those that are points of the space. They are told anew when a
    /// search is resumed, which changes nothing: the strategy knows them.
    std::vector<Candidate> known_points(Worker& worker) {
        std::vector<Candidate> points;
        for (const mapper::Solution& known : options_.start) {
            if (!best_.begin_with(known, points.emplace_back(), worker)) {
                points.pop_back();
                recorder_.log(
                    "a mapping to begin with is no point of the searched space: it is "
                    "kept, but nothing is derived from it");
            }
        }
        return options_.resume.empty() ? points : std::vector<Candidate>{};
    }

    void search_batches(const OpenSpace& space) {
        WorkerPool worker_pool(space, options_.threads, options_, recorder_, "search:" + name_);
        strategy_->start(space, options_.seed);
        std::vector<Candidate> batch(batch_);
        resume(worker_pool.worker(), [&](const nlohmann::json& state) {
            batch_size_.set(state.value("batch", batch_size_.get()));
            return state["strategy"].is_string() &&
                   strategy_->restore(state["strategy"].get<std::string>());
        });
        for (const Candidate& known : known_points(worker_pool.worker())) {
            strategy_->immigrate(known);
        }
        while (!watch_.stopped()) {
            const std::size_t room = std::min<std::uint64_t>(batch_size_.get(), evals_left());
            if (room == 0) {
                watch_.end("max-evals");
                break;
            }
            std::size_t n = 0;
            try {
                const base::StopScope scope({options_.stop});
                strategy_->budget_used(used());
                n = std::min(strategy_->ask({batch.data(), room}), room);
            } catch (const base::Stopped&) {  // while it looked for its next candidate
                break;
            }
            if (n == 0) {
                ended_ = strategy_->exhausted();
                break;
            }
            round(worker_pool, {batch.data(), n});
        }
    }

    /// In the order in which they were found, each that is better than those before: the history of
    /// the search. Their mappings are checked, which takes a millisecond each: once the time is up,
    /// the best goes first, and the others are no better. A limit of evaluations is no such hurry,
    /// and leaves the same history each time.
    void offer(std::span<Candidate> found, Worker& worker) {
        std::vector<Candidate*> left;
        for (Candidate& c : found) {
            if (c.outcome.legal()) {
                left.push_back(&c);
            }
        }
        for (auto at = left.begin(); at != left.end(); ++at) {
            if (is_late()) {
                std::stable_sort(at, left.end(), [](const Candidate* a, const Candidate* b) {
                    return a->outcome.value < b->outcome.value;
                });
                std::for_each(at, left.end(), [&](Candidate* c) { best_.offer(*c, worker); });
                return;
            }
            best_.offer(**at, worker);
        }
    }

    bool is_late() const {
        const char* const reason = watch_.reason();
        return reason != nullptr && std::string_view(reason) != "max-evals";
    }

    void round(WorkerPool& worker_pool, std::span<Candidate> batch) {
        batch_size_.note(batch.size(), worker_pool.evaluate(batch));
        offer(batch, worker_pool.worker());
        for (const Candidate& c : batch) {
            evaluated_ += c.outcome.verdict == Verdict::not_evaluated ? 0 : 1;
        }
        asked_ += batch.size();
        progress_->done.store(asked_, std::memory_order_relaxed);
        strategy_->tell(batch);
        note(strategy_->preparation());
        if (recorder_.checkpoint_due() && !watch_.stopped()) {
            base::Json state;
            state["strategy"] = strategy_->save();
            state["batch"] = batch_size_.get();
            if (state["strategy"] != "") {
                checkpoint(std::move(state));
            }
        }
    }

    void search_islands(const OpenSpace& space) {
        std::vector<plugin::Owned<SearchStrategy>> strategies;
        strategies.push_back(std::move(strategy_));
        while (strategies.size() < n_islands_) {
            strategies.push_back(make_strategy());
        }
        Islands islands(space, std::move(strategies), options_, recorder_, "search:" + name_);
        resume(islands.worker(),
               [&](const nlohmann::json& state) { return islands.restore(state["strategy"]); });
        for (const Candidate& known : known_points(islands.worker())) {
            islands.begin_with(known);
        }
        while (!watch_.stopped() && !islands.ended()) {
            if (evals_left() == 0) {
                watch_.end("max-evals");
                break;
            }
            const std::uint64_t told = islands.round(evals_left(), used());
            asked_ += told;
            evaluated_ += told;
            progress_->done.store(asked_, std::memory_order_relaxed);
            offer(islands.found(), islands.worker());
            islands.exchange();
            note(islands.preparation());
            if (recorder_.checkpoint_due() && !watch_.stopped()) {
                base::Json state;
                state["strategy"] = islands.save();
                if (state["strategy"] != base::Json()) {
                    checkpoint(std::move(state));
                }
            }
        }
        ended_ = islands.ended() && islands.exhausted();
    }

    void note(const Preparation& so_far) {
        mapper::Statistics& all = result_.statistics;
        all.trained_on = so_far.trained_on;
        if (so_far.tuned_by > all.tuned_by) {
            all.tuned_by = so_far.tuned_by;
            all.tuned_s = std::chrono::duration<double>(Clock::now() - start_).count();
        }
    }

    void checkpoint(base::Json state) {
        state["asked"] = asked_;
        for (const Best::Kept& kept : best_.kept()) {
            state["best"].push_back(to_text(kept.point));
        }
        recorder_.checkpoint(state.dump());
    }

    template <class Restore>
    void resume(Worker& worker, const Restore& restore) {
        if (options_.resume.empty()) {
            return;
        }
        const nlohmann::json state = nlohmann::json::parse(options_.resume, nullptr, false);
        if (!state.is_object() || !state.contains("strategy") ||
            !state.value("asked", nlohmann::json()).is_number_unsigned()) {
            throw UserError("the saved state is not one of mapper 'search'");
        }
        if (!restore(state)) {
            throw PluginError("search strategy '" + name_ + "' does not understand its own state");
        }
        asked_ = evaluated_ = state["asked"].get<std::uint64_t>();
        for (const nlohmann::json& entry : state.value("best", nlohmann::json::array())) {
            Candidate c;
            if (entry.is_string() && from_text(entry.get<std::string>(), c.point)) {
                c.outcome = worker.evaluate(c.point);
            }
            if (c.outcome.legal()) {
                best_.offer(c, worker);
            }
        }
    }

    void phase(const std::string& name) {
        const auto now = Clock::now();
        result_.statistics.phases.emplace_back(name,
                                               std::chrono::duration<double>(now - from_).count());
        from_ = now;
    }

    void finish() {
        result_.statistics.wall_s = std::chrono::duration<double>(Clock::now() - start_).count();
        result_.statistics.threads = options_.threads;
        result_.statistics.evaluated = evaluated_;
        result_.statistics.pareto = best_.kept().size();
        // Points keep the order of the file.
        result_.statistics.all_orders =
            !options_.mapspace.all_einsum_orders || problem_.workload->einsums.size() < 2;
        std::vector<const Best::Kept*> order;
        for (const Best::Kept& kept : best_.kept()) {
            order.push_back(&kept);
        }
        std::sort(order.begin(), order.end(),
                  [](const auto* a, const auto* b) { return a->values < b->values; });
        for (const Best::Kept* kept : order) {
            result_.solutions.push_back({*kept->mapping, kept->report});
        }
        result_.status = ended_ ? mapper::Status::optimal : mapper::Status::feasible;
        if (!ended_) {
            result_.stopped_by = watch_.reason() != nullptr ? watch_.reason() : "strategy";
        }
        if (ended_ && order.empty()) {
            result_.status = mapper::Status::infeasible;
            result_.reasons = {"none of the " + std::to_string(evaluated_) +
                               " mappings of the space fits all memories"};
        }
        if (ended_ && !order.empty() && options_.metrics.size() == 1) {
            result_.bound = order.front()->values.front();
            recorder_.bound(*result_.bound);
        }
    }

    const model::Problem& problem_;
    const model::CostModel& model_;
    mapper::Options options_;
    const std::string name_;
    const std::size_t batch_, n_islands_;
    BatchSize batch_size_;
    telemetry::Recorder unread_;
    telemetry::Recorder& recorder_;
    const double begun_cpu_s_ = cpu_s();
    Watch watch_;
    Best best_;
    plugin::Owned<SearchStrategy> strategy_;
    std::uint64_t asked_ = 0, evaluated_ = 0;
    telemetry::Phase* progress_ = nullptr;
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
                                      "time; they tell each other the best mapping")};
    }

    explicit Search(const plugin::KnobValues& knobs)
        : strategy_(knobs.text("strategy")),
          batch_(static_cast<std::size_t>(knobs.integer("batch"))),
          n_islands_(static_cast<std::size_t>(knobs.integer("islands"))) {}

    std::string name() const override {
        return "search";
    }

    mapper::Result map(const model::Problem& problem, const model::CostModel& model,
                       const mapper::Options& options) override {
        return Run(problem, model, options, strategy_, batch_, n_islands_).run();
    }

private:
    std::string strategy_;
    std::size_t batch_, n_islands_;
};

TESSERA_PLUGIN(tessera::mapper::Mapper, Search, "search",
               "runs a search strategy: proposes, evaluates, keeps the best", "");

}  // namespace tessera::search
