// Mappings per second of the Timeloop cost model on one core: random mappings of a Timeloop input
// that fit, drawn beforehand, evaluated over and over. Then moves of the mapspace as search
// strategies have it, by kind, from a point of a descent, evaluation included, and how many find a
// mapping. With `timeloop-mapper` on PATH its own rate in the same minute, read from its log, is
// printed beside.
//
//   timeloop_speed [INPUT [SECONDS]]     default: eyeriss_like on conv64, 2 s
#include <sys/resource.h>
#include <ctime>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "base/data_path.hpp"
#include "tessera/base/error.hpp"
#include "timeloop/mapspace.hpp"
#include "timeloop/model.hpp"
#include "timeloop/read.hpp"
#include "timeloop/strategy/worker.hpp"

namespace {

using namespace tessera::timeloop;
namespace search = tessera::search;
/// Processor time, so that other jobs on the machine matter little.
double cpu_s() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Drawn {
    std::vector<FlatMapping> fitting;
    double built = 0, fitted = 0, seconds = 0;  ///< of drawing: ids tried, mappings that fit
};

/// Draws uniformly until `count` mappings fit or half a minute is over.
Drawn draw(const MapSpace& space, const CompiledModel& model, std::size_t count) {
    MapSpaceView view(space);
    view.prune_nothing();
    std::mt19937_64 random(1);
    const auto below = [&](Wide n) { return (static_cast<Wide>(random()) << 64 | random()) % n; };
    Drawn drawn;
    const double start = cpu_s();
    FlatMapping mapping;
    while (drawn.fitting.size() < count && cpu_s() - start < 30) {
        for (int k = 0; k < 1000; ++k) {
            ++drawn.built;
            const MappingId id{below(view.factor_count()), below(view.permutation_count()),
                               below(view.split_count()), below(view.bypass_count())};
            if (!view.build(id, mapping).ok() || !model.check_capacity(mapping).ok()) {
                continue;
            }
            ++drawn.fitted;
            if (drawn.fitting.size() < count) {
                drawn.fitting.push_back(mapping);
            }
        }
    }
    drawn.seconds = cpu_s() - start;
    return drawn;
}

struct Rate {
    double mean = 0, best = 0;  ///< mappings per second of processor time; best of all batches
};

/// Evaluates all mappings again and again. The best batch is the one that other jobs on the machine
/// disturbed least.
Rate rate(const CompiledModel& model, const std::vector<FlatMapping>& mappings, double seconds) {
    CompiledModel::Workspace workspace;
    Cost cost;
    double evaluated = 0, sum = 0, least = 1e9;
    const double begin = cpu_s();
    double now = begin;
    while (now - begin < seconds) {
        for (const FlatMapping& mapping : mappings) {
            model.evaluate(mapping, workspace, cost);
            sum += cost.energy_pj;
        }
        evaluated += static_cast<double>(mappings.size());
        const double before = now;
        now = cpu_s();
        least = std::min(least, now - before);
    }
    std::printf("mean energy                %14.6g pJ\n", sum / evaluated);
    return {evaluated / (now - begin), static_cast<double>(mappings.size()) / least};
}

/// Moves a second of every kind, as annealing makes them near an optimum: nearly all of them are
/// turned down.
void print_moves(const MapSpace& space, const CompiledModel& model, double seconds) {
    const StrategySpace points(space, model);
    StrategyWorker worker(points, model, {Objective{}}, 1);
    search::Rng rng(1);
    search::Point best;
    search::Outcome of_best = worker.draw(1, best);
    const auto climb = [&](search::Move move, std::uint64_t seed) {
        search::Point next = best;
        const auto part = static_cast<std::uint32_t>(rng.below(points.n_einsums()));
        const search::Outcome to = worker.move(move, seed, part, next);
        if (to.legal() && to.energy_j * to.latency_s < of_best.energy_j * of_best.latency_s) {
            of_best = to;
            best = next;
        }
        return to.legal();
    };
    std::uint64_t seed = 0;
    for (int i = 0; i < 20000; ++i) {
        climb(static_cast<search::Move>(i % static_cast<int>(search::n_moves)), seed++);
    }
    const char* const names[] = {"factor", "tile",    "tiles",  "spatial", "order",
                                 "keep",   "backing", "einsum", "einsums"};
    for (std::size_t kind = 0; kind < search::n_moves; ++kind) {
        double asked = 0, made = 0, now = 0;
        const double begin = cpu_s();
        while (now < seconds / 4) {
            for (int i = 0; i < 1000; ++i) {
                made += climb(static_cast<search::Move>(kind), seed++) ? 1 : 0;
            }
            asked += 1000;
            now = cpu_s() - begin;
        }
        std::printf("moves %-20s %14.0f a second, %.0f %% find a mapping\n", names[kind],
                    asked / now, 100 * made / asked);
    }
}

double children_cpu_s() {
    rusage used{};
    getrusage(RUSAGE_CHILDREN, &used);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// Valid mappings per second of processor time that `timeloop-mapper` logs on one thread, run for
/// `seconds`.
double timeloop_rate(const std::string& input, double seconds) {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / "tessera-timeloop-speed";
    std::filesystem::create_directories(folder);
    const std::string settings = (folder / "mapper.yaml").string();
    std::ofstream(settings) << "mapper: { algorithm: random, optimization-metrics: [ edp ], "
                               "num-threads: 1, timeout: 0, victory-condition: 0, log-stats: True "
                               "}\n";
    const std::string log = (folder / "log.txt").string();
    const std::string command = "timeout -s INT " + std::to_string(seconds) +
                                " timeloop-mapper -o " + folder.string() + " " + input + " " +
                                settings + " > " + log + " 2>&1";
    const double before = children_cpu_s();
    if (std::system(command.c_str()) != 0) {
        // Interrupted as planned.
    }
    // "[t] INVALID total valid invalid" or "[t] UPDATE total valid since": the last one counts.
    std::ifstream in(log);
    double valid = 0;
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(
            line.substr(line.find(']') == std::string::npos ? line.size() : line.find(']') + 1));
        std::string kind;
        double total = 0, seen = 0;
        if (words >> kind >> total >> seen && (kind == "INVALID" || kind == "UPDATE")) {
            valid = seen;
        }
    }
    return valid / (children_cpu_s() - before);
}

int run(const std::string& input, double seconds) {
    const Document document = read_document({input});
    Warnings warnings;
    const Problem problem = read_problem(document, warnings);
    Architecture architecture = read_architecture(document, warnings);
    if (const auto ert = read_ert(document, warnings)) {
        apply_ert(architecture, *ert, Dialect::v3_0_3);
    }
    const Constraints constraints = read_constraints(document, problem, architecture, warnings);
    const MapSpace space(problem, architecture, constraints);
    const CompiledModel model(problem, architecture);
    const Drawn drawn = draw(space, model, 1000);
    std::printf("input                      %s\n", input.c_str());
    std::printf(
        "drawn                      %14.0f ids/s, %.0f valid/s with construction and "
        "capacity checks\n",
        drawn.built / drawn.seconds, drawn.fitted / drawn.seconds);
    if (drawn.fitting.empty()) {
        std::printf("no mapping fits\n");
        return 1;
    }
    const Rate ours = rate(model, drawn.fitting, seconds);
    std::printf("model alone                %14.0f mappings/s, best batch %.0f (%zu different)\n",
                ours.mean, ours.best, drawn.fitting.size());
    print_moves(space, model, seconds);
    if (std::system("command -v timeloop-mapper > /dev/null 2>&1") == 0) {
        const double theirs = timeloop_rate(input, 10);
        std::printf("timeloop-mapper, random    %14.0f valid mappings/s; ours %.0f x\n", theirs,
                    ours.mean / theirs);
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc > 1 ? argv[1] : "bench/timeloop/eyeriss_like-conv64.yaml",
                   argc > 2 ? std::atof(argv[2]) : 2);
    } catch (const tessera::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return error.exit_code();
    }
}
