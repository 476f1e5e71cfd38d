// Map:
//   worker_pool.hpp  threads that evaluate a batch; who evaluates a candidate does not matter
//   islands.hpp      several objects of a strategy that works on few candidates at a time
//   BatchSize        how many candidates at a time
//   Driver           ask, evaluate, tell, until the budget or the strategy ends
#include "tessera/search/driver.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "islands.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/json.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/search/point_text.hpp"
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
    /// SpaceWorker::take_work: 50 ms or less of one thread.
    static constexpr std::uint64_t work_of_batch = 50000;
    const std::size_t most_;
    std::size_t size_;
};

/// After so long without a legal candidate it is asked whether there is any.
constexpr auto patience = std::chrono::milliseconds(250);

/// Of the process, as Budget::max_cpu_s is.
double cpu_s() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

}  // namespace

struct Driver::Impl {
    Impl(DriverSettings s, Watch& w, telemetry::Recorder& r)
        : settings(std::move(s)),
          watch(w),
          recorder(r),
          source("search:" + settings.strategy),
          batch_size(settings.batch) {
        strategy = settings.make_strategy();
        refuse_endless();
    }

    void refuse_endless() const {
        const base::Budget& b = settings.budget;
        const bool limited = b.max_evals > 0 || b.max_time_s > 0 || b.max_cpu_s > 0 ||
                             b.stall_evals > 0 || b.target.has_value();
        if (!limited && !strategy->ends()) {
            throw UserError("strategy '" + settings.strategy +
                            "' never ends by itself; give it a limit, for example --max-time 10s");
        }
    }

    /// The fraction of the budget that is used up; negative: it has no limit of that kind.
    double used() const {
        const base::Budget& b = settings.budget;
        double most = -1;
        if (b.max_evals > 0) {
            most = static_cast<double>(asked) / static_cast<double>(b.max_evals);
        }
        if (b.max_time_s > 0) {
            most = std::max(most, recorder.now_s() / b.max_time_s);
        }
        if (b.max_cpu_s > begun_cpu_s) {
            most = std::max(most, (cpu_s() - begun_cpu_s) / (b.max_cpu_s - begun_cpu_s));
        }
        return most;
    }

    /// Candidates that may still be asked for.
    std::uint64_t evals_left() const {
        return settings.budget.max_evals > 0 ? settings.budget.max_evals - asked
                                             : std::numeric_limits<std::uint64_t>::max();
    }

    void search_batches(const Space& space, const std::vector<Candidate>& start,
                        const std::string& saved) {
        WorkerPool worker_pool(settings, watch.stop(), recorder, source);
        std::vector<Candidate> batch(settings.batch);
        const nlohmann::json state = resumed(saved, worker_pool.worker());
        const bool begun = begin([&] {
            strategy->start(space, settings.seed);
            if (state.is_null()) {
                return true;
            }
            batch_size.set(state.value("batch", batch_size.get()));
            return state["strategy"].is_string() &&
                   strategy->restore(state["strategy"].get<std::string>());
        });
        if (!begun) {
            return;
        }
        for (const Candidate& known : start) {
            strategy->immigrate(known);
        }
        while (!watch.stopped() && !found_infeasible()) {
            const std::size_t room = std::min<std::uint64_t>(batch_size.get(), evals_left());
            if (room == 0) {
                watch.end("max-evals");
                break;
            }
            std::size_t n = 0;
            try {
                const base::StopScope scope({watch.stop()});
                strategy->budget_used(used());
                n = std::min(strategy->ask({batch.data(), room}), room);
            } catch (const base::Stopped&) {  // while it looked for its next candidate
                break;
            }
            if (n == 0) {
                ended = strategy->exhausted();
                break;
            }
            round(worker_pool, {batch.data(), n});
        }
    }

    /// In the order in which they were found, each that is better than those before: the history of
    /// the search. Their mappings are checked, which takes a millisecond each: once the time is up,
    /// the best goes first, and the others are no better. A limit of evaluations is no such hurry,
    /// and leaves the same history each time.
    void offer(std::span<Candidate> found) {
        std::vector<Candidate*> left;
        for (Candidate& c : found) {
            if (c.outcome.legal() && c.space == nullptr) {
                left.push_back(&c);
            }
        }
        for (auto at = left.begin(); at != left.end(); ++at) {
            if (is_late()) {
                std::stable_sort(at, left.end(), [](const Candidate* a, const Candidate* b) {
                    return a->outcome.value < b->outcome.value;
                });
                std::for_each(at, left.end(), [&](Candidate* c) { findings->offer(*c); });
                return;
            }
            findings->offer(**at);
        }
    }

    bool is_late() const {
        const char* const reason = watch.reason();
        return reason != nullptr && std::string_view(reason) != "max-evals";
    }

    void round(WorkerPool& worker_pool, std::span<Candidate> batch) {
        batch_size.note(batch.size(), worker_pool.evaluate(batch));
        offer(batch);
        for (const Candidate& c : batch) {
            evaluated += c.outcome.verdict == Verdict::not_evaluated ? 0 : 1;
        }
        asked += batch.size();
        strategy->tell(batch);
        note(strategy->preparation());
        if (recorder.checkpoint_due() && !watch.stopped()) {
            base::Json state;
            state["strategy"] = strategy->save();
            state["batch"] = batch_size.get();
            if (state["strategy"] != "") {
                checkpoint(std::move(state));
            }
        }
    }

    void search_islands(const Space& space, const std::vector<Candidate>& start,
                        const std::string& saved) {
        Islands islands(std::move(strategy), settings, watch.stop(), recorder, source);
        const nlohmann::json state = resumed(saved, islands.worker());
        const bool begun = begin([&] {
            islands.start(space);
            return state.is_null() || islands.restore(state["strategy"]);
        });
        if (!begun) {
            return;
        }
        for (const Candidate& known : start) {
            islands.begin_with(known);
        }
        while (!watch.stopped() && !islands.ended() && !found_infeasible()) {
            if (evals_left() == 0) {
                watch.end("max-evals");
                break;
            }
            const std::uint64_t told = islands.go_on(evals_left(), used());
            asked += told;
            evaluated += told;
            offer(islands.found());
            note(islands.preparation());
            if (!islands.round_over()) {
                continue;
            }
            islands.exchange();
            if (recorder.checkpoint_due() && !watch.stopped()) {
                base::Json state;
                state["strategy"] = islands.save();
                if (state["strategy"] != base::Json()) {
                    checkpoint(std::move(state));
                }
            }
        }
        ended = islands.ended() && islands.exhausted();
    }

    bool found_infeasible() {
        if (waited || Clock::now() - begun < patience) {
            return infeasible;
        }
        waited = true;
        if (settings.proves_infeasible && findings->points().empty()) {
            const base::StopScope scope({watch.stop()});
            infeasible = settings.proves_infeasible();
        }
        return infeasible;
    }

    /// After each round.
    void note(const Preparation& so_far) {
        progress->done.store(asked, std::memory_order_relaxed);
        if (so_far.tuned_by > preparation.tuned_by) {
            tuned_s = std::chrono::duration<double>(Clock::now() - begun).count();
        }
        preparation = so_far;
    }

    void checkpoint(base::Json state) {
        state["asked"] = asked;
        for (const Point& point : findings->points()) {
            state["best"].push_back(to_text(point));
        }
        recorder.checkpoint(state.dump());
    }

    /// What a run left: its best points are offered, its state is returned. Null: begin anew.
    nlohmann::json resumed(const std::string& saved, SpaceWorker& worker) {
        if (saved.empty()) {
            return {};
        }
        nlohmann::json state = nlohmann::json::parse(saved, nullptr, false);
        if (!state.is_object() || !state.contains("strategy") ||
            !state.value("asked", nlohmann::json()).is_number_unsigned()) {
            throw UserError("the saved state is not one of mapper 'search'");
        }
        asked = evaluated = state["asked"].get<std::uint64_t>();
        for (const nlohmann::json& entry : state.value("best", nlohmann::json::array())) {
            Candidate c;
            if (entry.is_string() && from_text(entry.get<std::string>(), c.point)) {
                c.outcome = worker.evaluate(c.point);
                set_value(c.outcome, settings);
            }
            if (c.outcome.legal()) {
                findings->offer(c);
            }
        }
        return state;
    }

    /// Starts the strategy by `start`, which returns whether it understands its state. False: the
    /// search was stopped first, as while further spaces were opened.
    bool begin(const std::function<bool()>& start) {
        const base::StopScope scope({watch.stop()});
        try {
            if (!start()) {
                throw PluginError("search strategy '" + settings.strategy +
                                  "' does not understand its own state");
            }
        } catch (const base::Stopped&) {
            return false;
        }
        return true;
    }

    const DriverSettings settings;
    Watch& watch;
    telemetry::Recorder& recorder;
    const std::string source;
    BatchSize batch_size;
    std::shared_ptr<SearchStrategy> strategy;
    Findings* findings = nullptr;
    telemetry::Phase* progress = nullptr;
    std::uint64_t asked = 0, evaluated = 0;
    bool ended = false;
    bool waited = false, infeasible = false;
    Preparation preparation;
    double tuned_s = 0;
    const Clock::time_point begun = Clock::now();
    const double begun_cpu_s = cpu_s();
};

Driver::Driver(DriverSettings settings, Watch& watch, telemetry::Recorder& recorder)
    : impl_(std::make_unique<Impl>(std::move(settings), watch, recorder)) {}

Driver::~Driver() = default;

void Driver::run(const Space& space, Findings& findings, const std::vector<Candidate>& start,
                 const std::string& resume) {
    impl_->findings = &findings;
    impl_->progress =
        &impl_->recorder.begin_phase("search", impl_->settings.budget.max_evals, "candidates");
    const std::vector<Candidate> none;
    if (impl_->strategy->width() == 0) {
        impl_->search_batches(space, resume.empty() ? start : none, resume);
    } else {
        impl_->search_islands(space, resume.empty() ? start : none, resume);
    }
}

bool Driver::ended() const {
    return impl_->ended;
}
bool Driver::infeasible() const {
    return impl_->infeasible;
}
std::uint64_t Driver::evaluated() const {
    return impl_->evaluated;
}
Preparation Driver::preparation() const {
    return impl_->preparation;
}
double Driver::tuned_s() const {
    return impl_->tuned_s;
}

}  // namespace tessera::search
