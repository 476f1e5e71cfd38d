// LoopTrees one after the other. Map:
//   key_of()      a tree without its tile shapes, as text
//   Structure     a tree split into its Einsums, each planned and analysed, and which node of the
//                 tree gives which tile shape
//   refill()      other tile shapes into a known structure
//   evaluate()    what the model checks, then sums
#include "tessera/model/tree_costs.hpp"

#include <string>
#include <unordered_map>

#include "einsum_analysis.hpp"
#include "model/legality.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::model {

namespace {

using mapping::TreeKind;
using mapping::TreeNode;

constexpr std::size_t most_structures = 256;

void append(const std::string& text, std::string& key) {
    key += std::to_string(text.size());
    key += ':';
    key += text;
}

/// All that tells structures apart; loop nodes go to `loops` by their place in pre-order.
void key_of(const TreeNode& node, std::string& key, std::vector<const TreeNode*>& nodes) {
    if (node.kind == TreeKind::pipeline) {
        throw UserError(node.where,
                        "costs of trees in turn know no !Pipeline; evaluate the "
                        "mapping with model looptree");
    }
    nodes.push_back(&node);
    key += static_cast<char>('a' + static_cast<int>(node.kind));
    key += static_cast<char>('0' + node.persistent + 2 * node.lower + 4 * node.line_buffer);
    append(node.component, key);
    append(node.dim, key);
    append(node.einsum, key);
    for (const auto* names : {&node.tensors, &node.rank_variables, &node.einsums}) {
        for (const std::string& name : *names) {
            append(name, key);
        }
        key += '|';
    }
    for (const mapping::LoopUse& use : node.uses) {
        append(use.einsum, key);
        append(use.rank_variable, key);
        key += use.initial_tile_shape > 0 ? 'i' : '-';
    }
    key += '(';
    for (const TreeNode& child : node.children) {
        key_of(child, key, nodes);
    }
    key += ')';
}

struct Structure {
    std::vector<mapping::EinsumMapping> parts;
    std::vector<std::unique_ptr<EinsumAnalysis>> owned;
    std::vector<const EinsumAnalysis*> einsums;
    /// Where the tile shape of a loop of a part comes from.
    struct Source {
        std::size_t part = 0, node = 0, origin = 0;
        int use = -1;  ///< entry of TreeNode::uses, -1: TreeNode::tile_shape
    };
    std::vector<Source> sources;
};

}  // namespace

struct TreeCosts::Impl {
    explicit Impl(const Problem& p)
        : problem(p),
          physical(p.convention().check_physical),
          paths(p.paths_or_new()) {}

    std::unique_ptr<Structure> split(const mapping::Mapping& mapping) {
        auto made = std::make_unique<Structure>();
        made->parts = mapping::split(mapping, *paths);
        for (std::size_t p = 0; p < made->parts.size(); ++p) {
            const mapping::EinsumMapping& part = made->parts[p];
            const std::string& name = problem.workload->einsums[part.einsum].name;
            for (std::size_t i = 0; i < part.nodes.size(); ++i) {
                if (!part.nodes[i].is_loop()) {
                    continue;
                }
                const auto origin = static_cast<std::size_t>(part.nodes[i].origin);
                const std::vector<mapping::LoopUse>& uses = nodes[origin]->uses;
                int use = static_cast<int>(uses.size()) - 1;
                while (use >= 0 && uses[static_cast<std::size_t>(use)].einsum != name) {
                    --use;
                }
                made->sources.push_back({p, i, origin, use});
            }
        }
        return made;
    }

    /// Analyses all parts of a structure that was split just now.
    void analyse(Structure& s) {
        for (const mapping::EinsumMapping& part : s.parts) {
            if (physical) {
                check_tile_shapes(part.path, part.nodes);
            }
            s.owned.push_back(
                std::make_unique<EinsumAnalysis>(part.path, part.nodes, problem.compat));
            s.einsums.push_back(s.owned.back().get());
            check_alone(*s.owned.back());
        }
        check_together(problem, s.einsums);
    }

    /// Tile shapes of the tree in `nodes`. False: some variable is not looped down to 1.
    bool refill(Structure& s) {
        for (const Structure::Source& source : s.sources) {
            const TreeNode& from = *nodes[source.origin];
            mapping::PmappingNode& to = s.parts[source.part].nodes[source.node];
            std::int64_t initial = 0;
            to.tile = from.tile_shape;
            if (source.use >= 0) {
                const mapping::LoopUse& use = from.uses[static_cast<std::size_t>(source.use)];
                to.tile = use.tile_shape;
                initial = use.initial_tile_shape;
            }
            to.prologue = initial > 0 ? static_cast<std::int32_t>(initial - to.tile) : 0;
            to.base = initial > 0 ? static_cast<std::int32_t>(from.n_iterations * to.tile) : 0;
        }
        for (const mapping::EinsumMapping& part : s.parts) {
            std::uint64_t finished = 0;
            for (const mapping::PmappingNode& n : part.nodes) {
                if (n.is_loop() && n.largest_tile() == 1) {
                    finished |= std::uint64_t{1} << n.rank_variable;
                }
            }
            for (std::size_t v = 0; v < part.path.einsum.rank_variables.size(); ++v) {
                if (!(finished >> v & 1) && part.path.einsum.rank_variables[v].bound > 1) {
                    return false;
                }
            }
        }
        return true;
    }

    void update(Structure& s) {
        for (std::size_t e = 0; e < s.parts.size(); ++e) {
            if (physical) {
                check_tile_shapes(s.parts[e].path, s.parts[e].nodes);
            }
            s.owned[e]->update();
            check_alone(*s.owned[e]);
        }
        check_together(problem, s.einsums);
    }

    void sum_up(const Structure& s) {
        totals.einsums.clear();
        double dynamic_j = 0, leak_j = 0;
        totals.latency_s = 0;
        for (std::size_t e = 0; e < s.einsums.size(); ++e) {
            const Costs<double>& costs = s.einsums[e]->costs;
            dynamic_j += costs.dynamic_energy_j;
            leak_j += costs.leak_energy_j;
            totals.latency_s += costs.latency_s;
            totals.einsums.push_back(
                {s.parts[e].einsum, costs.dynamic_energy_j + costs.leak_energy_j, costs.latency_s});
        }
        totals.energy_j = dynamic_j + leak_j;
    }

    void evaluate(const mapping::Mapping& mapping) {
        key.clear();
        nodes.clear();
        key_of(mapping.root, key, nodes);
        const auto known = structures.find(key);
        if (known != structures.end() && refill(*known->second)) {
            update(*known->second);
            sum_up(*known->second);
            return;
        }
        // New; or it lacks a loop, and split() says which.
        std::unique_ptr<Structure> made = split(mapping);
        analyse(*made);
        sum_up(*made);
        if (structures.size() >= most_structures) {
            structures.clear();
        }
        structures[key] = std::move(made);
    }

    const Problem problem;
    const bool physical;
    const std::shared_ptr<arch::Paths> paths;
    std::unordered_map<std::string, std::unique_ptr<Structure>> structures;
    std::string key;
    std::vector<const TreeNode*> nodes;  // of the tree at hand, pre-order
    TreeTotals totals;
};

TreeCosts::TreeCosts(const Problem& problem) : impl_(std::make_unique<Impl>(problem)) {}
TreeCosts::~TreeCosts() = default;

const TreeTotals& TreeCosts::evaluate(const mapping::Mapping& mapping) {
    impl_->evaluate(mapping);
    return impl_->totals;
}

}  // namespace tessera::model
