// What a round is, by hand: stages, edges of a round, bipartitions, charts, refused graphs.

#include <boost/test/unit_test.hpp>
#include <limits>

#include "support/random_dag.hpp"
#include "tessera/base/error.hpp"
#include "tessera/schedule/gantt.hpp"

using namespace tessera;
using namespace tessera::schedule;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A producer on either unit, a consumer on the second only.
Dag pair_of_tasks() {
    return {{"2D", "1D"}, {{"A", {3, 6}}, {"B", {infinity, 4}}}, {{0, 1}}, {}};
}

std::string refusal(const Dag& dag) {
    try {
        check(dag);
    } catch (const UserError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

BOOST_AUTO_TEST_CASE(schedule_overlaps_two_stages) {
    const Dag dag = pair_of_tasks();
    const Overlap unsplit = overlap(dag, {0, 0});
    BOOST_TEST(best_order(dag, unsplit, Binding::greedy).interval_s == 7);
    const Schedule split = pipeline(dag, Mode::paper);
    BOOST_TEST(split.interval_s == 4);
    BOOST_TEST(split.complete);
    BOOST_TEST(split.overlap.stage == (std::vector<int>{0, 1}), boost::test_tools::per_element());
    BOOST_TEST(split.binding() == (std::vector<int>{0, 1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(schedule_breaks_ties_towards_the_first_unit) {
    const Dag dag{{"2D", "1D"}, {{"A", {2, 2}}}, {}, {}};
    BOOST_TEST(pipeline(dag, Mode::paper).binding().at(0) == 0);
}

BOOST_AUTO_TEST_CASE(schedule_recurrence_bounds_the_interval) {
    // B reads what A wrote and A reads B's state of the last epoch: nothing can overlap.
    Dag dag = pair_of_tasks();
    dag.recurrences = {{1, 0}};
    for (const Mode mode : {Mode::paper, Mode::modulo}) {
        const Schedule made = pipeline(dag, mode);
        BOOST_TEST(made.interval_s == 7);
        BOOST_TEST(objection(dag, made) == "");
    }
    // Split, the writer must end before the reader of the next epoch starts.
    const Overlap split = overlap(dag, {0, 1});
    BOOST_REQUIRE(split.edges.size() == 1);
    BOOST_TEST(split.edges[0].from == 1);
    BOOST_CHECK_THROW(overlap(dag, {1, 0}), UserError);
    BOOST_CHECK_THROW(overlap(dag, {0, 2}), UserError);
}

BOOST_AUTO_TEST_CASE(schedule_objects_to_what_cannot_run) {
    const Dag dag = pair_of_tasks();
    Schedule made = pipeline(dag, Mode::paper);
    BOOST_TEST(objection(dag, made) == "");
    Schedule same_epoch = made;
    same_epoch.overlap = overlap(dag, {0, 0});
    BOOST_TEST(objection(dag, same_epoch) == "B starts before A ends");
    Schedule shorter = made;
    shorter.interval_s = 3.5;
    BOOST_TEST(objection(dag, shorter) == "B runs outside of the round");
    Schedule faster = made;
    faster.placements[0].end_s = 2;
    BOOST_TEST(objection(dag, faster) == "A takes a time that is not its latency");
    Schedule one_unit = made;
    one_unit.interval_s = 10;
    one_unit.placements = {{0, 1, 0, 6}, {1, 1, 5, 9}};
    BOOST_TEST(objection(dag, one_unit) == "A and B run on 1D at the same time");
    one_unit.placements = {{0, 1, 0, 6}};
    BOOST_TEST(objection(dag, one_unit) == "B does not run");
}

BOOST_AUTO_TEST_CASE(schedule_refuses_graphs_that_are_none) {
    Dag circle = pair_of_tasks();
    circle.edges.push_back({1, 0});
    BOOST_TEST(refusal(circle).find("A waits for itself") != std::string::npos);
    Dag nowhere = pair_of_tasks();
    nowhere.tasks[1].latency_s = {infinity, infinity};
    BOOST_TEST(refusal(nowhere).find("B can run on no unit") != std::string::npos);
    Dag outside = pair_of_tasks();
    outside.recurrences = {{2, 0}};
    BOOST_TEST(refusal(outside).find("names no task") != std::string::npos);
    Dag few = pair_of_tasks();
    few.tasks[0].latency_s.pop_back();
    BOOST_TEST(refusal(few).find("one for each of the 2 units") != std::string::npos);
    Dag negative = pair_of_tasks();
    negative.tasks[0].latency_s[0] = -1;
    BOOST_TEST(refusal(negative).find("below 0") != std::string::npos);
    BOOST_TEST(refusal({{"2D"}, {}, {}, {}}).find("0 tasks") != std::string::npos);
    Dag many = pair_of_tasks();
    many.tasks.resize(65, many.tasks[0]);
    BOOST_TEST(refusal(many).find("65 tasks") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(schedule_charts_show_every_task) {
    Dag dag = pair_of_tasks();
    dag.tasks[1].name = "B<&\n";
    const Schedule made = pipeline(dag, Mode::paper);
    const std::string text = gantt_text(dag, made, 56);
    // 40 columns for 4 s: A takes 30 of the first line, B all of the second.
    BOOST_TEST(text.find("2D   |" + std::string(30, 'A') + std::string(12, '.')) ==
               std::string::npos);
    BOOST_TEST(text.find("round 4 s") != std::string::npos);
    BOOST_TEST(text.find(" 75 %") != std::string::npos);
    BOOST_TEST(text.find("100 %") != std::string::npos);
    const std::string svg = gantt_svg(dag, made, "a<b");
    BOOST_TEST(svg.find("a&lt;b") != std::string::npos);
    BOOST_TEST(svg.find("B&lt;&amp;") != std::string::npos);
    BOOST_TEST(svg.find("width=\"675.00\"") != std::string::npos);
    BOOST_TEST(svg.find("width=\"900.00\"") != std::string::npos);
}
