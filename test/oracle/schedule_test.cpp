// DPipe against enumeration on random graphs of tasks.

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>

#include "support/random_dag.hpp"

using namespace tessera;
using namespace tessera::schedule;

BOOST_AUTO_TEST_CASE(bipartitions_are_those_of_the_definition) {
    std::mt19937 random(3);
    std::size_t splits = 0;
    for (int i = 0; i < 1000; ++i) {
        const Dag dag = test::random_dag(random, 2 + i % 7, false);
        bool complete = false;
        std::vector<std::uint64_t> found;
        for (const Overlap& one : bipartitions(dag, {}, complete)) {
            std::uint64_t first = 0;
            for (std::size_t t = 0; t < one.stage.size(); ++t) {
                first |= one.stage[t] == 0 ? std::uint64_t{1} << t : 0;
            }
            found.push_back(first);
        }
        found.erase(found.begin());  // unsplit
        std::sort(found.begin(), found.end());
        BOOST_TEST(complete);
        BOOST_REQUIRE(found == test::defined_bipartitions(dag));
        splits += found.size();
    }
    BOOST_TEST(splits > 1000u);
}

BOOST_AUTO_TEST_CASE(orders_are_the_best_of_all) {
    std::mt19937 random(5);
    int unlucky = 0;
    for (int i = 0; i < 600; ++i) {
        const Dag dag = test::random_dag(random, 2 + i % 5, false);
        const Overlap unsplit = overlap(dag, std::vector<int>(dag.tasks.size(), 0));
        const Schedule any = best_order(dag, unsplit, Binding::any);
        BOOST_TEST(any.complete);
        BOOST_REQUIRE(objection(dag, any) == "");
        BOOST_REQUIRE(any.interval_s == test::shortest_round(dag, unsplit, Binding::any));
        // Dominance may lose an order of the greedy binding, but not often.
        const Schedule greedy = best_order(dag, unsplit, Binding::greedy);
        BOOST_REQUIRE(objection(dag, greedy) == "");
        const double best = test::shortest_round(dag, unsplit, Binding::greedy);
        BOOST_REQUIRE(greedy.interval_s >= best);
        unlucky += greedy.interval_s > best;
    }
    BOOST_TEST(unlucky <= 6);
    BOOST_TEST_MESSAGE("greedy orders that dominance lost: " << unlucky << " of 600");
}

BOOST_AUTO_TEST_CASE(modulo_reaches_the_least_load_without_recurrences) {
    std::mt19937 random(7);
    int shorter = 0;
    for (int i = 0; i < 2000; ++i) {
        const Dag dag = test::random_dag(random, 1 + i % 8, false);
        const Schedule modulo = pipeline(dag, Mode::modulo), paper = pipeline(dag, Mode::paper);
        BOOST_TEST(modulo.complete);
        BOOST_REQUIRE(objection(dag, modulo) == "");
        BOOST_REQUIRE(objection(dag, paper) == "");
        BOOST_REQUIRE(modulo.interval_s == test::least_load(dag));
        BOOST_REQUIRE(modulo.interval_s <= paper.interval_s);
        shorter += modulo.interval_s < paper.interval_s;
    }
    BOOST_TEST(shorter > 200);
}

BOOST_AUTO_TEST_CASE(modulo_is_the_best_of_all_stages_with_recurrences) {
    std::mt19937 random(11);
    int bound = 0;
    for (int i = 0; i < 600; ++i) {
        const Dag dag = test::random_dag(random, 1 + i % 5, true);
        const Schedule modulo = pipeline(dag, Mode::modulo);
        BOOST_TEST(modulo.complete);
        BOOST_REQUIRE(objection(dag, modulo) == "");
        BOOST_REQUIRE(modulo.interval_s == test::shortest_round_of_all_stages(dag));
        BOOST_REQUIRE(modulo.interval_s <= pipeline(dag, Mode::paper).interval_s);
        bound += modulo.interval_s > test::least_load(dag);
    }
    BOOST_TEST(bound > 50);  // recurrences mattered
}

BOOST_AUTO_TEST_CASE(limits_are_admitted) {
    std::mt19937 random(13);
    const Dag dag = test::random_dag(random, 8, true);
    const Schedule whole = pipeline(dag, Mode::paper);
    BOOST_TEST(whole.complete);
    for (const Limits& limits : {Limits{1, 4096, 500000}, Limits{2000, 1, 500000},
                                 Limits{2000, 4096, 0}, Limits{0, 0, 0}}) {
        const Schedule cut = pipeline(dag, Mode::paper, limits);
        BOOST_TEST(!cut.complete);
        BOOST_REQUIRE(objection(dag, cut) == "");
        BOOST_TEST(cut.interval_s >= whole.interval_s);
        const Schedule modulo = pipeline(dag, Mode::modulo, limits);
        BOOST_REQUIRE(objection(dag, modulo) == "");
        BOOST_TEST(modulo.interval_s <= cut.interval_s);
    }
}
