// Moves, crossover and repair on small random problems: legal, reproducible, and all of the space
// is reached.
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <set>

#include "oracle/few_instances.hpp"
#include "oracle/points.hpp"
#include "tessera/mapper/mapper.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/search/open_space.hpp"
#include "tessera/search/point_text.hpp"

using namespace tessera;
using oracle::close;
using oracle::for_each_instance;
using search::Move;
using search::Point;

namespace {

constexpr std::array<Move, search::n_moves> all_moves = {
    Move::factor, Move::tile,    Move::tiles,  Move::spatial, Move::order,
    Move::keep,   Move::backing, Move::einsum, Move::einsums};

plugin::Owned<model::CostModel> looptree() {
    return plugin::Registry<model::CostModel>::instance().create("looptree");
}

/// Where the tile shapes of every Einsum begin, and the end.
std::vector<std::size_t> starts_of(const search::OpenSpace& space, const Point& point) {
    std::vector<std::size_t> starts{0};
    for (std::uint32_t e = 0; e < point.choices.size(); ++e) {
        starts.push_back(starts.back() + space.tmpl(e, point.choices[e].tmpl).symbols.size());
    }
    return starts;
}

bool same_einsum(const search::OpenSpace& space, const Point& a, const Point& b, std::size_t e) {
    const std::vector<std::size_t> i = starts_of(space, a), j = starts_of(space, b);
    return a.choices[e].tmpl == b.choices[e].tmpl &&
           std::equal(a.tiles.begin() + static_cast<std::ptrdiff_t>(i[e]),
                      a.tiles.begin() + static_cast<std::ptrdiff_t>(i[e + 1]),
                      b.tiles.begin() + static_cast<std::ptrdiff_t>(j[e]),
                      b.tiles.begin() + static_cast<std::ptrdiff_t>(j[e + 1]));
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_a_move_gives_is_legal_and_costs_what_the_model_says) {
    const auto model = looptree();
    std::array<std::size_t, search::n_moves> done{};
    for_each_instance(3, [&](const model::Problem& problem, const auto& limits) {
        const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
        search::Worker worker(space);
        Point point;
        BOOST_TEST_REQUIRE(worker.draw(3, point).legal());
        for (std::uint64_t i = 0; i < 200; ++i) {
            const Point before = point;
            const std::size_t kind = i % all_moves.size();
            const auto e = static_cast<std::uint32_t>(i % space.n_einsums());
            const search::Outcome moved = worker.move(all_moves[kind], i, e, point);
            if (!moved.legal()) {
                BOOST_TEST((moved.verdict == search::Verdict::no_point));
                BOOST_TEST((point == before));
                continue;
            }
            ++done[kind];
            BOOST_TEST(!(point == before));
            const mapping::Mapping tree = worker.mapping(point);
            const model::Report report = model->evaluate(problem, tree);
            BOOST_TEST(close(report.energy_j(), moved.energy_j));
            BOOST_TEST(close(report.latency_s(), moved.latency_s));
            for (const mapspace::Violation& v : mapspace::check(problem, tree, &limits)) {
                BOOST_TEST((v.severity == mapspace::Severity::warning), mapspace::to_text(v));
            }
        }
    });
    for (std::size_t kind = 0; kind < done.size(); ++kind) {
        BOOST_TEST(done[kind] >= 30u, "move " << kind << ": " << done[kind]);
    }
}

BOOST_AUTO_TEST_CASE(a_move_depends_on_its_arguments_and_not_on_earlier_moves) {
    const auto model = looptree();
    for_each_instance(1, [&](const model::Problem& problem, const auto& limits) {
        const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
        search::Worker used(space);
        Point point;
        BOOST_TEST_REQUIRE(used.draw(3, point).legal());
        for (std::uint64_t i = 0; i < 60; ++i) {
            Point again = point;
            const auto e = static_cast<std::uint32_t>(i % space.n_einsums());
            const search::Outcome a = used.move(all_moves[i % all_moves.size()], i, e, point);
            search::Worker fresh(space);
            const search::Outcome b = fresh.move(all_moves[i % all_moves.size()], i, e, again);
            BOOST_TEST((point == again));
            BOOST_TEST(
                (a.verdict == b.verdict && a.energy_j == b.energy_j && a.latency_s == b.latency_s));
        }
    });
}

BOOST_AUTO_TEST_CASE(moves_change_what_they_are_named_after) {
    const auto model = looptree();
    for_each_instance(2, [&](const model::Problem& problem, const auto& limits) {
        const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
        search::Worker worker(space);
        for (std::uint64_t i = 0; i < 60; ++i) {
            Point point;
            BOOST_TEST_REQUIRE(worker.draw(i, point).legal());
            const Point before = point;
            const auto e = static_cast<std::uint32_t>(i % space.n_einsums());
            const Move move = all_moves[i % 8];  // but for `einsums`
            if (!worker.move(move, i, e, point).legal()) {
                continue;
            }
            const bool inside = move == Move::tiles || move == Move::spatial ||
                                move == Move::order || move == Move::keep || move == Move::einsum;
            for (std::uint32_t other = 0; inside && other < e; ++other) {
                BOOST_TEST(same_einsum(space, before, point, other));
            }
            const std::uint32_t was = before.choices[e].tmpl, is = point.choices[e].tmpl;
            if (move == Move::order || move == Move::keep) {
                BOOST_TEST(was != is);
                const auto holders = [&](std::uint32_t tmpl) {
                    std::multiset<std::pair<int, int>> out;
                    for (const mapping::PmappingNode& n : space.tmpl(e, tmpl).nodes) {
                        if (n.kind == mapping::NodeKind::storage) {
                            out.insert({n.tensor, n.level});
                        }
                    }
                    return out;
                };
                BOOST_TEST((holders(was) == holders(is)) == (move != Move::keep));
            }
            if (move == Move::tiles || move == Move::spatial) {
                BOOST_TEST(was == is);
            }
        }
    });
}

BOOST_AUTO_TEST_CASE(moves_reach_every_point) {
    const auto model = looptree();
    std::size_t spaces = 0, points = 0;
    for_each_instance(12, [&](const model::Problem& problem, const auto& limits) {
        const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
        search::Worker worker(space);
        std::set<std::string> left;
        const auto all = space.enumerate();
        Point point;
        std::size_t listed = 0;
        while (listed <= 3000 && all->next(point)) {
            ++listed;
            if (worker.evaluate(point).legal()) {
                left.insert(search::to_text(point));
            }
        }
        if (listed > 3000 || left.size() < 10 || left.size() > 400) {
            return;
        }
        ++spaces;
        points += left.size();
        BOOST_TEST_REQUIRE(worker.draw(1, point).legal());
        search::Rng rng(7);
        for (std::size_t i = 0; i < 400 * left.size() + 20000 && !left.empty(); ++i) {
            left.erase(search::to_text(point));
            worker.move(all_moves[rng.below(all_moves.size())], rng.next(),
                        static_cast<std::uint32_t>(rng.below(space.n_einsums())), point);
        }
        BOOST_TEST(left.empty(), left.size() << " points were not reached, one is "
                                             << (left.empty() ? "" : *left.begin()));
    });
    BOOST_TEST(spaces >= 10u);
    BOOST_TEST(points >= 500u);
}

BOOST_AUTO_TEST_CASE(crossover_takes_einsums_of_the_mate_where_they_fit) {
    const auto model = looptree();
    std::size_t whole = 0, crossed = 0;
    for_each_instance(2, [&](const model::Problem& problem, const auto& limits) {
        const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
        search::Worker worker(space);
        const std::uint32_t n = space.n_einsums();
        for (std::uint64_t i = 0; i < 30; ++i) {
            Point a, b;
            BOOST_TEST_REQUIRE(worker.draw(2 * i, a).legal());
            BOOST_TEST_REQUIRE(worker.draw(2 * i + 1, b).legal());
            Point child = a;
            // All of the mate: the mate itself; nothing of it: the point itself.
            BOOST_TEST(worker.cross(i, b, 0, n, child).legal());
            BOOST_TEST((child.tiles == b.tiles));
            child = a;
            BOOST_TEST(worker.cross(i, b, 0, 0, child).legal());
            BOOST_TEST((child.tiles == a.tiles));
            const auto e = static_cast<std::uint32_t>(i % n);
            if (worker.cross(i, b, e, e + 1, child).legal()) {
                ++crossed;
                whole += same_einsum(space, child, b, e);
                BOOST_TEST(worker.evaluate(child).legal());
            } else {
                BOOST_TEST((child == a));
            }
        }
    });
    BOOST_TEST(crossed >= 300u);
    BOOST_TEST(whole >= 100u);
}

BOOST_AUTO_TEST_CASE(repair_leaves_legal_points_alone_and_mends_others) {
    const auto model = looptree();
    std::size_t broken = 0, mended = 0;
    for_each_instance(2, [&](const model::Problem& problem, const auto& limits) {
        const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
        search::Worker worker(space);
        search::Rng rng(5);
        for (std::uint64_t i = 0; i < 30; ++i) {
            Point point;
            BOOST_TEST_REQUIRE(worker.draw(i, point).legal());
            Point same = point;
            BOOST_TEST(worker.repair(i, same).legal());
            BOOST_TEST((same == point));
            for (std::int64_t& tile : point.tiles) {
                tile = rng.below(4) == 0 ? static_cast<std::int64_t>(1 + rng.below(12)) : tile;
            }
            point.choices[rng.below(point.choices.size())].join = 77;
            if (!worker.evaluate(point).legal()) {
                ++broken;
                const search::Outcome outcome = worker.repair(i, point);
                mended += outcome.legal();
                BOOST_TEST(worker.evaluate(point).legal() == outcome.legal());
            }
        }
    });
    BOOST_TEST(broken >= 500u);
    BOOST_TEST(10 * mended >= 7 * broken);
}

BOOST_AUTO_TEST_CASE(moves_from_what_is_no_legal_point_say_so) {
    const auto model = looptree();
    const oracle::Instance drawn = oracle::random_instance(oracle::few_seeds(1)["chain2"].at(0));
    const oracle::LoadedInstance instance(drawn.yaml);
    const search::OpenSpace space(instance.problem, *model, {drawn.options, 1, nullptr});
    search::Worker worker(space);
    Point point;
    BOOST_TEST_REQUIRE(worker.draw(1, point).legal());
    using search::Verdict;
    for (const Move move : all_moves) {
        Point wrong = point;
        wrong.tiles.pop_back();
        BOOST_TEST((worker.move(move, 1, 0, wrong).verdict == Verdict::tile_shape));
        wrong = point;
        wrong.choices[0].tmpl = 1u << 30;
        BOOST_TEST((worker.move(move, 1, 0, wrong).verdict == Verdict::incompatible));
        wrong = {};
        BOOST_TEST((worker.move(move, 1, 0, wrong).verdict == Verdict::tile_shape));
    }
    Point wrong = point;
    wrong.choices[0].tmpl = 1u << 30;
    Point child = point;
    BOOST_TEST((worker.cross(1, wrong, 0, 1, child).verdict == Verdict::tile_shape));
    BOOST_TEST((worker.repair(1, wrong).verdict == Verdict::tile_shape));
    wrong = point;
    wrong.tiles.assign(wrong.tiles.size(), -5);
    BOOST_TEST(!worker.evaluate(wrong).legal());
    worker.repair(1, wrong);  // must not crash; what it gives is legal or what it was
    // An Einsum that does not exist is the last one.
    Point far = point;
    const search::Outcome outcome = worker.move(Move::einsum, 1, 1000, far);
    BOOST_TEST((outcome.legal() || outcome.verdict == Verdict::no_point));
}

// Some templates of this problem have no tile shapes to choose and do not fit their memories.
BOOST_AUTO_TEST_CASE(templates_that_fit_with_no_tile_shapes_are_never_taken) {
    const auto model = looptree();
    const oracle::Instance drawn = oracle::random_instance(3'000'518);
    const oracle::LoadedInstance instance(drawn.yaml);
    const search::OpenSpace space(instance.problem, *model, {drawn.options, 1, nullptr});
    search::Worker worker(space);
    std::size_t made = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        Point point;
        BOOST_TEST_REQUIRE(worker.draw(seed, point).legal());
        for (const Move move : all_moves) {
            for (std::uint32_t e = 0; e < space.n_einsums(); ++e) {
                Point moved = point;
                const search::Outcome outcome = worker.move(move, seed, e, moved);
                made += outcome.legal();
                BOOST_TEST((!outcome.legal() || worker.evaluate(moved).legal()));
            }
        }
    }
    BOOST_TEST(made > 100u);
}

BOOST_AUTO_TEST_CASE(points_as_text_and_back) {
    Point point{{{3, 1}, {0, 0}}, {8, 4, 1}}, back;
    BOOST_TEST(search::to_text(point) == "3.1 0.0 ; 8 4 1");
    BOOST_TEST(search::from_text(search::to_text(point), back));
    BOOST_TEST((back == point));
    BOOST_TEST(search::from_text(search::to_text({}), back));
    BOOST_TEST((back == Point{}));
    point.order = 7;
    BOOST_TEST(search::to_text(point) == "3.1 0.0 ; 8 4 1 ; 7");
    BOOST_TEST(search::from_text(search::to_text(point), back));
    BOOST_TEST((back == point));
    for (const char* wrong :
         {"", "3", "3.1", "3.1 ", "3.1;", "x.1 ; 2", "3.1 ; 2 x", "3.1 ; 2 ", "3.1 ; 2\n",
          "3.1 ; 2 ;", "3.1 ; 2 ; 0", "3.1 ; 2 ; x", "3.1 ; 2 ; 99999999999", "3.1 ; 2 ; 1 "}) {
        BOOST_TEST(!search::from_text(wrong, back), wrong);
    }
}

BOOST_AUTO_TEST_CASE(looptrees_are_points_again) {
    const auto model = looptree();
    std::size_t same = 0;
    for_each_instance(4, [&](const model::Problem& problem, const auto& limits) {
        const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
        search::Worker worker(space);
        for (std::uint64_t i = 0; i < 40; ++i) {
            Point point, back;
            const search::Outcome outcome = worker.draw(i, point);
            BOOST_TEST_REQUIRE(outcome.legal());
            const mapping::Mapping tree = worker.mapping(point);
            BOOST_TEST_REQUIRE(worker.encode(tree, outcome.energy_j, outcome.latency_s, back),
                               mapping::to_yaml(tree));
            BOOST_TEST(close(worker.evaluate(back).energy_j, outcome.energy_j));
            // Templates that differ in null loops alone give one LoopTree: the first stands for it,
            // and holders next to each other may have changed places.
            const mapping::Mapping first = worker.mapping(back);
            BOOST_TEST(close(model->evaluate(problem, first).latency_s(), outcome.latency_s));
            Point again;
            BOOST_TEST(worker.encode(first, outcome.energy_j, outcome.latency_s, again));
            BOOST_TEST((again == back));
            same += back == point;
            // With other costs it is another mapping.
            BOOST_TEST(!worker.encode(tree, 2 * outcome.energy_j, outcome.latency_s, back));
        }
    });
    BOOST_TEST(same >= 1000u);
}

BOOST_AUTO_TEST_CASE(optima_of_ffm_are_points) {
    const auto model = looptree();
    std::size_t optima = 0, points = 0;
    for_each_instance(6, [&](const model::Problem& problem, const auto& limits) {
        mapper::Options options;
        options.mapspace = limits;
        options.threads = 1;
        const mapper::Result best = plugin::Registry<mapper::Mapper>::instance().create("ffm")->map(
            problem, *model, options);
        const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
        search::Worker worker(space);
        Point point;
        const mapper::Solution& s = best.solutions.at(0);
        ++optima;
        points += worker.encode(s.mapping, s.report.energy_j(), s.report.latency_s(), point);
    });
    BOOST_TEST(points == optima);
}
