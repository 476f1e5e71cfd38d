// Temperatures from probes, on a landscape whose answers are known: a walk on whole numbers whose
// cost is their size.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <sstream>

#include "../tuning.hpp"
#include "tessera/search/rng.hpp"

using tessera::search::Rng;
using tessera::search::Tuning;

namespace {

/// One step of a walk from `at` by 1 to 8; \returns whether it was taken.
bool step(double temperature, Rng& rng, double& at, double& rise) {
    const double by = static_cast<double>(1 + rng.below(8)) * (rng.below(2) == 0 ? 1 : -1);
    rise = std::abs(at + by) - std::abs(at);
    const bool taken = rise < 0 || rng.uniform() < std::exp(-rise / temperature);
    at += taken ? by : 0;
    return taken;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_highest_takes_98_of_100_and_the_lowest_none_that_improves) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        Rng rng(seed);
        Tuning tuning(2000);
        double at = 50, rise = 0;
        int moves = 0;
        for (; !tuning.over() && moves < 1'000'000; ++moves) {
            const bool taken = step(tuning.temperature(0), rng, at, rise);
            tuning.tell(rise, taken);
        }
        BOOST_TEST_REQUIRE(tuning.over());
        BOOST_TEST(tuning.highest() > tuning.lowest());
        BOOST_TEST(tuning.temperature(0) == tuning.highest());
        BOOST_TEST(std::abs(tuning.temperature(1) / tuning.lowest() - 1) < 1e-9);
        // A geometric mean half way.
        const double middle = std::sqrt(tuning.highest() * tuning.lowest());
        BOOST_TEST(std::abs(tuning.temperature(0.5) / middle - 1) < 1e-9);
        int taken = 0;
        at = 0;
        for (int i = 0; i < 2000; ++i) {
            taken += step(tuning.highest(), rng, at, rise);
        }
        BOOST_TEST(taken >= 0.96 * 2000, "seed " << seed << ": " << taken);
        // At the lowest it stays where nothing is better.
        at = 0;
        for (int i = 0; i < 2000; ++i) {
            step(tuning.lowest(), rng, at, rise);
        }
        BOOST_TEST(std::abs(at) <= 4, "seed " << seed << ": " << at);
    }
}

BOOST_AUTO_TEST_CASE(a_flat_landscape_is_given_up) {
    Tuning tuning(10);
    for (int i = 0; i < 10000 && !tuning.over(); ++i) {
        tuning.tell(i == 0 ? 1 : i % 2 == 0 ? -1 : 1, i % 3 == 0);
    }
    BOOST_TEST(tuning.over());
}

BOOST_AUTO_TEST_CASE(it_goes_on_from_what_was_saved) {
    Rng rng(3);
    Tuning whole(100), other(100);
    double at = 9, rise = 0;
    for (int i = 0; i < 5000; ++i) {
        const bool taken = step(whole.temperature(0.3), rng, at, rise);
        whole.tell(rise, taken);
        other.tell(rise, taken);
        if (i % 37 == 0) {
            std::stringstream text;
            text.precision(17);
            other.save(text);
            other = Tuning(100);
            BOOST_TEST_REQUIRE(other.restore(text));
        }
        BOOST_TEST_REQUIRE(other.temperature(0.3) == whole.temperature(0.3));
    }
    std::istringstream wrong("9 0 0 0 0 1 1 1");
    BOOST_TEST(!other.restore(wrong));
}
