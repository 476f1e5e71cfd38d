// The experiments of the FFM paper's evaluation on a TPU-v4i, and the same for Llama 3.
//
//   bench/paper [--time 300] [-- options of `tessera map`]
//
// 1. Whole layers: optimum, time, memory, how many pmappings were evaluated and how many that
// stands
//    for (size of the mapspace / time).
// 2. Pareto sizes: how many partial mappings every step of the join keeps.

#include <iostream>

#include "program.hpp"

namespace {

using namespace bench;

struct Experiment {
    std::string name, workload;
    std::vector<std::string> options;
};

std::vector<Experiment> experiments() {
    const auto size = [](const char* batch, const char* tokens, const char* limit) {
        return std::vector<std::string>{"-D",
                                        std::string("BATCH=") + batch,
                                        "-D",
                                        std::string("TOKENS=") + tokens,
                                        "--max-fused-loops",
                                        limit};
    };
    std::vector<Experiment> all;
    for (const char* limit : {"1", "unlimited"}) {
        const std::string tail = std::string(", fused loops ") + limit;
        all.push_back({"GPT-3 6.7B 1 x 2048" + tail, "gpt3-6.7b", size("1", "2048", limit)});
        all.push_back({"GPT-3 6.7B 4 x 4096" + tail, "gpt3-6.7b", size("4", "4096", limit)});
        all.push_back({"GPT-3 6.7B 64 x 4096" + tail, "gpt3-6.7b", size("64", "4096", limit)});
        all.push_back({"Llama3-8B 1 x 2048" + tail, "llama3-8b", size("1", "2048", limit)});
    }
    return all;
}

/// log10 of an exact decimal integer, which may have more digits than a double has range.
double log10_of(const std::string& decimal) {
    if (decimal.empty()) {
        return std::nan("");
    }
    const std::string head = decimal.substr(0, 15);
    return std::log10(std::atof(head.c_str())) + static_cast<double>(decimal.size() - head.size());
}

std::string power_of_ten(double log10) {
    char text[32];
    std::snprintf(text, sizeof text, std::isfinite(log10) ? "1e%.1f" : "?", log10);
    return text;
}

/// "25 | 13 | ...": partial mappings after each step of the exact join, from the progress lines
/// "join: 3 of 10 Einsums, 25 partial mappings in 4 states".
std::string pareto_sizes(const std::string& progress) {
    std::string text, line;
    std::istringstream in(progress);
    while (std::getline(in, line)) {
        const std::size_t comma = line.find(", ");
        if (line.rfind("join: ", 0) == 0 && comma != std::string::npos) {
            std::istringstream rest(line.substr(comma + 2));
            std::string rows;
            rest >> rows;
            text += (text.empty() ? "" : " | ") + rows;
        }
    }
    return text;
}

}  // namespace

int main(int argc, char** argv) {
    double limit_s = 300;
    std::vector<std::string> args(argv + 1, argv + argc), extra;
    if (args.size() >= 2 && args[0] == "--time" && std::atof(args[1].c_str()) > 0) {
        limit_s = std::atof(args[1].c_str());
        args.erase(args.begin(), args.begin() + 2);
    }
    if (!args.empty() && args[0] == "--") {
        extra.assign(args.begin() + 1, args.end());
    } else if (!args.empty()) {
        std::cerr << "usage: paper [--time S] [-- options of tessera map]\n";
        return 2;
    }
    std::printf("%-42s %-10s %13s %7s %7s %8s %9s %11s %8s %11s\n", "layer on TPU-v4i, edp",
                "status", "EDP (J s)", "wall s", "CPU s", "RSS MiB", "evaluated", "per CPU s",
                "space", "space/CPU s");
    std::vector<std::string> steps;
    bool all = true;
    for (const Experiment& e : experiments()) {
        std::vector<std::string> command{bench::tessera(), "map",        "-a",
                                         "tpu-v4i",        "-w",         e.workload,
                                         "--mapspace",     "accelforge", "--json"};
        const Outcome o = run(joined(joined(command, e.options), extra), limit_s);
        const Json d = document(o);
        const bool done = d.is_object() && d.contains("status");
        all = all && done;
        const double evaluated = number(d, {"search", "evaluated"});
        const double space =
            done ? log10_of(d["search"]["mapspace_size"].get<std::string>()) : std::nan("");
        std::printf("%-42s %-10s %13.9g %7.2f %7.2f %8.0f %9.2e %11.2e %8s %11s\n", e.name.c_str(),
                    done ? d["status"].get<std::string>().c_str() : "none", best(d, "edp_js"),
                    o.wall_s, o.cpu_s, o.peak_rss_bytes / 1048576, evaluated, evaluated / o.cpu_s,
                    power_of_ten(space).c_str(), power_of_ten(space - std::log10(o.cpu_s)).c_str());
        std::fflush(stdout);
        steps.push_back(e.name + "\n    phases: " + phases(d) +
                        "\n    kept: " + pareto_sizes(o.errors));
    }
    std::printf("\npartial mappings kept after each step of the join\n");
    for (const std::string& s : steps) {
        std::printf("%s\n", s.c_str());
    }
    return all ? 0 : 1;
}
