// Mapper fusecu against FFM's proven optimum, on architecture one-buffer and model looptree, metric
// traffic, both without partial tiles; annealing in 0.1 s; and what FFM gains if it begins with
// fusecu's mapping.
//
//   bench/fusecu_mapper        a table in Markdown, in about a minute

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include "tessera/spec/directives.hpp"
#include "tessera/tessera.hpp"

namespace {

using namespace tessera;

struct Found {
    double words = 0, seconds = 0;
    bool proven = false;
    mapping::Mapping mapping;
};

Found run(const Problem& problem, Options options) {
    options.metrics = {mapper::Metric::traffic};
    options.threads = 1;
    const auto before = std::chrono::steady_clock::now();
    const Result result = map(problem, options);
    Found found;
    found.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
    found.proven = result.status == mapper::Status::optimal;
    if (!result.solutions.empty()) {
        found.words = result.best().report.traffic_words().value_or(0);
        found.mapping = result.best().mapping;
    }
    return found;
}

/// The fastest of three.
Found fastest(const Problem& problem, const Options& options) {
    Found best = run(problem, options);
    for (int i = 0; i < 2; ++i) {
        Found again = run(problem, options);
        if (again.seconds < best.seconds) {
            best = std::move(again);
        }
    }
    return best;
}

void row(const std::string& workload, Problem::Defines defines, long buffer) {
    defines["BUFFER"] = std::to_string(buffer);
    defines["BITS"] = "8";
    const Problem problem = Problem::load("one-buffer", workload, defines);
    Options options;
    options.limits.max_time_s = 60;
    const Found ffm = fastest(problem, options);
    options.mapper = "fusecu";
    const Found fusecu = fastest(problem, options);
    options.mapper = "annealing";
    options.limits.max_time_s = std::max(0.1, 10 * fusecu.seconds);
    const Found annealing = run(problem, options);
    Options warm;
    warm.limits.max_time_s = 60;
    warm.start = {fusecu.mapping};
    const Found from = fastest(problem, warm);
    std::printf("| `%s` | %ld | %.4g%s | %.3f | ", workload.c_str(), buffer, ffm.words,
                ffm.proven ? "" : " (not proven)", fusecu.words / ffm.words);
    if (annealing.words > 0) {
        std::printf("%.3f", annealing.words / ffm.words);
    } else {
        std::printf("none");
    }
    std::printf(" | %.1f | %.0f | %.0f |\n", fusecu.seconds * 1e3, ffm.seconds * 1e3,
                from.seconds * 1e3);
    std::fflush(stdout);
}

}  // namespace

int main() {
    std::printf(
        "| workload | buffer (words) | FFM, proven (words) | fusecu | annealing, 0.1 s | "
        "fusecu (ms) | FFM (ms) | FFM from fusecu (ms) |\n|---|---|---|---|---|---|---|---|\n");
    for (const long buffer : {16384L, 65536L, 262144L, 1048576L, 4194304L}) {
        row("attention", {}, buffer);
        row("gpt3-6.7b", {{"TOKENS", "2048"}}, buffer);
        row("llama3-8b", {{"TOKENS", "2048"}}, buffer);
    }
    return 0;
}
