// Ablation: what each idea of the mapper `ffm` gains. One thread.
//
//   bench/ablation [SPECS-FOLDER [IDEA ...]]
//
// SPECS-FOLDER has arch-specs/ and problem-shapes/ (.); only these ideas are switched off (all).
//
// Every row is one run with one idea switched off: CPU seconds, pmappings (partial ones and joined
// ones included), and the optimum, which must not change. Exit status 1 if one does. A run ends
// after 60 CPU seconds; its mapping is then marked as not proven and not compared.
#include <time.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "../plugins/ffm/switches.hpp"
#include "tessera/arch/architecture.hpp"
#include "tessera/base/error.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;

namespace {

/// The mapspace of the reference, the whole one, the same with partial tiles.
enum class Space { reference, full, partial };

struct Case {
    std::string arch, workload;
    std::map<std::string, std::string> defines;
    int max_fused_loops = mapspace::MapSpaceOptions::unlimited;
    Space space = Space::reference;
};

constexpr const char* names[] = {"", " full", " partial"};

double cpu_s() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// EDP; prints one row.
double measure(const model::Problem& problem, const Case& c, const std::string& without) {
    const auto ffm = plugin::Registry<mapper::Mapper>::instance().create("ffm");
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    mapper::Options options;
    options.threads = 1;
    if (c.space == Space::reference) {
        options.mapspace = mapspace::MapSpaceOptions::accelforge();
    }
    options.mapspace.imperfect_temporal = c.space == Space::partial;
    options.mapspace.imperfect_spatial = c.space == Space::partial;
    options.mapspace.max_fused_loops = c.max_fused_loops;
    options.budget.max_cpu_s = cpu_s() + 60;
    if (!without.empty()) {
        options.without = {without};
    }
    const double start = cpu_s();
    const mapper::Result r = ffm->map(problem, *model, options);
    const double edp = r.solutions.empty() ? NAN : r.solutions.front().report.edp_js();
    std::printf("%-9s %-18s %-20s %9.2f %12llu  %.9g%s\n", c.arch.c_str(),
                (c.workload + names[static_cast<int>(c.space)]).c_str(),
                without.empty() ? "(all on)" : without.c_str(), cpu_s() - start,
                static_cast<unsigned long long>(r.statistics.evaluated), edp,
                r.status == mapper::Status::optimal ? "" : " not proven");
    std::fflush(stdout);
    return r.status == mapper::Status::optimal ? edp : NAN;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string root = argc > 1 ? argv[1] : ".";
    const std::vector<std::string> ideas =
        argc > 2 ? std::vector<std::string>(argv + 2, argv + argc) : ffm::switch_names();
    try {
        ffm::switches_without(ideas);
    } catch (const UserError& e) {
        std::fprintf(stderr, "ablation: %s\n", e.what());
        return 2;
    }
    const Case cases[] = {
        {"tpu-v4i", "gpt3-6.7b", {{"BATCH", "1"}, {"TOKENS", "2048"}}},
        {"tpu-v4i", "gpt3-6.7b", {{"BATCH", "64"}, {"TOKENS", "4096"}}, 1},
        {"tpu-v4i", "gpt3-6.7b", {{"BATCH", "64"}, {"TOKENS", "4096"}}},
        {"simba", "mobilenet-28", {}},
        {"simba", "mobilenet-28", {}, mapspace::MapSpaceOptions::unlimited, Space::full},
        {"tpu-v4i",
         "gpt3-6.7b",
         {{"BATCH", "1"}, {"TOKENS", "2048"}},
         mapspace::MapSpaceOptions::unlimited,
         Space::partial},
    };
    std::printf("%-9s %-18s %-20s %9s %12s  %s\n", "arch", "workload", "without", "CPU s",
                "pmappings", "EDP (J s)");
    bool same = true;
    for (const Case& c : cases) {
        const workload::Workload workload =
            workload::load_workload(root + "/problem-shapes/" + c.workload + ".yaml", c.defines);
        const arch::Architecture architecture =
            arch::load_architecture(root + "/arch-specs/" + c.arch + ".yaml", c.defines);
        const model::Problem problem{
            &workload, &architecture,
            c.space == Space::reference ? arch::Compat::accelforge : arch::Compat::none};
        const double best = measure(problem, c, "");
        for (const std::string& name : ideas) {
            const double found = measure(problem, c, name);
            same = same && !(std::abs(found - best) > 1e-9 * best);
        }
    }
    return same ? 0 : 1;
}
