// Long walks: what a worker keeps from point to point (Einsums looked up and joined, reservations
// summed up, tile shapes and replacements remembered) alters no bit of an outcome and no result.
// With TESSERA_SOAK=n in the environment n moves on each problem, and more of them are held
// against model and checker.
#include <array>
#include <boost/test/unit_test.hpp>

#include "oracle/few_instances.hpp"
#include "oracle/points.hpp"
#include "support/setting.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/search/open_space.hpp"

using namespace tessera;
using oracle::for_each_instance;
using search::Outcome;
using search::Point;

namespace {

// Of each kind of problem; of the legal points one in so many is held against model and checker.
constexpr std::size_t problems = 1, moves_of_each = 4000, held = 100, held_in_a_soak = 5;

bool same(const Outcome& a, const Outcome& b) {
    return a.verdict == b.verdict && a.energy_j == b.energy_j && a.latency_s == b.latency_s;
}

void check_point(const model::Problem& problem, const mapspace::MapSpaceOptions& limits,
                 const model::CostModel& model, search::Worker& worker, const Point& point,
                 const Outcome& outcome) {
    const mapping::Mapping tree = worker.mapping(point);
    const model::Report report = model.evaluate(problem, tree);
    BOOST_TEST(oracle::close(report.energy_j(), outcome.energy_j));
    BOOST_TEST(oracle::close(report.latency_s(), outcome.latency_s));
    for (const mapspace::Violation& v : mapspace::check(problem, tree, &limits)) {
        BOOST_TEST((v.severity == mapspace::Severity::warning), mapspace::to_text(v));
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(walks_are_evaluated_as_if_each_point_were_the_first) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const std::uint64_t soak = test::setting("TESSERA_SOAK", 0);
    const std::uint64_t moves = soak > 0 ? soak : moves_of_each;
    const std::size_t one_in = soak > 0 ? held_in_a_soak : held;
    std::size_t legal = 0, refused = 0;
    for_each_instance(problems, [&](const model::Problem& problem, const auto& limits) {
        const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
        search::Worker worker(space);
        search::Rng rng(11);
        Point at;
        BOOST_TEST_REQUIRE(worker.draw(1, at).legal());
        std::size_t differ = 0;
        for (std::size_t i = 0; i < moves; ++i) {
            Point next = at;
            const auto e = static_cast<std::uint32_t>(rng.below(space.n_einsums()));
            Outcome outcome;
            // Moves by the host; sometimes two tile shapes by hand, which are seldom legal.
            if (rng.below(8) > 0) {
                outcome = worker.move(static_cast<search::Move>(rng.below(search::n_moves)),
                                      rng.next(), e, next);
            } else {
                for (int n = 0; n < 2 && !next.tiles.empty(); ++n) {
                    std::int64_t& tile = next.tiles[rng.below(next.tiles.size())];
                    tile = rng.below(2) == 0 ? tile * 2 : (tile + 1) / 2;
                }
                outcome = worker.evaluate(next);
            }
            if (outcome.verdict != search::Verdict::no_point) {
                const Outcome fresh = search::Worker(space).evaluate(next);
                differ +=
                    fresh.verdict != outcome.verdict || (fresh.legal() && !same(fresh, outcome));
            }
            ++(outcome.legal() ? legal : refused);
            if (outcome.legal()) {
                if (legal % one_in == 0) {
                    check_point(problem, limits, *model, worker, next, outcome);
                }
                at = next;
            }
        }
        BOOST_TEST(differ == 0u);
    });
    BOOST_TEST_MESSAGE(legal << " legal, one in " << one_in << " held against the model, "
                             << refused << " refused");
    BOOST_TEST(legal > 5 * moves);
    BOOST_TEST(refused > moves);
}

// The same walk in one worker and in pieces, each of a worker that knows nothing.
BOOST_AUTO_TEST_CASE(walks_do_not_depend_on_what_is_remembered) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    for_each_instance(problems, [&](const model::Problem& problem, const auto& limits) {
        const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
        search::Worker one(space);
        auto other = std::make_unique<search::Worker>(space);
        search::Rng rng(5);
        Point a;
        BOOST_TEST_REQUIRE(one.draw(1, a).legal());
        Point b = a;
        one.take_work();
        other->take_work();
        std::size_t differ = 0;
        for (std::size_t i = 0; i < moves_of_each / 4; ++i) {
            if (rng.below(3) == 0) {
                other = std::make_unique<search::Worker>(space);
            }
            const auto move = static_cast<search::Move>(rng.below(search::n_moves));
            const std::uint64_t seed = rng.next();
            const auto e = static_cast<std::uint32_t>(rng.below(space.n_einsums()));
            const Outcome x = one.move(move, seed, e, a), y = other->move(move, seed, e, b);
            differ += !same(x, y) || !(a == b) || one.take_work() != other->take_work();
        }
        BOOST_TEST(differ == 0u);
    });
}
