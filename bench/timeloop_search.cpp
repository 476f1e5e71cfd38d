// The search of the Timeloop mapspace on the six designs of bench/timeloop, one thread: seconds
// until the optimal search is as good as timeloop-mapper after 60 s and after 300 s, its result,
// bound and time to proof; and mappings per second inside Timeloop's own `random`.
//
//   timeloop_search [SECONDS]     limit per design, default 60
//
// Seconds are processor time of this process.
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

#include "tessera/base/error.hpp"
#include "timeloop/mapper.hpp"
#include "timeloop_designs.hpp"

namespace {

using namespace tessera::bench;
using namespace tessera::timeloop;

double random_rate(const TimeloopDesign& design) {
    MapperSettings settings;
    settings.algorithm = Algorithm::random;
    settings.threads = 1;
    settings.timeout = settings.victory = 0;
    settings.time_limit_s = 1;
    const double start = cpu_s();
    const MapperResult result =
        search_mappings(design.problem, design.architecture, design.constraints, settings);
    return static_cast<double>(result.total) / (cpu_s() - start);
}

void run(const RecordedDesign& recorded, double limit) {
    const auto& [name, best_60, best_300] = recorded;
    const TimeloopDesign design = timeloop_design(name);
    MapperSettings settings;
    settings.threads = 1;
    settings.time_limit_s = limit;
    const double never = std::numeric_limits<double>::infinity();
    double as_60 = never, as_300 = never, last = never;
    const double start = cpu_s();
    MapperHooks hooks;
    hooks.improved = [&](const Mapping&, const Cost& cost) {
        last = cpu_s() - start;
        as_60 = cost.edp() <= recorded.best_60 ? std::min(as_60, last) : as_60;
        as_300 = cost.edp() <= recorded.best_300 ? std::min(as_300, last) : as_300;
    };
    const MapperResult result =
        search_mappings(design.problem, design.architecture, design.constraints, settings, hooks);
    const double total = cpu_s() - start;
    std::printf("%-41s %9.4g %8.4f %8.4f %9.4g %8.3f %8.4f %8.3f %9.0f\n", name.c_str(), best_60,
                as_60, as_300, result.cost.edp(), last, 100 * result.gap(settings.objectives),
                total, random_rate(design));
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    const double limit = argc > 1 ? std::atof(argv[1]) : 60;
    std::printf("%-41s %9s %8s %8s %9s %8s %8s %8s %9s\n", "design", "TL 60 s", "as 60 s",
                "as 300 s", "EDP", "found s", "gap %", "total s", "random/s");
    try {
        for (const RecordedDesign& recorded : recorded_designs()) {
            run(recorded, limit);
        }
    } catch (const tessera::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return error.exit_code();
    }
    return 0;
}
