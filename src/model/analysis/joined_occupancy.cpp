#include "joined_occupancy.hpp"

#include <algorithm>

#include "model/legality.hpp"
#include "tessera/model/coexistence.hpp"

namespace tessera::model {

namespace {

/// The reference takes what copies link for one buffer in every memory, which this name stands for.
const std::string everywhere;

/// Adds a copy. `backed`: by it.
void add_copy(const EinsumAnalysis& copy, const std::vector<Backing>& backed, bool reference,
              Buffers& buffers) {
    if (reference) {
        const std::vector<workload::LocalTensor>& tensors = copy.einsum().tensors;
        for (const workload::LocalTensor& tensor : tensors) {
            buffers.unite(everywhere, tensors.front().tensor, tensor.tensor);
        }
        return;
    }
    const int source =
        copy.einsum().tensors[static_cast<std::size_t>(copy.tables.copy_source)].tensor;
    const auto apart = [&](const Backing& b) {
        return b.depth < 0 && std::ranges::any_of(backed, [&](const Backing& input) {
                   return input.tensor == source && input.memory == b.memory && input.depth >= 0;
               });
    };
    for (const Backing& a : backed) {
        for (const Backing& b : backed) {
            if (a.memory == b.memory && apart(a) == apart(b)) {
                buffers.unite(a.memory, a.tensor, b.tensor);
            }
        }
    }
}

double instance_bits(const EinsumAnalysis& einsum, const HolderCounts<double>& holder) {
    return holder.bits * (holder.persistent ? einsum.tables.n_instances : 1);
}

/// The entry of Analysis::holders that the holder at `node` belongs to, -1 if a copy dropped it.
int entry_of(const EinsumAnalysis& einsum, int node) {
    for (const auto& [original, entry] : einsum.analysis.merged) {
        if (original == node) {
            return entry;
        }
    }
    for (std::size_t i = 0; i < einsum.analysis.holders.size(); ++i) {
        if (einsum.analysis.holders[i].node == node) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

}  // namespace

std::vector<Backing> backings(const EinsumAnalysis& einsum) {
    std::vector<Backing> result;
    for (int i = 0; i < static_cast<int>(einsum.nodes.size()); ++i) {
        const mapping::PmappingNode& node = einsum.nodes[i];
        const int entry =
            node.backing && node.tensor >= 0 && einsum.tables.tensors[node.tensor].fusable
                ? entry_of(einsum, i)
                : -1;
        if (entry < 0) {
            continue;
        }
        Backing backing;
        backing.tensor = einsum.einsum().tensors[node.tensor].tensor;
        backing.node = i;
        backing.memory = einsum.tables.path().levels[node.level].name;
        backing.depth = node.persistent ? -1 : einsum.plan.loops_above(einsum.nodes, i);
        backing.line_buffer = node.line_buffer;
        result.push_back(backing);
    }
    return result;
}

namespace {

/// Loops that the reference regards as shared between Einsum i and i + 1.
std::vector<int> live_loops(const std::vector<std::vector<Backing>>& backings) {
    std::map<int, int> last_user;
    for (std::size_t e = 0; e < backings.size(); ++e) {
        for (const Backing& backing : backings[e]) {
            last_user[backing.tensor] = static_cast<int>(e);
        }
    }
    std::vector<int> result;
    std::map<int, int> depths;
    for (std::size_t e = 0; e + 1 < backings.size(); ++e) {
        for (const Backing& backing : backings[e]) {
            depths.emplace(backing.tensor, backing.depth + backing.line_buffer);
        }
        int deepest = 0;
        for (auto it = depths.begin(); it != depths.end();) {
            if (last_user[it->first] > static_cast<int>(e)) {
                deepest = std::max(deepest, it->second);
                ++it;
            } else {
                it = depths.erase(it);
            }
        }
        result.push_back(deepest);
    }
    return result;
}

}  // namespace

JoinedOccupancy joined_occupancy(const std::vector<const EinsumAnalysis*>& einsums) {
    const auto n = static_cast<int>(einsums.size());
    const bool physical = !einsums.empty() && einsums.front()->tables.convention.check_physical;
    std::vector<std::vector<Backing>> all_backings;
    Buffers buffers;
    for (const EinsumAnalysis* einsum : einsums) {
        all_backings.push_back(backings(*einsum));
        if (einsum->tables.copy) {
            add_copy(*einsum, all_backings.back(), !physical, buffers);
        }
    }
    std::vector<int> shared = live_loops(all_backings);
    if (physical) {
        const std::vector<int> around = shared_loops(einsums);
        std::ranges::transform(shared, around, shared.begin(),
                               [](int a, int b) { return std::max(a, b); });
    }
    std::map<std::string, std::vector<double>> in_use;                   // while each Einsum runs
    std::map<std::pair<std::string, int>, std::vector<SharedUse>> uses;  // by memory and buffer
    JoinedOccupancy result;
    for (int e = 0; e < n; ++e) {
        const EinsumAnalysis& einsum = *einsums[e];
        for (std::size_t h = 0; h < einsum.analysis.holders.size(); ++h) {
            const HolderCounts<double>& holder = einsum.analysis.holders[h];
            const arch::PathLevel& level = einsum.tables.path().levels[holder.level];
            if (level.kind != arch::LevelKind::memory) {
                continue;
            }
            const double bits = instance_bits(einsum, holder);
            const Lifetime life =
                lifetime(e, holder.loops_above, n, [&](int i) { return shared[i]; });
            std::vector<double>& memory = in_use.try_emplace(level.name, n, 0.0).first->second;
            const auto shared_one = std::ranges::find_if(all_backings[e], [&](const Backing& b) {
                return entry_of(einsum, b.node) == static_cast<int>(h);
            });
            if (shared_one != all_backings[e].end()) {
                const std::string& where = physical ? level.name : everywhere;
                uses[{level.name, buffers.of(where, shared_one->tensor)}].push_back({life, bits});
            } else {
                std::for_each(memory.begin() + life.first, memory.begin() + life.last + 1,
                              [&](double& now) { now += bits; });
            }
            result.memories[level.name].size_bits = level.size_bits;
            result.memories[level.name].where = level.where;
        }
    }
    for (const auto& [buffer, users] : uses) {
        std::vector<double>& memory = in_use.at(buffer.first);
        add_shared(users, !physical, [&](int e, double bits) { memory[e] += bits; });
    }
    for (auto& [name, memory] : result.memories) {
        double fullest = 0;
        for (std::size_t e = 0; e < einsums.size(); ++e) {
            // The size may follow the Einsum that runs (a register as wide as its weights).
            const arch::Path& path = einsums[e]->tables.path();
            const int level = path.find_level(name);
            const double size = level >= 0 ? path.levels[static_cast<std::size_t>(level)].size_bits
                                           : memory.size_bits;
            const double bits = in_use.at(name)[e];
            const double share = bits > 0 ? bits / size : 0;
            if (share > fullest) {
                fullest = share;
                memory.size_bits = size;
                memory.peak_bits = bits;
                memory.peak_einsum = static_cast<int>(e);
            }
        }
    }
    return result;
}

}  // namespace tessera::model
