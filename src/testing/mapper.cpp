#include "tessera/testing/mapper.hpp"

#include <chrono>
#include <thread>

#include "tessera/base/error.hpp"
#include "tessera/mapspace/legality.hpp"
#include "testing/common.hpp"

namespace tessera::testing {

namespace {

mapper::Options options_of(const Settings& s) {
    mapper::Options options;
    options.seed = s.seed;
    options.threads = 1;
    options.budget.max_evals = 20'000;
    return options;
}

mapper::Result run(const std::string& name, const SmallProblem& small,
                   const mapper::Options& options) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    return plugin::Registry<mapper::Mapper>::instance().create(name)->map(small.problem(), *model,
                                                                          options);
}

/// Every mapping is legal for the independent checker and costs what the model says.
void check_solutions(const SmallProblem& small, const mapper::Options& options,
                     const mapper::Result& result, Findings& f) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    for (const mapper::Solution& solution : result.solutions) {
        for (const mapspace::Violation& v :
             mapspace::check(small.problem(), solution.mapping, &options.mapspace)) {
            f.expect(v.severity == mapspace::Severity::warning,
                     "a mapping is not legal: " + mapspace::to_text(v));
        }
        const model::Report again = model->evaluate(small.problem(), solution.mapping);
        f.expect(close(again.energy_j(), solution.report.energy_j()) &&
                     close(again.latency_s(), solution.report.latency_s()),
                 "the reported costs are not those of the mapping");
    }
}

/// Problems that the mapper declines with a UserError do not count; it must take one at least.
void check_legal(const std::string& name, const Settings& s, Findings& f) {
    int taken = 0;
    std::string reason;
    for (const int einsums : {1, 2, 3}) {
        const SmallProblem small(einsums, 16, 8, 2048);
        const mapper::Options options = options_of(s);
        try {
            const mapper::Result result = run(name, small, options);
            f.expect(!result.solutions.empty(), "no mapping was found");
            check_solutions(small, options, result, f);
            ++taken;
        } catch (const UserError& declined) {
            reason = declined.what();
        }
    }
    f.expect(taken > 0, "it takes none of the problems: " + reason);
}

void check_metrics(const std::string& name, const Settings& s, Findings& f) {
    using mapper::Metric;
    const SmallProblem small(1, 16, 8, 1024);
    for (const auto& metrics : {std::vector{Metric::energy}, std::vector{Metric::latency},
                                std::vector{Metric::energy, Metric::latency}}) {
        mapper::Options options = options_of(s);
        options.metrics = metrics;
        mapper::Result result;
        try {
            result = run(name, small, options);
        } catch (const UserError&) {
            continue;  // it does not know this metric, and says so
        }
        check_solutions(small, options, result, f);
        f.expect(metrics.size() > 1 || result.solutions.size() <= 1,
                 "several mappings although one metric was asked for");
        for (std::size_t i = 1; i < result.solutions.size(); ++i) {
            const model::Report &a = result.solutions[i - 1].report,
                                &b = result.solutions[i].report;
            f.expect(a.energy_j() <= b.energy_j() && a.latency_s() >= b.latency_s(),
                     "the Pareto set is not sorted, or holds a mapping that another one beats");
        }
    }
}

void check_deterministic(const std::string& name, const Settings& s, Findings& f) {
    const SmallProblem small(1, 16, 8, 1024);
    std::string first;
    for (const int threads : {1, 1, 2, 8}) {
        mapper::Options options = options_of(s);
        options.threads = threads;
        std::string text;
        for (const mapper::Solution& solution : run(name, small, options).solutions) {
            text += mapping::to_yaml(solution.mapping);
        }
        f.expect(first.empty() || text == first,
                 "two runs with the same seed differ (" + std::to_string(threads) + " threads)");
        first = text;
    }
}

void check_infeasible(const std::string& name, const Settings& s, Findings& f) {
    const SmallProblem small(1, 16, 8, 7);  // bits: not one value fits
    mapper::Options options = options_of(s);
    options.budget.max_evals = 3;
    try {
        const mapper::Result result = run(name, small, options);
        f.expect(result.solutions.empty(), "a mapping although none is legal");
        f.expect(result.status != mapper::Status::optimal, "optimal although nothing is legal");
    } catch (const Error&) {
        // NoLegalMapping, LimitReached: said in another way.
    }
}

void check_stop(const std::string& name, const Settings& s, Findings& f) {
    const SmallProblem small(3, 720, 720, 1e6);
    std::atomic<bool> stop{false};
    double cpu_at_stop = 0;
    mapper::Options options = options_of(s);
    options.stop = &stop;
    options.budget.max_evals = 0;
    options.budget.max_time_s = 60;
    std::jthread timer([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        cpu_at_stop = cpu_s();
        stop = true;
    });
    try {
        check_solutions(small, options, run(name, small, options), f);
    } catch (const Error&) {
        // Declined, or stopped before anything was found.
    }
    const double end = cpu_s();
    timer.join();
    // CPU time: a busy machine must not fail a plugin. The returned mapping may be checked again.
    f.expect(
        cpu_at_stop == 0 || end - cpu_at_stop <= 0.5,
        "it took " + std::to_string(end - cpu_at_stop) + " s of CPU time to stop, allowed are 0.5");
}

}  // namespace

std::vector<Check> mapper_checks(const std::string& name, const Settings& s) {
    std::vector<Check> own = {
        {"legal", "mappings are legal and cost what is reported",
         [=](Findings& f) { check_legal(name, s, f); }},
        {"metrics", "every metric; Pareto sets are sorted and hold nothing dominated",
         [=](Findings& f) { check_metrics(name, s, f); }},
        {"deterministic", "same seed, same result, for 1, 2 and 8 threads",
         [=](Findings& f) { check_deterministic(name, s, f); }},
        {"infeasible", "no mapping where none is legal",
         [=](Findings& f) { check_infeasible(name, s, f); }},
        {"stop", "stops soon", [=](Findings& f) { check_stop(name, s, f); }},
    };
    return with_common_checks<mapper::Mapper>(
        name, std::move(own), [=] { run(name, SmallProblem(1, 16, 8, 1024), options_of(s)); });
}

}  // namespace tessera::testing
