#include "joined_occupancy.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace tessera::model {

namespace {

constexpr int kAlone = -1;

/// Bits held by one Einsum at one place.
struct Held {
    int einsum = 0;  ///< position
    int depth = 0;
    double bits = 0;
    int tensor = kAlone;  ///< representative of a shared tensor; kAlone: only this Einsum's
};

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

/// Tensors that lie in one buffer: those that a copy Einsum has in one memory.
class Buffers {
public:
    /// A tensor that stands for all in its buffer.
    int find(const std::string& memory, int tensor) const {
        for (auto next = parents_.find({memory, tensor}); next != parents_.end();
             next = parents_.find({memory, tensor})) {
            tensor = next->second;
        }
        return tensor;
    }
    void unite(const std::string& memory, int tensor, int other) {
        const int from = find(memory, tensor), to = find(memory, other);
        if (from != to) {
            parents_[{memory, from}] = to;
        }
    }

private:
    std::map<std::pair<std::string, int>, int> parents_;
};

/// `backings` by Einsum. The reference takes tensors that copies link for one in every memory,
/// even if two copies make them.
Buffers buffers(const workload::Workload& workload,
                const std::vector<const EinsumAnalysis*>& einsums,
                const std::vector<std::vector<Backing>>& backings, bool reference) {
    Buffers result;
    for (std::size_t e = 0; e < einsums.size(); ++e) {
        if (!einsums[e]->tables.copy) {
            continue;
        }
        for (const Backing& backing : backings[e]) {
            for (const Backing& other : backings[e]) {
                if (backing.memory == other.memory) {
                    result.unite(backing.memory, backing.tensor, other.tensor);
                }
            }
        }
    }
    if (!reference) {
        return result;
    }
    std::set<std::string> memories;
    for (const std::vector<Backing>& of_einsum : backings) {
        for (const Backing& backing : of_einsum) {
            memories.insert(backing.memory);
        }
    }
    for (const std::string& memory : memories) {
        for (const workload::Einsum& einsum : workload.einsums) {
            for (const workload::TensorAccess& access : einsum.accesses) {
                if (einsum.is_copy_operation) {
                    result.unite(memory, access.tensor, einsum.accesses.front().tensor);
                }
            }
        }
    }
    return result;
}

// One memory over the run of all Einsums. What lives is found by a sweep over the Einsums, so that
// one of a long cascade costs no more than one of a short one.
class Timeline {
public:
    /// `reference_sizes`: a shared tensor has the size that its first user sees, else the largest.
    Timeline(std::vector<int> shared, bool reference_sizes)
        : shared_(std::move(shared)), reference_sizes_(reference_sizes) {}

    /// In the order of the Einsums.
    void add(const Held& held);
    /// Bits in use while each Einsum runs.
    std::vector<double> bits() const;

private:
    /// Einsums during which something takes space.
    struct Range {
        int from = 0, to = 0;
    };
    /// A tensor that several Einsums access: what each of them holds.
    struct Users {
        Range range;
        std::vector<Held> held;
    };
    Range life(const Held& held) const;
    double shared_bits(const Users& users, int einsum) const;

    std::vector<int> shared_;
    bool reference_sizes_ = false;
    std::vector<std::pair<Range, double>> alone_;
    std::map<int, Users> users_;  ///< by shared tensor
};

Timeline::Range Timeline::life(const Held& held) const {
    Range r{held.einsum, held.einsum};
    while (r.from > 0 && held.depth < shared_[r.from - 1]) {
        --r.from;
    }
    while (r.to < static_cast<int>(shared_.size()) && held.depth < shared_[r.to]) {
        ++r.to;
    }
    return r;
}

void Timeline::add(const Held& held) {
    const Range own = life(held);
    if (held.tensor == kAlone) {
        alone_.emplace_back(own, held.bits);
        return;
    }
    // From its first to its last user, and wherever one of them keeps it.
    Users& users = users_.try_emplace(held.tensor, Users{own, {}}).first->second;
    users.range = {std::min(users.range.from, own.from), std::max(users.range.to, own.to)};
    users.held.push_back(held);
}

double Timeline::shared_bits(const Users& users, int einsum) const {
    double largest = 0;  // of all users so far
    double living = 0;   // sum over the holders that live now
    int times = 0;
    for (const Held& held : users.held) {
        const Range r = life(held);
        const bool lives = r.from <= einsum && einsum <= r.to;
        largest = lives || held.einsum <= einsum ? std::max(largest, held.bits) : largest;
        living += lives ? held.bits : 0;
        times += lives;
    }
    const double first = users.held.front().bits;
    if (!reference_sizes_) {
        return largest;
    }
    return times > 0 ? living - (times - 1) * first : first;
}

std::vector<double> Timeline::bits() const {
    const std::size_t n = shared_.size() + 1;
    std::vector<std::vector<std::size_t>> begins(n), ends(n);
    for (std::size_t i = 0; i < alone_.size(); ++i) {
        begins[alone_[i].first.from].push_back(i);
        ends[alone_[i].first.to].push_back(i);
    }
    std::vector<std::vector<int>> tensor_begins(n), tensor_ends(n);
    for (const auto& [tensor, users] : users_) {
        tensor_begins[users.range.from].push_back(tensor);
        tensor_ends[users.range.to].push_back(tensor);
    }
    std::set<std::size_t> living;  // in one order, whatever else lives: sums do not waver
    std::set<int> tensors;
    std::vector<double> result(n, 0.0);
    for (std::size_t e = 0; e < n; ++e) {
        living.insert(begins[e].begin(), begins[e].end());
        tensors.insert(tensor_begins[e].begin(), tensor_begins[e].end());
        for (const std::size_t i : living) {
            result[e] += alone_[i].second;
        }
        for (const int tensor : tensors) {
            result[e] += shared_bits(users_.at(tensor), static_cast<int>(e));
        }
        for (const std::size_t i : ends[e]) {
            living.erase(i);
        }
        for (const int tensor : tensor_ends[e]) {
            tensors.erase(tensor);
        }
    }
    return result;
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
        backing.bits = instance_bits(einsum, einsum.analysis.holders[entry]);
        result.push_back(backing);
    }
    return result;
}

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

JoinedOccupancy joined_occupancy(const workload::Workload& workload,
                                 const std::vector<const EinsumAnalysis*>& einsums,
                                 const std::vector<int>& shared_loops) {
    std::vector<std::vector<Backing>> all_backings;
    for (const EinsumAnalysis* einsum : einsums) {
        all_backings.push_back(backings(*einsum));
    }
    std::vector<int> shared = live_loops(all_backings);
    const bool physical = !einsums.empty() && einsums.front()->tables.convention.check_physical;
    if (physical) {
        for (std::size_t i = 0; i < shared.size(); ++i) {
            shared[i] = std::max(shared[i], shared_loops[i]);
        }
    }
    const Buffers buffer = buffers(workload, einsums, all_backings, !physical);
    std::map<std::string, Timeline> timelines;
    JoinedOccupancy result;
    for (std::size_t e = 0; e < einsums.size(); ++e) {
        const EinsumAnalysis& einsum = *einsums[e];
        for (std::size_t h = 0; h < einsum.analysis.holders.size(); ++h) {
            const HolderCounts<double>& holder = einsum.analysis.holders[h];
            const arch::PathLevel& level = einsum.tables.path().levels[holder.level];
            if (level.kind != arch::LevelKind::memory) {
                continue;
            }
            Held held{static_cast<int>(e), holder.loops_above, instance_bits(einsum, holder),
                      kAlone};
            for (const Backing& backing : all_backings[e]) {
                if (entry_of(einsum, backing.node) == static_cast<int>(h)) {
                    held.tensor = buffer.find(level.name, backing.tensor);
                }
            }
            timelines.try_emplace(level.name, shared, !physical).first->second.add(held);
            result.memories[level.name].size_bits = level.size_bits;
            result.memories[level.name].where = level.where;
        }
    }
    for (auto& [name, memory] : result.memories) {
        double fullest = 0;
        const std::vector<double> in_use = timelines.at(name).bits();
        for (std::size_t e = 0; e < einsums.size(); ++e) {
            // The size may follow the Einsum that runs (a register as wide as its weights).
            const arch::Path& path = einsums[e]->tables.path();
            const int level = path.find_level(name);
            const double size = level >= 0 ? path.levels[static_cast<std::size_t>(level)].size_bits
                                           : memory.size_bits;
            const double bits = in_use[e];
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
