// Comparisons, divisors and prime factors against their definitions.
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tessera/base/comparison.hpp"
#include "tessera/base/divisors.hpp"

using namespace tessera::base;

BOOST_AUTO_TEST_CASE(a_number_holds_to_a_limit_or_does_not) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const double numbers[] = {-infinity, 1, 2, infinity, std::numeric_limits<double>::quiet_NaN()};
    for (const double a : numbers) {
        for (const double b : numbers) {
            BOOST_TEST(holds(Comparison::equal, a, b) == (a == b));
            BOOST_TEST(holds(Comparison::less_equal, a, b) == (a <= b));
            BOOST_TEST(holds(Comparison::greater_equal, a, b) == (a >= b));
            BOOST_TEST(holds(Comparison::less, a, b) == (a < b));
            BOOST_TEST(holds(Comparison::greater, a, b) == (a > b));
        }
    }
    BOOST_TEST(sign_of(Comparison::equal) == std::string("=="));
    BOOST_TEST(sign_of(Comparison::less_equal) == std::string("<="));
    BOOST_TEST(sign_of(Comparison::greater_equal) == std::string(">="));
    BOOST_TEST(sign_of(Comparison::less) == std::string("<"));
    BOOST_TEST(sign_of(Comparison::greater) == std::string(">"));
}

BOOST_AUTO_TEST_CASE(divisors_and_prime_factors_are_those_of_the_definition) {
    for (std::int64_t n = -2; n <= 500; ++n) {
        std::vector<std::int64_t> all, primes;
        for (std::int64_t d = 1; d <= n; ++d) {
            if (n % d == 0) {
                all.push_back(d);
                bool prime = d > 1;
                for (std::int64_t e = 2; e < d; ++e) {
                    prime = prime && d % e != 0;
                }
                if (prime) {
                    primes.push_back(d);
                }
            }
        }
        BOOST_TEST(divisors(n) == all, boost::test_tools::per_element());
        BOOST_TEST(prime_factors(n) == primes, boost::test_tools::per_element());
    }
    const std::int64_t most = 2147483647;
    BOOST_TEST(prime_factors(most) == (std::vector<std::int64_t>{most}),
               boost::test_tools::per_element());
    BOOST_TEST(
        prime_factors(46337 * std::int64_t{46337} * 4) == (std::vector<std::int64_t>{2, 46337}),
        boost::test_tools::per_element());
    BOOST_TEST(divisors(most) == (std::vector<std::int64_t>{1, most}),
               boost::test_tools::per_element());
    BOOST_TEST(divisors(1000000000).size() == 100u);
}
