// The compiled evaluator: perfect nests in closed form (compiled_nest.hpp); imperfect ones, and
// problems whose offsets do not fit one integer, by the as-written analysis.
#include <algorithm>
#include <limits>

#include "nest_run.hpp"
#include "timeloop/model/accounting.hpp"

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

Fit CompiledModel::check_capacity(const FlatMapping& mapping) const {
    const SpaceTables& tables = impl_->nest.tables;
    if (!tables.valid()) {
        return {};
    }
    std::int64_t tile[max_dimensions], extents[SpaceTables::max_ranks];
    std::fill_n(tile, tables.dimensions(), 1);
    std::fill_n(extents, SpaceTables::max_ranks, 1);
    int next = 0;
    for (int i = 0; i < impl_->machine.levels; ++i) {
        for (; next < mapping.level_end[i]; ++next) {
            const Loop& loop = mapping.loops[next];
            tables.grow(extents, loop.dimension, tile[loop.dimension] * (loop.end - 1));
            tile[loop.dimension] *= loop.end;
        }
        const LevelConstants& level = impl_->machine.level[i];
        if (!level.bounded) {
            continue;
        }
        std::uint64_t used = 0;
        for (int s = 0; s < impl_->machine.spaces; ++s) {
            used += mapping.keep[i] >> s & 1 ? tables.words(extents, s) : 0;
        }
        if (Fit fit; misfits(level, i, used, fit)) {
            return fit;
        }
    }
    return {};
}

void CompiledModel::evaluate(const FlatMapping& mapping, Workspace& workspace, Cost& cost) const {
    const Impl& model = *impl_;
    Workspace::Impl& work = *workspace.impl_;
    work.prepare(model.machine);
    cost.fit = Fit{};
    if (const int space = kept_nowhere(model.machine.spaces, mapping); space >= 0) {
        cost.fit.kind = Fit::Kind::kept_nowhere;
        cost.fit.level = space;
        return;
    }
    const bool perfect = std::all_of(mapping.loops, mapping.loops + mapping.loop_count,
                                     [](const Loop& loop) { return loop.end == loop.residual; });
    const bool closed = model.nest.tables.valid() && perfect &&
                        NestRun(model.nest, mapping, work.scratch, work.nest).run();
    if (!perfect && iterations_of(mapping) > model.machine.most_iterations) {
        cost = {};
        cost.energy_pj = std::numeric_limits<double>::infinity();
        cost.wrapped = true;
        return;
    }
    if (!closed) {
        work.nest = analyse_nest(model.problem, model.architecture, mapping, model.options);
    }
    account(model.machine, work.nest, mapping, cost);
    cost.forgets = false;
    for (int s = 0; s < model.machine.spaces; ++s) {
        cost.forgets = cost.forgets || forgets(model.machine, mapping, s);
    }
}

}  // namespace tessera::timeloop
