// TransFusion's figures 8 to 13 from the closed forms, with our own outer tiles.
//
//   bench/reproduce_transfusion [folder]     default: runs/transfusion
//
// Tables and what each modelling choice is worth go to stdout; every figure becomes a .csv and a
// .svg in the folder, and so does the schedule of every phase of Llama3 at 64K tokens (gantt-*).
// Energies are those of DRAM, buffer and arithmetic.

#include <ctime>
#include <filesystem>
#include <iostream>
#include <map>
#include <tuple>

#include "bar_chart.hpp"
#include "tessera/base/error.hpp"
#include "tessera/schedule/gantt.hpp"
#include "tessera/transfusion/tileseek.hpp"

namespace {

using namespace bench;
using namespace tessera;
using namespace tessera::transfusion;

constexpr std::int64_t k64 = 65536;

Problem problem(const std::string& arch, const std::string& model, std::int64_t tokens) {
    return {accelerator(arch), transformer(model), 64, tokens};
}

OuterTiles tiles_of(const Problem& one, Method method) {
    return method == Method::transfusion         ? tileseek(one).tiles
           : method == Method::fusemax_layerfuse ? baseline_tiles(one, method)
                                                 : OuterTiles{};
}

/// Every case once.
const Cost& cost_of(const std::string& arch, const std::string& model, std::int64_t tokens,
                    Method method) {
    static std::map<std::tuple<std::string, std::string, std::int64_t, Method>, Cost> known;
    const auto [at, fresh] = known.try_emplace({arch, model, tokens, method});
    if (fresh) {
        const Problem one = problem(arch, model, tokens);
        at->second = evaluate(one, method, tiles_of(one, method));
    }
    return at->second;
}

struct Case {
    std::string label, model;
    std::int64_t tokens;
};

std::vector<Case> llama_by_length() {
    std::vector<Case> cases;
    for (const std::int64_t tokens : lengths()) {
        cases.push_back({length_name(tokens), "Llama3", tokens});
    }
    return cases;
}

std::vector<Case> models_at_64k() {
    std::vector<Case> cases;
    for (const Transformer& model : transformers()) {
        cases.push_back({model.name, model.name, k64});
    }
    return cases;
}

/// Values of all methods but `unfused` relative to it.
template <class Ratio>
BarChart over_unfused(const std::string& file, const std::string& title, const std::string& arch,
                      const std::vector<Case>& cases, Ratio ratio) {
    BarChart chart{file + "-" + arch, title + ", " + arch, {}, {}};
    for (const Method method : methods) {
        if (method != Method::unfused) {
            chart.series.push_back(name(method));
        }
    }
    for (const Case& one : cases) {
        chart.groups.push_back({one.label, {}});
        const Cost& base = cost_of(arch, one.model, one.tokens, Method::unfused);
        for (const Method method : methods) {
            if (method != Method::unfused) {
                chart.groups.back().values.push_back(
                    ratio(base, cost_of(arch, one.model, one.tokens, method)));
            }
        }
    }
    return chart;
}

double speed_up(const Cost& base, const Cost& own) {
    return base.latency_s / own.latency_s;
}

double relative_energy(const Cost& base, const Cost& own) {
    return own.energy_j() / base.energy_j();
}

BarChart utilisations(const std::string& file, const std::string& arch,
                      const std::vector<Case>& cases, std::size_t unit) {
    BarChart chart{
        file + (unit == 0 ? "-2d-" : "-1d-") + arch,
        std::string("Fig. 10: utilisation of the ") + (unit == 0 ? "2D" : "1D") + " array, " + arch,
        {},
        {}};
    for (const Method method : methods) {
        chart.series.push_back(name(method));
    }
    for (const Case& one : cases) {
        chart.groups.push_back({one.label, {}});
        for (const Method method : methods) {
            chart.groups.back().values.push_back(
                cost_of(arch, one.model, one.tokens, method).utilisation[unit]);
        }
    }
    return chart;
}

/// Fig. 11: S_i T_i / sum, where S_i is a phase's speed-up over FuseMax and T_i its latency there;
/// every phase once, however often the stack runs it.
BarChart contributions(const std::string& arch) {
    BarChart chart{
        "fig11-" + arch, "Fig. 11: contribution to the speed-up over fusemax, " + arch, {}, {}};
    for (std::size_t i = 0; i < phase_count; ++i) {
        chart.series.push_back(name(static_cast<Phase>(i)));
    }
    for (const Case& one : llama_by_length()) {
        const Cost& base = cost_of(arch, one.model, one.tokens, Method::fusemax);
        const Cost& own = cost_of(arch, one.model, one.tokens, Method::transfusion);
        std::vector<double> values;
        double sum = 0;
        for (std::size_t i = 0; i < phase_count; ++i) {
            const double theirs = base.phases[i].latency_s;
            values.push_back(theirs * theirs / own.phases[i].latency_s);
            sum += values.back();
        }
        for (double& value : values) {
            value /= sum;
        }
        chart.groups.push_back({one.label, values});
    }
    return chart;
}

BarChart shares(const std::string& arch, const std::string& part, double Cost::*energy_j) {
    BarChart chart{"fig13-" + part + "-" + arch,
                   "Fig. 13: share of " + part + " in the energy, Llama3, " + arch,
                   {"fusemax", "transfusion"},
                   {}};
    for (const Case& one : llama_by_length()) {
        chart.groups.push_back({one.label, {}});
        for (const Method method : {Method::fusemax, Method::transfusion}) {
            const Cost& cost = cost_of(arch, one.model, one.tokens, method);
            chart.groups.back().values.push_back(cost.*energy_j / cost.energy_j());
        }
    }
    return chart;
}

void show(const BarChart& chart, const std::string& folder) {
    chart.write(folder);
    std::printf("\n%s\n%-8s", chart.title.c_str(), "");
    for (const std::string& one : chart.series) {
        std::printf("%18s", one.c_str());
    }
    std::printf("\n");
    for (const BarChart::Group& group : chart.groups) {
        std::printf("%-8s", group.name.c_str());
        for (const double value : group.values) {
            std::printf("%18.3f", value);
        }
        std::printf("\n");
    }
}

void show_means(const std::string& arch) {
    std::printf("%-8s", arch.c_str());
    for (const Method method : methods) {
        if (method == Method::transfusion) {
            continue;
        }
        double sum = 0;
        int n = 0;
        for (const Transformer& model : transformers()) {
            for (const std::int64_t tokens : lengths()) {
                sum += std::log(cost_of(arch, model.name, tokens, method).latency_s /
                                cost_of(arch, model.name, tokens, Method::transfusion).latency_s);
                ++n;
            }
        }
        std::printf("%18.3f", std::exp(sum / n));
    }
    std::printf("\n");
}

/// Attention at 64K tokens as published, with modulo scheduling, and with maxima on the 2D array.
void show_choices(const std::string& arch) {
    for (const Transformer& model : transformers()) {
        const Problem one = problem(arch, model.name, k64);
        const OuterTiles tiles = tiles_of(one, Method::transfusion);
        const auto attention_s = [&](schedule::Mode mode, bool maximum_on_2d) {
            return evaluate(one, Method::transfusion, tiles, {mode, maximum_on_2d})
                .phase(Phase::attention)
                .latency_s;
        };
        std::printf("%-5s %-7s %13.5g %13.5g %13.5g %13.5g %13.5g %13.5g\n", arch.c_str(),
                    model.name.c_str(),
                    cost_of(arch, model.name, k64, Method::fusemax_layerfuse)
                        .phase(Phase::attention)
                        .latency_s,
                    attention_s(schedule::Mode::paper, false),
                    attention_s(schedule::Mode::modulo, false),
                    attention_s(schedule::Mode::paper, true),
                    attention_s(schedule::Mode::modulo, true), fusemax_artifact_attention_s(one));
    }
}

void write_schedules(const std::string& arch, const std::string& folder) {
    const Cost& cost = cost_of(arch, "Llama3", k64, Method::transfusion);
    for (std::size_t i = 0; i < phase_count; ++i) {
        const PhaseCost& phase = cost.phases[i];
        const std::string title = std::string("Llama3 64K, ") + name(static_cast<Phase>(i)) + ", " +
                                  arch + ": one round of all tiles";
        const std::string path =
            folder + "/gantt-" + arch + "-" + name(static_cast<Phase>(i)) + ".svg";
        std::ofstream out(path);
        out << schedule::gantt_svg(phase.dag, phase.schedule, title);
        if (!out.flush()) {
            throw std::runtime_error("cannot write " + path);
        }
        std::printf("\n%s\n%s", title.c_str(),
                    schedule::gantt_text(phase.dag, phase.schedule).c_str());
    }
}

void figures(const std::string& folder) {
    for (const std::string arch : {"cloud", "edge", "edge-32", "edge-64"}) {
        const std::string figure = arch.size() > 5 ? "fig9" : "fig8";
        const std::string title = arch.size() > 5 ? "Fig. 9" : "Fig. 8";
        show(over_unfused(figure + "a", title + "a: speed-up over unfused, Llama3", arch,
                          llama_by_length(), speed_up),
             folder);
        show(over_unfused(figure + "b", title + "b: speed-up over unfused, 64K tokens", arch,
                          models_at_64k(), speed_up),
             folder);
    }
    for (const std::string arch : {"cloud", "edge"}) {
        for (std::size_t unit = 0; unit < unit_count; ++unit) {
            show(utilisations("fig10a", arch, llama_by_length(), unit), folder);
            show(utilisations("fig10b", arch, models_at_64k(), unit), folder);
        }
        show(contributions(arch), folder);
        show(over_unfused("fig12a", "Fig. 12a: energy over unfused, Llama3", arch,
                          llama_by_length(), relative_energy),
             folder);
        show(over_unfused("fig12b", "Fig. 12b: energy over unfused, 64K tokens", arch,
                          models_at_64k(), relative_energy),
             folder);
        show(shares(arch, "DRAM", &Cost::dram_j), folder);
        show(shares(arch, "buffer", &Cost::buffer_j), folder);
        write_schedules(arch, folder);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string folder = argc > 1 ? argv[1] : "runs/transfusion";
    try {
        std::filesystem::create_directories(folder);
        std::printf("Speed-up of transfusion, geometric mean of 5 models x 6 lengths\n        ");
        for (const Method method : methods) {
            std::printf("%18s", method == Method::transfusion ? "" : name(method));
        }
        std::printf("\n");
        show_means("cloud");
        show_means("edge");
        std::printf("%.1f CPU s for 60 configurations of five methods, TileSeek included\n",
                    static_cast<double>(std::clock()) / CLOCKS_PER_SEC);
        show_means("edge-32");
        show_means("edge-64");
        std::printf("\nAttention at 64K tokens (s)\n%-13s %13s %13s %13s %13s %13s %13s\n", "",
                    "fusemax-lf", "transfusion", "modulo", "max on 2D", "both", "fusemax paper");
        show_choices("cloud");
        show_choices("edge");
        figures(folder);
    } catch (const std::exception& error) {
        std::cerr << "reproduce_transfusion: " << error.what() << "\n";
        return 1;
    }
    std::printf("\ntables and pictures: %s\n", folder.c_str());
    return 0;
}
