// Ablation: what each idea of the mapper `ffm` gains, in time, rows and memory. One thread.
//
//   bench/ablation [--specs .] [--ideas a,b] [--cases a,b] [--runs 5] [--time 60]
//
// --specs: a folder with arch-specs/ and problem-shapes/. Every run is a process of its own. After
// a run that does not count, every round runs each case with all ideas and with each idea switched
// off. A row: medians of CPU seconds, of their ratio to the run with all ideas in the same round,
// with the lowest and the highest ratio, rows (partial pmappings and joined ones included) and peak
// memory. Last come the ideas that gain less than 5 % on every case. A run ends after --time CPU
// seconds, proven or not; where neither of two ends by itself, their ratio says nothing. Exit
// status 1 if an optimum differs or a run breaks down.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "../plugins/ffm/switches.hpp"
#include "base/statistics.hpp"
#include "options.hpp"
#include "tessera/arch/architecture.hpp"
#include "tessera/base/error.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/spec/directives.hpp"
#include "tessera/workload/workload.hpp"

namespace {

using namespace tessera;

constexpr double pays = 1.05;
constexpr double rounding = 1e-9;

/// The mapspace of the reference, the whole one, the same with partial tiles.
enum class Space { reference, full, partial };

struct Case {
    const char* name;
    const char *arch, *workload;
    std::map<std::string, std::string> defines;
    Space space = Space::reference;
    int max_fused_loops = mapspace::MapSpaceOptions::unlimited;
};

const std::vector<Case>& all_cases() {
    using Defines = std::map<std::string, std::string>;
    const Defines short_prompt{{"BATCH", "1"}, {"TOKENS", "2048"}};
    const Defines batch{{"BATCH", "64"}, {"TOKENS", "4096"}};
    const Defines decode{{"DECODE", "1"}, {"CACHED", "2047"}};
    const Defines chain{{"N_EINSUMS", "64"}, {"M", "1024"}, {"KN", "1024"}, {"KN_STEP", "16"}};
    static const std::vector<Case> cases{
        {"gpt3", "tpu-v4i", "gpt3-6.7b", short_prompt},
        {"gpt3-b64-1loop", "tpu-v4i", "gpt3-6.7b", batch, Space::reference, 1},
        {"gpt3-b64", "tpu-v4i", "gpt3-6.7b", batch},
        {"gpt3-full", "tpu-v4i", "gpt3-6.7b", short_prompt, Space::full},
        {"gpt3-partial", "tpu-v4i", "gpt3-6.7b", short_prompt, Space::partial},
        {"gpt3-simba", "simba", "gpt3-6.7b", short_prompt},
        {"llama3-full", "tpu-v4i", "llama3-8b", {}, Space::full},
        {"llama3-decode", "simba", "llama3-8b", decode},
        {"llama3-edge", "edge", "llama3-8b", short_prompt},
        {"llama3-nvdla-partial", "nvdla", "llama3-8b", short_prompt, Space::partial},
        {"chain-64", "tpu-v4i", "matmuls", chain},
        {"mobilenet", "simba", "mobilenet-28", {}},
        {"mobilenet-full", "simba", "mobilenet-28", {}, Space::full},
        {"mobilenet-eyeriss", "eyeriss", "mobilenet-28", {}, Space::full},
        {"mobilenet-nvdla-partial", "nvdla", "mobilenet-28", {}, Space::partial},
        {"layer-eyeriss", "eyeriss", "cnn-layer", {}, Space::full},
        {"layer-banks", "mind-mappings", "cnn-layer", {}, Space::full},
    };
    return cases;
}

/// What one run says, sent from its process. `ended`: it did not break down.
struct Run {
    double cpu_s = 0, edp_js = 0, rows = 0, memory_mib = 0;
    bool proven = false, ended = false;
};

double cpu_s() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

Run search(const model::Problem& problem, const Case& c, const std::string& without, double limit) {
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
    const double start = cpu_s();
    options.budget.max_cpu_s = start + limit;
    if (!without.empty()) {
        options.without = {without};
    }
    Run run;
    try {
        const mapper::Result result = ffm->map(problem, *model, options);
        run.edp_js = result.solutions.empty() ? 0 : result.solutions.front().report.edp_js();
        run.rows = static_cast<double>(result.statistics.evaluated);
        run.proven = result.status == mapper::Status::optimal;
    } catch (const LimitReached&) {  // before any mapping was found
    }
    run.cpu_s = cpu_s() - start;
    run.ended = true;
    return run;
}

/// search() in a process of its own, whose memory is that of this search.
Run search_apart(const model::Problem& problem, const Case& c, const std::string& without,
                 double limit) {
    std::array<int, 2> ends{};
    Run run;
    std::fflush(nullptr);
    if (pipe(ends.data()) != 0) {
        throw UserError("no pipe to a search");
    }
    const pid_t child = fork();
    if (child == 0) {
        try {
            run = search(problem, c, without, limit);
        } catch (const std::exception& e) {
            std::fprintf(stderr, "ablation: %s without %s: %s\n", c.name, without.c_str(),
                         e.what());
        }
        _exit(write(ends[1], &run, sizeof run) == sizeof run ? 0 : 1);
    }
    close(ends[1]);
    if (read(ends[0], &run, sizeof run) != sizeof run) {
        run = Run{};
    }
    close(ends[0]);
    int status = 0;
    rusage usage{};
    if (child > 0 && wait4(child, &status, 0, &usage) == child) {
        run.memory_mib = static_cast<double>(usage.ru_maxrss) / 1024;
    }
    return run;
}

double median(std::vector<double> values) {
    return base::quantile(std::move(values), 0.5);
}

template <class Value>
double median_of(const std::vector<Run>& runs, const Value& value) {
    std::vector<double> values;
    for (const Run& run : runs) {
        values.push_back(value(run));
    }
    return median(std::move(values));
}

struct Settings {
    std::string specs = ".";
    std::vector<std::string> ideas, cases;
    double runs = 5, time_s = 60;
};

Settings settings(int argc, char** argv) {
    Settings s;
    s.ideas = ffm::switch_names();
    for (const Case& c : all_cases()) {
        s.cases.emplace_back(c.name);
    }
    bench::Options options("ablation",
                           "[--specs DIR] [--ideas a,b] [--cases a,b] [--runs N] [--time S]");
    options.text("--specs", s.specs);
    options.list("--ideas", s.ideas);
    options.list("--cases", s.cases);
    options.number("--runs", s.runs);
    options.number("--time", s.time_s);
    if (!options.read(argc, argv).empty()) {
        options.refuse("options of `tessera map` are of no use here");
    }
    for (const std::string& name : s.cases) {
        if (std::ranges::none_of(all_cases(), [&](const Case& c) { return c.name == name; })) {
            options.refuse("no case is called '" + name + "'");
        }
    }
    ffm::switches_without(s.ideas);
    return s;
}

/// One case: a row for each idea. What each gains and whether all optima are the same.
class Measurement {
public:
    Measurement(const Settings& s, const Case& c)
        : s_(s),
          case_(c),
          workload_(workload::load_workload(s.specs + "/problem-shapes/" + c.workload + ".yaml",
                                            c.defines)),
          architecture_(
              arch::load_architecture(s.specs + "/arch-specs/" + c.arch + ".yaml", c.defines)) {}

    bool measure(std::map<std::string, double>& gains) {
        run("");
        const auto rounds = static_cast<std::size_t>(std::max(1.0, s_.runs));
        std::vector<Run> with_all;
        std::vector<std::vector<Run>> without(s_.ideas.size());
        for (std::size_t round = 0; round < rounds; ++round) {
            with_all.push_back(run(""));
            for (std::size_t i = 0; i < s_.ideas.size(); ++i) {
                without[i].push_back(run(s_.ideas[i]));
            }
        }
        print("(all on)", with_all, with_all);
        bool same = true;
        for (std::size_t i = 0; i < s_.ideas.size(); ++i) {
            const double gain = print(s_.ideas[i], without[i], with_all);
            double& most = gains[s_.ideas[i]];
            most = std::isfinite(gain) ? std::max(most, gain) : most;
            same = same && equal(without[i], with_all);
        }
        return same;
    }

private:
    Run run(const std::string& without) const {
        const model::Problem problem{
            &workload_, &architecture_,
            case_.space == Space::reference ? arch::Compat::accelforge : arch::Compat::none};
        return search_apart(problem, case_, without, s_.time_s);
    }

    /// The median of the ratios.
    double print(const std::string& without, const std::vector<Run>& runs,
                 const std::vector<Run>& with_all) const {
        std::vector<double> ratios;
        for (std::size_t i = 0; i < runs.size(); ++i) {
            if (runs[i].proven || with_all[i].proven) {
                ratios.push_back(runs[i].cpu_s / std::max(with_all[i].cpu_s, 1e-3));
            }
        }
        if (ratios.empty()) {
            ratios.push_back(NAN);
        }
        const auto [least, most] = std::ranges::minmax(ratios);
        const bool proven = std::ranges::all_of(runs, &Run::proven);
        std::printf("%-24s %-20s %8.2f %6.2f %6.2f %6.2f %11.3g %7.0f%s\n", case_.name,
                    without.c_str(), median_of(runs, [](const Run& r) { return r.cpu_s; }),
                    median(ratios), least, most,
                    median_of(runs, [](const Run& r) { return r.rows; }),
                    median_of(runs, [](const Run& r) { return r.memory_mib; }),
                    !std::ranges::all_of(runs, &Run::ended) ? "  broke down"
                    : proven                                ? ""
                                                            : "  not proven");
        std::fflush(stdout);
        return median(ratios);
    }

    static bool equal(const std::vector<Run>& a, const std::vector<Run>& b) {
        for (std::size_t i = 0; i < a.size(); ++i) {
            if (!a[i].ended || !b[i].ended ||
                (a[i].proven && b[i].proven &&
                 std::abs(a[i].edp_js - b[i].edp_js) > rounding * b[i].edp_js)) {
                return false;
            }
        }
        return true;
    }

    const Settings& s_;
    const Case& case_;
    workload::Workload workload_;
    arch::Architecture architecture_;
};

int measure(const Settings& s) {
    std::printf("%-24s %-20s %8s %6s %6s %6s %11s %7s\n", "case", "without", "CPU s", "ratio",
                "least", "most", "rows", "MiB");
    bool same = true;
    std::map<std::string, double> gains;
    for (const Case& c : all_cases()) {
        if (std::ranges::find(s.cases, c.name) != s.cases.end()) {
            same = Measurement(s, c).measure(gains) && same;
        }
    }
    std::printf("\ngain less than %.0f %% on every case:", (pays - 1) * 100);
    for (const std::string& idea : s.ideas) {
        if (gains[idea] > 0 && gains[idea] < pays) {  // 0: nowhere measured
            std::printf(" %s", idea.c_str());
        }
    }
    std::printf("\n%s\n", same ? "all optima are the same" : "AN OPTIMUM DIFFERS");
    return same ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return measure(settings(argc, argv));
    } catch (const tessera::UserError& e) {
        std::fprintf(stderr, "ablation: %s\n", e.what());
        return 2;
    }
}
