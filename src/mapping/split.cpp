// LoopTree -> one pmapping per Einsum.
//
//   Splitter::walk        depth first over the tree, keeping the chain from the root
//   resolve()             names of a node as indices into the workload (chain_step.hpp)
//   ChainReader           one chain, indices resolved against the Einsum's path:
//     holder()            a node per tensor that the Einsum has
//     loop()              the variable and tile shape that the Einsum uses
//     finish()            every tensor is held, every variable is looped down to 1
//
// Names are looked up in the whole workload and architecture first, so that a spelling mistake is
// told from a name that merely does not concern the Einsum.
#include <algorithm>
#include <set>

#include "mapping/chain_step.hpp"
#include "tessera/mapping/pmapping.hpp"
#include "tessera/spec/node.hpp"
#include "tessera/spec/position.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::mapping {

namespace {

using arch::LevelKind;

[[noreturn]] void illegal(const TreeNode& node, const std::string& message) {
    const std::string place = node.where.text();
    throw IllegalMapping(place.empty() ? message : place + ": " + message);
}

class ChainReader {
public:
    ChainReader(const arch::Architecture& architecture, arch::Compat compat,
                const LocalIndices& tensors, const LocalIndices& rank_variables, EinsumMapping& out)
        : architecture_(architecture),
          compat_(compat),
          tensors_(tensors),
          rank_variables_(rank_variables),
          out_(out),
          held_(out.path.einsum.tensors.size()),
          finished_(out.path.einsum.rank_variables.size()) {}

    void holder(const Step& step);
    void loop(const Step& step);
    void finish(const Step& compute);

private:
    const workload::EinsumView& einsum() const {
        return out_.path.einsum;
    }
    void hold(const Step& step, int tensor);
    int level(const TreeNode& node) const;
    int variable(const Step& step, std::int64_t& tile, std::int64_t& initial) const;
    void mark_imperfect();

    const arch::Architecture& architecture_;
    arch::Compat compat_;
    const LocalIndices& tensors_;
    const LocalIndices& rank_variables_;
    EinsumMapping& out_;
    std::vector<std::set<int>> held_;  ///< per local tensor: levels that hold it so far
    std::vector<bool> finished_;       ///< per local variable: has a loop of tile shape 1
};

int ChainReader::level(const TreeNode& node) const {
    const int index = out_.path.find_level(node.component);
    if (index >= 0) {
        return index;
    }
    const std::vector<std::string>& known = architecture_.level_names();
    if (std::find(known.begin(), known.end(), node.component) != known.end()) {
        illegal(node,
                "component '" + node.component + "' does not stand above the compute '" +
                    out_.path.compute().name + "' that runs Einsum '" + einsum().name +
                    "'; move the node into the branches that reach it or choose another component");
    }
    unknown(node, "component", node.component, names(out_.path.levels));
}

void ChainReader::holder(const Step& step) {
    if (!step.einsums.empty() &&
        !std::binary_search(step.einsums.begin(), step.einsums.end(), einsum().einsum)) {
        return;
    }
    for (const int global : step.tensors) {
        if (const int tensor = tensors_[global]; tensor >= 0) {
            hold(step, tensor);
        }
    }
}

void ChainReader::hold(const Step& step, int tensor) {
    const TreeNode& node = *step.node;
    const std::string& name = einsum().tensors[tensor].name;
    const int level = this->level(node);
    const LevelKind kind = out_.path.levels[level].kind;
    const bool toll = node.kind == TreeKind::toll;
    if (kind != (toll ? LevelKind::toll : LevelKind::memory)) {
        spec::fail(node.where, "",
                   {.what = std::string(toll ? "!Toll" : "!Storage") +
                            " names a component of another kind",
                    .value = node.component,
                    .expected = toll ? "a toll" : "a memory",
                    .remedy = kind == LevelKind::toll     ? "write !Toll"
                              : kind == LevelKind::memory ? "write !Storage"
                                                          : ""});
    }
    if (!held_[tensor].insert(level).second) {
        illegal(node, "Einsum '" + einsum().name + "' holds tensor '" + name + "' twice in '" +
                          node.component + "'; keep one of the nodes");
    }
    const bool first = held_[tensor].size() == 1;
    const bool must_be_memory =
        !arch::Convention::of(compat_).tolls_back_unshared || einsum().tensors[tensor].fusable;
    if (first && toll && must_be_memory) {
        illegal(node, "toll '" + node.component + "' is the outermost holder of tensor '" + name +
                          "' in Einsum '" + einsum().name +
                          "'; a toll cannot store, so a memory above it must hold the tensor");
    }
    PmappingNode result;
    result.kind = toll ? NodeKind::toll : NodeKind::storage;
    result.tensor = static_cast<std::int8_t>(tensor);
    result.level = static_cast<std::int8_t>(level);
    result.backing = first;
    // Which tensors are is the workload's to say, in the reference the mapping's.
    result.persistent = arch::Convention::of(compat_).check_physical
                            ? first && einsum().tensors[tensor].persistent
                            : node.persistent;
    result.lower = node.lower;
    result.line_buffer = node.line_buffer && first;
    result.origin = step.origin;
    out_.nodes.push_back(result);
}

// The Einsum's variable and tile shape for a loop; -1 if it has none.
int ChainReader::variable(const Step& step, std::int64_t& tile, std::int64_t& initial) const {
    const TreeNode& node = *step.node;
    tile = node.tile_shape;
    initial = 0;
    for (std::size_t i = 0; i < step.uses.size(); ++i) {
        if (step.uses[i] == einsum().einsum) {
            const LoopUse& use = node.uses[i];
            tile = use.tile_shape;
            initial = use.initial_tile_shape;
            const int local = einsum().find_rank_variable(use.rank_variable);
            if (local < 0) {
                unknown(node, "rank variable of Einsum '" + einsum().name + "'", use.rank_variable,
                        names(einsum().rank_variables));
            }
            return local;
        }
    }
    int found = -1;
    for (const int global : step.loop_names) {
        const int local = node.uses.empty() ? rank_variables_[global] : -1;
        if (local >= 0 && found >= 0) {
            spec::fail(
                node.where, "",
                {.what = "the loop names two rank variables of Einsum '" + einsum().name + "'",
                 .value = spec::name_list(node.rank_variables),
                 .remedy = "say which one each Einsum uses: rank_variable: {" + einsum().name +
                           ": " + einsum().rank_variables[local].name + ", ...}"});
        }
        found = local >= 0 ? local : found;
    }
    return found;
}

void ChainReader::loop(const Step& step) {
    const TreeNode& node = *step.node;
    PmappingNode result;
    std::int64_t initial = 0;
    const int variable = this->variable(step, result.tile, initial);
    if (variable < 0) {
        // The Einsum would run again in every iteration.
        illegal(node,
                "Einsum '" + einsum().name + "' stands inside a loop over '" +
                    spec::name_list(node.rank_variables) +
                    "', which it does not have; move the loop into the branches that need it");
    }
    result.kind = node.kind == TreeKind::spatial ? NodeKind::spatial : NodeKind::temporal;
    result.rank_variable = static_cast<std::int8_t>(variable);
    result.origin = step.origin;
    if (initial > 0) {
        result.prologue = static_cast<std::int32_t>(initial - result.tile);
        result.base = static_cast<std::int32_t>(node.n_iterations * result.tile);
    }
    if (node.kind == TreeKind::spatial) {
        result.level = static_cast<std::int8_t>(level(node));
        const arch::PathLevel& owner = out_.path.levels[result.level];
        const int dim = owner.find_dim(node.dim);
        if (dim < 0) {
            unknown(node, "spatial dimension of '" + node.component + "'", node.dim,
                    names(owner.spatial));
        }
        result.dim = static_cast<std::int8_t>(dim);
    }
    if (result.largest_tile() == 1) {
        finished_[variable] = true;
    }
    out_.nodes.push_back(result);
}

// A given mapping may leave a partial last tile in every simple variable: the loop outside each
// loop is marked, and the outermost one itself (docs/model.md, partial tiles).
void ChainReader::mark_imperfect() {
    std::vector<int> last(einsum().rank_variables.size(), -1);
    for (std::size_t i = 0; i < out_.nodes.size(); ++i) {
        const int variable = out_.nodes[i].rank_variable;
        if (variable >= 0 && einsum().rank_variables[variable].simple && out_.nodes[i].base == 0) {
            out_.nodes[last[variable] < 0 ? i : last[variable]].imperfect = true;
            last[variable] = static_cast<int>(i);
        }
    }
}

void ChainReader::finish(const Step& compute) {
    for (std::size_t t = 0; t < held_.size(); ++t) {
        if (held_[t].empty()) {
            illegal(*compute.node, "tensor '" + einsum().tensors[t].name + "' of Einsum '" +
                                       einsum().name +
                                       "' is stored nowhere; add a !Storage node for it");
        }
    }
    for (std::size_t v = 0; v < finished_.size(); ++v) {
        const workload::LocalRankVariable& variable = einsum().rank_variables[v];
        if (!finished_[v] && variable.bound > 1) {
            illegal(*compute.node, "Einsum '" + einsum().name + "' lacks a loop over '" +
                                       variable.name + "' (" + std::to_string(variable.bound) +
                                       " values) with tile_shape 1; add one above the compute");
        }
    }
    mark_imperfect();
    PmappingNode result;
    result.kind = NodeKind::compute;
    result.level = static_cast<std::int8_t>(out_.path.levels.size() - 1);
    result.origin = compute.origin;
    out_.nodes.push_back(result);
}

class Splitter {
public:
    explicit Splitter(arch::Paths& paths)
        : workload_(paths.workload()),
          architecture_(paths.architecture()),
          compat_(paths.compat()),
          paths_(paths),
          tensors_(workload_.tensors.size()),
          rank_variables_(workload_.rank_variables.size()) {}

    void walk(const TreeNode& node);
    std::vector<EinsumMapping> take() {
        return std::move(result_);
    }

private:
    void chain_ends(const Step& compute);

    const workload::Workload& workload_;
    const arch::Architecture& architecture_;
    arch::Compat compat_;
    arch::Paths& paths_;
    int next_ = 0;  ///< pre-order index of the next node
    LocalIndices tensors_, rank_variables_;
    std::vector<Step> chain_;
    std::vector<EinsumMapping> result_;
};

void Splitter::walk(const TreeNode& node) {
    const int origin = next_++;
    if (node.kind == TreeKind::compute) {
        chain_ends({&node, origin, {}, {}, {}, {}});
        return;
    }
    const bool split = node.kind == TreeKind::sequential || node.kind == TreeKind::pipeline;
    if (node.kind != TreeKind::nested && !split) {
        chain_.push_back(resolve(node, origin, workload_, compat_));
        return;
    }
    const std::size_t depth = chain_.size();
    for (const TreeNode& child : node.children) {
        walk(child);
        if (split) {
            chain_.resize(depth);
        }
    }
    chain_.resize(depth);
}

void Splitter::chain_ends(const Step& compute) {
    EinsumMapping mapping;
    mapping.einsum = workload_.find_einsum(compute.node->einsum);
    if (mapping.einsum < 0) {
        unknown(*compute.node, "Einsum", compute.node->einsum, names(workload_.einsums));
    }
    const std::vector<std::string>& computes = architecture_.compute_names();
    if (std::find(computes.begin(), computes.end(), compute.node->component) == computes.end()) {
        unknown(*compute.node, "compute", compute.node->component, computes);
    }
    mapping.path = paths_.of(mapping.einsum, compute.node->component);
    const workload::EinsumView& einsum = mapping.path.einsum;
    const auto tensor = [](const workload::LocalTensor& t) { return t.tensor; };
    const auto variable = [](const workload::LocalRankVariable& v) { return v.rank_variable; };
    tensors_.enter(einsum.tensors, tensor);
    rank_variables_.enter(einsum.rank_variables, variable);
    ChainReader reader(architecture_, compat_, tensors_, rank_variables_, mapping);
    for (const Step& step : chain_) {
        if (step.node->kind == TreeKind::storage || step.node->kind == TreeKind::toll) {
            reader.holder(step);
        } else if (step.node->kind == TreeKind::temporal || step.node->kind == TreeKind::spatial) {
            reader.loop(step);
        }
    }
    reader.finish(compute);
    tensors_.leave(einsum.tensors, tensor);
    rank_variables_.leave(einsum.rank_variables, variable);
    result_.push_back(std::move(mapping));
}

}  // namespace

std::vector<EinsumMapping> split(const Mapping& mapping, const workload::Workload& workload,
                                 const arch::Architecture& architecture, arch::Compat compat) {
    arch::Paths paths(workload, architecture, compat);
    return split(mapping, paths);
}

std::vector<EinsumMapping> split(const Mapping& mapping, arch::Paths& paths) {
    const workload::Workload& workload = paths.workload();
    check_structure(mapping);
    Splitter splitter(paths);
    splitter.walk(mapping.root);
    std::vector<EinsumMapping> result = splitter.take();
    std::vector<bool> mapped(workload.einsums.size());
    for (const EinsumMapping& one : result) {
        mapped[one.einsum] = true;
    }
    for (std::size_t e = 0; e < workload.einsums.size(); ++e) {
        if (!mapped[e]) {
            throw IllegalMapping(
                "the mapping has no branch for Einsum '" + workload.einsums[e].name +
                "'; add one that ends with !Compute {einsum: " + workload.einsums[e].name +
                ", ...}");
        }
    }
    return result;
}

}  // namespace tessera::mapping
