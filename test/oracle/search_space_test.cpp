// The searched space against FFM, the legality checker and the cost model, on small random
// problems.
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fstream>
#include <map>

#include "api/inputs.hpp"
#include "oracle/few_instances.hpp"
#include "oracle/points.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/search/open_space.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;

namespace {

using oracle::close;
using oracle::few_seeds;
using oracle::for_each_instance;

mapper::Result map(const std::string& name, const model::Problem& problem,
                   const mapper::Options& options, const plugin::KnobSettings& knobs = {}) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    return plugin::Registry<mapper::Mapper>::instance()
        .create(name, knobs)
        ->map(problem, *model, options);
}

std::vector<std::int64_t> divisors_of(std::int64_t number) {
    std::vector<std::int64_t> out;
    for (std::int64_t d = 1; d <= number; ++d) {
        if (number % d == 0) {
            out.push_back(d);
        }
    }
    return out;
}

/// Bounds of the rank variables of a template's symbols, in the order of the symbols.
std::vector<std::int64_t> bounds_of(const model::Problem& problem, const mapspace::Template& t) {
    std::vector<std::int64_t> out;
    for (const auto& symbol : t.symbols) {
        const int variable = t.nodes[static_cast<std::size_t>(symbol.node)].rank_variable;
        const workload::Workload& w = *problem.workload;
        out.push_back(w.rank_variables[w.einsums[0].rank_variables[variable]].bound);
    }
    return out;
}

}  // namespace

BOOST_AUTO_TEST_CASE(random_points_are_legal_and_cost_what_the_model_says) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    std::size_t points = 0;
    for_each_instance(4, [&](const model::Problem& problem, const auto& limits) {
        const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
        search::Worker worker(space);
        search::Point point;
        for (std::uint64_t i = 0; i < 100; ++i) {
            const search::Outcome outcome = worker.draw(i, point);
            BOOST_TEST_REQUIRE(outcome.legal());
            const mapping::Mapping tree = worker.mapping(point);
            const model::Report report = model->evaluate(problem, tree);
            BOOST_TEST(close(report.energy_j(), outcome.energy_j));
            BOOST_TEST(close(report.latency_s(), outcome.latency_s));
            for (const mapspace::Violation& v : mapspace::check(problem, tree, &limits)) {
                BOOST_TEST((v.severity == mapspace::Severity::warning), mapspace::to_text(v));
            }
            ++points;
        }
    });
    BOOST_TEST(points >= 4000u);
}

BOOST_AUTO_TEST_CASE(exhaustive_search_finds_the_optimum_of_ffm) {
    std::size_t proven = 0;
    for_each_instance(3, [&](const model::Problem& problem, const auto& limits) {
        mapper::Options options;
        options.mapspace = limits;
        options.threads = 1;
        const mapper::Result best = map("ffm", problem, options);
        options.budget.max_evals = 300'000;
        const mapper::Result all = map("search", problem, options, {{"strategy", "exhaustive"}});
        if (all.status == mapper::Status::optimal) {
            ++proven;
            BOOST_TEST_REQUIRE(all.solutions.size() == 1u);
            BOOST_TEST(close(all.solutions[0].report.edp_js(), best.solutions[0].report.edp_js()));
            BOOST_TEST((all.bound == all.solutions[0].report.edp_js() ||
                        close(*all.bound, all.solutions[0].report.edp_js())));
        } else if (!all.solutions.empty()) {
            BOOST_TEST(all.solutions[0].report.edp_js() >=
                       best.solutions[0].report.edp_js() * (1 - 1e-9));
        }
    });
    BOOST_TEST(proven >= 15u);
}

// The later metric decides between equal mappings, in a strategy as in ffm.
BOOST_AUTO_TEST_CASE(exhaustive_search_finds_the_least_energy_of_the_least_latency) {
    std::size_t proven = 0;
    for (const mapper::Metric metric : {mapper::Metric::latency, mapper::Metric::energy}) {
        for_each_instance(2, [&](const model::Problem& problem, const auto& limits) {
            mapper::Options options;
            options.mapspace = limits;
            options.threads = 1;
            options.metrics = {metric};
            const mapper::Result best = map("ffm", problem, options);
            options.budget.max_evals = 200'000;
            const mapper::Result all =
                map("search", problem, options, {{"strategy", "exhaustive"}});
            if (all.status != mapper::Status::optimal) {
                return;
            }
            ++proven;
            for (const mapper::Metric one : {metric, mapper::later_metric(metric)}) {
                BOOST_TEST(close(mapper::metric_value(one, all.solutions[0].report),
                                 mapper::metric_value(one, best.solutions[0].report)));
            }
            BOOST_TEST((all.later && all.later->proven));
        });
    }
    BOOST_TEST(proven >= 15u);
}

BOOST_AUTO_TEST_CASE(random_search_comes_close_to_the_optimum_and_never_below) {
    for_each_instance(2, [&](const model::Problem& problem, const auto& limits) {
        mapper::Options options;
        options.mapspace = limits;
        options.threads = 1;
        const mapper::Result best = map("ffm", problem, options);
        options.budget.max_evals = 20'000;
        const mapper::Result drawn = map("search", problem, options);
        BOOST_TEST_REQUIRE(drawn.solutions.size() == 1u);
        BOOST_TEST((drawn.status == mapper::Status::feasible));
        const double ratio = drawn.solutions[0].report.edp_js() / best.solutions[0].report.edp_js();
        BOOST_TEST(ratio >= 1 - 1e-9);
        BOOST_TEST(ratio <= 2.0);
    });
}

BOOST_AUTO_TEST_CASE(the_outcome_depends_on_the_seed_and_not_on_the_number_of_threads) {
    for_each_instance(1, [&](const model::Problem& problem, const auto& limits) {
        mapper::Options options;
        options.mapspace = limits;
        options.budget.max_evals = 3'000;
        options.metrics = {mapper::Metric::energy, mapper::Metric::latency};
        std::vector<std::string> texts;
        for (const int threads : {1, 2, 5}) {
            options.threads = threads;
            std::string text;
            for (const mapper::Solution& s : map("search", problem, options).solutions) {
                text += mapping::to_yaml(s.mapping);
            }
            texts.push_back(text);
        }
        BOOST_TEST(texts[0] == texts[1]);
        BOOST_TEST(texts[0] == texts[2]);
        BOOST_TEST(!texts[0].empty());
    });
}

// Where few tile shapes are legal, the next point can be minutes away.
BOOST_AUTO_TEST_CASE(listing_points_obeys_a_stop) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const arch::Architecture architecture = arch::load_architecture("snowcat", {});
    const workload::Workload workload = workload::load_workload("matmuls", {});
    const model::Problem problem{&workload, &architecture, arch::Compat::none};
    const search::OpenSpace space(problem, *model, {mapspace::MapSpaceOptions::accelforge()});
    const auto points = space.enumerate();
    search::Point point;
    BOOST_TEST(points->next(point));
    const std::atomic<bool> stop{true};
    const base::StopScope scope({&stop});
    BOOST_CHECK_THROW(while (points->next(point)){}, base::Stopped);
}

// A buffer that holds everything: no tile shapes fail, so nothing but the draw of templates counts.
BOOST_AUTO_TEST_CASE(every_template_of_a_single_einsum_is_drawn_equally_often) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const arch::Architecture architecture = arch::load_architecture("snowcat", {});
    const workload::Workload workload = workload::load_workload("matmuls", {});
    const model::Problem problem{&workload, &architecture, arch::Compat::none};
    const search::OpenSpace space(problem, *model, {mapspace::MapSpaceOptions::accelforge()});
    search::Worker worker(space);
    search::Point point;
    std::map<std::uint32_t, int> counts;
    const int each = 2000;
    for (int i = 0; i < each * static_cast<int>(space.n_templates(0)); ++i) {
        BOOST_TEST_REQUIRE(worker.draw(i, point).legal());
        ++counts[point.choices[0].tmpl];
    }
    BOOST_TEST(space.n_templates(0) > 1u);
    for (std::uint32_t t = 0; t < space.n_templates(0); ++t) {
        // Five standard deviations of a binomial distribution.
        BOOST_TEST(std::abs(counts[t] - each) < 5 * std::sqrt(each));
    }
}

// What is left out early is never legal: every way to fill every template is tried.
BOOST_AUTO_TEST_CASE(the_list_of_points_lacks_no_legal_one) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    std::size_t spaces = 0, legal = 0, tried = 0;
    for_each_instance(4, [&](const model::Problem& problem, const auto& limits) {
        if (problem.workload->einsums.size() != 1 || limits.imperfect_temporal ||
            limits.imperfect_spatial) {
            return;
        }
        const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
        search::Worker worker(space);
        double combinations = 0;
        std::vector<std::vector<std::vector<std::int64_t>>> divisors(space.n_templates(0));
        for (std::uint32_t t = 0; t < space.n_templates(0); ++t) {
            double product = 1;
            for (const std::int64_t bound : bounds_of(problem, space.tmpl(0, t))) {
                divisors[t].push_back(divisors_of(bound));
                product *= static_cast<double>(divisors[t].back().size());
            }
            combinations += product;
        }
        if (combinations > 300'000) {
            return;
        }
        std::size_t all = 0, listed = 0;
        for (std::uint32_t t = 0; t < space.n_templates(0); ++t) {
            std::vector<std::size_t> place(divisors[t].size(), 0);
            for (bool more = true; more;) {
                search::Point point{{{t, 0}}, {}};
                for (std::size_t s = 0; s < place.size(); ++s) {
                    point.tiles.push_back(divisors[t][s][place[s]]);
                }
                all += worker.evaluate(point).legal();
                ++tried;
                more = false;
                for (std::size_t s = 0; s < place.size() && !more; ++s) {
                    more = ++place[s] < divisors[t][s].size();
                    place[s] = more ? place[s] : 0;
                }
            }
        }
        const auto points = space.enumerate();
        for (search::Point point; points->next(point);) {
            listed += point.choices[0].join == 0 && worker.evaluate(point).legal();
        }
        BOOST_TEST(listed == all);
        ++spaces;
        legal += all;
    });
    BOOST_TEST(spaces >= 8u);
    BOOST_TEST(legal > 1000u);
    BOOST_TEST(tried > legal + 5000);
}

BOOST_AUTO_TEST_CASE(a_draw_depends_on_its_seed_and_not_on_earlier_draws) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    for_each_instance(1, [&](const model::Problem& problem, const auto& limits) {
        const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
        search::Worker one(space), other(space);
        std::vector<search::Point> points(200);
        for (std::uint64_t i = 0; i < points.size(); ++i) {
            one.draw(i, points[i]);
        }
        for (std::uint64_t i = points.size(); i-- > 0;) {
            search::Point point;
            other.draw(i, point);
            BOOST_TEST((point == points[i]));
        }
    });
}

// What a worker remembers of Einsums that did not change alters no bit of an outcome.
BOOST_AUTO_TEST_CASE(steps_are_evaluated_as_if_each_point_were_the_first) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    std::size_t legal = 0, others = 0;
    for_each_instance(2, [&](const model::Problem& problem, const auto& limits) {
        const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
        search::Worker worker(space);
        search::Rng rng(7);
        search::Point at;
        BOOST_TEST_REQUIRE(worker.draw(1, at).legal());
        for (int i = 0; i < 300; ++i) {
            search::Point point = at;
            if (i % 50 == 49 || point.tiles.empty()) {
                worker.draw(static_cast<std::uint64_t>(i), point);
            } else {
                std::int64_t& tile = point.tiles[rng.below(point.tiles.size())];
                tile = rng.below(2) == 0 ? tile * 2 : (tile + 1) / 2;
            }
            const search::Outcome step = worker.evaluate(point);
            const search::Outcome fresh = search::Worker(space).evaluate(point);
            BOOST_TEST((step.verdict == fresh.verdict));
            if (step.legal()) {
                BOOST_TEST(step.energy_j == fresh.energy_j);
                BOOST_TEST(step.latency_s == fresh.latency_s);
                at = point;
            }
            ++(step.legal() ? legal : others);
        }
    });
    BOOST_TEST(legal > 1000u);
    BOOST_TEST(others > 1000u);
}

// One Einsum has no fused loops: every template is a structure of its own.
BOOST_AUTO_TEST_CASE(tile_shapes_of_a_template_are_drawn_equally_often) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    std::size_t compared = 0;
    for_each_instance(4, [&](const model::Problem& problem, const auto& limits) {
        if (problem.workload->einsums.size() != 1) {
            return;
        }
        const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
        search::Worker worker(space);
        std::map<std::uint32_t, std::map<std::vector<std::int64_t>, double>> legal;
        std::size_t all = 0;
        const auto points = space.enumerate();
        for (search::Point point; all < 2000 && points->next(point);) {
            if (worker.evaluate(point).legal()) {
                legal[point.choices[0].tmpl][point.tiles] = 0;
                ++all;
            }
        }
        if (all == 2000) {
            return;
        }
        const double draws = 200.0 * static_cast<double>(legal.size());
        for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(draws); ++i) {
            search::Point point;
            BOOST_TEST_REQUIRE(worker.draw(i, point).legal());
            auto& rows = legal.at(point.choices[0].tmpl);
            BOOST_TEST_REQUIRE(rows.count(point.tiles) == 1u);
            ++rows[point.tiles];
        }
        for (const auto& [tmpl, rows] : legal) {
            if (rows.size() < 2 || rows.size() > 20) {
                continue;  // nothing to compare, or too few draws of each
            }
            double drawn = 0, square = 0;
            for (const auto& [tiles, count] : rows) {
                drawn += count;
                square += count * count;
            }
            const auto n = static_cast<double>(rows.size());
            const double chi2 = square * n / drawn - drawn;
            // Mean n - 1, variance 2 (n - 1); five standard deviations and the skew of few rows.
            BOOST_TEST(chi2 < n - 1 + 5 * std::sqrt(2 * (n - 1)) + 10);
            ++compared;
        }
    });
    BOOST_TEST(compared >= 20u);
}

// Half as many units as the array has places: with one place in use, one unit is.
BOOST_AUTO_TEST_CASE(a_distributed_memory_has_at_least_one_unit_in_use) {
    const std::string actions =
        "      actions:\n      - {name: read, energy: 5, throughput: 1}\n"
        "      - {name: write, energy: 5, throughput: 1}\n";
    const std::string text =
        "arch:\n  nodes:\n  - !Memory\n    name: Main\n    size: inf\n    leak_power: 0\n"
        "    area: 0\n    tensors: {keep: All}\n    actions:\n"
        "    - {name: read, energy: 1, throughput: inf}\n"
        "    - {name: write, energy: 1, throughput: inf}\n"
        "  - !Array\n    name: Grid\n    spatial: [{name: Y, fanout: 4}]\n    nodes:\n"
        "    - !Memory\n      name: Part\n      size: inf\n      leak_power: 0\n      area: 0\n"
        "      spatial: [{name: Y, fanout: 2}]\n      tensors: {keep: W, may_keep: W}\n" +
        actions +
        "    - !Network\n      name: NoC\n      leak_power: 0\n      area: 0\n"
        "      actions: [{name: hop, energy: 1e6, latency: 0, throughput: inf}]\n"
        "  - !Compute\n    name: MAC\n    leak_power: 0\n    area: 0\n"
        "    actions: [{name: compute, energy: 1, throughput: 1}]\n"
        "workload:\n  iteration_space_shape:\n    m: 0 <= m < 4\n    n: 0 <= n < 4\n"
        "    k: 0 <= k < 4\n  bits_per_value: {All: 8}\n  einsums:\n  - name: Matmul\n"
        "    tensor_accesses:\n    - {name: A, projection: [m, k]}\n"
        "    - {name: W, projection: [k, n]}\n"
        "    - {name: Z, projection: [m, n], output: True}\n";
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    for (const arch::Compat compat : {arch::Compat::none, arch::Compat::accelforge}) {
        const oracle::LoadedInstance instance(text, compat);
        const search::OpenSpace space(instance.problem, *model, {});
        search::Worker worker(space);
        std::size_t alone = 0;
        for (std::uint64_t i = 0; i < 2000; ++i) {
            search::Point point;
            const search::Outcome drawn = worker.draw(i, point);
            BOOST_TEST_REQUIRE(drawn.legal());
            const mapping::Mapping tree = worker.mapping(point);
            const model::Report report = model->evaluate(instance.problem, tree);
            BOOST_TEST(close(report.energy_j(), drawn.energy_j));
            BOOST_TEST(close(report.latency_s(), drawn.latency_s));
            alone += mapping::to_yaml(tree).find("Spatial") == std::string::npos;
        }
        BOOST_TEST(alone > 0u);
    }
}

// Most templates of these depthwise convolutions have none: to see that takes some hundred choices.
BOOST_AUTO_TEST_CASE(where_no_tile_shapes_are_legal_draws_do_not_look_for_them) {
    api::InputNames names;
    names.architecture = "simba";
    names.workload = "mobilenet-28";
    const api::Inputs inputs = api::load_inputs(names);
    const model::Problem problem{&*inputs.workload, &*inputs.architecture};
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const search::OpenSpace space(problem, *model, {});
    search::Worker worker(space);
    constexpr std::uint64_t draws = 200;
    std::uint64_t legal = 0;
    for (std::uint64_t seed = 0; seed < draws; ++seed) {
        search::Point point;
        legal += worker.draw(seed, point).legal() ? 1 : 0;
    }
    BOOST_TEST(legal == draws);
    const search::Worker::Failures failures = worker.take_failures();
    BOOST_TEST(failures[static_cast<std::size_t>(search::Verdict::constraint)] < draws / 10);
}

BOOST_AUTO_TEST_CASE(broken_points_are_told_apart) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const oracle::Instance drawn = oracle::random_instance(few_seeds(1)["chain2"].at(0));
    const oracle::LoadedInstance instance(drawn.yaml);
    const search::OpenSpace space(instance.problem, *model, {drawn.options, 1, nullptr});
    search::Worker worker(space);
    search::Point point;
    BOOST_TEST_REQUIRE(worker.draw(1, point).legal());
    using search::Verdict;
    search::Point broken = point;
    broken.tiles.pop_back();
    BOOST_TEST((worker.evaluate(broken).verdict == Verdict::tile_shape));
    broken = point;
    broken.tiles[0] = 0;
    BOOST_TEST((worker.evaluate(broken).verdict == Verdict::tile_shape));
    broken = point;
    broken.choices[1].tmpl = space.n_templates(1);
    BOOST_TEST((worker.evaluate(broken).verdict == Verdict::incompatible));
    broken = point;
    broken.choices[1].join = 1000;
    BOOST_TEST((worker.evaluate(broken).verdict == Verdict::incompatible));
    broken.choices.clear();
    BOOST_TEST(!worker.evaluate(broken).legal());
}

BOOST_AUTO_TEST_CASE(variations_keep_template_and_fused_loops) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    for_each_instance(1, [&](const model::Problem& problem, const auto& limits) {
        const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
        search::Worker worker(space);
        search::Point point;
        BOOST_TEST_REQUIRE(worker.draw(7, point).legal());
        for (std::uint32_t i = 0; i < 20; ++i) {
            const search::Point before = point;
            const search::Outcome varied =
                worker.move(search::Move::tiles, i, i % space.n_einsums(), point);
            BOOST_TEST((varied.legal() || point == before));
            BOOST_TEST(worker.evaluate(point).legal());
            for (std::size_t e = 0; e < point.choices.size(); ++e) {
                BOOST_TEST(point.choices[e].tmpl == before.choices[e].tmpl);
            }
        }
    });
}
