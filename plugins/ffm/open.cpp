// Templates of an Einsum, and which memories couple Einsums.
#include <algorithm>
#include <map>

#include "explore.hpp"
#include "tessera/base/stop.hpp"

namespace tessera::ffm {
namespace {

using mapping::NodeKind;

/// Largest box a tensor can occupy in a memory, in bits.
double full_bits(const workload::EinsumView& e, const arch::PathLevel& level, std::size_t tensor) {
    double values = 1;
    for (const workload::RankAccess& rank : e.tensors[tensor].ranks) {
        double extent = 1;
        for (const workload::AffineTerm& term : rank.terms) {
            extent += static_cast<double>(term.coefficient) *
                      static_cast<double>(
                          e.rank_variables[static_cast<std::size_t>(term.rank_variable)].bound - 1);
        }
        values *= extent;
    }
    return values * level.bits_per_value[tensor];
}

/// Whether a holder of the level can be in use while another Einsum runs.
bool couples(const TemplateEntry& t, std::size_t level) {
    const mapping::Pmapping& nodes = t.tmpl.nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const mapping::PmappingNode& n = nodes[i];
        if (n.kind != NodeKind::storage || n.level != static_cast<int>(level)) {
            continue;
        }
        const bool fusable = t.path->einsum.tensors[static_cast<std::size_t>(n.tensor)].fusable;
        if ((n.backing && fusable) || n.persistent || static_cast<int>(i) < t.tmpl.n_fused_nodes) {
            return true;
        }
    }
    return false;
}

}  // namespace

EinsumSpace open_einsum(const ExploreContext& context, int einsum) {
    EinsumSpace space;
    space.einsum = einsum;
    space.same = static_cast<std::size_t>(einsum);
    const model::Problem& p = *context.problem;
    std::string computes;
    for (const std::string& compute : p.architecture->compute_names()) {
        auto path = std::make_unique<arch::Path>(
            p.architecture->path(*p.workload, einsum, compute, p.compat));
        if (!path->compute().enabled) {
            computes += (computes.empty() ? "" : ", ") + path->refusal();
            continue;
        }
        space.paths.push_back(std::move(path));
    }
    if (space.paths.empty()) {
        space.no_compute = "no compute may run it: " + computes;
    }
    return space;
}

void make_templates(const ExploreContext& context, EinsumSpace& space) {
    mapspace::MapSpaceOptions mapspace = context.options->mapspace;
    mapspace.partial_inner_tiles = context.problem->compat == arch::Compat::accelforge;
    std::string infeasible;
    for (std::size_t i = 0; i < space.paths.size(); ++i) {
        const arch::Path& path = *space.paths[i];
        try {
            mapspace::enumerate_templates(path, mapspace, [&](mapspace::Template&& tmpl) {
                base::poll_stop();
                space.templates->push_back(
                    {&path, static_cast<int>(i), std::move(tmpl), false, {}, {}});
            });
        } catch (const NoLegalMapping& none) {
            infeasible = none.what();  // unless another compute can run it
        }
    }
    if (space.templates->empty() && !infeasible.empty()) {
        throw NoLegalMapping(infeasible);
    }
}

std::vector<mapspace::TrackedMemory> tracked_memories(const std::vector<EinsumSpace>& spaces) {
    struct Use {
        double size = 0, total = 0;
        bool coupled = false;
    };
    std::map<std::string, Use> uses;
    for (const EinsumSpace& space : spaces) {
        const bool first = space.same == static_cast<std::size_t>(space.einsum);
        std::map<std::string, double> largest;  // over the Einsum's paths
        for (std::size_t p = 0; p < space.paths.size(); ++p) {
            const arch::Path& path = *space.paths[p];
            for (std::size_t l = 0; l < path.levels.size(); ++l) {
                const arch::PathLevel& level = path.levels[l];
                if (level.kind != arch::LevelKind::memory) {
                    continue;
                }
                double total = 0;
                for (std::size_t t = 0; t < path.einsum.tensors.size(); ++t) {
                    total += full_bits(path.einsum, level, t) *
                             (path.einsum.tensors[t].persistent ? path.einsum.n_instances : 1.0);
                }
                double& most = largest[level.name];
                most = std::max(most, total);
                auto [it, fresh] = uses.try_emplace(level.name);
                it->second.size =
                    fresh ? level.size_bits : std::max(it->second.size, level.size_bits);
                it->second.coupled =
                    it->second.coupled ||  // equal Einsums say the same
                    (first && std::any_of(space.templates->begin(), space.templates->end(),
                                          [&](const TemplateEntry& t) {
                                              return t.path == &path && couples(t, l);
                                          }));
            }
        }
        for (const auto& [name, bits] : largest) {
            uses[name].total += bits;
        }
    }
    std::vector<mapspace::TrackedMemory> out;
    for (const auto& [name, use] : uses) {
        if (use.coupled && use.total > use.size) {
            out.push_back({name, use.size});
        }
    }
    return out;
}

}  // namespace tessera::ffm
