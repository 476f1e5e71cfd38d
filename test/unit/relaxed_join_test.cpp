// Relaxed join against enumeration, on random choices.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>

#include "tessera/mapspace/relaxed_join.hpp"

using namespace tessera::mapspace;

namespace {

constexpr std::size_t n_tensors = 5;

struct Random {
    std::mt19937_64 engine;
    int below(int n) {
        return static_cast<int>(engine() % static_cast<std::uint64_t>(n));
    }
};

std::vector<ChoiceTable> random_einsums(Random& random) {
    std::vector<ChoiceTable> out(static_cast<std::size_t>(2 + random.below(4)));
    for (ChoiceTable& table : out) {
        for (int t = 0; t < static_cast<int>(n_tensors); ++t) {
            if (random.below(2) == 0) {
                table.tensors.push_back(t);
            }
        }
        for (int rows = 1 + random.below(8); rows > 0; --rows) {
            TensorChoices key;
            for (std::size_t t = 0; t < table.tensors.size(); ++t) {
                key.push_back(random.below(4));
            }
            table.add(key, {static_cast<double>(random.below(20)),
                            static_cast<double>(random.below(20))});
        }
    }
    return out;
}

/// Calls `visit` with the total cost of every combination whose users agree, and the row taken of
/// each Einsum.
template <class Visit>
void enumerate(const std::vector<ChoiceTable>& einsums, std::size_t e,
               std::vector<std::int32_t>& chosen, CostPoint cost,
               std::vector<const TensorChoices*>& rows, const Visit& visit) {
    if (e == einsums.size()) {
        visit(cost, rows);
        return;
    }
    for (const auto& [key, front] : einsums[e].rows) {
        const std::vector<std::int32_t> before = chosen;
        bool agrees = true;
        for (std::size_t t = 0; t < key.size(); ++t) {
            std::int32_t& own = chosen[static_cast<std::size_t>(einsums[e].tensors[t])];
            agrees = agrees && (own < 0 || own == key[t]);
            own = key[t];
        }
        for (std::size_t p = 0; agrees && p < front.size(); ++p) {
            rows.push_back(&key);
            enumerate(einsums, e + 1, chosen, {cost[0] + front[p][0], cost[1] + front[p][1]}, rows,
                      visit);
            rows.pop_back();
        }
        chosen = before;
    }
}

template <class Visit>
void enumerate(const std::vector<ChoiceTable>& einsums, const Visit& visit) {
    std::vector<std::int32_t> chosen(n_tensors, -1);
    std::vector<const TensorChoices*> rows;
    enumerate(einsums, 0, chosen, {0.0, 0.0}, rows, visit);
}

bool reached(const CostFront& front, const CostPoint& point) {
    return std::any_of(front.begin(), front.end(),
                       [&](const CostPoint& p) { return p[0] <= point[0] && p[1] <= point[1]; });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(relaxed_join)

BOOST_AUTO_TEST_CASE(nothing_lies_below_the_total_and_its_ends_are_attained) {
    int joined = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        Random random{std::mt19937_64(seed)};
        const std::vector<ChoiceTable> einsums = random_einsums(random);
        const RelaxedJoin join(einsums, n_tensors, 100000);
        BOOST_TEST_REQUIRE(join.valid());
        CostFront expected;
        enumerate(einsums, [&](const CostPoint& cost, const auto&) {
            BOOST_TEST_REQUIRE(reached(join.total(), cost), "seed " << seed);
            add_to_front(expected, cost);
        });
        BOOST_TEST_REQUIRE(join.total().empty() == expected.empty());
        if (!expected.empty()) {
            ++joined;
            BOOST_TEST(join.total().front()[0] == expected.front()[0]);
            BOOST_TEST(join.total().back()[1] == expected.back()[1]);
        }
    }
    BOOST_TEST(joined > 100);
}

BOOST_AUTO_TEST_CASE(the_rest_of_an_einsum_bounds_every_combination_with_it) {
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        Random random{std::mt19937_64(1000 + seed)};
        const std::vector<ChoiceTable> einsums = random_einsums(random);
        const RelaxedJoin join(einsums, n_tensors, 100000);
        std::vector<ChoiceTable> rest;
        for (std::size_t e = 0; e < einsums.size(); ++e) {
            rest.push_back(join.rest(e));
        }
        std::vector<CostFront> whole(einsums.size());
        enumerate(einsums, [&](const CostPoint& cost, const auto& rows) {
            for (std::size_t e = 0; e < rows.size(); ++e) {
                const auto it = rest[e].rows.find(*rows[e]);
                BOOST_TEST_REQUIRE((it != rest[e].rows.end()), "seed " << seed);
                CostFront sums;
                for (const CostPoint& own : einsums[e].rows.at(*rows[e])) {
                    for (const CostPoint& p : it->second) {
                        add_to_front(sums, {own[0] + p[0], own[1] + p[1]});
                    }
                }
                BOOST_TEST_REQUIRE(reached(sums, cost), "seed " << seed << " Einsum " << e);
            }
        });
    }
}

BOOST_AUTO_TEST_CASE(a_coarsened_front_lies_nowhere_above_the_old_one) {
    Random random{std::mt19937_64(7)};
    for (int round = 0; round < 50; ++round) {
        CostFront front;
        for (int i = 0; i < 60; ++i) {
            add_to_front(front, {static_cast<double>(random.below(1000)),
                                 static_cast<double>(random.below(1000))});
        }
        CostFront few = front;
        coarsen_front(few, 4);
        BOOST_TEST(few.size() <= 4u);
        for (const CostPoint& p : front) {
            BOOST_TEST(reached(few, p));
        }
    }
}

BOOST_AUTO_TEST_CASE(too_many_choices_are_given_up) {
    std::vector<ChoiceTable> einsums(2);
    einsums[0].tensors = {0};
    einsums[1].tensors = {0};
    for (std::int32_t i = 0; i < 50; ++i) {
        einsums[0].add({i}, {1.0, 1.0});
        einsums[1].add({i}, {1.0, 1.0});
    }
    BOOST_TEST(!RelaxedJoin(einsums, 1, 10).valid());
    BOOST_TEST(RelaxedJoin(einsums, 1, 50).valid());
}

BOOST_AUTO_TEST_SUITE_END()
