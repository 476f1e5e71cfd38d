// What a search has found in finished templates, by itself: no problem, no search.
#include "../kept_rows.hpp"

#include <boost/test/unit_test.hpp>

#include "tessera/base/error.hpp"

using namespace tessera;
using ffm::KeptRows;
using ffm::SavedRows;
using ffm::SavedSearch;

namespace {

/// Two Einsums: two templates, of two and three symbols; one, of one symbol.
struct Kept : KeptRows {
    explicit Kept(std::vector<SavedSearch> known = {}) : KeptRows({{2, 3}, {1}}, 2) {
        start(std::move(known));
    }
};

SavedRows rows(std::size_t einsum, std::size_t index, std::size_t n) {
    const std::size_t symbols = einsum == 1 ? 1 : 2 + index;
    return {einsum, index, 100.0, std::vector<std::int64_t>(n * symbols, 4),
            std::vector<double>(n * 2, 1.5)};
}

}  // namespace

BOOST_AUTO_TEST_CASE(much_that_is_passed_over_counts_as_not_kept) {
    Kept kept;
    kept.begin({1});
    for (int i = 0; i < 400; ++i) {
        kept.pass_over(1e4);
    }
    BOOST_TEST(!kept.overflowed());
    for (int i = 0; i < 500; ++i) {
        kept.pass_over(1e4);
    }
    BOOST_TEST(kept.overflowed());
    kept.begin({2});
    BOOST_TEST(!kept.overflowed());
}

BOOST_AUTO_TEST_CASE(nothing_is_kept_before_it_is_started) {
    KeptRows k({{2}}, 2);
    k.begin({1});
    BOOST_TEST(!k.started());
    BOOST_TEST(!k.take(0, 0).has_value());
    BOOST_TEST(k.all().empty());
}

BOOST_AUTO_TEST_CASE(rows_are_those_of_the_search_that_was_begun_last) {
    Kept first;
    first.begin({1});
    first.keep(rows(0, 1, 3));
    first.begin({2});
    first.keep(rows(1, 0, 5));
    // As a run that goes on has it: it takes what was found before it began.
    Kept second(first.all());
    second.begin({1});
    BOOST_TEST_REQUIRE(second.take(0, 1).has_value());
    BOOST_TEST(second.take(0, 1)->tiles.size() == 9u);
    BOOST_TEST(second.take(0, 1)->evaluated == 100);
    BOOST_TEST(!second.take(0, 0).has_value());
    BOOST_TEST(!second.take(1, 0).has_value());
    second.begin({2});
    BOOST_TEST(second.take(1, 0).has_value());
    second.begin({3});
    BOOST_TEST(!second.take(1, 0).has_value());
    BOOST_TEST(second.all().size() == 3u);
    second.forget();
    BOOST_TEST(second.all().size() == 2u);
}

BOOST_AUTO_TEST_CASE(rows_of_another_problem_are_refused) {
    for (const SavedRows& wrong :
         {rows(2, 0, 1), rows(1, 1, 1), SavedRows{0, 0, 1, {4, 4, 4}, {1, 1}},
          SavedRows{0, 0, 1, {4, 4}, {1, 1, 1}}}) {
        BOOST_CHECK_THROW(Kept({{{1}, {wrong}}}), UserError);
    }
    BOOST_CHECK_NO_THROW(Kept({{{1}, {rows(0, 0, 2), rows(1, 0, 0)}}}));
}

BOOST_AUTO_TEST_CASE(of_too_many_those_of_other_searches_go_first) {
    Kept k;
    k.begin({1});
    k.keep(rows(0, 0, 200'000));  // 800 000 numbers
    k.begin({2});
    k.keep(rows(0, 1, 100'000));  // 500 000 more
    BOOST_TEST(!k.overflowed());
    BOOST_TEST(k.all().size() == 1u);
    BOOST_TEST((k.all().front().key == std::vector<double>{2}));
    k.keep(rows(0, 0, 200'000));
    BOOST_TEST(k.overflowed());
    BOOST_TEST(k.all().front().rows.size() == 1u);
    k.begin({3});
    BOOST_TEST(!k.overflowed());
}

BOOST_AUTO_TEST_CASE(what_is_found_sooner_than_stored_is_not_worth_keeping) {
    BOOST_TEST(KeptRows::worth_keeping(1000, 1000));
    BOOST_TEST(!KeptRows::worth_keeping(999, 1000));
    BOOST_TEST(KeptRows::worth_keeping(0, 0));
}
