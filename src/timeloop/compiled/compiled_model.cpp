// The compiled evaluator: perfect nests in closed form (compiled_nest.hpp); imperfect ones, and
// problems whose offsets do not fit one integer, by the as-written analysis.
#include <algorithm>

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

Fit CompiledModel::check_capacity(const FlatMapping& mapping) const {
    return impl_->nest.check_capacity(mapping);
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
    const bool closed =
        model.nest.valid() && perfect && model.nest.analyse(mapping, work.scratch, work.nest);
    if (!closed) {
        work.nest = analyse_nest(model.problem, model.architecture, mapping, model.options);
    }
    cost_of(model.machine, work.nest, mapping.keep, cost);
    cost.forgets = false;
    for (int s = 0; s < model.machine.spaces; ++s) {
        cost.forgets = cost.forgets || forgets(model.machine, mapping, s);
    }
}

}  // namespace tessera::timeloop
