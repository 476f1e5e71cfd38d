#include "islands.hpp"

#include <algorithm>
#include <chrono>

#include "tessera/base/stop.hpp"
#include "tessera/search/point_text.hpp"
#include "worker_pool.hpp"

namespace tessera::search {
namespace {

// One island's round: work (SpaceWorker::take_work), candidates.
constexpr std::uint64_t work_of_round = 40000, candidates_of_round = 4096;
// A strategy can be slow itself, which no work tells: what is found is handed on all the same.
constexpr auto longest_silence = std::chrono::milliseconds(50);

/// A candidate's point and outcome, and nothing that only its proposal needed.
void take(const Candidate& from, Candidate& to) {
    to.point = from.point;
    to.outcome = from.outcome;
}

bool as_good(const Outcome& a, const Outcome& b) {
    return a.energy_j <= b.energy_j && a.latency_s <= b.latency_s;
}

}  // namespace

Islands::Islands(std::shared_ptr<SearchStrategy> first, const DriverSettings& settings,
                 const std::atomic<bool>* stop, telemetry::Recorder& recorder,
                 const std::string& source)
    : settings_(settings),
      stop_(stop),
      threads_(std::min(settings.threads, static_cast<int>(settings.n_islands))) {
    for (std::size_t i = 0; i < settings.n_islands; ++i) {
        Island island;
        island.strategy = i == 0 ? std::move(first) : settings.make_strategy();
        island.worker = settings.make_worker();
        island.counters = &recorder.worker(i, source);
        islands_.push_back(std::move(island));
    }
}

void Islands::start(const Space& space) {
    for (std::size_t i = 0; i < islands_.size(); ++i) {
        islands_[i].strategy->start(space,
                                    i == 0 ? settings_.seed : stream_seed(settings_.seed, i));
    }
}

void Islands::begin_round(std::uint64_t most_evals, double used) {
    const std::uint64_t n = islands_.size();
    for (std::size_t i = 0; i < n; ++i) {
        Island& island = islands_[i];
        island.evals_left =
            std::min(candidates_of_round, most_evals / n + (i < most_evals % n ? 1 : 0));
        island.work = 0;
        island.round_over = island.ended || island.evals_left == 0;
        island.strategy->budget_used(used);
    }
}

bool Islands::round_over() const {
    return std::all_of(islands_.begin(), islands_.end(),
                       [](const Island& island) { return island.round_over; });
}

std::uint64_t Islands::go_on(std::uint64_t most_evals, double used) {
    found_.clear();
    const base::StopScope scope({stop_});
    if (round_over()) {
        begin_round(most_evals, used);
    }
    try {
        threads_.for_each(islands_.size(), [&](std::size_t i, int) {
            if (!islands_[i].round_over) {
                run(islands_[i]);
            }
        });
    } catch (const base::Stopped&) {  // islands that were not begun find nothing
    }
    std::uint64_t told = 0;
    for (Island& island : islands_) {
        told += std::exchange(island.told, 0);
        std::move(island.found.begin(), island.found.end(), std::back_inserter(found_));
        island.found.clear();
    }
    return told;
}

void Islands::run(Island& island) {
    island.counters->state(telemetry::WorkerState::running);
    const auto until = std::chrono::steady_clock::now() + longest_silence;
    bool stopped = false;
    while (!stopped && !island.round_over && std::chrono::steady_clock::now() < until) {
        const std::size_t width = std::max<std::size_t>(1, island.strategy->width());
        island.batch.resize(width);
        const std::size_t room = std::min<std::uint64_t>(width, island.evals_left);
        std::size_t n = 0;
        try {
            base::poll_stop();
            n = std::min(island.strategy->ask({island.batch.data(), room}), room);
            island.ended = n == 0;
            for (std::size_t i = 0; i < n; ++i) {
                island.batch[i].outcome = {};
            }
            for (std::size_t i = 0; i < n; ++i) {
                run_candidate(island.batch[i], *island.worker, *island.counters, settings_);
            }
        } catch (const base::Stopped&) {
            stopped = true;
        }
        const std::span<const Candidate> batch{island.batch.data(), n};
        std::uint64_t told = 0;
        for (const Candidate& c : batch) {
            told += c.outcome.verdict == Verdict::not_evaluated ? 0 : 1;
            if (c.outcome.legal() && c.space == nullptr) {
                keep(island, c);
            }
        }
        if (n > 0) {
            island.strategy->tell(batch);
        }
        island.told += told;
        island.evals_left -= told;
        island.work += n + island.worker->take_work();
        island.round_over = island.ended || island.evals_left == 0 || island.work >= work_of_round;
    }
    island.counters->state(telemetry::WorkerState::idle);
}

void Islands::keep(Island& island, const Candidate& c) const {
    const bool best =
        !island.best.outcome.legal() || better(c.outcome, island.best.outcome, settings_);
    if (!settings_.several_metrics) {
        if (best) {
            island.found.resize(1);
            take(c, island.found.front());
        }
    } else if (std::none_of(island.found.begin(), island.found.end(), [&](const Candidate& known) {
                   return as_good(known.outcome, c.outcome);
               })) {
        std::erase_if(island.found,
                      [&](const Candidate& known) { return as_good(c.outcome, known.outcome); });
        take(c, island.found.emplace_back());
    }
    if (best) {
        take(c, island.best);
    }
}

void Islands::begin_with(const Candidate& known) {
    for (Island& island : islands_) {
        if (!island.best.outcome.legal() || better(known.outcome, island.best.outcome, settings_)) {
            take(known, island.best);
            island.strategy->immigrate(known);
        }
    }
}

void Islands::exchange() {
    const Island* leader = nullptr;
    for (const Island& island : islands_) {
        if (island.best.outcome.legal() &&
            (leader == nullptr || better(island.best.outcome, leader->best.outcome, settings_))) {
            leader = &island;
        }
    }
    for (Island& island : islands_) {
        if (leader != nullptr && (!island.best.outcome.legal() ||
                                  better(leader->best.outcome, island.best.outcome, settings_))) {
            take(leader->best, island.best);
            island.strategy->immigrate(island.best);
        }
    }
}

bool Islands::ended() const {
    return std::all_of(islands_.begin(), islands_.end(),
                       [](const Island& island) { return island.ended; });
}

Preparation Islands::preparation() const {
    Preparation all;
    for (const Island& island : islands_) {
        const Preparation own = island.strategy->preparation();
        all.trained_on = std::max(all.trained_on, own.trained_on);
        all.tuned_by += own.tuned_by;
    }
    return all;
}

bool Islands::exhausted() const {
    return std::any_of(islands_.begin(), islands_.end(),
                       [](const Island& island) { return island.strategy->exhausted(); });
}

base::Json Islands::save() const {
    base::Json states;
    for (const Island& island : islands_) {
        base::Json state;
        state["strategy"] = island.strategy->save();
        if (state["strategy"] == "") {
            return {};
        }
        state["best"] = to_text(island.best.point);
        state["ended"] = island.ended;
        states.push_back(std::move(state));
    }
    return states;
}

bool Islands::restore(const nlohmann::json& states) {
    if (!states.is_array() || states.size() != islands_.size()) {
        return false;
    }
    for (std::size_t i = 0; i < states.size(); ++i) {
        const nlohmann::json& state = states[i];
        Island& island = islands_[i];
        if (!state.is_object() ||
            !island.strategy->restore(state.value("strategy", std::string())) ||
            !from_text(state.value("best", std::string()), island.best.point)) {
            return false;
        }
        island.ended = state.value("ended", false);
        island.best.outcome = island.worker->evaluate(island.best.point);
        set_value(island.best.outcome, settings_);
    }
    return true;
}

}  // namespace tessera::search
