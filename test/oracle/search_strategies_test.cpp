// Strategies against the proven optimum, on small random problems of the same mapspace.
//
// With TESSERA_SOAK=N in the environment the first two tests take N runs, and N points of each
// strategy, on random problems from TESSERA_SOAK_FROM on. TESSERA_SOAK_STRATEGIES=a,b: of these
// alone.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <span>
#include <sstream>

#include "api/inputs.hpp"
#include "oracle/few_instances.hpp"
#include "oracle/points.hpp"
#include "support/setting.hpp"
#include "tessera/mapper/mapper.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/search/open_space.hpp"
#include "tessera/search/strategy.hpp"

using namespace tessera;

namespace {

std::vector<std::string> chosen_strategies() {
    const char* const chosen = std::getenv("TESSERA_SOAK_STRATEGIES");
    if (chosen == nullptr) {
        std::vector<std::string> all = {"annealing", "genetic", "mcts", "random", "es",
                                        "ddpg",      "dat",     "loma", "salsa"};
        if (plugin::Registry<search::SearchStrategy>::instance().find("pagmo") != nullptr) {
            all.emplace_back("pagmo");  // an optional plugin
        }
        return all;
    }
    std::vector<std::string> names;
    std::istringstream list(chosen);
    for (std::string name; std::getline(list, name, ',');) {
        names.push_back(name);
    }
    return names;
}

const std::vector<std::string>& strategies() {
    static const std::vector<std::string> chosen = chosen_strategies();
    return chosen;
}

/// The listed problems of every kind, or with TESSERA_SOAK as many as `test` wants.
void for_problems(
    std::size_t each,
    const std::function<bool(const model::Problem&, const mapspace::MapSpaceOptions&)>& test) {
    if (test::setting("TESSERA_SOAK", 0) == 0) {
        oracle::for_each_instance(each, [&](const model::Problem& problem, const auto& limits) {
            test(problem, limits);
        });
        return;
    }
    for (std::uint64_t seed = test::setting("TESSERA_SOAK_FROM", 3'000'000);; ++seed) {
        const oracle::Instance drawn = oracle::random_instance(seed);
        const oracle::LoadedInstance instance(drawn.yaml);
        BOOST_TEST_CONTEXT("random " << seed) {
            if (!test(instance.problem, drawn.options)) {
                return;
            }
        }
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(strategies_reach_the_optimum_and_are_never_below) {
    const std::uint64_t soak = test::setting("TESSERA_SOAK", 0);
    std::map<std::string, int> reached;
    std::uint64_t runs = 0;
    int problems = 0;
    for_problems(17, [&](const model::Problem& problem, const auto& limits) {
        mapper::Options options;
        options.mapspace = limits;
        options.threads = 1;
        const mapper::Result proven = oracle::mapped(problem, options, "ffm");
        if (soak > 0 && proven.solutions.empty()) {
            return true;
        }
        const double best = proven.solutions.at(0).report.edp_js();
        ++problems;
        options.budget.max_evals = 20'000;
        options.budget.target = best * (1 + 1e-9);
        options.knobs["mcts"]["variant"] = problems % 2 == 0 ? "tileflow" : "tileseek";
        const std::size_t n = soak > 0 ? strategies().size() : 3;
        for (std::size_t i = 0; i < n; ++i) {
            const mapper::Result found =
                oracle::mapped(problem, options, "search", {{"strategy", strategies()[i]}});
            ++runs;
            // Strategies without fusion find nothing where intermediates must stay on the chip.
            BOOST_TEST_REQUIRE((found.solutions.size() == 1u || i >= 3));
            if (found.solutions.empty()) {
                continue;
            }
            const double value = found.solutions[0].report.edp_js();
            BOOST_TEST(value >= best * (1 - 1e-9),
                       strategies()[i] << " " << value << " < " << best);
            reached[strategies()[i]] += value <= best * (1 + 1e-9);
        }
        return runs < soak;
    });
    for (const auto& [strategy, count] : reached) {
        BOOST_TEST_MESSAGE(strategy << ": " << count << " of " << problems);
    }
    BOOST_TEST_MESSAGE(runs << " runs");
    for (const char* strategy : {"annealing", "genetic", "mcts"}) {
        BOOST_TEST(100 * reached[strategy] >= 95 * problems,
                   strategy << ": " << reached[strategy] << " of " << problems);
    }
    BOOST_TEST(problems >= 200);
}

// What the host calls legal, with the costs of its formulas, against the independent checker and
// the model. TESSERA_SOAK=n: n points of each strategy, the costs of every 16th.
BOOST_AUTO_TEST_CASE(what_strategies_evaluate_is_legal_and_costs_what_the_model_says) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const std::uint64_t soak = test::setting("TESSERA_SOAK", 0);
    // Costs as the model has them take as long as twenty points: of many points some are compared.
    const std::uint64_t costs_of_each = soak > 0 ? 16 : 1, told_every = 100'000;
    std::map<std::string, std::uint64_t> checked;
    for_problems(3, [&](model::Problem problem, const mapspace::MapSpaceOptions& limits) {
        problem.paths = problem.paths_or_new();
        mapper::Options exact;
        exact.mapspace = limits;
        exact.threads = 1;
        if (soak > 0 && oracle::mapped(problem, exact, "ffm").solutions.empty()) {
            return true;
        }
        const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
        search::Worker worker(space);
        std::uint64_t least = ~0ull;
        for (const std::string& name : strategies()) {
            if (soak > 0 && checked[name] >= soak) {
                continue;  // those of loop orders have few points of each problem
            }
            const auto strategy = plugin::Registry<search::SearchStrategy>::instance().create(name);
            strategy->start(space, checked[name]);
            std::vector<search::Candidate> batch(64);
            const std::uint64_t wanted = checked[name] + (soak > 0 ? 5000 : 60);
            int in_vain =
                0;  // rounds: of some random problems nothing, or next to nothing, is legal
            for (int round = 0; round < 400 && in_vain < 2 && checked[name] < wanted; ++round) {
                const std::size_t n = strategy->ask(batch);
                const std::uint64_t before = checked[name];
                for (search::Candidate& c : std::span(batch).first(n)) {
                    worker.run(c);
                    c.outcome.value = c.outcome.energy_j * c.outcome.latency_s;
                    if (!c.outcome.legal()) {
                        continue;
                    }
                    ++checked[name];
                    const mapping::Mapping found = worker.mapping(c.point);
                    if (checked[name] % costs_of_each == 0) {
                        const model::Report report = model->evaluate(problem, found);
                        BOOST_TEST(oracle::close(report.energy_j(), c.outcome.energy_j), name);
                        BOOST_TEST(oracle::close(report.latency_s(), c.outcome.latency_s), name);
                    }
                    for (const mapspace::Violation& v : mapspace::check(problem, found, &limits)) {
                        BOOST_TEST((v.severity == mapspace::Severity::warning),
                                   name << ": " << mapspace::to_text(v));
                    }
                }
                strategy->tell(std::span(batch).first(n));
                if (n == 0) {
                    break;
                }
                in_vain = checked[name] == before ? in_vain + 1 : 0;
                if (checked[name] / told_every > before / told_every) {
                    std::fprintf(stderr, "%s: %llu points\n", name.c_str(),
                                 static_cast<unsigned long long>(checked[name]));
                }
            }
            least = std::min(least, checked[name]);
        }
        return least < soak;  // none is left: the greatest number
    });
    for (const std::string& name : strategies()) {
        BOOST_TEST_MESSAGE(name << ": " << checked[name] << " points");
        BOOST_TEST(checked[name] >= 300u, name << ": " << checked[name]);
    }
}

BOOST_AUTO_TEST_CASE(known_mappings_change_no_optimum_and_are_never_lost) {
    oracle::for_each_instance(4, [&](const model::Problem& problem, const auto& limits) {
        mapper::Options options;
        options.mapspace = limits;
        options.threads = 1;
        const mapper::Solution best = oracle::mapped(problem, options, "ffm").solutions.at(0);
        const double optimum = best.report.edp_js();
        options.budget.max_evals = 30;
        const mapper::Solution some = oracle::mapped(problem, options, "search").solutions.at(0);
        options.budget = {};
        for (const std::vector<mapper::Solution>& known :
             {std::vector{some}, std::vector{best}, std::vector{some, best}}) {
            options.start = known;
            const mapper::Result found = oracle::mapped(problem, options, "ffm");
            BOOST_TEST((found.status == mapper::Status::optimal));
            BOOST_TEST(oracle::close(found.solutions.at(0).report.edp_js(), optimum));
            BOOST_TEST(oracle::close(found.bound.value_or(0), optimum));
        }
        for (const std::string strategy : {"random", "annealing", "genetic", "mcts"}) {
            options.start = {best};
            options.budget.max_evals = 20;
            const mapper::Result found =
                oracle::mapped(problem, options, "search", {{"strategy", strategy}});
            BOOST_TEST(oracle::close(found.solutions.at(0).report.edp_js(), optimum), strategy);
            options.budget = {};
        }
        // Of several metrics the known one is one of the set, or something is better.
        options.metrics = {mapper::Metric::energy, mapper::Metric::latency};
        options.budget.max_evals = 20;
        bool as_good = false;
        for (const mapper::Solution& s : oracle::mapped(problem, options, "search").solutions) {
            as_good = as_good || (s.report.energy_j() <= best.report.energy_j() * (1 + 1e-9) &&
                                  s.report.latency_s() <= best.report.latency_s() * (1 + 1e-9));
        }
        BOOST_TEST(as_good);
    });
}

// Four Einsums read one fused tensor. Who takes it out of the fusion replaces all four at once.
BOOST_AUTO_TEST_CASE(genetic_search_leaves_a_fusion_that_several_einsums_share) {
    api::InputNames names;
    names.architecture = "simba";
    names.workload = "gpt3-6.7b";
    names.defines = {{"BATCH", "1"}, {"TOKENS", "2048"}};
    const api::Inputs inputs = api::load_inputs(names);
    const model::Problem problem{&*inputs.workload, &*inputs.architecture};
    mapper::Options options;
    options.threads = 1;
    const double best = oracle::mapped(problem, options, "ffm").solutions.at(0).report.edp_js();
    options.budget.max_evals = 100'000;
    for (const std::uint64_t seed : {1, 2, 3}) {
        options.seed = seed;
        const mapper::Result found =
            oracle::mapped(problem, options, "search", {{"strategy", "genetic"}});
        const double value = found.solutions.at(0).report.edp_js();
        BOOST_TEST(value >= best * (1 - 1e-9));
        BOOST_TEST(value <= best * 1.10, "seed " << seed << ": " << value / best);
    }
}
