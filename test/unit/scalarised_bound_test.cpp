// Vertices of what is nowhere below a point and jointly at least so much, against random points.
#include "mapspace/scalarised_bound.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

using namespace tessera::mapspace;

namespace {

constexpr double rounding = 1e-12;

double draw(std::mt19937_64& engine) {
    return 0.01 + static_cast<double>(engine() % 1000) / 1000.0;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(scalarised_cost)

BOOST_AUTO_TEST_CASE(nothing_above_a_point_and_jointly_enough_has_a_product_below_the_vertices) {
    std::mt19937_64 engine(7);
    int cut = 0;
    for (int i = 0; i < 20000; ++i) {
        const ScalarisedBound scalarised{{draw(engine), draw(engine)}};
        const CostPoint p{draw(engine), draw(engine)};
        const CostPoint more{p[0] + draw(engine), p[1] + draw(engine)};
        const double enough = scalarised.of(p) + draw(engine);
        const double least = scalarised.least_product(p, enough);
        BOOST_TEST(least >= p[0] * p[1]);
        if (scalarised.of(more) >= enough) {
            BOOST_TEST(more[0] * more[1] >= least * (1 - rounding));
            ++cut;
        }
        for (const CostPoint& c : scalarised.vertices(p, enough)) {
            BOOST_TEST(std::abs(scalarised.of(c) - enough) <= rounding * enough);
            BOOST_TEST((c[0] >= p[0] && c[1] >= p[1]));
        }
    }
    BOOST_TEST(cut > 1000);
}

BOOST_AUTO_TEST_CASE(sums_of_einsums_are_bounded_closer_than_by_their_least_energy_and_latency) {
    // Two Einsums with a fast and a frugal pmapping each: nothing is both.
    const ScalarisedBound scalarised{{2.0, 2.0}};
    const CostFront own{{0.5, 1.5}, {1.0, 1.0}, {1.5, 0.5}};
    double least_scalarised = 10;
    for (const CostPoint& p : own) {
        least_scalarised = std::min(least_scalarised, scalarised.of(p));
    }
    const CostPoint least{2 * 0.5, 2 * 0.5};
    BOOST_TEST(scalarised.least_product(least, 2 * least_scalarised) == 1.0 * 3.0);
    double optimum = 100;
    for (const CostPoint& a : own) {
        for (const CostPoint& b : own) {
            optimum = std::min(optimum, (a[0] + b[0]) * (a[1] + b[1]));
        }
    }
    BOOST_TEST(scalarised.least_product(least, 2 * least_scalarised) <= optimum);
}

BOOST_AUTO_TEST_CASE(a_point_that_is_jointly_enough_stays) {
    const ScalarisedBound scalarised{{1.0, 1.0}};
    BOOST_TEST(scalarised.least_product({2.0, 3.0}, 5.0) == 6.0);
    BOOST_TEST(scalarised.cut({{2.0, 3.0}, {3.0, 2.0}}, 4.0).size() == 2u);
    BOOST_TEST(scalarised.cut({{2.0, 3.0}}, 6.0).size() == 2u);
    BOOST_TEST(ScalarisedBound{}.least_product({2.0, 3.0}, 100.0) == 6.0);
}

BOOST_AUTO_TEST_SUITE_END()
