// Template by template: the tile-shape explorer against all tile shapes.
//
// Whole searches hide losses, because another template often reaches the same optimum. Here every
// assignment of a template is costed by the oracle's evaluator, and the exact Pareto set per choice
// of fused tile shapes is compared with what the explorer keeps.
//
// Map: template_problem() states the question to the explorer, all_rows() (its own file) answers it
// by enumeration,
// compare() holds the two against each other.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <map>

#include "oracle/all_rows.hpp"
#include "oracle/oracle_instance.hpp"
#include "tessera/mapspace/template.hpp"
#include "tessera/mapspace/tile_shapes.hpp"
#include "tessera/model/formula_pool.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;
using mapspace::Template;
using mapspace::TemplateConstraint;
using model::Formula;
using oracle::bound_of;
using oracle::Goals;
using oracle::Row;

namespace {

constexpr int kTemplates = 600;
constexpr double kFewestRows = 1000, kMostRows = 12000;

// --- The question, as formulas
// ---------------------------------------------------------------------

Formula trips_formula(const arch::Path& path, const Template& t, int node) {
    const auto tile = [](const mapping::PmappingNode& n) {
        return n.symbol >= 0 ? Formula::symbol(n.symbol) : Formula(static_cast<double>(n.tile));
    };
    const auto& loop = t.nodes[static_cast<std::size_t>(node)];
    Formula outer(static_cast<double>(bound_of(path, loop.rank_variable)));
    for (int i = 0; i < node; ++i) {
        const auto& n = t.nodes[static_cast<std::size_t>(i)];
        if (n.is_loop() && n.rank_variable == loop.rank_variable) {
            outer = tile(n);
        }
    }
    return outer / tile(loop);
}

Formula bits_of(const model::TemplateFormulas& f, int level) {
    Formula sum(0.0);
    for (const auto& o : f.occupancies) {
        if (o.level == level) {
            sum += o.bits;
        }
    }
    return sum;
}

mapspace::TileShapeProblem template_problem(const arch::Path& path, const Template& t,
                                            const model::TemplateFormulas& f, const Goals& goals) {
    mapspace::TileShapeProblem p;
    for (const auto& s : t.symbols) {
        mapspace::TileShapeSymbol symbol;
        symbol.bound = bound_of(path, s.rank_variable);
        symbol.outer = s.outer;
        symbol.inner = s.inner;
        symbol.fused = s.fused;
        symbol.spatial = s.spatial;
        p.symbols.push_back(symbol);
    }
    if (goals.energy) {
        p.objectives.push_back(f.dynamic_energy_j + f.leak_energy_j);
    }
    if (goals.latency) {
        p.objectives.push_back(f.latency_s);
    }
    if (goals.memory >= 0) {
        p.objectives.push_back(bits_of(f, goals.memory));
    }
    for (int l = 0; l < static_cast<int>(path.levels.size()); ++l) {
        const double size = path.levels[static_cast<std::size_t>(l)].size_bits;
        if (size < std::numeric_limits<double>::infinity()) {
            p.constraints.push_back({bits_of(f, l), mapspace::Relation::less_equal, size});
        }
    }
    const auto dim = [&](int level, int d) -> const arch::PathDim& {
        return path.levels[static_cast<std::size_t>(level)].spatial[static_cast<std::size_t>(d)];
    };
    for (const auto& use : f.fanouts) {
        p.constraints.push_back({use.used, mapspace::Relation::less_equal,
                                 static_cast<double>(dim(use.level, use.dim).fanout)});
    }
    for (const auto& c : t.constraints) {
        if (c.kind == TemplateConstraint::Kind::loop_bound) {
            Formula trips(1.0);
            for (const int node : c.loops) {
                trips *= trips_formula(path, t, node);
            }
            p.constraints.push_back({trips, c.op, c.value});
            continue;
        }
        for (const auto& use : f.fanouts) {
            if (use.level == c.level && use.dim == c.dim) {
                p.best_effort.push_back(
                    {use.used, c.value * static_cast<double>(dim(c.level, c.dim).fanout)});
            }
        }
    }
    for (int v = 0; v < static_cast<int>(path.einsum.rank_variables.size()); ++v) {
        mapspace::LoopLimit limit;
        limit.limit = 1;
        for (std::size_t i = 0; i < t.symbols.size(); ++i) {
            if (t.symbols[i].fused && t.symbols[i].rank_variable == v) {
                limit.loops.push_back({t.symbols[i].outer, static_cast<int>(i), bound_of(path, v)});
            }
        }
        if (limit.loops.size() > 1) {
            p.loop_limits.push_back(limit);
        }
    }
    return p;
}

// --- Comparison
// ------------------------------------------------------------------------------------

bool close(double a, double b) {
    return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

bool equal(const std::vector<double>& a, const std::vector<double>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), close);
}

// `a` is better than `b` by more than rounding in some objective and no worse in any.
bool beats(const std::vector<double>& a, const std::vector<double>& b) {
    bool better = false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i] > b[i] && !close(a[i], b[i])) {
            return false;
        }
        better = better || (a[i] < b[i] && !close(a[i], b[i]));
    }
    return better;
}

using Fronts = std::map<std::vector<std::int64_t>, std::vector<std::vector<double>>>;

Fronts fronts(const Template& t, std::vector<Row> rows) {
    std::sort(rows.begin(), rows.end(),
              [](const Row& a, const Row& b) { return a.objectives < b.objectives; });
    Fronts all;
    for (const auto& row : rows) {
        std::vector<std::int64_t> key;
        for (std::size_t s = 0; s < t.symbols.size(); ++s) {
            if (t.symbols[s].fused) {
                key.push_back(row.tiles[s]);
            }
        }
        auto& front = all[key];
        const bool covered = std::any_of(front.begin(), front.end(), [&](const auto& o) {
            return equal(o, row.objectives) || beats(o, row.objectives);
        });
        if (!covered) {
            std::erase_if(front, [&](const auto& o) { return beats(row.objectives, o); });
            front.push_back(row.objectives);
        }
    }
    return all;
}

std::vector<Row> explored(const mapspace::TileShapeResult& result) {
    std::vector<Row> rows(result.rows);
    for (std::size_t i = 0; i < result.rows; ++i) {
        for (const auto& shapes : result.shapes) {
            rows[i].tiles.push_back(shapes[i]);
        }
        for (const auto& objective : result.objectives) {
            rows[i].objectives.push_back(objective[i]);
        }
    }
    return rows;
}

bool covers(const Fronts& a, const Fronts& b) {
    return std::all_of(b.begin(), b.end(), [&](const auto& entry) {
        const auto found = a.find(entry.first);
        return found != a.end() &&
               std::all_of(entry.second.begin(), entry.second.end(), [&](const auto& point) {
                   return std::any_of(found->second.begin(), found->second.end(),
                                      [&](const auto& p) { return equal(p, point); });
               });
    });
}

// Different templates ask different questions.
Goals goals_for(int n, const arch::Path& path) {
    int buffer = path.first_memory() + 1;
    switch (n % 5) {
        case 0:
            return {true, false, -1};
        case 1:
            return {false, true, -1};
        case 2:
            return {true, true, -1};
        case 3:
            return {true, false, buffer};
        default:
            return {true, true, buffer};
    }
}

struct Totals {
    int templates = 0, with_fused = 0, pruned = 0;
    double rows = 0;
};

void compare(const model::Problem& problem, const model::CostModel& model, const arch::Path& path,
             const Template& t, Totals& totals) {
    const Goals goals = goals_for(totals.templates, path);
    const auto all = oracle::all_rows(path, t, goals);
    const Fronts expected = fronts(t, all.rows);

    model::FormulaPool pool;
    const model::FormulaScope scope(pool);
    const auto formulas = model.formulate(problem, path, t);
    mapspace::TileShapeOptions options;
    // Prune early and in small pieces: that is where partial choices can be lost.
    options.prune_from_rows = totals.templates % 3 == 0 ? 256 : 0;
    options.max_rows = totals.templates % 4 == 0 ? 128 : 1u << 20;
    mapspace::TileShapeExplorer explorer;
    mapspace::TileShapeResult result;
    explorer.explore(template_problem(path, t, formulas, goals), options, result);
    const Fronts kept = fronts(t, explored(result));

    BOOST_TEST(covers(kept, expected), "the explorer lost a point");
    BOOST_TEST(covers(expected, kept), "the explorer kept a point that does not exist");
    std::size_t points = 0;
    for (const auto& [key, front] : kept) {
        points += front.size();
    }
    BOOST_TEST(result.rows == points,
               "the explorer kept " << result.rows << " rows, " << points << " are optimal");
    totals.rows += all.evaluated;
    totals.pruned += result.statistics.dropped_by_pareto > 0 ? 1 : 0;
    totals.with_fused +=
        std::any_of(t.symbols.begin(), t.symbols.end(), [](const auto& s) { return s.fused; }) ? 1
                                                                                               : 0;
    ++totals.templates;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_explorer_keeps_the_pareto_set_of_every_template) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    Totals totals;
    for (std::uint64_t seed = 1; totals.templates < kTemplates; ++seed) {
        const oracle::LoadedInstance instance(oracle::random_large_instance(seed).yaml);
        const auto& p = instance.problem;
        for (int e = 0; e < static_cast<int>(p.workload->einsums.size()); ++e) {
            const auto path = p.architecture->path(*p.workload, e, "MAC", p.compat);
            std::vector<Template> suitable;
            // One template per loop order: the points are those of the nodes as they stand.
            // convolution_test holds templates with open orders against these.
            mapspace::MapSpaceOptions options = mapspace::MapSpaceOptions::accelforge();
            options.open_loop_orders = false;
            mapspace::enumerate_templates(path, options, [&](Template&& t) {
                const double rows = oracle::count_rows(path, t);
                if (rows >= kFewestRows && rows <= kMostRows) {
                    suitable.push_back(std::move(t));
                }
            });
            // A few of each Einsum, from all over the list.
            const std::size_t step = std::max<std::size_t>(1, suitable.size() / 4);
            for (std::size_t i = seed % step; i < suitable.size(); i += step) {
                BOOST_TEST_CONTEXT("seed " << seed << ", Einsum " << e << ", template " << i) {
                    compare(p, *model, path, suitable[i], totals);
                }
            }
        }
    }
    BOOST_TEST(totals.rows >= 1'000'000);
    BOOST_TEST(totals.with_fused >= 100);
    BOOST_TEST(totals.pruned >= 300);
}
