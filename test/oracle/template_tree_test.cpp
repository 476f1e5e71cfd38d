// Templates from the innermost holder outwards: each template that is enumerated is among them, and
// no relaxation on the way to one costs more than its cheapest tile shapes.
#include "mapspace/template_tree.hpp"

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <limits>
#include <set>

#include "mapspace/shape_problem.hpp"
#include "oracle/oracle_instance.hpp"
#include "support/setting.hpp"
#include "tessera/model/formula_pool.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;
using mapspace::Template;
using mapspace::TemplateTree;

namespace {

constexpr double rounding = 1e-9;
constexpr std::size_t most_templates = 300;

/// Energy, latency and their product.
using Costs = std::array<double, 3>;

class Judge {
public:
    Judge(const model::Problem& problem, const mapspace::MapSpaceOptions& options)
        : model_(plugin::Registry<model::CostModel>::instance().create("looptree")) {
        context_.problem = &problem;
        context_.mapspace = &options;
    }

    /// What relaxations say, with energy outside of them.
    Costs bounds(const arch::Path& path, const Template& t, double outside_j) {
        const model::FormulaScope scope(pool_);
        const auto [problem, costs] = problem_of(path, t);
        const std::vector<double> none(1, 0.0), energy{outside_j}, both{outside_j, 0.0};
        const std::span<const model::Formula> all(costs);
        constexpr double infinity = std::numeric_limits<double>::infinity();
        return {explorer_.convex_bound(problem, all.subspan(0, 1), energy, infinity, true),
                explorer_.convex_bound(problem, all.subspan(1, 1), none, infinity, true),
                explorer_.convex_bound(problem, all, both, infinity, true)};
    }

    /// Infinite if no tile shapes are legal.
    Costs least(const arch::Path& path, const Template& t) {
        const model::FormulaScope scope(pool_);
        const auto [problem, costs] = problem_of(path, t);
        mapspace::TileShapeResult found;
        explorer_.explore(problem, {}, found);
        Costs out;
        out.fill(std::numeric_limits<double>::infinity());
        for (std::size_t r = 0; r < found.rows; ++r) {
            const double e = found.objectives[0][r], l = found.objectives[1][r];
            out = {std::min(out[0], e), std::min(out[1], l), std::min(out[2], e * l)};
        }
        return out;
    }

    /// By level: the least energy outside of relaxations of nodes that have their outermost holder
    /// there.
    std::vector<double> outside_j(const arch::Path& path, const TemplateTree& tree) {
        std::vector<double> out;
        double sum = 0;
        for (std::size_t l = 0; l < path.levels.size(); ++l) {
            if (const auto crossing = tree.crossing(static_cast<int>(l))) {
                double own = std::numeric_limits<double>::infinity();
                mapspace::enumerate_templates(
                    crossing->path, TemplateTree::crossing_options(),
                    [&](const Template& t) { own = std::min(own, least(crossing->path, t)[0]); });
                sum += own + crossing->rest_j;
            }
            out.push_back(sum);
        }
        return out;
    }

    /// The least time of the outermost memory.
    double outermost_s(const TemplateTree& tree) {
        const auto path = tree.outermost_time();
        double out = path ? std::numeric_limits<double>::infinity() : 0;
        if (path) {
            mapspace::enumerate_templates(
                *path, TemplateTree::crossing_options(),
                [&](const Template& t) { out = std::min(out, least(*path, t)[1]); });
        }
        return out;
    }

private:
    std::pair<mapspace::TileShapeProblem, std::vector<model::Formula>> problem_of(
        const arch::Path& path, const Template& t) {
        pool_.clear();
        const model::TemplateFormulas f = model_->formulate(*context_.problem, path, t);
        mapspace::TileShapeProblem problem = mapspace::problem_of_bounds(
            context_, path, t, f, mapspace::table_context(context_, path));
        return {problem, problem.objectives};
    }

    plugin::Owned<model::CostModel> model_;
    mapspace::ShapeContext context_;
    mapspace::TileShapeExplorer explorer_;
    model::FormulaPool pool_;
};

/// Holders and loops; of holders between two loops the order says nothing.
std::string text_of(const Template& t) {
    std::string out;
    std::vector<std::string> run;
    const auto flush = [&] {
        std::ranges::sort(run);
        for (const std::string& holder : run) {
            out += holder;
        }
        run.clear();
    };
    for (const mapping::PmappingNode& n : t.nodes) {
        if (n.kind == mapping::NodeKind::storage) {
            run.push_back("(" + std::to_string(n.tensor) + "@" + std::to_string(n.level) +
                          (n.line_buffer ? " moves)" : ")"));
            continue;
        }
        flush();
        out += (n.kind == mapping::NodeKind::temporal ? "t" : "s") +
               std::to_string(n.rank_variable) + "," + std::to_string(n.level) + "," +
               std::to_string(n.dim) +
               (n.base > 0 ? "," + std::to_string(n.base) + "+" + std::to_string(n.prologue) : "") +
               " ";
    }
    flush();
    return out;
}

/// Line buffers or prologues may be of use.
bool moves(const arch::Path& path) {
    return std::ranges::any_of(path.einsum.tensors,
                               [](const auto& t) { return !t.windows.empty(); }) ||
           std::ranges::any_of(path.einsum.rank_variables,
                               [](const auto& v) { return !v.prologues.empty(); });
}

/// The Einsum does without one of the inner memories.
bool disable_memory(std::uint64_t seed, arch::Path& path) {
    std::vector<arch::PathLevel*> inner;
    for (arch::PathLevel& level : path.levels) {
        if (level.kind == arch::LevelKind::memory && level.enabled) {
            inner.push_back(&level);
        }
    }
    if (inner.size() < 3) {
        return false;
    }
    inner[1 + seed % (inner.size() - 1)]->enabled = false;
    return true;
}

struct Walk {
    const arch::Path& path;
    const TemplateTree& tree;
    Judge& judge;
    std::vector<double> outside_j = judge.outside_j(path, tree);
    double outermost_s = judge.outermost_s(tree);
    std::set<std::string> found = {}, seen = {};
    int bounded = 0, tight = 0;
    std::string fault = {};

    void compare(const Template& t, const Costs& bounds) {
        found.insert(text_of(t));
        const Costs least = judge.least(path, t);
        for (std::size_t q = 0; q < least.size(); ++q) {
            ++bounded;
            tight += bounds[q] > 0.5 * least[q];
            if (bounds[q] * (1 - rounding) > least[q]) {
                fault = "cost " + std::to_string(q) + " of " + text_of(t) + ": " +
                        std::to_string(least[q]) + ", bound " + std::to_string(bounds[q]);
            }
        }
    }

    void visit(const TemplateTree::Node& node, Costs above) {
        std::string key;
        Costs own;
        own.fill(std::numeric_limits<double>::infinity());
        const arch::Path& relaxed = tree.relaxed_path(TemplateTree::top(node));
        std::vector<Template> relaxations;
        tree.relaxation(
            node, [&](Template&& t) { relaxations.push_back(std::move(t)); }, key);
        if (!seen.insert(key).second) {
            return;  // holders in another order, which changes nothing
        }
        const int top = TemplateTree::top(node);
        const double outside =
            top < 0 ? outside_j.back() : outside_j[static_cast<std::size_t>(top)];
        for (const Template& t : relaxations) {
            const Costs one = judge.bounds(relaxed, t, outside);
            for (std::size_t q = 0; q < own.size(); ++q) {
                own[q] = std::min(own[q], one[q]);
            }
        }
        own[1] = std::max(own[1], outermost_s);
        for (std::size_t q = 0; q < own.size(); ++q) {
            above[q] = std::max(above[q], own[q]);
        }
        tree.complete(node, [&](const Template& all, const auto& members) {
            Costs bounds = judge.bounds(path, all, 0);
            for (std::size_t q = 0; q < bounds.size(); ++q) {
                bounds[q] = std::max(bounds[q], above[q]);
            }
            members([&](Template&& t) {
                compare(t, bounds);
                return true;
            });
        });
        for (const TemplateTree::Node& child : tree.children(node)) {
            visit(child, above);
        }
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(template_tree)

BOOST_AUTO_TEST_CASE(no_relaxation_costs_more_than_a_template_below_it) {
    const std::uint64_t from = tessera::test::setting("TESSERA_SOAK_FROM", 8'200'000);
    const std::uint64_t n = tessera::test::setting("TESSERA_SOAK", 60);
    int paths = 0, with_persistent = 0, overlapping = 0, bounded = 0, tight = 0, outside = 0;
    int timed = 0, without_memory = 0;
    for (std::uint64_t seed = from; seed < from + n; ++seed) {
        const oracle::Instance drawn = seed % 3 == 0   ? oracle::random_instance(seed)
                                       : seed % 3 == 1 ? oracle::random_full_instance(seed)
                                                       : oracle::random_residual_instance(seed);
        const bool persistent = seed % 4 == 1;
        const oracle::LoadedInstance instance(
            persistent ? oracle::with_persistent_inputs(drawn.yaml) : drawn.yaml,
            seed % 3 == 0 ? arch::Compat::accelforge : arch::Compat::none);
        const model::Problem& p = instance.problem;
        Judge judge(p, drawn.options);
        for (std::size_t e = 0; e < p.workload->einsums.size(); ++e) {
            for (const std::string& compute : p.architecture->compute_names()) {
                arch::Path path =
                    p.architecture->path(*p.workload, static_cast<int>(e), compute, p.compat);
                if (!path.compute().enabled) {
                    continue;
                }
                const bool without = seed % 5 < 2 && disable_memory(seed, path);
                const TemplateTree tree(path, drawn.options);
                std::set<std::string> all;
                try {
                    if (!tree.applies() || !mapspace::enumerate_templates(
                                               path, drawn.options, most_templates,
                                               [&](Template&& t) { all.insert(text_of(t)); })) {
                        continue;
                    }
                } catch (const NoLegalMapping&) {
                    continue;
                }
                Walk walk{path, tree, judge};
                walk.visit({}, {});
                BOOST_TEST(walk.fault.empty(),
                           "seed " << seed << ", Einsum " << e << ": " << walk.fault);
                std::vector<std::string> missing;
                std::ranges::set_difference(all, walk.found, std::back_inserter(missing));
                BOOST_TEST(missing.empty(), "seed " << seed << ", Einsum " << e << ": "
                                                    << missing.size() << " of " << all.size()
                                                    << " templates are missing, as "
                                                    << (missing.empty() ? "" : missing.front()));
                ++paths;
                with_persistent += persistent;
                overlapping += moves(path);
                outside += walk.outside_j.back() > 0;
                timed += walk.outermost_s > 0;
                without_memory += without;
                bounded += walk.bounded;
                tight += walk.tight;
            }
        }
    }
    if (tessera::test::setting("TESSERA_SOAK", 0) == 0) {
        BOOST_TEST(paths > 20);
        BOOST_TEST(with_persistent > 5);
        BOOST_TEST(overlapping > 10);
        BOOST_TEST(outside > paths / 4);
        BOOST_TEST(timed > paths / 4);
        BOOST_TEST(without_memory > 3);
    }
    BOOST_TEST(tight * 5 > bounded * 2);  // they say something
    BOOST_TEST_MESSAGE(paths << " paths, " << with_persistent << " with persistent tensors, "
                             << overlapping << " with overlaps, " << bounded << " bounds, " << tight
                             << " tight, " << outside << " with energy outside, " << timed
                             << " with time of the outermost memory, " << without_memory
                             << " without a memory");
}

BOOST_AUTO_TEST_SUITE_END()
