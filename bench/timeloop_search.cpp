// The search of the Timeloop mapspace on the six designs of bench/timeloop, one thread: seconds
// until the optimal search is as good as timeloop-mapper after 60 s and after 300 s, its result,
// bound and time to proof; and mappings per second inside Timeloop's own `random`.
//
//   timeloop_search [SECONDS]     limit per design, default 60
//
// Seconds are processor time of this process, so that other jobs on the machine matter little.
#include <ctime>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include "base/data_path.hpp"
#include "tessera/base/error.hpp"
#include "timeloop/mapper.hpp"
#include "timeloop/read.hpp"

namespace {

using namespace tessera::timeloop;

double cpu_s() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Design {
    Problem problem;
    Architecture architecture;
    Constraints constraints;
};

/// A file of bench/timeloop in the checkout.
std::string input_file(const std::string& name) {
    return (tessera::data_folders().back() / "bench" / "timeloop" / name).string();
}

Design load(const std::string& name) {
    const std::vector<std::string> files = {input_file(name + ".yaml")};
    const Document document = read_document(files);
    Warnings warnings;
    Design design;
    design.problem = read_problem(document, warnings);
    design.architecture = read_architecture(document, warnings);
    if (const auto ert = read_ert(document, warnings)) {
        apply_ert(design.architecture, *ert, Dialect::v3_0_3);
    }
    design.constraints = read_constraints(document, design.problem, design.architecture, warnings);
    return design;
}

double random_rate(const Design& design) {
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

void run(const std::string& name, double best_60, double best_300, double limit) {
    const Design design = load(name);
    MapperSettings settings;
    settings.threads = 1;
    settings.time_limit_s = limit;
    const double never = std::numeric_limits<double>::infinity();
    double as_60 = never, as_300 = never, last = never;
    const double start = cpu_s();
    MapperHooks hooks;
    hooks.improved = [&](const Mapping&, const Cost& cost) {
        last = cpu_s() - start;
        as_60 = cost.edp() <= best_60 ? std::min(as_60, last) : as_60;
        as_300 = cost.edp() <= best_300 ? std::min(as_300, last) : as_300;
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
        std::ifstream file(input_file("recorded.txt"));
        for (std::string line; std::getline(file, line);) {
            std::istringstream row(line);
            std::string name, best_60, best_300;
            if (line.starts_with("#") || !(row >> name >> best_60 >> best_300)) {
                continue;
            }
            run(name, std::atof(best_60.c_str()), best_300 == "-" ? 0 : std::atof(best_300.c_str()),
                limit);
        }
    } catch (const tessera::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return error.exit_code();
    }
    return 0;
}
