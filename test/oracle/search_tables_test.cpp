// The space of the rows of pmapping tables: it has the optimum, its points are legal mappings of
// the space of templates, and what is remembered alters nothing.
#include <boost/test/unit_test.hpp>
#include <set>

#include "oracle/few_instances.hpp"
#include "oracle/points.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/search/tables.hpp"

using namespace tessera;
using oracle::close;
using oracle::for_each_instance;
using search::Outcome;
using search::Point;

namespace {

constexpr std::size_t moves_of_each = 1500, held_against_the_model = 40;

plugin::KnobSettings on_tables(const std::string& strategy) {
    return {{"strategy", strategy}, {"space", "tables"}};
}

/// A problem with its tables.
struct Tabulated {
    Tabulated(const model::Problem& problem, const mapspace::MapSpaceOptions& limits)
        : model(plugin::Registry<model::CostModel>::instance().create("looptree")),
          open(problem, *model, {limits, 1, nullptr}),
          tables(open, *model, {}) {}

    std::shared_ptr<model::CostModel> model;
    search::OpenSpace open;
    search::Tables tables;
};

bool same(const Outcome& a, const Outcome& b) {
    return a.verdict == b.verdict && a.energy_j == b.energy_j && a.latency_s == b.latency_s;
}

/// One of everything that makes a point.
Outcome step(search::SpaceWorker& worker, search::Rng rng, std::uint32_t einsums, const Point& mate,
             Point& point) {
    const auto e = static_cast<std::uint32_t>(rng.below(einsums));
    switch (rng.below(12)) {
        case 0:
            return worker.draw(rng.next(), point);
        case 1:
            return worker.cross(rng.next(), mate, e, e + 1, point);
        case 2:
            point.choices[e].join += 1;
            return worker.repair(rng.next(), point);
        default:
            return worker.move(static_cast<search::Move>(rng.below(search::n_moves)), rng.next(), e,
                               point);
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_best_choice_of_rows_is_the_optimum_of_ffm) {
    std::size_t proven = 0, larger = 0;
    for_each_instance(3, [&](const model::Problem& problem, const auto& limits) {
        for (const auto& metrics :
             {std::vector{mapper::Metric::edp}, std::vector{mapper::Metric::energy},
              std::vector{mapper::Metric::latency}}) {
            mapper::Options options;
            options.mapspace = limits;
            options.metrics = metrics;
            options.threads = 1;
            const mapper::Result best = oracle::mapped(problem, options, "ffm");
            options.budget.max_evals = 20'000;
            const mapper::Result all =
                oracle::mapped(problem, options, "search", on_tables("exhaustive"));
            if (all.status != mapper::Status::optimal) {
                ++larger;
                continue;
            }
            ++proven;
            BOOST_TEST_REQUIRE(all.solutions.size() == 1u);
            const auto value = [&](const mapper::Result& result) {
                return mapper::metric_value(metrics.front(), result.solutions[0].report);
            };
            BOOST_TEST(close(value(all), value(best)));
            BOOST_TEST(all.statistics.table_rows > 0u);
            BOOST_TEST(all.statistics.charged > 0);
        }
    });
    BOOST_TEST(proven >= 60u);
    BOOST_TEST_MESSAGE(proven << " proven, " << larger << " larger");
}

BOOST_AUTO_TEST_CASE(points_are_legal_mappings_of_the_space_of_templates) {
    std::size_t legal = 0;
    for_each_instance(1, [&](const model::Problem& problem, const auto& limits) {
        const Tabulated one(problem, limits);
        const auto worker = one.tables.make_worker();
        search::Worker of_templates(one.open);
        search::Rng rng(7);
        Point at, mate;
        BOOST_TEST_REQUIRE(worker->draw(1, at).legal());
        BOOST_TEST_REQUIRE(worker->draw(2, mate).legal());
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < moves_of_each; ++i) {
            Point next = at;
            const Outcome outcome =
                step(*worker, search::Rng(rng.next()), one.open.n_einsums(), mate, next);
            if (!outcome.legal()) {
                continue;
            }
            ++legal;
            const Point point = one.tables.point_of(next);
            Point back;
            wrong += !same(outcome, of_templates.evaluate(point)) ||
                     !same(outcome, worker->evaluate(next)) || !one.tables.rows_of(point, back) ||
                     !(back == next);
            if (legal % held_against_the_model == 0) {
                const mapping::Mapping tree = of_templates.mapping(point);
                const model::Report report = one.model->evaluate(problem, tree);
                BOOST_TEST(close(report.energy_j(), outcome.energy_j));
                BOOST_TEST(close(report.latency_s(), outcome.latency_s));
                for (const mapspace::Violation& v : mapspace::check(problem, tree, &limits)) {
                    BOOST_TEST((v.severity == mapspace::Severity::warning), mapspace::to_text(v));
                }
            }
            mate = at;
            at = next;
        }
        BOOST_TEST(wrong == 0u);
    });
    BOOST_TEST(legal > 5'000u);
}

BOOST_AUTO_TEST_CASE(walks_over_rows_do_not_depend_on_what_is_remembered) {
    for_each_instance(1, [&](const model::Problem& problem, const auto& limits) {
        const Tabulated one(problem, limits);
        const auto remembers = one.tables.make_worker();
        auto forgets = one.tables.make_worker();
        search::Rng rng(5);
        Point a, mate;
        BOOST_TEST_REQUIRE(remembers->draw(1, a).legal());
        BOOST_TEST_REQUIRE(remembers->draw(2, mate).legal());
        Point b = a;
        remembers->take_work();
        remembers->take_charge();
        std::size_t differ = 0;
        for (std::size_t i = 0; i < moves_of_each / 4; ++i) {
            if (rng.below(3) == 0) {
                forgets = one.tables.make_worker();
            }
            const search::Rng here(rng.next());
            const Outcome x = step(*remembers, here, one.open.n_einsums(), mate, a);
            const Outcome y = step(*forgets, here, one.open.n_einsums(), mate, b);
            differ += !same(x, y) || !(a == b) || remembers->take_work() != forgets->take_work() ||
                      remembers->take_charge() != forgets->take_charge();
            if (!x.legal()) {
                a = b = mate;
            }
        }
        BOOST_TEST(differ == 0u);
    });
}

// On small spaces, moves alone get from one point to every other.
BOOST_AUTO_TEST_CASE(moves_reach_every_choice_of_rows) {
    std::size_t spaces = 0;
    for_each_instance(2, [&](const model::Problem& problem, const auto& limits) {
        const Tabulated one(problem, limits);
        const auto worker = one.tables.make_worker();
        const auto key = [](const Point& p) {
            std::vector<std::int64_t> numbers(p.tiles);
            for (const search::Choice& c : p.choices) {
                numbers.push_back(c.tmpl);
                numbers.push_back(c.join);
            }
            return numbers;
        };
        std::set<std::vector<std::int64_t>> all, reached;
        const auto points = one.tables.space().enumerate();
        Point point;
        for (std::size_t n = 0; points->next(point); ++n) {
            if (n > 400) {
                return;
            }
            if (worker->evaluate(point).legal()) {
                all.insert(key(point));
            }
        }
        ++spaces;
        BOOST_TEST_REQUIRE(worker->draw(1, point).legal());
        search::Rng rng(3);
        for (std::size_t i = 0; i < 400 * all.size() && reached.size() < all.size(); ++i) {
            reached.insert(key(point));
            const auto e = static_cast<std::uint32_t>(rng.below(one.open.n_einsums()));
            worker->move(static_cast<search::Move>(rng.below(search::n_moves)), rng.next(), e,
                         point);
        }
        BOOST_TEST(reached.size() == all.size());
    });
    BOOST_TEST(spaces >= 10u);
}

// All questions for all rows of one Einsum together are charged what it was to make its table.
BOOST_AUTO_TEST_CASE(questions_are_charged_their_part_of_the_tables) {
    std::size_t single = 0;
    for_each_instance(2, [&](const model::Problem& problem, const auto& limits) {
        const Tabulated one(problem, limits);
        const auto worker = one.tables.make_worker();
        Point point;
        BOOST_TEST_REQUIRE(worker->draw(1, point).legal());
        worker->take_charge();
        worker->evaluate(point);
        const double once = worker->take_charge();
        BOOST_TEST(once > 0);
        worker->evaluate(point);
        BOOST_TEST(worker->take_charge() == once);
        worker->repair(3, point);  // asks for nothing new
        BOOST_TEST(worker->take_charge() == 0);
        if (one.open.n_einsums() > 1) {
            return;
        }
        ++single;
        const auto all = one.tables.space().enumerate();
        std::set<std::pair<std::uint32_t, std::int64_t>> rows;
        double sum = 0;
        while (all->next(point)) {
            if (rows.insert({point.choices[0].tmpl, point.tiles[0]}).second) {
                worker->evaluate(point);
                sum += worker->take_charge();
            }
        }
        BOOST_TEST(rows.size() == one.tables.rows());
        BOOST_TEST(sum <= 1 + 1e-9);
        BOOST_TEST(sum > 0.5);  // templates without any rows are nobody's
    });
    BOOST_TEST(single > 0u);
}

BOOST_AUTO_TEST_CASE(strategies_on_tables_reach_the_optimum_and_do_not_depend_on_threads) {
    std::size_t runs = 0, reached = 0;
    for_each_instance(1, [&](const model::Problem& problem, const auto& limits) {
        mapper::Options options;
        options.mapspace = limits;
        options.threads = 1;
        const double best = oracle::mapped(problem, options, "ffm").solutions[0].report.edp_js();
        options.budget.max_evals = 5'000;
        for (const std::string strategy : {"annealing", "genetic", "mcts", "random", "es"}) {
            std::vector<double> values;
            for (const int threads : {1, 3}) {
                options.threads = threads;
                const mapper::Result found =
                    oracle::mapped(problem, options, "search", on_tables(strategy));
                BOOST_TEST_REQUIRE(found.solutions.size() == 1u, strategy);
                values.push_back(found.solutions[0].report.edp_js());
            }
            BOOST_TEST(values[0] == values[1], strategy);
            BOOST_TEST(values[0] >= best * (1 - 1e-9), strategy);
            ++runs;
            reached += close(values[0], best);
        }
    });
    BOOST_TEST_MESSAGE(reached << " of " << runs << " searches reach the optimum");
    BOOST_TEST(10 * reached >= 8 * runs);
}

BOOST_AUTO_TEST_CASE(strategies_that_go_by_templates_are_refused_on_tables) {
    for_each_instance(1, [&](const model::Problem& problem, const auto& limits) {
        mapper::Options options;
        options.mapspace = limits;
        options.budget.max_evals = 10;
        BOOST_CHECK_EXCEPTION(
            oracle::mapped(problem, options, "search", on_tables("loma")), Error,
            [](const Error& refused) {
                return std::string(refused.what()).find("templates, which this mapspace has not") !=
                       std::string::npos;
            });
    });
}
