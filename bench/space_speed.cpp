// Speed of the opened mapspace, one thread: draws, evaluations of one point again and again, steps
// that change one tile shape, moves by kind (and how many of them find a point), LoopTrees of a
// known and of a new structure. CPU seconds.
//
//   space_speed [ARCH WORKLOAD [NAME=VALUE...]]
#include <ctime>

#include <cstdio>
#include <string>
#include <vector>

#include "api/inputs.hpp"
#include "tessera/model/tree_costs.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/search/open_space.hpp"

using namespace tessera;

namespace {

double cpu_s() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Case {
    std::string arch, workload;
    std::vector<std::string> defines;
};

/// How often a second `run` can be called.
template <class Run>
double rate(const Run& run, double seconds = 2) {
    const double start = cpu_s();
    double now = start;
    std::size_t n = 0;
    for (std::size_t piece = 1; now - start < seconds; piece = piece < 512 ? piece * 2 : piece) {
        for (std::size_t i = 0; i < piece; ++i) {
            run(n++);
        }
        now = cpu_s();
    }
    return static_cast<double>(n) / (now - start);
}

void measure(const Case& c) {
    api::InputNames names;
    names.architecture = c.arch;
    names.workload = c.workload;
    for (const std::string& define : c.defines) {
        const std::size_t equals = define.find('=');
        names.defines.emplace(define.substr(0, equals), define.substr(equals + 1));
    }
    const api::Inputs inputs = api::load_inputs(names);
    const model::Problem problem{&*inputs.workload, &*inputs.architecture};
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const search::OpenSpace space(problem, *model, {});
    search::Worker worker(space);
    search::Point point;
    std::size_t legal = 0;
    // What a worker finds out about the space it remembers: the first draws are the slowest.
    const auto draw = [&](std::size_t i) { legal += worker.draw(i, point).legal(); };
    const double cold = rate(draw, 2);
    rate([&](std::size_t i) { worker.draw(i + 1000000, point); }, 8);
    worker.take_failures();
    legal = 0;
    const double draws = rate([&](std::size_t i) { draw(i + 2000000); }, 2);
    const search::Worker::Failures failures = worker.take_failures();
    search::Point start;
    for (std::uint64_t seed = 0; !worker.draw(seed, start).legal() && seed < 1000; ++seed) {
    }
    const double again = rate([&](std::size_t) { worker.evaluate(start); });
    // One tile shape twice as large or half as large: a step and its way back.
    search::Rng rng(1);
    std::size_t good = 0, steps = 0;
    const double neighbours = rate([&](std::size_t) {
        std::int64_t& tile = start.tiles[rng.below(start.tiles.size())];
        const std::int64_t old = tile;
        tile = rng.below(2) == 0 && old % 2 == 0 ? old / 2 : old * 2;
        const bool kept = worker.evaluate(start).legal();
        good += kept;
        ++steps;
        tile = kept ? tile : old;
    });
    // Moves from a point of a descent, as annealing makes them: nearly all are turned down.
    search::Outcome best = worker.evaluate(start);
    const auto climb = [&](search::Move move, std::uint64_t seed) {
        search::Point next = start;
        const search::Outcome to =
            worker.move(move, seed, static_cast<std::uint32_t>(rng.below(space.n_einsums())), next);
        if (to.legal() && to.energy_j * to.latency_s < best.energy_j * best.latency_s) {
            best = to;
            start = next;
        }
        return to.legal();
    };
    for (std::uint64_t i = 0; i < 20000; ++i) {
        climb(static_cast<search::Move>(i % search::n_moves), i);
    }
    worker.take_failures();
    std::string moves;
    for (std::size_t kind = 0; kind < search::n_moves; ++kind) {
        std::size_t made = 0, asked = 0;
        const double speed = rate(
            [&](std::size_t i) {
                made += climb(static_cast<search::Move>(kind), i);
                ++asked;
            },
            0.5);
        char text[40];
        std::snprintf(text, sizeof text, " %7.0f (%3.0f %%)", speed,
                      100.0 * static_cast<double>(made) / static_cast<double>(asked));
        moves += text;
    }
    std::printf("%-10s %-12s %9.0f %9.0f %11.0f %11.0f (%4.1f %% legal)   failures", c.arch.c_str(),
                c.workload.c_str(), cold, draws, again, neighbours,
                100.0 * static_cast<double>(good) / static_cast<double>(steps));
    for (const std::uint64_t f : failures) {
        std::printf(" %.1f", static_cast<double>(f) / static_cast<double>(legal));
    }
    std::printf("\n%24s%s\n", "moves", moves.c_str());
    const mapping::Mapping tree = worker.mapping(start);
    model::TreeCosts costs(problem);
    double sum = 0;
    const auto cost = [&](const mapping::Mapping& one) { sum += costs.evaluate(one).energy_j; };
    const double known = rate([&](std::size_t) { cost(tree); }, 0.5);
    // Point after point of its own structure, but for those that come again by chance.
    std::vector<mapping::Mapping> trees;
    for (std::uint64_t seed = 0; trees.size() < 200; ++seed) {
        if (worker.draw(seed, point).legal()) {
            trees.push_back(worker.mapping(point));
        }
    }
    const double from = cpu_s();
    for (const mapping::Mapping& one : trees) {
        cost(one);
    }
    const double fresh = (cpu_s() - from) / static_cast<double>(trees.size());
    const double whole = rate(
        [&](std::size_t i) { sum += model->evaluate(problem, trees[i % 200]).energy_j(); }, 0.5);
    std::printf("%24s known structure %.1f us, new %.1f us, with report %.1f us%s\n", "LoopTree",
                1e6 / known, 1e6 * fresh, 1e6 / whole, sum > 0 ? "" : "!");
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    plugin::register_builtins();
    std::vector<Case> cases;
    if (argc > 2) {
        cases.push_back({argv[1], argv[2], {argv + 3, argv + argc}});
    } else {
        for (const char* arch : {"tpu-v4i", "simba", "eyeriss"}) {
            cases.push_back({arch, "gpt3-6.7b", {"BATCH=1", "TOKENS=2048"}});
        }
        cases.push_back({"eyeriss", "resnet-50", {}});
        cases.push_back({"eyeriss", "bench/convolutions/layer.yaml", {}});
    }
    std::printf("%-10s %-12s %9s %9s %11s %11s\n", "", "", "first/s", "draws/s", "again/s",
                "steps/s");
    for (const Case& c : cases) {
        measure(c);
    }
}
