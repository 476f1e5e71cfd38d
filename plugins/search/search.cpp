// Mapper `search`: runs any search strategy. Map:
//   Crew      threads that evaluate a batch; every candidate is independent of who evaluates it
//   Best      the best mappings so far, each checked by the cost model and the legality checker
//   Run       open the space; ask, evaluate, tell, until the budget or the strategy ends
// The outcome depends on the seed and the batch size, not on the number of threads, as long as no
// limit on time cuts it short.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "tessera/base/error.hpp"
#include "tessera/mapper/mapper.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/search/open_space.hpp"
#include "tessera/search/watch.hpp"
#include "tessera/telemetry/recorder.hpp"

namespace tessera::search {
namespace {

using Clock = std::chrono::steady_clock;
using mapper::Metric;

// The templates' formulas and the model's evaluation differ by rounding only.
constexpr double agreement = 1e-9;

double metric_value(Metric metric, double energy_j, double latency_s) {
    return metric == Metric::energy    ? energy_j
           : metric == Metric::latency ? latency_s
                                       : energy_j * latency_s;
}

telemetry::Reason reason_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::incompatible:
        case Verdict::no_point:
            return telemetry::Reason::incompatible;
        case Verdict::fanout:
            return telemetry::Reason::fanout;
        case Verdict::capacity:
            return telemetry::Reason::capacity;
        case Verdict::refused:
            return telemetry::Reason::illegal;
        default:
            return telemetry::Reason::constraint;
    }
}

/// Threads that work through the candidates of a batch.
class Crew {
public:
    Crew(const OpenSpace& space, int threads, const mapper::Options& options,
         telemetry::Recorder& recorder, const std::string& source)
        : options_(options) {
        for (int t = 0; t < threads; ++t) {
            members_.push_back({std::make_unique<Worker>(space),
                                &recorder.worker(static_cast<std::size_t>(t), source), nullptr});
        }
        for (std::size_t t = 1; t < members_.size(); ++t) {
            threads_.emplace_back([this, t] { serve(t); });
        }
    }
    ~Crew() {
        {
            const std::lock_guard lock(mutex_);
            quit_ = true;
        }
        begin_.notify_all();
        for (std::thread& thread : threads_) {
            thread.join();
        }
    }
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    void evaluate(std::span<Candidate> batch) {
        {
            const std::lock_guard lock(mutex_);
            batch_ = batch;
            next_ = 0;
            busy_ = threads_.size();
            ++round_;
        }
        begin_.notify_all();
        work(members_[0]);
        std::unique_lock lock(mutex_);
        done_.wait(lock, [this] { return busy_ == 0; });
        for (Member& member : members_) {
            if (member.failure) {
                std::rethrow_exception(std::exchange(member.failure, nullptr));
            }
        }
    }

    /// For the thread that calls evaluate().
    Worker& worker() {
        return *members_[0].worker;
    }

private:
    struct Member {
        std::unique_ptr<Worker> worker;
        telemetry::Worker* counters;
        std::exception_ptr failure;
    };
    // Candidates taken at a time: short enough to share the end of a batch evenly.
    static constexpr std::size_t portion = 8;

    void serve(std::size_t member) {
        std::uint64_t seen = 0;
        for (;;) {
            {
                std::unique_lock lock(mutex_);
                begin_.wait(lock, [&] { return quit_ || round_ != seen; });
                if (quit_) {
                    return;
                }
                seen = round_;
            }
            work(members_[member]);
            const std::lock_guard lock(mutex_);
            if (--busy_ == 0) {
                done_.notify_one();
            }
        }
    }

    void work(Member& member) {
        member.counters->state(telemetry::WorkerState::running);
        try {
            for (;;) {
                const std::size_t first = next_.fetch_add(portion);
                if (first >= batch_.size()) {
                    break;
                }
                const std::size_t last = std::min(first + portion, batch_.size());
                for (std::size_t i = first; i < last; ++i) {
                    evaluate(batch_[i], member);
                }
            }
        } catch (...) {
            member.failure = std::current_exception();
        }
        member.counters->state(telemetry::WorkerState::idle);
    }

    void evaluate(Candidate& c, Member& member) const {
        if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed)) {
            c.outcome = {};
            return;
        }
        switch (c.how) {
            case Candidate::How::draw:
                c.outcome = member.worker->draw(c.seed, c.point);
                break;
            case Candidate::How::vary:
                c.outcome = member.worker->vary(c.seed, c.einsum, c.point);
                break;
            default:
                c.outcome = member.worker->evaluate(c.point);
        }
        telemetry::Worker& counters = *member.counters;
        counters.generated();
        Worker::Failures failures = member.worker->take_failures();
        for (std::size_t v = 0; v < failures.size(); ++v) {
            if (failures[v] > 0) {
                counters.generated(failures[v]);
                counters.rejected(reason_of(static_cast<Verdict>(v)), failures[v]);
            }
        }
        if (!c.outcome.legal()) {
            counters.rejected(reason_of(c.outcome.verdict));
            return;
        }
        counters.evaluated();
        c.outcome.value =
            metric_value(options_.metrics.size() == 1 ? options_.metrics.front() : Metric::edp,
                         c.outcome.energy_j, c.outcome.latency_s);
    }

    const mapper::Options& options_;
    std::vector<Member> members_;
    std::vector<std::thread> threads_;
    std::mutex mutex_;
    std::condition_variable begin_, done_;
    std::uint64_t round_ = 0;
    std::size_t busy_ = 0;
    bool quit_ = false;
    std::span<Candidate> batch_;
    std::atomic<std::size_t> next_{0};
};

/// The best mapping, or the Pareto set of several metrics.
class Best {
public:
    Best(const model::Problem& problem, const model::CostModel& model,
         const mapper::Options& options, telemetry::Recorder& recorder, std::string found_by)
        : problem_(problem),
          model_(model),
          options_(options),
          recorder_(recorder),
          found_by_(std::move(found_by)) {}

    struct Kept {
        Point point;
        std::vector<double> values;  // one per metric
        std::shared_ptr<const mapping::Mapping> mapping;
        model::Report report;
    };

    /// Keeps the candidate if none known is as good; one that does not stand the test is refused.
    void offer(Candidate& c, Worker& worker) {
        const std::vector<double> values = values_of(c.outcome.energy_j, c.outcome.latency_s);
        for (const Kept& kept : kept_) {
            if (as_good(kept.values, values)) {
                return;
            }
        }
        Kept now;
        now.point = c.point;
        now.values = values;
        if (!stands(c, worker, now)) {
            c.outcome.verdict = Verdict::refused;
            return;
        }
        std::erase_if(kept_, [&](const Kept& kept) { return as_good(values, kept.values); });
        telemetry::Incumbent found;
        found.value = values.front();
        found.energy_j = c.outcome.energy_j;
        found.latency_s = c.outcome.latency_s;
        found.found_by = found_by_;
        found.mapping = [mapping = now.mapping] { return mapping::to_yaml(*mapping); };
        recorder_.incumbent(std::move(found));
        kept_.push_back(std::move(now));
    }

    const std::vector<Kept>& kept() const {
        return kept_;
    }

private:
    std::vector<double> values_of(double energy_j, double latency_s) const {
        std::vector<double> values;
        for (const Metric metric : options_.metrics) {
            values.push_back(metric_value(metric, energy_j, latency_s));
        }
        return values;
    }
    static bool as_good(const std::vector<double>& a, const std::vector<double>& b) {
        for (std::size_t i = 0; i < a.size(); ++i) {
            if (a[i] > b[i]) {
                return false;
            }
        }
        return true;
    }

    /// Model and independent checker have the last word.
    bool stands(const Candidate& c, Worker& worker, Kept& out) const {
        out.mapping = std::make_shared<const mapping::Mapping>(worker.mapping(c.point));
        try {
            out.report = model_.evaluate(problem_, *out.mapping);
        } catch (const IllegalMapping& refused) {
            recorder_.log(std::string("refused by the cost model: ") + refused.what(),
                          telemetry::LogLevel::warning);
            return false;
        }
        mapspace::MapSpaceOptions limits = options_.mapspace;
        limits.partial_inner_tiles = problem_.compat == arch::Compat::accelforge;
        for (const mapspace::Violation& v : mapspace::check(problem_, *out.mapping, &limits)) {
            if (v.severity != mapspace::Severity::warning) {
                recorder_.log("refused by the legality checker: " + mapspace::to_text(v),
                              telemetry::LogLevel::warning);
                return false;
            }
        }
        if (!close(out.report.energy_j(), c.outcome.energy_j) ||
            !close(out.report.latency_s(), c.outcome.latency_s)) {
            throw Bug("the costs of a mapping differ from those of its templates");
        }
        return true;
    }
    static bool close(double a, double b) {
        return std::abs(a - b) <= agreement * std::max(std::abs(a), std::abs(b));
    }

    const model::Problem& problem_;
    const model::CostModel& model_;
    const mapper::Options& options_;
    telemetry::Recorder& recorder_;
    std::string found_by_;
    std::vector<Kept> kept_;
};

/// Runs a call into the strategy; whatever it throws becomes an error that names it.
template <class Call>
auto guarded(const std::string& strategy, const char* phase, const Call& call) {
    const auto blame = [&](const std::string& what) {
        return PluginError("search strategy '" + strategy + "' failed in " + phase + "(): " + what);
    };
    try {
        return call();
    } catch (const Bug&) {
        throw;
    } catch (const std::exception& failure) {
        throw blame(failure.what());
    } catch (...) {
        throw blame("an exception of unknown type");
    }
}

class Run {
public:
    Run(const model::Problem& problem, const model::CostModel& model,
        const mapper::Options& options, std::string strategy, std::size_t batch)
        : problem_(problem),
          model_(model),
          options_(options),
          name_(std::move(strategy)),
          batch_(batch),
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
        make_strategy();
        recorder_.begin_phase("templates", 0, "templates");
        OpenOptions open{options_.mapspace, options_.threads, options_.stop};
        const OpenSpace space(problem_, model_, open);
        for (std::uint32_t e = 0; e < space.n_einsums(); ++e) {
            result_.statistics.templates += space.n_templates(e);
        }
        phase("templates");
        search(space);
        phase("search");
        recorder_.end_phase();
        finish();
        return std::move(result_);
    }

private:
    void make_strategy() {
        const auto knobs = options_.knobs.find(name_);
        strategy_ = plugin::Registry<SearchStrategy>::instance().create(
            name_, knobs == options_.knobs.end() ? plugin::KnobSettings{} : knobs->second);
        const Budget& b = options_.budget;
        const bool limited = b.max_evals > 0 || b.max_time_s > 0 || b.max_cpu_s > 0 ||
                             b.stall_evals > 0 || b.target.has_value();
        if (!limited && !guarded(name_, "ends", [&] { return strategy_->ends(); })) {
            throw UserError("strategy '" + name_ +
                            "' never ends by itself; give it a limit, for example --max-time 10s");
        }
    }

    void search(const OpenSpace& space) {
        progress_ = &recorder_.begin_phase("search", options_.budget.max_evals, "candidates");
        Crew crew(space, options_.threads, options_, recorder_, "search:" + name_);
        guarded(name_, "start", [&] { strategy_->start(space, options_.seed); });
        std::vector<Candidate> batch(batch_);
        resume(crew);
        while (!watch_.stopped()) {
            std::size_t room = batch_;
            if (options_.budget.max_evals > 0) {
                room = std::min<std::uint64_t>(room, options_.budget.max_evals - asked_);
            }
            if (room == 0) {
                watch_.end("max-evals");
                break;
            }
            const std::size_t n = guarded(name_, "ask", [&] {
                return std::min(strategy_->ask({batch.data(), room}), room);
            });
            if (n == 0) {
                ended_ = true;
                break;
            }
            round(crew, {batch.data(), n});
        }
        ended_ = ended_ && guarded(name_, "exhausted", [&] { return strategy_->exhausted(); });
    }

    void round(Crew& crew, std::span<Candidate> batch) {
        crew.evaluate(batch);
        for (Candidate& c : batch) {
            if (c.outcome.legal()) {
                best_.offer(c, crew.worker());
            }
            evaluated_ += c.outcome.verdict == Verdict::not_evaluated ? 0 : 1;
        }
        asked_ += batch.size();
        progress_->done.store(asked_, std::memory_order_relaxed);
        guarded(name_, "tell", [&] { strategy_->tell(batch); });
        if (recorder_.checkpoint_due() && !watch_.stopped()) {
            checkpoint();
        }
    }

    void checkpoint() {
        nlohmann::json state;
        state["strategy"] = guarded(name_, "save", [&] { return strategy_->save(); });
        if (state["strategy"] == "") {
            return;
        }
        state["asked"] = asked_;
        for (const Best::Kept& kept : best_.kept()) {
            nlohmann::json point;
            point["tiles"] = kept.point.tiles;
            for (const Choice& choice : kept.point.choices) {
                point["choices"].push_back({choice.tmpl, choice.join});
            }
            state["best"].push_back(std::move(point));
        }
        recorder_.checkpoint(state.dump());
    }

    void resume(Crew& crew) {
        if (options_.resume.empty()) {
            return;
        }
        const nlohmann::json state = nlohmann::json::parse(options_.resume, nullptr, false);
        if (state.is_discarded() || !state.contains("strategy") || !state.contains("asked")) {
            throw UserError("the saved state is not one of mapper 'search'");
        }
        const std::string saved = state["strategy"].get<std::string>();
        if (!guarded(name_, "restore", [&] { return strategy_->restore(saved); })) {
            throw PluginError("search strategy '" + name_ + "' does not understand its own state");
        }
        asked_ = evaluated_ = state["asked"].get<std::uint64_t>();
        for (const nlohmann::json& entry : state.value("best", nlohmann::json::array())) {
            Candidate c;
            c.point.tiles = entry["tiles"].get<std::vector<std::int64_t>>();
            for (const nlohmann::json& choice : entry["choices"]) {
                c.point.choices.push_back(
                    {choice[0].get<std::uint32_t>(), choice[1].get<std::uint32_t>()});
            }
            c.outcome = crew.worker().evaluate(c.point);
            if (c.outcome.legal()) {
                best_.offer(c, crew.worker());
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
    const std::size_t batch_;
    telemetry::Recorder unread_;
    telemetry::Recorder& recorder_;
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
        return {strategy, plugin::Knob::integer("batch", 1024, 1, 1 << 20, "candidates",
                                                "proposals that are evaluated together")};
    }

    explicit Search(const plugin::KnobValues& knobs)
        : strategy_(knobs.text("strategy")),
          batch_(static_cast<std::size_t>(knobs.integer("batch"))) {}

    std::string name() const override {
        return "search";
    }

    mapper::Result map(const model::Problem& problem, const model::CostModel& model,
                       const mapper::Options& options) override {
        return Run(problem, model, options, strategy_, batch_).run();
    }

private:
    std::string strategy_;
    std::size_t batch_;
};

TESSERA_PLUGIN(tessera::mapper::Mapper, Search, "search",
               "runs a search strategy: proposes, evaluates, keeps the best", "");

}  // namespace tessera::search
