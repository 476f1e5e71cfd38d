// The lines of a search: narrow, not too many, a star only for what is better.
#include <boost/test/unit_test.hpp>
#include <sstream>

#include "telemetry/line_log.hpp"

using namespace tessera::telemetry;

namespace {

SnapshotPtr at(double elapsed_s, const std::vector<std::string>& metrics) {
    auto s = std::make_shared<Snapshot>();
    s->run.workload = "gpt3-6.7b";
    s->run.architecture = "tpu-v4i";
    s->run.metrics = metrics;
    s->elapsed_s = elapsed_s;
    s->funnel.generated = 812345678901;
    s->funnel.evaluated = 412345678;
    s->rate_per_s = 1234567;
    s->best = 1.23456e-3;
    s->bound = 1.0123e-3;
    s->gap = 0.123;
    s->memory_bytes = 1u << 30;
    s->phases.push_back({"class bounds of Einsums", "templates", 12345, 123456, 1, 1, true});
    return s;
}

Event found(double value, const std::string& by = "annealing") {
    Event event;
    event.kind = Event::Kind::incumbent;
    event.incumbent = Incumbent{};
    event.incumbent->value = value;
    event.incumbent->found_by = by;
    event.incumbent->detail = "a detail that goes on and on and on and on";
    return event;
}

std::vector<std::string> lines(const std::ostringstream& out, char mark) {
    std::istringstream text(out.str());
    std::vector<std::string> result;
    for (std::string line; std::getline(text, line);) {
        if (line.size() > 8 && line[0] == mark && line[1] == ' ' && line.find(": ") != 1 &&
            line.find("better mapping") == std::string::npos) {
            result.push_back(line);
        }
    }
    return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(lines_fit_80_columns) {
    std::ostringstream out;
    LineLog log(out, {});
    log.update(at(0.5, {"edp"}), {found(1), found(0.5)});
    log.update(at(3700, {"edp"}), {found(0.25)});
    log.update(at(7400, {"edp"}), {});
    log.finish(at(7500, {"edp"}), {});
    std::istringstream text(out.str());
    std::size_t n = 0;
    for (std::string line; std::getline(text, line); ++n) {
        BOOST_TEST(line.size() <= 80u, line);
    }
    BOOST_TEST(n >= 6u);
}

BOOST_AUTO_TEST_CASE(why_a_search_ended_is_said_in_full) {
    std::ostringstream out;
    LineLog log(out, {});
    auto end = std::make_shared<Snapshot>(*at(20, {"edp"}));
    end->state = RunState::interrupted;
    end->stop_reason = "SIGTERM";
    log.finish(end, {});
    BOOST_TEST(out.str().find("interrupted (SIGTERM") != std::string::npos, out.str());
    std::istringstream text(out.str());
    for (std::string line; std::getline(text, line);) {
        BOOST_TEST(line.size() <= 80, line);
    }
}

BOOST_AUTO_TEST_CASE(of_many_better_mappings_within_200_ms_the_best_is_told) {
    std::ostringstream out;
    LineLog log(out, {});
    log.update(at(1.0, {"edp"}), {found(9)});
    log.update(at(1.05, {"edp"}), {found(8)});
    log.update(at(1.10, {"edp"}), {found(7)});
    log.update(at(1.15, {"edp"}), {});
    BOOST_TEST(lines(out, '*').size() == 1u);
    log.update(at(1.25, {"edp"}), {});
    BOOST_REQUIRE(lines(out, '*').size() == 2u);
    BOOST_TEST(lines(out, '*')[1].find(" 7 ") != std::string::npos, lines(out, '*')[1]);
    log.update(at(1.30, {"edp"}), {found(6)});
    log.finish(at(1.31, {"edp"}), {});  // the last one is told in any case
    BOOST_TEST(lines(out, '*').size() == 3u);
}

BOOST_AUTO_TEST_CASE(stars_are_for_what_is_better) {
    std::ostringstream out;
    LineLog log(out, {});
    log.update(at(1, {"edp"}), {found(5)});
    log.update(at(2, {"edp"}), {found(6)});  // of another worker
    log.update(at(3, {"edp"}), {found(5)});
    BOOST_TEST(lines(out, '*').size() == 1u);
    std::ostringstream front;
    LineLog pareto(front, {});
    pareto.update(at(1, {"energy", "latency"}), {found(5)});
    pareto.update(at(2, {"energy", "latency"}), {found(6)});
    BOOST_TEST(lines(front, '*').size() == 1u);
    BOOST_TEST(lines(front, '+').size() == 1u);
}
