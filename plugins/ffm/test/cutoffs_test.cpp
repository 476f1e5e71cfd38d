// Which cutoffs are tried, and what is kept of them: no problem, no search.
#include "../bounds/cutoffs.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <limits>

using namespace tessera::ffm;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool ascending(const std::vector<double>& excess) {
    return std::ranges::is_sorted(excess, std::less_equal<>());
}

}  // namespace

BOOST_AUTO_TEST_CASE(cutoffs_ascend_and_go_further_the_further_the_known_mapping_is) {
    for (const double known : {1.0, 1.05, 3.0, 100.0, 1e6, infinity}) {
        BOOST_TEST(ascending(cutoffs_above(1, known)));
        BOOST_TEST(ascending(partial_cutoffs_above(1, known, 0)));
    }
    const std::vector<double> near = cutoffs_above(10, 11), far = cutoffs_above(10, 1000);
    BOOST_TEST(far.size() > near.size());
    // One step more would be past the known mapping.
    BOOST_TEST(10 * (1 + far.back()) * 1.5 <= 1000);
    BOOST_TEST(10 * (1 + far.back()) * 1.5 * 1.5 > 1000);
    BOOST_TEST(cutoffs_above(10, infinity).size() < 100u);
}

BOOST_AUTO_TEST_CASE(with_partial_tiles_a_cutoff_leaves_the_gap_that_is_asked_for) {
    const double bound = 100, known = 107;
    for (const double gap : {0.01, 0.05}) {
        const std::vector<double> all = partial_cutoffs_above(bound, known, gap);
        BOOST_TEST(std::ranges::any_of(all, [&](double excess) {
            const double left = 1 - bound * (1 + excess) / known;
            return left <= gap && left > 0.99 * gap;
        }));
    }
    // Far from the bound the gap is no guide.
    BOOST_TEST(partial_cutoffs_above(bound, 150, 0.01) == partial_cutoffs_above(bound, 150, 0));
}

BOOST_AUTO_TEST_CASE(what_an_earlier_part_has_refuted_is_not_searched_again) {
    CutoffLog log(5, {});
    BOOST_TEST(log.refuted() == 0);
    BOOST_TEST(log.refuted_in_all() == 5);
    BOOST_TEST(log.refuted_before(3));
    BOOST_TEST(log.refuted() == 3);
    BOOST_TEST(!log.refuted_before(6));
    log.refute(7);
    log.refute(6);
    BOOST_TEST(log.refuted() == 7);
    BOOST_TEST(log.refuted_in_all() == 7);
}

BOOST_AUTO_TEST_CASE(a_join_that_is_begun_in_vain_gives_way_to_a_lower_cutoff) {
    CutoffLog log(0, {{8, 1}});
    BOOST_TEST(log.lower_one(8, 4) == 0);
    log.join_begins(8);
    BOOST_TEST(log.begun(8) == 2);
    BOOST_TEST(log.lower_one(8, 4) == 6);
    BOOST_TEST(log.lower_one(8, 7.9999) == 0);  // as good as proven
    BOOST_TEST(log.lower_one(8, 0) == 0);       // nothing is proven
    BOOST_TEST(log.lower_one(6, 4) == 0);       // not begun yet
    log.join_ended(8);
    BOOST_TEST(log.begun(8) == 0);
    BOOST_TEST(log.joins().empty());
}
