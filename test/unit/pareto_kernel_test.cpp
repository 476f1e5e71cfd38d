#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <limits>
#include <random>
#include <vector>

#include "mapspace/pareto.hpp"

// Pareto kernels against the definition, row by row.

using namespace tessera::mapspace;

namespace {

struct Table {
    std::vector<std::vector<double>> columns, keys;
    std::size_t rows = 0;

    bool same_key(std::size_t a, std::size_t b) const {
        return std::ranges::all_of(keys, [&](const auto& k) { return k[a] == k[b]; });
    }
    bool not_worse(std::size_t a, std::size_t b) const {
        return std::ranges::all_of(columns, [&](const auto& c) { return c[a] <= c[b]; });
    }
    bool prunes(std::size_t a, std::size_t b) const {
        return a != b && same_key(a, b) && not_worse(a, b) && (!not_worse(b, a) || a < b);
    }

    std::vector<std::uint32_t> by_definition() const {
        std::vector<std::uint32_t> kept;
        for (std::size_t b = 0; b < rows; ++b) {
            bool pruned = false;
            for (std::size_t a = 0; a < rows && !pruned; ++a) {
                pruned = prunes(a, b);
            }
            if (!pruned) {
                kept.push_back(static_cast<std::uint32_t>(b));
            }
        }
        return kept;
    }

    std::vector<std::uint32_t> by_filter(
        ParetoFilter& filter, double worth = std::numeric_limits<double>::infinity()) const {
        std::vector<const double*> c, k;
        for (const auto& column : columns) {
            c.push_back(column.data());
        }
        for (const auto& key : keys) {
            k.push_back(key.data());
        }
        const auto kept = filter(c, k, rows, worth);
        return {kept.begin(), kept.end()};
    }
};

int pick(std::mt19937_64& random, int n) {
    return static_cast<int>(random() % n);
}

/// Few distinct values give ties and duplicates; some cells are infinite.
Table random_table(std::mt19937_64& random, std::size_t rows, int columns, int keys) {
    Table table;
    table.rows = rows;
    const int distinct = 2 + pick(random, 40);
    for (int c = 0; c < columns; ++c) {
        auto& column = table.columns.emplace_back();
        const bool constant = pick(random, 8) == 0;
        for (std::size_t r = 0; r < rows; ++r) {
            const int v = constant ? 3 : pick(random, distinct);
            column.push_back(v == 1 && c == 0 ? std::numeric_limits<double>::infinity()
                                              : (v - 5) * 1e-3);
        }
    }
    for (int k = 0; k < keys; ++k) {
        auto& key = table.keys.emplace_back();
        for (std::size_t r = 0; r < rows; ++r) {
            key.push_back(pick(random, 3));
        }
    }
    return table;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(pareto_kernel)

BOOST_AUTO_TEST_CASE(filter_equals_the_definition) {
    std::mt19937_64 random(3);
    ParetoFilter filter;
    for (int round = 0; round < 1500; ++round) {
        const Table table =
            random_table(random, pick(random, 120), pick(random, 8), pick(random, 3));
        BOOST_TEST(table.by_filter(filter) == table.by_definition(),
                   boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(large_tables_equal_the_definition) {
    std::mt19937_64 random(4);
    ParetoFilter filter;
    for (int columns = 1; columns <= 12; ++columns) {
        const Table table = random_table(random, 3000, columns, columns % 2);
        BOOST_TEST(table.by_filter(filter) == table.by_definition(),
                   boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(rows_that_cost_more_than_they_are_worth_stay) {
    std::mt19937_64 random(5);
    ParetoFilter filter;
    Table table;  // rows of equal sums, and some that are pruned
    table.rows = 3000;
    table.columns.assign(6, std::vector<double>(table.rows));
    for (std::size_t r = 0; r < table.rows; ++r) {
        double sum = 0;
        for (std::size_t c = 0; c < 5; ++c) {
            table.columns[c][r] = pick(random, 1000000);
            sum += table.columns[c][r];
        }
        table.columns[5][r] = -sum;
    }
    for (std::size_t r = 7; r < table.rows; r += 500) {
        for (std::size_t c = 0; c < 6; ++c) {
            table.columns[c][r] = table.columns[c][r - 1] + 1;
        }
    }
    const std::vector<std::uint32_t> exact = table.by_definition();
    BOOST_TEST(exact.size() == table.rows - 6);
    BOOST_TEST(table.by_filter(filter) == exact, boost::test_tools::per_element());
    BOOST_TEST(table.by_filter(filter, 1.0).size() == table.rows);
    // Most are pruned: it pays.
    for (std::size_t r = 0; r < table.rows; ++r) {
        for (std::size_t c = 0; c < 6; ++c) {
            table.columns[c][r] = table.columns[c][r % 500] + (r < 500 ? 0 : 1 + pick(random, 9));
        }
    }
    BOOST_TEST(table.by_filter(filter, 1000.0) == table.by_definition(),
               boost::test_tools::per_element());
    // What stays holds all that nothing prunes.
    for (int round = 0; round < 20; ++round) {
        const Table any = random_table(random, 2500, 4 + pick(random, 8), 0);
        const std::vector<std::uint32_t> least = any.by_definition();
        const std::vector<std::uint32_t> kept = any.by_filter(filter, 1.0 + pick(random, 1000));
        BOOST_TEST(std::ranges::includes(kept, least));
    }
}

BOOST_AUTO_TEST_CASE(duplicates_keep_the_first) {
    ParetoFilter filter;
    Table table{{{1, 1, 0, 0}, {2, 2, 3, 3}, {5, 5, 5, 5}, {0, 0, 0, 0}}, {}, 4};
    BOOST_TEST(table.by_filter(filter) == (std::vector<std::uint32_t>{0, 2}),
               boost::test_tools::per_element());
    table.columns.clear();
    BOOST_TEST(table.by_filter(filter) == (std::vector<std::uint32_t>{0}),
               boost::test_tools::per_element());
    table.keys = {{7, 8, 7, 9}};
    BOOST_TEST(table.by_filter(filter) == (std::vector<std::uint32_t>{0, 1, 3}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
