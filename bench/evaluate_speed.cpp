// Speed of numeric evaluation: one convolution on four levels, the core alone. Prints the least
// processor time per evaluation over many batches, so that other jobs on the machine matter little.
#include <ctime>

#include <algorithm>
#include <cstdio>

#include "../test/support/hand_path.hpp"
#include "model/analysis/einsum_analysis.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;

namespace {

double cpu_s() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Run>
void measure(const char* what, Run run) {
    constexpr int kBatch = 2000, kBatches = 400;
    double best = 1e9;
    for (int b = 0; b < kBatches; ++b) {
        const double start = cpu_s();
        for (int i = 0; i < kBatch; ++i) {
            run(i);
        }
        best = std::min(best, cpu_s() - start);
    }
    std::printf("%-42s %7.1f ns\n", what, best / kBatch * 1e9);
}

}  // namespace

int main() {
    const workload::Workload workload =
        testing::hand_workload({{"p", 56}, {"q", 56}, {"r", 3}, {"s", 3}, {"c", 64}, {"k", 64}},
                               {{"O: k, p, q", "F: k, c, r, s", "I: c, p + r, q + s"}}, 8);
    testing::HandPath hand(workload, 0);
    hand.memory("DRAM", 100, 1e9);
    hand.memory("GLB", 5, 1e10);
    arch::PathLevel& pe = hand.memory("PE", 1, 1e11);
    testing::HandPath::fanout(pe, "X", 14);
    testing::HandPath::fanout(pe, "Y", 12);
    hand.memory("Reg", 0.1, 1e12);
    hand.compute("MAC", 0.5, 1e9);
    mapping::Pmapping nodes = hand.nest(
        "H DRAM O, F, I; T k 16; T c 16; T p 14; H GLB I, O; T q 14; S PE.X p 1; S PE.Y k 8; "
        "H PE F, I, O; T r 1; T s 1; T c 4; H Reg F; T q 1; T c 1; T k 1; C");
    const model::PathTables tables(hand.path, arch::Compat::none);
    model::NestPlan plan;
    model::Analysis<double> analysis;
    model::Costs<double> costs;
    double sum = 0;
    measure("new mapping (structure and tile shapes)", [&](int i) {
        nodes[3].tile = 1 << (i % 6);
        plan.build(tables, nodes);
        analysis.run(tables, nodes, plan);
        costs.run(tables, analysis);
        sum += costs.latency_s;
    });
    measure("new tile shapes of a known template", [&](int i) {
        nodes[3].tile = 1 << (i % 6);
        analysis.run(tables, nodes, plan);
        costs.run(tables, analysis);
        sum += costs.latency_s;
    });
    measure("  of this the counts", [&](int i) {
        nodes[3].tile = 1 << (i % 6);
        analysis.run(tables, nodes, plan);
        sum += analysis.steps;
    });
    return sum > 0 ? 0 : 1;
}
