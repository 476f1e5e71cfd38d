// Time to schedule random graphs of 30 Einsums on two units, both modes.
//
//   bench/schedule_speed [graphs]
//
// Graphs are like fused layers: every Einsum reads one or two of the four before it, and every
// fifth carries a running state.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "tessera/schedule/dpipe.hpp"

using namespace tessera::schedule;

namespace {

constexpr int tasks = 30;

Dag layer(std::mt19937& random) {
    std::uniform_real_distribution<double> seconds(0.1, 10);
    Dag dag;
    dag.units = {"2D", "1D"};
    for (int i = 0; i < tasks; ++i) {
        dag.tasks.push_back({"T" + std::to_string(i), {seconds(random), seconds(random)}});
        for (int reads = 0; i > 0 && reads < 1 + static_cast<int>(random() % 2); ++reads) {
            dag.edges.push_back({std::max(0, i - 1 - static_cast<int>(random() % 4)), i});
        }
        if (i > 1 && i % 5 == 0) {
            dag.recurrences.push_back({i, dag.edges.back().from});
        }
    }
    return dag;
}

void row(const char* name, Mode mode, int graphs) {
    std::mt19937 random(1);
    double worst_s = 0, sum_s = 0;
    int complete = 0;
    for (int i = 0; i < graphs; ++i) {
        const Dag dag = layer(random);
        const auto start = std::chrono::steady_clock::now();
        complete += pipeline(dag, mode).complete;
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        worst_s = std::max(worst_s, took.count());
        sum_s += took.count();
    }
    std::printf("%-8s %10.1f %10.1f %8d of %d\n", name, 1e3 * sum_s / graphs, 1e3 * worst_s,
                complete, graphs);
}

}  // namespace

int main(int argc, char** argv) {
    const int graphs = argc > 1 ? std::max(1, std::atoi(argv[1])) : 20;
    std::printf("%-8s %10s %10s %s\n", "mode", "mean (ms)", "worst (ms)", "complete");
    row("paper", Mode::paper, graphs);
    row("modulo", Mode::modulo, graphs);
    return 0;
}
