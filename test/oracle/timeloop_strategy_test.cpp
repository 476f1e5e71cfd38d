// Timeloop's mapspace as strategies see it, against all mappings of small ones: points and
// mappings, draws, moves, and strategies.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <set>

#include "support/setting.hpp"
#include "support/small_mapspace.hpp"
#include "tessera/base/error.hpp"
#include "timeloop/mapper/pool.hpp"
#include "timeloop/strategy/worker.hpp"

namespace {

using namespace tessera;
using namespace tessera::timeloop;
using search::Outcome;
using search::Point;
using search::Verdict;

/// A mapspace with what works on it.
struct Case {
    Case(const testing::SmallMapSpace& small, const Objective& wanted, FactorTemplate which)
        : c(small),
          objective(wanted),
          factors(which),
          space(c.problem, c.architecture, c.constraints, factors),
          model(c.problem, c.architecture),
          strategies(space, model),
          worker(strategies, model, {objective}, 1) {}
    Case(const Case&) = delete;

    std::string text(const Point& point) {
        return compact_text(c.problem, worker.mapping(point));
    }
    Wide size() const {
        return space.factor_count() * space.permutation_count() * space.split_count() *
               space.bypass_count();
    }

    const testing::SmallMapSpace c;
    const Objective objective;
    const FactorTemplate factors;
    const MapSpace space;
    const CompiledModel model;
    const StrategySpace strategies;
    StrategyWorker worker;
};

/// Calls `check` with `n` mapspaces of at most `most` mappings.
template <class Check>
void for_small_spaces(int seed, int n, unsigned most, const Check& check) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    int seen = 0;
    for (int i = 0; seen < n && i < 200 * n; ++i) {
        testing::SmallMapSpace small = testing::small_mapspace(random);
        const bool ruby = i % 5 == 4;
        if (ruby) {  // loops of the innermost memory whose last pass is shorter
            LoopConstraint uneven;
            uneven.remainders = PlacedNumber{3, {}};
            small.constraints.loops.push_back(uneven);
        }
        using Kind = Objective::Kind;
        static constexpr Kind kinds[] = {Kind::edp, Kind::energy, Kind::delay,
                                         Kind::last_level_accesses};
        std::optional<Case> made;
        try {
            made.emplace(small, Objective{kinds[i % 4], 0},
                         ruby ? FactorTemplate::ruby : FactorTemplate::uber);
        } catch (const UserError&) {
            continue;  // factors that do not divide
        }
        if (made->size() == 0 || made->size() > most) {
            continue;
        }
        ++seen;
        BOOST_TEST_CONTEXT("instance " << i) {
            check(*made, i);
        }
    }
    BOOST_TEST(seen == n);
}

struct All {
    std::map<std::string, double> legal;  ///< value by text of the mapping
    std::map<std::string, int> points;    ///< how many points are that mapping
    double best = HUGE_VAL;
    int n_legal = 0;
};

All enumerated(Case& one) {
    All all;
    Point point;
    const auto points = one.strategies.enumerate();
    while (points->next(point)) {
        const Outcome outcome = one.worker.evaluate(point);
        if (outcome.legal()) {
            const std::string text = one.text(point);
            all.legal[text] = outcome.value;
            ++all.points[text];
            ++all.n_legal;
            all.best = std::min(all.best, outcome.value);
        }
    }
    return all;
}

MapperResult search_with(const Case& one, const std::string& strategy, std::uint64_t evals,
                         int threads = 1, std::uint64_t seed = 1,
                         const std::vector<Objective>& later = {}) {
    MapperSettings settings;
    settings.strategy = StrategySettings{strategy, {}};
    settings.objectives = {one.objective};
    settings.objectives.insert(settings.objectives.end(), later.begin(), later.end());
    settings.factors = one.factors;
    settings.threads = threads;
    settings.seed = seed;
    MapperHooks hooks;
    hooks.budget.max_evals = evals;
    return search_mappings(one.c.problem, one.c.architecture, one.c.constraints, settings, hooks);
}

BOOST_AUTO_TEST_SUITE(timeloop_strategies)

// Every id of the mapspace is a point, and costs the same.
BOOST_AUTO_TEST_CASE(points_are_the_mappings_that_timeloop_numbers) {
    std::uint64_t legal = 0;
    for_small_spaces(3, 60, 20'000, [&](Case& one, int) {
        MapSpaceView view(one.space);
        std::set<std::string> numbered;
        FlatMapping flat;
        CompiledModel::Workspace scratch;
        Cost cost;
        for (MappingId id; id.factors < view.factor_count(); ++id.factors) {
            for (id.permutation = 0; id.permutation < view.permutation_count(); ++id.permutation) {
                for (id.split = 0; id.split < view.split_count(); ++id.split) {
                    for (id.bypass = 0; id.bypass < view.bypass_count(); ++id.bypass) {
                        if (!view.build(id, flat).ok()) {
                            continue;
                        }
                        one.model.evaluate(flat, scratch, cost);
                        if (cost.fit.ok() && !cost.forgets && !cost.wrapped) {
                            numbered.insert(compact_text(one.c.problem, view.mapping(id.bypass)));
                        }
                    }
                }
            }
        }
        const All all = enumerated(one);
        BOOST_TEST(all.legal.size() == numbered.size());
        for (const auto& [text, value] : all.legal) {
            BOOST_REQUIRE_MESSAGE(numbered.count(text) == 1, text);
        }
        legal += all.legal.size();
    });
    BOOST_TEST(legal > 2000u);
}

BOOST_AUTO_TEST_CASE(mappings_are_points_again) {
    int checked = 0;
    for_small_spaces(5, 100, 1'000'000'000, [&](Case& one, int i) {
        Point point, again;
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            if (!one.worker.draw(seed + 100 * static_cast<std::uint64_t>(i), point).legal()) {
                continue;
            }
            const Mapping mapping = one.worker.mapping(point);
            BOOST_TEST(one.space.audit(mapping).empty());
            BOOST_REQUIRE(one.strategies.encode(mapping, again));
            BOOST_TEST(one.text(again) == one.text(point));
            BOOST_TEST(one.worker.evaluate(again).value == one.worker.evaluate(point).value);
            ++checked;
        }
    });
    BOOST_TEST(checked > 1000);
}

BOOST_AUTO_TEST_CASE(a_mapping_of_another_space_is_no_point) {
    for_small_spaces(6, 20, 1'000'000, [&](Case& one, int) {
        Point point;
        if (!one.worker.draw(1, point).legal()) {
            return;
        }
        Mapping mapping = one.worker.mapping(point);
        mapping.levels.front().temporal.factors.front().end *= 3;  // bounds are below that
        Point again;
        BOOST_TEST(!one.strategies.encode(mapping, again));
    });
}

// What is made is legal, is of the space, obeys the constraints, and costs what the model as
// written says, to the last bit.
BOOST_AUTO_TEST_CASE(what_is_made_is_legal_and_costs_what_the_model_says) {
    const auto steps = static_cast<int>(test::setting("TESSERA_SOAK", 200));
    std::uint64_t checked = 0, asked = 0;
    for_small_spaces(7, 60, 1'000'000'000, [&](Case& one, int i) {
        search::Rng rng(static_cast<std::uint64_t>(i));
        Point point, mate;
        if (!one.worker.draw(rng.next(), point).legal() ||
            !one.worker.draw(rng.next(), mate).legal()) {
            return;
        }
        for (int k = 0; k < steps; ++k) {
            const auto part = static_cast<std::uint32_t>(rng.below(one.strategies.n_einsums()));
            const std::uint64_t what = rng.below(search::n_moves + 3);
            Outcome outcome;
            Point next = point;
            if (what < search::n_moves) {
                outcome = one.worker.move(static_cast<search::Move>(what), rng.next(), part, next);
                BOOST_REQUIRE(outcome.legal() == !(next == point));
            } else if (what == search::n_moves) {
                outcome =
                    one.worker.cross(rng.next(), mate, part,
                                     part + 1 + static_cast<std::uint32_t>(rng.below(3)), next);
            } else if (what == search::n_moves + 1) {
                for (std::size_t d = 0; d < one.strategies.n_digits(); ++d) {
                    next.tiles[d] = static_cast<std::int64_t>(
                        rng.below(static_cast<std::uint64_t>(one.strategies.count(d))));
                }
                outcome = one.worker.repair(rng.next(), next);
            } else {
                outcome = one.worker.draw(rng.next(), next);
            }
            ++asked;
            if (!outcome.legal()) {
                BOOST_REQUIRE(outcome.verdict == Verdict::no_point);
                continue;
            }
            BOOST_REQUIRE(one.strategies.has(next));
            const Mapping mapping = one.worker.mapping(next);
            BOOST_REQUIRE(structural_fault(one.c.problem, one.c.architecture, mapping).empty());
            BOOST_REQUIRE(one.space.audit(mapping).empty());
            const Evaluation written = evaluate(one.c.problem, one.c.architecture, mapping);
            BOOST_REQUIRE(written.fit.ok());
            BOOST_REQUIRE(written.stats.energy_pj * 1e-12 == outcome.energy_j);
            BOOST_REQUIRE(static_cast<double>(written.stats.cycles) == outcome.latency_s);
            std::swap(point, mate);
            point = next;
            ++checked;
        }
    });
    BOOST_TEST(checked > asked / 2);
}

// What comes of a seed depends on nothing that the worker did before.
BOOST_AUTO_TEST_CASE(workers_remember_nothing) {
    for_small_spaces(8, 20, 1'000'000'000, [&](Case& one, int) {
        for (std::uint64_t seed = 1; seed < 20; ++seed) {
            StrategyWorker fresh(one.strategies, one.model, {one.objective}, 1);
            Point a, b;
            BOOST_TEST(one.worker.draw(seed, a).legal() == fresh.draw(seed, b).legal());
            BOOST_TEST((a == b));
            for (std::size_t m = 0; m < search::n_moves && !a.choices.empty(); ++m) {
                StrategyWorker other(one.strategies, one.model, {one.objective}, 1);
                one.worker.move(static_cast<search::Move>(m), seed, 0, a);
                other.move(static_cast<search::Move>(m), seed, 0, b);
                BOOST_TEST((a == b));
            }
        }
    });
}

// From one legal mapping moves lead to every other.
BOOST_AUTO_TEST_CASE(moves_reach_every_mapping) {
    int closed = 0;
    for_small_spaces(9, 25, 3000, [&](Case& one, int) {
        const All all = enumerated(one);
        if (all.n_legal < 2) {
            return;
        }
        Point point;
        BOOST_REQUIRE(one.worker.draw(1, point).legal());
        std::set<std::string> reached = {one.text(point)};
        std::vector<Point> front = {point};
        search::Rng rng(4);
        for (std::size_t at = 0; at < front.size() && reached.size() < all.legal.size(); ++at) {
            for (int k = 0; k < 400; ++k) {
                Point next = front[at];
                // Without the two moves that draw everything anew.
                const auto move = static_cast<search::Move>(rng.below(search::n_moves - 2));
                const auto part = static_cast<std::uint32_t>(rng.below(one.strategies.n_einsums()));
                if (one.worker.move(move, rng.next(), part, next).legal() &&
                    reached.insert(one.text(next)).second) {
                    front.push_back(next);
                }
            }
        }
        BOOST_TEST(reached.size() == all.legal.size());
        ++closed;
    });
    BOOST_TEST(closed > 10);
}

// Points that are legal often come equally often.
BOOST_AUTO_TEST_CASE(draws_are_uniform) {
    int judged = 0;
    for_small_spaces(10, 60, 2000, [&](Case& one, int i) {
        const All all = enumerated(one);
        const auto size = static_cast<double>(one.size());
        if (all.legal.size() < 2 || all.legal.size() > 60 || all.n_legal < 0.3 * size) {
            return;  // where fewer are, some draws are mended
        }
        const int n = 200 * static_cast<int>(all.legal.size());
        std::map<std::string, int> seen;
        Point point;
        for (int k = 0; k < n; ++k) {
            BOOST_REQUIRE(
                one.worker.draw(static_cast<std::uint64_t>(k) + 1000003ull * i, point).legal());
            ++seen[one.text(point)];
        }
        double chi = 0;
        for (const auto& [text, points] : all.points) {
            const double expected = static_cast<double>(n) * points / all.n_legal;
            chi += (seen[text] - expected) * (seen[text] - expected) / expected;
        }
        const auto freedom = static_cast<double>(all.points.size() - 1);
        BOOST_TEST(chi < freedom + 5 * std::sqrt(2 * freedom) + 5);
        ++judged;
    });
    BOOST_TEST(judged > 3);
}

// Nothing is below the optimum, and the exhaustive strategy proves it.
BOOST_AUTO_TEST_CASE(strategies_find_the_optimum_and_nothing_below) {
    int reached = 0, searches = 0, empty = 0;
    for_small_spaces(11, 60, 20'000, [&](Case& one, int i) {
        const All all = enumerated(one);
        const MapperResult every = search_with(one, "exhaustive", 0);
        if (all.legal.empty()) {
            BOOST_TEST((every.proof == Proof::infeasible && !every.best));
            ++empty;
            return;
        }
        BOOST_REQUIRE(every.best);
        BOOST_TEST((every.proof == Proof::optimal));
        const int levels = one.c.architecture.levels();
        BOOST_TEST(objective_value(one.objective, every.cost, levels) == all.best);
        for (const char* strategy : {"random", "annealing", "genetic"}) {
            const MapperResult found =
                search_with(one, strategy, 5000, 1, static_cast<std::uint64_t>(i) + 1);
            ++searches;
            if (found.best) {
                const double value = objective_value(one.objective, found.cost, levels);
                BOOST_TEST(value >= all.best);
                reached += value <= all.best * (1 + 1e-9) ? 1 : 0;
            }
        }
    });
    BOOST_TEST(reached > searches * 95 / 100);
    BOOST_TEST_MESSAGE("reached " << reached << " of " << searches << ", no mapping " << empty);
}

BOOST_AUTO_TEST_CASE(what_is_found_does_not_depend_on_threads) {
    for_small_spaces(12, 10, 1'000'000'000, [&](Case& one, int i) {
        for (const char* strategy : {"random", "annealing", "genetic"}) {
            const std::vector<Objective> later =
                i % 2 == 0 ? std::vector<Objective>{}
                           : std::vector<Objective>{{Objective::Kind::delay, 0},
                                                    {Objective::Kind::energy, 0}};
            const MapperResult a = search_with(one, strategy, 3000, 1, 7, later);
            const MapperResult b = search_with(one, strategy, 3000, 3, 7, later);
            BOOST_TEST(a.cost.energy_pj == b.cost.energy_pj);
            BOOST_TEST(a.best.has_value() == b.best.has_value());
            BOOST_TEST(a.valid == b.valid);
            if (a.best && b.best) {
                BOOST_TEST((*a.best == *b.best));
            }
        }
    });
}

BOOST_AUTO_TEST_CASE(a_strategy_begins_with_what_is_given) {
    int seen = 0;
    for_small_spaces(13, 30, 20'000, [&](Case& one, int) {
        const MapperResult best = search_with(one, "exhaustive", 0);
        if (!best.best) {
            return;
        }
        MapperSettings settings;
        settings.strategy = StrategySettings{"annealing", {}};
        settings.objectives = {one.objective};
        settings.factors = one.factors;
        settings.threads = 1;
        MapperHooks hooks;
        hooks.budget.max_evals = 4;  // one for each island
        hooks.start = {*best.best};
        const MapperResult found =
            search_mappings(one.c.problem, one.c.architecture, one.c.constraints, settings, hooks);
        BOOST_REQUIRE(found.best);
        const int levels = one.c.architecture.levels();
        BOOST_TEST(objective_value(one.objective, found.cost, levels) ==
                   objective_value(one.objective, best.cost, levels));
        ++seen;
    });
    BOOST_TEST(seen > 10);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
