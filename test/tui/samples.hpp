// Snapshots to draw: a search under way, an empty one, and ones made of random and hostile values.
#pragma once

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "telemetry/snapshot.hpp"

namespace tessera::tui_test {

using namespace telemetry;

inline Snapshot empty_snapshot() {
    Snapshot result;
    result.run.workload = "matmuls";
    result.run.architecture = "snowcat";
    result.run.mapper = "ffm";
    result.run.metrics = {"edp"};
    result.run.unit = "J s";
    return result;
}

inline void add_incumbents(Snapshot& s) {
    const double values[] = {4.1e-3, 2.2e-3, 1.9e-3, 1.83e-3};
    const double times[] = {0.5, 3, 60, 752};
    for (int i = 0; i < 4; ++i) {
        s.incumbents.push_back({times[i], values[i], std::sqrt(values[i]) * (1 + 0.1 * i),
                                std::sqrt(values[i]) / (1 + 0.1 * i), "search:annealing",
                                "swap loops", i % 2, 1000ULL << static_cast<unsigned>(2 * i)});
        s.front.push_back({s.incumbents.back().energy_j, s.incumbents.back().latency_s});
    }
    s.best = 1.83e-3;
    s.bound = 1.61e-3;
    s.gap = (1.83e-3 - 1.61e-3) / 1.83e-3;
    s.bounds = {{0.1, 1.2e-3}, {30, 1.5e-3}, {200, 1.61e-3}};
    s.incumbent_age_s = 9;
}

inline Snapshot running_snapshot() {
    Snapshot s = empty_snapshot();
    s.serial = 42;
    s.run.id = "resnet-4711";
    s.run.directory = "/home/user/runs/resnet";
    s.run.workload = "resnet-50";
    s.run.architecture = "simba";
    s.run.mapper = "search:annealing";
    s.run.threads = 3;
    s.run.seed = 7;
    s.elapsed_s = 761;
    s.cpu_s = 1500;
    s.memory_bytes = 31 << 20;
    s.rate_per_s = 55300;
    for (int i = 0; i < 120; ++i) {
        s.rate_history.push_back(40000 + 300 * i);
    }
    s.phases = {{"templates", "", 812, 812, 1.5, 1, false},
                {"tile shapes", "templates", 123, 812, 759, 1, true}};
    s.einsums = {{"Q", 10, 10, 300, 12}, {"QK_softmax", 3, 40, 120, 0}};
    for (int i = 0; i < 3; ++i) {
        WorkerView w;
        w.id = i;
        w.source = "search:annealing";
        w.state = i == 2 ? WorkerState::failed : WorkerState::running;
        w.einsum = "QK";
        w.item = 17 + i;
        w.evaluated = 5200000;
        w.rate_per_s = 6900;
        w.best = 1.84e-3;
        w.age_s = 2;
        w.quiet_s = 0.1;
        s.workers.push_back(w);
    }
    s.funnel.generated = 812000000;
    s.funnel.evaluated = 41200000;
    s.funnel.improved = 37;
    s.funnel.rejected[static_cast<std::size_t>(Reason::capacity)] = 900000;
    s.funnel.rejected[static_cast<std::size_t>(Reason::fanout)] = 200000;
    s.funnel.rejected[static_cast<std::size_t>(Reason::bound)] = 770000000;
    add_incumbents(s);
    s.comparison = {
        {"search:annealing",
         1.83e-3,
         0.0,
         752.0,
         40000000,
         4,
         55000,
         {{0.5, 4e-3}, {752, 1.83e-3}}},
        {"search:random", 2.5e-3, 0.268, 100.0, 1200000, 2, 300, {{1, 5e-3}, {100, 2.5e-3}}}};
    s.mapping = {
        {"MainMemory holds A 512 words (1 KiB), Z 64 words (128 B)", "for m in 32 / 4 (8 trips)",
         "  Array computes QK"},
        0.0428,
        0.0428,
        0.43,
        {{"MainMemory", 0.03, 0.02, std::nullopt},
         {"Buffer", 0.01, 0, 0.75},
         {"Array", 0.0028, 0.0228, std::nullopt}},
        {{"Q", 0.0328, 0.02, "MainMemory", 0.2}, {"QK_softmax", 0.01, 0.0228, "Array", 0.9}}};
    s.plugins = {
        {"mapper", "search", "0.1.0", "", "in use", {{"strategy", "annealing"}, {"seed", "7"}}},
        {"cost model", "looptree", "0.1.0", "", "in use", {}},
        {"search", "foo", "1.0", "/opt/tessera-foo.so", "detached", {}}};
    s.budgets = {{"max-evals", "evaluations", 41.2e6, 100e6, 0.412},
                 {"max-time", "s", 761, 3600, 0.21}};
    s.fields = {{"temperature", "K", 0.31}};
    for (int i = 0; i < 40; ++i) {
        s.log.push_back({i * 10.0, i == 39 ? LogLevel::error : LogLevel::info,
                         "line " + std::to_string(i) + (i == 39 ? " foo: threw, detached" : "")});
    }
    return s;
}

/// A page of a comparison: two searches that ended, one that runs, one that waits.
inline Snapshot comparing_snapshot() {
    Snapshot s = empty_snapshot();
    s.compares = true;
    s.run.mapper = "comparison";
    s.run.workload = "gpt3";
    s.best = 1.8e-3;
    s.bound = 1.7e-3;
    const auto search = [&](const char* name, telemetry::WorkerState state, const char* ending,
                            std::vector<telemetry::Step> history) {
        telemetry::ContenderView view;
        view.name = name;
        view.search = 40 + s.comparison.size();
        view.state = state;
        view.ending = ending;
        if (!history.empty()) {
            view.elapsed_s = 5;
            view.best = history.back().value;
            view.time_to_best_s = history.back().time_s;
            view.gap = (*view.best - 1.8e-3) / *view.best;
            view.bound_gap = (*view.best - 1.7e-3) / *view.best;
        }
        view.history = std::move(history);
        s.comparison.push_back(std::move(view));
    };
    search("ffm", telemetry::WorkerState::done, "feasible", {{0.2, 4e-3}, {3, 1.8e-3}});
    search("search:annealing", telemetry::WorkerState::running, "", {{0.3, 3e-3}, {2, 2e-3}});
    search("mcts", telemetry::WorkerState::failed, "failed", {});
    search("genetic", telemetry::WorkerState::idle, "", {});
    return s;
}

/// Values and texts that nobody should produce but a file or socket may hold.
inline Snapshot hostile_snapshot(unsigned seed) {
    std::mt19937 random(seed);
    const auto number = [&]() -> double {
        static const double values[] = {0,
                                        -1,
                                        1e-300,
                                        1e300,
                                        999.9999,
                                        1e18,
                                        0.5,
                                        3,
                                        std::numeric_limits<double>::infinity(),
                                        -std::numeric_limits<double>::infinity(),
                                        std::numeric_limits<double>::quiet_NaN()};
        return values[random() % 11] * (random() % 2 ? 1 : 0.37);
    };
    const auto text = [&] {
        static const char* const texts[] = {
            "",
            "x",
            "\033[2J\r\n\t",
            "\xff\xc3",
            "漢字",
            "e\u0301",
            "a name that is much longer than any panel could be, so "
            "that it has to be cut somewhere in its middle"};
        return std::string(texts[random() % 7]);
    };
    Snapshot s = running_snapshot();
    s.compares = random() % 3 == 0;
    s.run.workload = text();
    s.run.architecture = text();
    s.run.mapper = text();
    s.run.unit = text();
    s.run.metrics.assign(random() % 3, text());
    s.state = static_cast<RunState>(random() % 5);
    s.elapsed_s = number();
    s.cpu_s = number();
    s.rate_per_s = number();
    s.best = number();
    s.bound = number();
    s.gap = number();
    s.incumbent_age_s = number();
    s.memory_bytes = ~0ULL;
    for (double& rate : s.rate_history) {
        rate = number();
    }
    for (IncumbentView& found : s.incumbents) {
        found = {number(), number(), number(), number(), text(), text(), -5, ~0ULL};
    }
    for (Step& step : s.bounds) {
        step = {number(), number()};
    }
    for (PointView& point : s.front) {
        point = {number(), number()};
    }
    for (WorkerView& worker : s.workers) {
        worker.rate_per_s = number();
        worker.quiet_s = number();
        worker.best = number();
        worker.age_s = number();
        worker.einsum = worker.source = text();
    }
    for (ContenderView& contender : s.comparison) {
        contender.name = text();
        contender.best = contender.gap = contender.time_to_best_s = number();
        contender.history = {{number(), number()}, {number(), number()}};
    }
    for (BudgetView& budget : s.budgets) {
        budget = {text(), text(), number(), number(), number()};
    }
    for (PhaseView& phase : s.phases) {
        phase = {text(), text(), random(), random() % 3, number(), 1, random() % 2 == 0};
    }
    for (LogView& line : s.log) {
        line = {number(), LogLevel::warning, text()};
    }
    s.fields = {{text(), text(), number()}};
    return s;
}

}  // namespace tessera::tui_test
