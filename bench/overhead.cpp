// What the dashboard costs: the same search in tmux (80 x 24) with --ui=tui and with --ui=none, in
// turns, medians.
//
//   bench/overhead [--rounds 11] [--arch A --workload W -- options of `tessera map`]
//
// Without --arch and --workload: the slowest case of bench/breadth that is proven optimal, and a
// random search. CPU seconds are those of the whole process, drawing included; they are what a
// machine with other work to do should be judged by. tmux's own are not counted.
#include <iostream>

#include "program.hpp"

namespace {

using namespace bench;
namespace fs = std::filesystem;

struct Case {
    std::string name;
    std::vector<std::string> options;
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t n = values.size();
    return n == 0 ? 0 : n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

std::string quoted(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
        text += (text.empty() ? "'" : " '") + word + "'";
    }
    return text;
}

struct Cost {
    double wall_s = 0, cpu_s = 0;
};

/// One search in a terminal of its own.
Cost measure(const Case& c, const std::string& ui) {
    // A server that ends would take the next session with it, had that the same name.
    static int count = 0;
    const std::string name =
        "tessera-overhead-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
    const fs::path out = fs::temp_directory_path() / (name + ".json");
    std::vector<std::string> words = joined({bench::tessera(), "map"}, c.options);
    words = joined(words, {"--json", "--ui", ui});
    const std::string command =
        quoted(words) + " > '" + out.string() + "'; tmux -L " + name + " wait-for -S done";
    const Outcome started =
        run({"env", "-u", "TMUX", "TERM=xterm-256color", "tmux", "-L", name, "-f", "/dev/null",
             "new-session", "-d", "-x", "80", "-y", "24", command});
    if (!started.ok()) {
        std::cerr << "overhead: tmux does not start: " << started.errors << "\n";
        std::exit(2);
    }
    // Without looking at the process meanwhile: that would cost what is to be measured.
    if (std::system(("timeout 600 tmux -L " + name + " wait-for done").c_str()) != 0) {
        std::cerr << "overhead: no answer within 600 s\n";
    }
    run({"tmux", "-L", name, "kill-server"});
    Outcome search;
    search.output = read_and_remove(out.string());
    const Json d = document(search);
    return {number(d, {"search", "wall_s"}), number(d, {"search", "cpu_s"})};
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<Case> cases = {{"resnet-50 @ eyeriss", {"-a", "eyeriss", "-w", "resnet-50"}},
                               {"random search",
                                {"-a", "simba", "-w", "matmuls", "-D", "N_EINSUMS=2", "--mapper",
                                 "random", "--max-evals", "40000"}}};
    int rounds = 11;
    std::string arch, workload;
    std::vector<std::string> extra;
    const std::vector<std::string> args(argv + 1, argv + argc);
    for (std::size_t i = 0; i < args.size(); i += 2) {
        if (args[i] == "--") {
            extra.assign(args.begin() + static_cast<std::ptrdiff_t>(i) + 1, args.end());
            break;
        }
        const std::string value = i + 1 < args.size() ? args[i + 1] : "";
        if (args[i] == "--rounds" && std::atoi(value.c_str()) > 0) {
            rounds = std::atoi(value.c_str());
        } else if (args[i] == "--arch") {
            arch = value;
        } else if (args[i] == "--workload") {
            workload = value;
        } else {
            std::cerr << "usage: overhead [--rounds N] [--arch A --workload W -- ...]\n";
            return 2;
        }
    }
    if (!arch.empty()) {
        cases = {{workload + " @ " + arch, joined({"-a", arch, "-w", workload}, extra)}};
    }
    std::printf("%-24s %12s %12s %8s %12s %12s %8s\n", "case", "CPU s none", "CPU s tui", "ratio",
                "wall s none", "wall s tui", "ratio");
    for (const Case& c : cases) {
        std::vector<double> cpu[2], wall[2], cpu_ratios, wall_ratios;
        for (int round = 0; round < rounds; ++round) {
            // In turns, and each first as often as second.
            for (int turn = 0; turn < 2; ++turn) {
                const int tui = (round + turn) % 2;
                const Cost cost = measure(c, tui != 0 ? "tui" : "none");
                cpu[tui].push_back(cost.cpu_s);
                wall[tui].push_back(cost.wall_s);
            }
            cpu_ratios.push_back(cpu[1].back() / cpu[0].back());
            wall_ratios.push_back(wall[1].back() / wall[0].back());
        }
        std::printf("%-24s %12.3f %12.3f %8.4f %12.3f %12.3f %8.4f\n", c.name.c_str(),
                    median(cpu[0]), median(cpu[1]), median(cpu_ratios), median(wall[0]),
                    median(wall[1]), median(wall_ratios));
        std::fflush(stdout);
    }
    return 0;
}
