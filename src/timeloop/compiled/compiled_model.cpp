// The compiled evaluator: perfect nests in closed form (compiled_nest.hpp); imperfect ones, and
// problems whose offsets do not fit one integer, by the as-written analysis.
#include <bit>

#include "compiled_costs.hpp"
#include "compiled_nest.hpp"
#include "timeloop/model/nest_analysis.hpp"

namespace tessera::timeloop {

struct CompiledModel::Impl {
    Impl(const Problem& problem, const Architecture& architecture, const ModelOptions& options)
        : problem(problem),
          architecture(architecture),
          options(options),
          machine(problem, architecture, options),
          nest(problem, architecture, machine, options) {}

    Problem problem;
    Architecture architecture;
    ModelOptions options;
    Machine machine;
    CompiledNest nest;
};

struct CompiledModel::Workspace::Impl {
    NestScratch scratch;
    NestResult nest;

    /// Without effect where the sizes are right already.
    void prepare(const Machine& machine) {
        const auto levels = static_cast<std::size_t>(machine.levels);
        if (nest.levels.size() == levels && nest.tiles.size() == levels * machine.spaces &&
            scratch.turns.size() == static_cast<std::size_t>(machine.spaces)) {
            return;
        }
        nest.tiles.resize(levels * machine.spaces);
        nest.levels.resize(levels);
        scratch.turns.resize(machine.spaces);
    }
};

CompiledModel::Workspace::Workspace() : impl_(std::make_unique<Impl>()) {}
CompiledModel::Workspace::~Workspace() = default;

CompiledModel::CompiledModel(const Problem& problem, const Architecture& architecture,
                             const ModelOptions& options)
    : impl_(std::make_unique<const Impl>(problem, architecture, options)) {}
CompiledModel::~CompiledModel() = default;

namespace {

/// What one pass over a mapping tells.
struct Glance {
    bool perfect = true;
    int nowhere = -1;      ///< a data space that no level keeps
    bool forgets = false;  ///< see Stats::forgotten
};

Glance glance(const FlatMapping& mapping, const std::vector<DataSpaceMask>& moving) {
    Glance seen;
    for (int q = 0; q < mapping.loop_count; ++q) {
        seen.perfect = seen.perfect && mapping.loops[q].end == mapping.loops[q].residual;
    }
    const int spaces = static_cast<int>(moving.size());
    DataSpaceMask missing = (DataSpaceMask{1} << spaces) - 1;
    DataSpaceMask moved = 0;  // dimensions of temporal loops outside the level at hand
    for (int i = mapping.level_count - 1; i >= 0 && missing != 0; --i) {
        for (int s = 0; s < spaces; ++s) {
            if (missing >> s & mapping.keep[i] >> s & 1) {
                seen.forgets = seen.forgets || (moving[s] & moved) != 0;
            }
        }
        missing &= ~mapping.keep[i];
        for (int q = i == 0 ? 0 : mapping.level_end[i - 1]; q < mapping.level_end[i]; ++q) {
            const Loop& loop = mapping.loops[q];
            moved |= loop.kind == LoopKind::temporal ? DataSpaceMask{1} << loop.dimension : 0;
        }
    }
    seen.nowhere = missing == 0 ? -1 : std::countr_zero(missing);
    return seen;
}

}  // namespace

Fit CompiledModel::check_capacity(const FlatMapping& mapping) const {
    return impl_->nest.check_capacity(mapping);
}

void CompiledModel::evaluate(const FlatMapping& mapping, Workspace& workspace, Cost& cost) const {
    const Impl& model = *impl_;
    Workspace::Impl& work = *workspace.impl_;
    work.prepare(model.machine);
    cost.fit = Fit{};
    const Glance seen = glance(mapping, model.machine.moving);
    if (seen.nowhere >= 0) {
        cost.fit.kind = Fit::Kind::kept_nowhere;
        cost.fit.level = seen.nowhere;
        return;
    }
    const bool closed =
        model.nest.valid() && seen.perfect && model.nest.analyse(mapping, work.scratch, work.nest);
    if (!closed) {
        work.nest = analyse_nest(model.problem, model.architecture, mapping, model.options);
    }
    cost_of(model.machine, work.nest, mapping.keep, cost);
    cost.forgets = seen.forgets;
}

}  // namespace tessera::timeloop
