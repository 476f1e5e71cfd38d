#include "base/nearest.hpp"

#include <boost/test/unit_test.hpp>

using tessera::nearest;

BOOST_AUTO_TEST_CASE(nearest_takes_one_swap_for_one_edit) {
    BOOST_TEST(nearest("fanuot", {"size", "fanout", "latency"}) == "fanout");
}

BOOST_AUTO_TEST_CASE(nearest_prefers_a_wrong_case_to_a_wrong_letter) {
    BOOST_TEST(nearest("memory", {"memorz", "Memory"}) == "Memory");
}

BOOST_AUTO_TEST_CASE(nearest_is_empty_when_nothing_is_near) {
    BOOST_TEST(nearest("bandwidth", {"size", "leak"}).empty());
    BOOST_TEST(nearest("x", {}).empty());
}
