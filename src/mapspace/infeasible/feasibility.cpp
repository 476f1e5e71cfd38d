#include "feasibility.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>

#include "mapspace/template_shapes.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/model/formula_pool.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::mapspace::infeasible {
namespace {

using model::Formula;

/// More rows than this are not joined.
constexpr std::uint64_t most_rows = 1u << 21;
constexpr std::size_t beam = 64;

/// A model without costs: all that remains is what fits.
class FreeOfCost : public model::CostModel {
public:
    explicit FreeOfCost(const model::CostModel& model) : model_(model) {}

    std::string name() const override {
        return model_.name();
    }
    model::Report evaluate(const model::Problem& problem,
                           const mapping::Mapping& mapping) const override {
        return model_.evaluate(problem, mapping);
    }
    model::EinsumReport evaluate(const model::Problem& problem, const arch::Path& path,
                                 std::span<const mapping::PmappingNode> nodes) const override {
        return model_.evaluate(problem, path, nodes);
    }
    bool has_formulas() const override {
        return model_.has_formulas();
    }
    model::TemplateFormulas formulate(const model::Problem& problem, const arch::Path& path,
                                      const mapping::Template& tmpl) const override {
        model::TemplateFormulas formulas = model_.formulate(problem, path, tmpl);
        formulas.dynamic_energy_j = formulas.leak_energy_j = formulas.latency_s = Formula(0.0);
        return formulas;
    }

private:
    const model::CostModel& model_;
};

/// Ends an enumeration that has shown what was asked.
struct Enough {};

/// Whole tiles use the product of their trips.
void add_fanouts(const ShapeContext& c, const arch::Path& path, const Template& tmpl,
                 TileShapeProblem& p) {
    std::map<std::pair<int, int>, Formula> used;
    for (std::size_t i = 0; i < tmpl.nodes.size(); ++i) {
        const mapping::PmappingNode& n = tmpl.nodes[i];
        if (n.kind == mapping::NodeKind::spatial) {
            used.try_emplace({n.level, n.dim}, 1.0).first->second *=
                trip_formula(path, tmpl, static_cast<int>(i));
        }
    }
    for (const auto& [at, trips] : used) {
        const arch::PathDim& dim = path.levels[static_cast<std::size_t>(at.first)]
                                       .spatial[static_cast<std::size_t>(at.second)];
        const double most = arch::most_used(dim, c.problem->convention().check_physical);
        p.constraints.push_back({trips, Relation::less_equal, most, {}, LimitKind::fanout});
    }
}

void resize(const OtherSize& size, arch::Path& path) {
    const int at = size.memory.empty() ? -1 : path.find_level(size.memory);
    if (at >= 0) {
        path.levels[static_cast<std::size_t>(at)].size_bits = size.bits;
    }
}

/// Rows that differ in fused tiles are as good as each other here.
void forget_fusion(TileShapeProblem& problem) {
    for (TileShapeSymbol& symbol : problem.symbols) {
        symbol.fused = false;
    }
    problem.best_effort.clear();
}

}  // namespace

struct Feasibility::Case {
    const ShapeContext& context;
    const arch::Path& path;
    const Template& tmpl;
};

struct Feasibility::Tools {
    model::FormulaPool pool;
    TileShapeExplorer explorer;
    TileShapeResult result;

    bool any_row(TileShapeProblem& problem) {
        problem.objectives = {Formula(0.0)};
        forget_fusion(problem);
        TileShapeOptions options;
        options.first_rows = true;
        explorer.explore(problem, options, result);
        return result.rows > 0;
    }
};

Feasibility::Feasibility(const model::Problem& problem, const model::CostModel& model,
                         const MapSpaceOptions& options)
    : problem_(problem), model_(model), options_(options) {
    options_.partial_inner_tiles = problem.convention().partial_inner_tiles;
    for (std::size_t e = 0; e < problem.workload->einsums.size(); ++e) {
        std::vector<arch::Path>& own = paths_.emplace_back();
        for (const std::string& compute : problem.architecture->compute_names()) {
            own.push_back(problem.architecture->path(*problem.workload, static_cast<int>(e),
                                                     compute, problem.compat));
        }
    }
}

/// `look(case, tools)` for each template of the Einsum, until it returns true.
template <class Look>
Verdict Feasibility::each_template(std::size_t einsum, const NamedConstraints& dropped,
                                   Look&& look) const {
    MapSpaceOptions options = options_;
    drop(dropped, options);
    ShapeContext context{&problem_, &options, {}, false, false};
    Tools tools;
    for (arch::Path path : paths_[einsum]) {
        drop(dropped, path);
        keep_no_more_than_needed(path);
        if (!path.compute().enabled) {
            continue;
        }
        try {
            enumerate_templates(path, options, [&](Template&& tmpl) {
                base::poll_stop();
                tools.pool.clear();
                const model::FormulaScope formulas(tools.pool);
                if (look(Case{context, path, tmpl}, tools)) {
                    throw Enough{};
                }
            });
        } catch (const Enough&) {
            return Verdict::some;
        } catch (const NoLegalMapping&) {
            continue;
        } catch (const UserError&) {
            return Verdict::unknown;  // more loops or holders than a template may have
        }
    }
    return Verdict::none;
}

/// False: even without what the model says there are none. Saves most of the work.
bool Feasibility::may_have_rows(const Case& c, Tools& tools) const {
    TileShapeProblem problem;
    add_template_limits(c.context, c.path, c.tmpl, problem);
    if (!c.context.mapspace->partial_tiles()) {
        add_fanouts(c.context, c.path, c.tmpl, problem);
    }
    return tools.any_row(problem);
}

bool Feasibility::has_rows(const Case& c, Tools& tools) const {
    const model::TemplateFormulas f = FreeOfCost(model_).formulate(problem_, c.path, c.tmpl);
    TileShapeProblem problem =
        tile_shape_problem(c.context, c.path, c.tmpl, f, table_context(c.context, c.path));
    return tools.any_row(problem);
}

Verdict Feasibility::alone(std::size_t einsum, const NamedConstraints& dropped) const {
    return each_template(einsum, dropped, [&](const Case& c, Tools& tools) {
        return may_have_rows(c, tools) && has_rows(c, tools);
    });
}

/// Least value of what `take(case, formulas, problem)` returns.
template <class Take>
std::optional<double> Feasibility::least(std::size_t einsum, const NamedConstraints& dropped,
                                         Take&& take) const {
    std::optional<double> out;
    each_template(einsum, dropped, [&](const Case& c, Tools& tools) {
        if (!may_have_rows(c, tools)) {
            return false;
        }
        const model::TemplateFormulas f = FreeOfCost(model_).formulate(problem_, c.path, c.tmpl);
        TileShapeProblem problem =
            tile_shape_problem(c.context, c.path, c.tmpl, f, table_context(c.context, c.path));
        forget_fusion(problem);
        problem.objectives = {take(c, f)};
        tools.explorer.explore(problem, TileShapeOptions(), tools.result);
        for (std::size_t r = 0; r < tools.result.rows; ++r) {
            const double value = tools.result.objectives.front()[r];
            out = std::min(out.value_or(value), value);
        }
        return false;
    });
    return out;
}

std::optional<double> Feasibility::least_bits(std::size_t einsum, const NamedConstraints& dropped,
                                              const std::string& memory) const {
    return least(einsum, dropped, [&](const Case& c, const model::TemplateFormulas& f) {
        for (const MemoryUse& use : memory_uses(*problem_.workload, c.path, f)) {
            if (c.path.levels[static_cast<std::size_t>(use.level)].name == memory) {
                return use.alone;
            }
        }
        return Formula(0.0);
    });
}

std::optional<double> Feasibility::least_used(std::size_t einsum, const NamedConstraints& dropped,
                                              const std::string& level,
                                              const std::string& dim) const {
    return least(einsum, dropped, [&](const Case& c, const model::TemplateFormulas& f) {
        for (const model::FanoutFormula& u : f.fanouts) {
            const arch::PathLevel& at = c.path.levels[static_cast<std::size_t>(u.level)];
            if (at.name == level && at.spatial[static_cast<std::size_t>(u.dim)].name == dim) {
                return u.used;
            }
        }
        return Formula(1.0);
    });
}

Verdict Feasibility::together(const NamedConstraints& dropped, const OtherSize& size) const {
    try {
        return join_all(dropped, size);
    } catch (const NoLegalMapping&) {
        return Verdict::none;
    } catch (const LimitReached&) {
        return Verdict::unknown;
    } catch (const UserError&) {
        return Verdict::unknown;
    }
}

Verdict Feasibility::join_all(const NamedConstraints& dropped, const OtherSize& size) const {
    MapSpaceOptions options = options_;
    drop(dropped, options);
    std::vector<std::vector<arch::Path>> paths = paths_;
    std::deque<Template> templates;
    std::vector<EinsumTemplates> einsums;
    for (std::vector<arch::Path>& own : paths) {
        EinsumTemplates& einsum = einsums.emplace_back();
        for (arch::Path& path : own) {
            drop(dropped, path);
            keep_no_more_than_needed(path);
            resize(size, path);
            if (!path.compute().enabled) {
                continue;
            }
            einsum.paths.push_back(&path);
            try {
                enumerate_templates(path, options, [&](Template&& tmpl) {
                    base::poll_stop();
                    templates.push_back(std::move(tmpl));
                    einsum.templates.push_back({&path, &templates.back()});
                });
            } catch (const NoLegalMapping&) {
                continue;  // another compute may run it
            }
        }
        if (einsum.templates.empty()) {
            return Verdict::none;
        }
    }
    ShapeContext context{&problem_, &options, tracked_memories(einsums), true, false};
    std::vector<EinsumTable> tables =
        pmapping_tables(context, FreeOfCost(model_), einsums, {1, most_rows});
    std::vector<std::vector<PmappingGroup>> groups;
    for (EinsumTable& table : tables) {
        groups.push_back(std::move(table.groups));
    }
    JoinOptions join_options;
    join_options.goal = JoinGoal::single;
    join_options.order = options.all_einsum_orders ? EinsumOrder::all : EinsumOrder::file;
    join_options.reference_rules = !problem_.convention().exchange_by_tree;
    join_options.beam = beam;
    if (!join(*problem_.workload, groups, context.tracked, join_options).mappings.empty()) {
        return Verdict::some;
    }
    join_options.beam = 0;
    const JoinResult exact = join(*problem_.workload, groups, context.tracked, join_options);
    return !exact.mappings.empty()              ? Verdict::some
           : exact.complete && exact.all_orders ? Verdict::none
                                                : Verdict::unknown;
}

}  // namespace tessera::mapspace::infeasible
