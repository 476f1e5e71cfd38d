// Which of two mappings is the better one.
#include <boost/test/unit_test.hpp>
#include <limits>

#include "telemetry/best_mappings.hpp"
#include "tessera/mapper/order.hpp"
#include "tessera/mapper/solutions.hpp"

using namespace tessera;
using mapper::Metric;

namespace {

mapper::Solution solution(double energy_j, double latency_s) {
    mapper::Solution out;
    model::EinsumReport einsum;
    einsum.dynamic_energy_j = energy_j;
    einsum.latency_s = latency_s;
    out.report.einsums.push_back(einsum);
    return out;
}

/// Energy and latency of what is left of the solutions.
std::pair<double, double> best_of(Metric metric, const std::vector<mapper::Solution>& all) {
    std::vector<mapper::Solution> kept;
    for (const mapper::Solution& s : all) {
        mapper::keep_if_better(kept, s, {metric});
    }
    BOOST_TEST_REQUIRE(kept.size() == 1u);
    return {kept[0].report.energy_j(), kept[0].report.latency_s()};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(order_test)

BOOST_AUTO_TEST_CASE(the_later_metric_decides_between_equal_values) {
    using base::better;
    BOOST_TEST(better({1, 9}, {2, 1}));
    BOOST_TEST(!better({2, 1}, {1, 9}));
    BOOST_TEST(better({1 + 1e-12, 2}, {1, 3}));
    BOOST_TEST(!better({1, 3}, {1 + 1e-12, 2}));
    BOOST_TEST(!better({1, 2}, {1, 2 + 1e-12}));  // equal by both
    BOOST_TEST(better({0, 1}, {0, 2}));
    const double nan = std::numeric_limits<double>::quiet_NaN();
    BOOST_TEST(!better({1, nan}, {1, 2}));
    BOOST_TEST(!better({nan, 1}, {1, 2}));
}

BOOST_AUTO_TEST_CASE(nothing_finite_equals_infinity) {
    using base::better;
    using base::same_cost;
    const double inf = std::numeric_limits<double>::infinity();
    BOOST_TEST(!same_cost(1, inf));
    BOOST_TEST(!same_cost(inf, 1e300));
    BOOST_TEST(same_cost(inf, inf));
    BOOST_TEST(better({1, inf}, {inf, inf}));
    BOOST_TEST(better({1, 5}, {}));
    BOOST_TEST(better({1, 2}, {1, inf}));
    BOOST_TEST(!better({inf, 1}, {1, inf}));
    BOOST_TEST(!better({inf, inf}, {inf, inf}));
}

BOOST_AUTO_TEST_CASE(every_metric_has_a_later_one) {
    BOOST_TEST((mapper::later_metric(Metric::energy) == Metric::latency));
    BOOST_TEST((mapper::later_metric(Metric::latency) == Metric::energy));
    BOOST_TEST((mapper::later_metric(Metric::edp) == Metric::energy));
    BOOST_TEST((mapper::later_metric(Metric::traffic) == Metric::latency));
}

BOOST_AUTO_TEST_CASE(of_equal_solutions_the_better_one_is_kept) {
    const std::vector<mapper::Solution> all{solution(4, 3), solution(2, 6), solution(3, 3),
                                            solution(2, 5), solution(6, 2), solution(5, 3)};
    BOOST_TEST((best_of(Metric::energy, all) == std::pair(2.0, 5.0)));
    BOOST_TEST((best_of(Metric::latency, all) == std::pair(6.0, 2.0)));
    BOOST_TEST((best_of(Metric::edp, {solution(4, 3), solution(2, 6), solution(3, 4)}) ==
                std::pair(2.0, 6.0)));
}

// Telemetry knows metrics by name alone: it ranks as mappers do.
BOOST_AUTO_TEST_CASE(telemetry_has_the_same_order) {
    for (const mapper::MetricFacts& metric : mapper::all_metrics) {
        telemetry::Incumbent less_energy, less_time;
        less_energy.value = less_time.value = 1;
        less_energy.energy_j = less_time.latency_s = 1;
        less_energy.latency_s = less_time.energy_j = 2;
        const bool energy = mapper::later_metric(metric.metric) == Metric::energy;
        const auto covers = [&](const telemetry::Incumbent& a, const telemetry::Incumbent& b) {
            return telemetry::covers({metric.name}, a, b);
        };
        BOOST_TEST(covers(less_energy, less_time) == energy);
        BOOST_TEST(covers(less_time, less_energy) == !energy);
    }
}

BOOST_AUTO_TEST_SUITE_END()
