// Search strategies on the six designs of bench/timeloop, one thread: seconds until one is as good
// as timeloop-mapper after 60 s, what it has found at the end as a multiple of the optimum,
// mappings evaluated a second. Medians of three seeds.
//
//   timeloop_strategies [SECONDS] [STRATEGY ...]     limit per search, default 2; default: all that
//                                                    search this mapspace
//
// Seconds are processor time of this process.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "tessera/base/error.hpp"
#include "timeloop/mapper.hpp"
#include "timeloop_designs.hpp"

namespace {

using namespace tessera::bench;
using namespace tessera::timeloop;

struct Found {
    double as_60 = std::numeric_limits<double>::infinity();
    double edp = std::numeric_limits<double>::infinity();
    double rate = 0;
};

Found search(const TimeloopDesign& design, const RecordedDesign& recorded,
             const std::string& strategy, std::uint64_t seed, double limit) {
    MapperSettings settings;
    settings.threads = 1;
    settings.seed = seed;
    MapperHooks hooks;
    Found found;
    const double start = cpu_s();
    hooks.improved = [&](const Mapping&, const Cost& cost) {
        found.as_60 =
            cost.edp() <= recorded.best_60 ? std::min(found.as_60, cpu_s() - start) : found.as_60;
        found.edp = cost.edp();
    };
    if (strategy != "optimal") {
        settings.strategy = StrategySettings{strategy, {}};
        hooks.budget.max_cpu_s = start + limit;
    }
    const MapperResult result =
        search_mappings(design.problem, design.architecture, design.constraints, settings, hooks);
    found.rate = static_cast<double>(result.valid) / (cpu_s() - start);
    return found;
}

template <class Number>
double median(std::vector<Found> all, Number Found::*number) {
    std::sort(all.begin(), all.end(),
              [&](const Found& a, const Found& b) { return a.*number < b.*number; });
    return all[all.size() / 2].*number;
}

void run(const RecordedDesign& recorded, const std::vector<std::string>& strategies, double limit) {
    const TimeloopDesign design = timeloop_design(recorded.name);
    const double optimum = search(design, recorded, "optimal", 1, limit).edp;
    for (const std::string& strategy : strategies) {
        std::vector<Found> all;
        for (const std::uint64_t seed : {1, 2, 3}) {
            all.push_back(search(design, recorded, strategy, seed, limit));
        }
        std::printf("%-41s %-10s %9.4f %10.4f %9.0f\n", recorded.name.c_str(), strategy.c_str(),
                    median(all, &Found::as_60), median(all, &Found::edp) / optimum,
                    median(all, &Found::rate));
        std::fflush(stdout);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const double limit = argc > 1 ? std::atof(argv[1]) : 2;
    std::vector<std::string> strategies(argv + std::min(argc, 2), argv + argc);
    if (strategies.empty()) {
        strategies = {"annealing", "genetic", "mcts", "es", "gradient", "ddpg", "random"};
    }
    std::printf("%-41s %-10s %9s %10s %9s\n", "design", "strategy", "as 60 s", "x optimum",
                "evals/s");
    try {
        for (const RecordedDesign& recorded : recorded_designs()) {
            run(recorded, strategies, limit);
        }
    } catch (const tessera::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return error.exit_code();
    }
    return 0;
}
