#include "fused_loops.hpp"

namespace tessera::ffm {

FusedLoops::FusedLoops(const std::vector<EinsumSpace>& spaces,
                       const std::vector<UsedPmapping>& known,
                       const std::vector<std::size_t>& firsts)
    : of_symbol_(spaces.size()) {
    for (std::size_t e = 0; e < spaces.size(); ++e) {
        add(e, spaces[e], known[e]);
        const std::vector<int>& first = of_symbol_[firsts[e]];
        for (std::size_t s = 0; s < first.size(); ++s) {
            if (of_symbol_[e][s] >= 0 && first[s] >= 0) {
                unite(of_symbol_[e][s], first[s]);
            }
        }
    }
}

void FusedLoops::add(std::size_t e, const EinsumSpace& space, const UsedPmapping& own) {
    const TemplateEntry& t = (*space.templates)[own.index];
    const workload::EinsumView& view = space.paths.front()->einsum;
    std::vector<int>& loops = of_symbol_[e];
    loops.assign(own.shapes.size(), -1);
    for (std::size_t i = 0; i < t.tmpl.nodes.size(); ++i) {
        const mapping::PmappingNode& holder = t.tmpl.nodes[i];
        if (!holder.backing || !view.tensors[static_cast<std::size_t>(holder.tensor)].fusable) {
            continue;
        }
        const auto& tensor = view.tensors[static_cast<std::size_t>(holder.tensor)];
        for (std::size_t k = 0; k < i; ++k) {
            const mapping::PmappingNode& loop = t.tmpl.nodes[k];
            if (!loop.is_loop() || loop.symbol < 0) {
                continue;
            }
            const auto s = static_cast<std::size_t>(loop.symbol);
            const auto variable = static_cast<std::size_t>(loop.rank_variable);
            if (own.shapes[s] >= view.rank_variables[variable].bound) {
                continue;
            }
            if (loops[s] < 0) {
                loops[s] = static_cast<int>(parent_.size());
                parent_.push_back(loops[s]);
            }
            const Place place{tensor.tensor, tensor.rank_of_variable[variable], own.shapes[s]};
            unite(loops[s], met_.try_emplace(place, loops[s]).first->second);
        }
    }
}

int FusedLoops::find(int loop) const {
    while (parent_[static_cast<std::size_t>(loop)] != loop) {
        loop = parent_[static_cast<std::size_t>(loop)];
    }
    return loop;
}

std::set<int> FusedLoops::loops(std::size_t e) const {
    std::set<int> out;
    for (const int loop : of_symbol_[e]) {
        if (loop >= 0) {
            out.insert(find(loop));
        }
    }
    return out;
}

std::set<int> FusedLoops::symbols(std::size_t e, int loop) const {
    std::set<int> out;
    for (std::size_t s = 0; s < of_symbol_[e].size(); ++s) {
        if (of_symbol_[e][s] >= 0 && find(of_symbol_[e][s]) == loop) {
            out.insert(static_cast<int>(s));
        }
    }
    return out;
}

}  // namespace tessera::ffm
