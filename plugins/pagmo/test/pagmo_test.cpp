// Strategy `pagmo`: the contract, all algorithms, the same from the same seed.
#include <boost/test/unit_test.hpp>

#include "tessera/plugin/registry.hpp"
#include "tessera/tessera.hpp"
#include "tessera/testing/search_strategy.hpp"

using namespace tessera;

namespace {

Result run(const std::string& mapper, const std::string& algorithm, std::uint64_t evaluations,
           std::uint64_t seed) {
    const Problem problem =
        Problem::load("eyeriss", "matmuls", {{"N_EINSUMS", "2"}, {"M", "64"}, {"KN", "64"}});
    Options options;
    options.mapper = mapper;
    options.seed = seed;
    options.threads = 1;
    options.limits.max_evals = evaluations;
    if (!algorithm.empty()) {
        options.knobs["pagmo"]["algorithm"] = algorithm;
    }
    return map(problem, options);
}

}  // namespace

BOOST_AUTO_TEST_CASE(it_keeps_the_contract) {
    for (const testing::Check& check : testing::search_strategy_checks("pagmo", {})) {
        const std::vector<std::string> findings = testing::findings_of(check);
        BOOST_TEST(findings.empty(), check.name << " (" << check.text << ")");
        for (const std::string& finding : findings) {
            BOOST_TEST_MESSAGE(finding);
        }
    }
}

BOOST_AUTO_TEST_CASE(every_algorithm_gets_nearer_to_the_optimum) {
    const double best = run("ffm", "", 0, 0).best().report.edp_js();
    for (const char* algorithm : {"de", "sade", "de1220", "pso", "cmaes", "xnes", "sga",
                                  "bee-colony", "gwo", "ihs", "simulated-annealing"}) {
        const Result found = run("pagmo", algorithm, 10000, 1);
        const double value = found.best().report.edp_js();
        BOOST_TEST(value >= best * (1 - 1e-9), algorithm);
        BOOST_TEST(value <= 1.1 * best, algorithm << ": " << value / best);
        BOOST_TEST(found.statistics.evaluated >= 9900U);
        const auto short_run = [&] {
            return run("pagmo", algorithm, 1000, 1).best().report.edp_js();
        };
        BOOST_TEST(short_run() == short_run(), algorithm);
    }
}
