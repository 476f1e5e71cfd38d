// Instances that loops with whole trips can use.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <vector>

#include "mapspace/shape_problem.hpp"

using tessera::mapspace::most_instances;

BOOST_AUTO_TEST_CASE(instances_in_use_divide_the_product_of_the_bounds) {
    const std::vector<std::int64_t> powers{256, 64}, with_three{12, 64}, prime{7}, none;
    BOOST_TEST(most_instances(powers, 14) == 8);
    BOOST_TEST(most_instances(powers, 16) == 16);
    BOOST_TEST(most_instances(powers, 16.5) == 16);
    BOOST_TEST(most_instances(with_three, 14) == 12);
    BOOST_TEST(most_instances(prime, 6) == 1);
    BOOST_TEST(most_instances(prime, 8) == 7);
    BOOST_TEST(most_instances(none, 32) == 1);
    BOOST_TEST(most_instances(powers, 0.5) == 0.5);
}

BOOST_AUTO_TEST_CASE(instances_in_use_are_those_that_enumeration_finds) {
    for (std::int64_t a = 1; a <= 24; ++a) {
        for (std::int64_t b = 1; b <= 24; ++b) {
            for (int most = 1; most <= 40; ++most) {
                std::int64_t best = 1;
                for (std::int64_t x = 1; x <= a; ++x) {
                    for (std::int64_t y = 1; y <= b; ++y) {
                        if (a % x == 0 && b % y == 0 && x * y <= most) {
                            best = std::max(best, x * y);
                        }
                    }
                }
                const std::vector<std::int64_t> bounds{a, b};
                BOOST_REQUIRE_EQUAL(most_instances(bounds, most), static_cast<double>(best));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(instances_far_below_the_fanout_are_not_looked_for) {
    const std::vector<std::int64_t> prime{7};
    BOOST_TEST(most_instances(prime, 1e6) == 1e6);
}
