// TransFusion's methods and ffm on one hardware model: 5 models, 6 lengths, cloud and edge, with
// free tiles, maxima on both arrays and every refetch charged. Least latency; a table on stdout.
//
//   build/bench/transfusion_common [arch-specs folder's parent] [seconds for ffm, 0: without it]
//
// Columns: seconds of the whole stack; for each method how much longer it takes than transfusion.
// ffm runs Einsums in turn (fusion without pipelining, model looptree). It starts from what mapper
// transfusion makes of the layer in turn; its two columns are its mapping and its bound, below
// which no mapping in turn is.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "tessera/arch/architecture.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapper/mapper.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;

namespace {

const std::vector<std::string> methods = {"unfused", "flat", "fusemax", "fusemax-layerfuse",
                                          "transfusion"};

struct Layer {
    workload::Workload one_pass, three_passes;
    arch::Architecture architecture;
};

using Found = std::optional<mapper::Result>;

/// Nothing if no mapping was found.
Found map(const std::string& mapper, const std::string& model, const workload::Workload& workload,
          const arch::Architecture& architecture, double seconds = 0,
          std::vector<mapper::Solution> start = {}) {
    mapper::Options options;
    options.metrics = {mapper::Metric::latency};
    options.threads = 1;
    options.budget.max_time_s = seconds;
    options.start = std::move(start);
    try {
        mapper::Result result = plugin::Registry<mapper::Mapper>::instance().create(mapper)->map(
            {&workload, &architecture, arch::Compat::none},
            *plugin::Registry<model::CostModel>::instance().create(model), options);
        if (!result.solutions.empty()) {
            return result;
        }
    } catch (const UserError& error) {
        std::cerr << mapper << ": " << error.what() << "\n";
    } catch (const NoLegalMapping& error) {
        std::cerr << mapper << ": " << error.what() << "\n";
    }
    return std::nullopt;
}

std::string mapper_of(const std::string& method) {
    return method == "transfusion" ? method : "transfusion:" + method;
}

double latency_s(const Found& found) {
    return found ? found->solutions[0].report.latency_s() : NAN;
}

void row(const std::string& arch, const std::string& name, std::int64_t tokens, const Layer& layer,
         double ffm_s, std::map<std::string, std::vector<double>>& ratios) {
    std::map<std::string, double> found;
    for (const std::string& method : methods) {
        const bool three = method == "unfused" || method == "flat";
        found[method] =
            latency_s(map(mapper_of(method), "transfusion",
                          three ? layer.three_passes : layer.one_pass, layer.architecture));
    }
    const double ours = found["transfusion"];
    const auto show = [&](const std::string& column, double value) {
        ratios[arch + " " + column].push_back(value / ours);
        std::printf("  %7.3f", value / ours);
    };
    std::printf("%-6s %-7s %8lld  %11.5g", arch.c_str(), name.c_str(),
                static_cast<long long>(tokens), ours);
    for (const std::string& method : methods) {
        if (method == "transfusion") {
            continue;
        }
        show(method, found[method]);
    }
    if (ffm_s > 0) {
        const Found in_turn = map("transfusion", "looptree", layer.one_pass, layer.architecture);
        const Found ffm = map("ffm", "looptree", layer.one_pass, layer.architecture, ffm_s,
                              in_turn ? in_turn->solutions : std::vector<mapper::Solution>{});
        show("ffm", latency_s(ffm));
        show("bound of ffm", ffm ? ffm->bound.value_or(NAN) : NAN);
    }
    std::printf("\n");
    std::fflush(stdout);
}

int run(const std::string& root, double ffm_s) {
    plugin::register_builtins();
    std::printf("%-6s %-7s %8s  %11s  %7s  %7s  %7s  %7s%s\n", "arch", "model", "tokens",
                "transfusion", "unfused", "flat", "fusemax", "layerf.",
                ffm_s > 0 ? "      ffm    bound" : "");
    std::map<std::string, std::vector<double>> ratios;
    const auto start = std::clock();
    for (const std::string arch : {"cloud", "edge"}) {
        for (const std::string model : {"bert", "trxl", "t5", "xlm", "llama3"}) {
            for (std::int64_t tokens = 1024; tokens <= 1024 * 1024; tokens *= 4) {
                std::map<std::string, std::string> defines = {
                    {"TOKENS", std::to_string(tokens)},
                    {"KEY_TILE", arch == "edge" ? "16" : "256"}};
                const std::string shape = root + "/problem-shapes/transfusion-" + model + ".yaml";
                workload::Workload one = workload::load_workload(shape, defines);
                defines["CASCADE"] = "3";
                const Layer layer{std::move(one), workload::load_workload(shape, defines),
                                  arch::load_architecture(
                                      root + "/arch-specs/transfusion-" + arch + ".yaml", {})};
                row(arch, model, tokens, layer, ffm_s, ratios);
            }
        }
    }
    for (const auto& [name, all] : ratios) {
        double sum = 0;
        for (const double ratio : all) {
            sum += std::log(ratio);
        }
        std::printf("geometric mean %-26s %7.3f\n", name.c_str(),
                    std::exp(sum / static_cast<double>(all.size())));
    }
    std::printf("%.1f CPU s\n", static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc > 1 ? argv[1] : ".", argc > 2 ? std::atof(argv[2]) : 0);
    } catch (const UserError& error) {
        std::cerr << "transfusion_common: " << error.what() << "\n";
        return 2;
    }
}
