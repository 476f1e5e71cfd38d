// Which memories couple Einsums.
#include "mapspace/tracked_memories.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace tessera::mapspace {
namespace {

using mapping::NodeKind;

/// No tensor occupies more bits of a memory, whether offsets and signs count or not; whole banks.
double full_bits(const workload::EinsumView& e, const arch::PathLevel& level, std::size_t tensor) {
    double values = 1;
    for (const workload::RankAccess& rank : e.tensors[tensor].ranks) {
        double extent = 1 + std::abs(static_cast<double>(rank.constant));
        for (const workload::AffineTerm& term : rank.terms) {
            extent += std::abs(static_cast<double>(term.coefficient)) *
                      static_cast<double>(
                          e.rank_variables[static_cast<std::size_t>(term.rank_variable)].bound - 1);
        }
        values *= extent;
    }
    const double bits = values * level.bits_per_value[tensor];
    return level.bank_bits > 0 ? std::ceil(bits / level.bank_bits) * level.bank_bits : bits;
}

/// Whether a holder of the level can be in use while another Einsum runs.
bool couples(const arch::Path& path, const Template& tmpl, std::size_t level) {
    const mapping::Pmapping& nodes = tmpl.nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const mapping::PmappingNode& n = nodes[i];
        if (n.kind != NodeKind::storage || n.level != static_cast<int>(level)) {
            continue;
        }
        const bool fusable = path.einsum.tensors[static_cast<std::size_t>(n.tensor)].fusable;
        if ((n.backing && fusable) || n.persistent || static_cast<int>(i) < tmpl.n_fused_nodes) {
            return true;
        }
    }
    return false;
}

}  // namespace

std::vector<TrackedMemory> tracked_memories(const std::vector<EinsumTemplates>& einsums) {
    struct Use {
        double size = 0, least = 0, total = 0;
        bool coupled = false;
    };
    std::map<std::string, Use> uses;
    for (const EinsumTemplates& einsum : einsums) {
        std::map<std::string, double> largest;  // over the Einsum's paths
        for (const arch::Path* const one : einsum.paths) {
            const arch::Path& path = *one;
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
                Use& use = it->second;
                use.size = fresh ? level.size_bits : std::max(use.size, level.size_bits);
                use.least = fresh ? level.size_bits : std::min(use.least, level.size_bits);
                use.coupled = use.coupled ||
                              std::ranges::any_of(einsum.templates, [&](const TemplateOnPath& t) {
                                  return t.path == one && couples(path, *t.tmpl, l);
                              });
            }
        }
        for (const auto& [name, bits] : largest) {
            uses[name].total += bits;
        }
    }
    std::vector<TrackedMemory> out;
    for (const auto& [name, use] : uses) {
        if (use.coupled && use.total > use.least) {
            out.push_back({name, std::min(use.size, use.total)});
        }
    }
    return out;
}

}  // namespace tessera::mapspace
