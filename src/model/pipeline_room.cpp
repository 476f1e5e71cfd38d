// What the branches of a !Pipeline hold at the same time.
#include <algorithm>
#include <cmath>
#include <limits>

#include "model/pipeline_trips.hpp"
#include "model/rounds.hpp"
#include "tessera/arch/path.hpp"
#include "tessera/base/error.hpp"
#include "tessera/model/coexistence.hpp"
#include "tessera/model/pipelines.hpp"
#include "tessera/spec/value.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::model {

namespace {

/// What one Einsum keeps of one tensor in one memory.
struct Kept {
    int tensor = 0;
    std::string memory;
    double share = 0;
    int depth = 0;  ///< loops above
    bool backing = false;
    std::string held_as;  ///< the model's name: copies lie under that of their input
    bool line_buffer = false;
};

/// What a copy makes persistent has a buffer of its own where its input is live for a while.
bool apart(const Part& part, const mapping::PmappingNode& node) {
    const std::vector<workload::LocalTensor>& tensors = part.einsum->tensors;
    return part.einsum->is_copy_operation && node.persistent &&
           std::ranges::any_of(*part.nodes, [&](const mapping::PmappingNode& other) {
               if (other.kind != mapping::NodeKind::storage || other.level != node.level) {
                   return false;
               }
               const workload::LocalTensor& t = tensors[static_cast<std::size_t>(other.tensor)];
               return other.backing && t.fusable && !t.output && !other.persistent;
           });
}

const std::string& input_of(const Part& part) {
    return std::ranges::find(part.einsum->tensors, false, &workload::LocalTensor::output)->name;
}

/// `buffers`: what the Einsum copies into one is added.
std::vector<Kept> kept_by(const Part& part, Buffers& buffers) {
    std::vector<Kept> all;
    const std::vector<double> trips = node_trips(part);
    int depth = 0;
    for (std::size_t i = 0; i < part.nodes->size(); ++i) {
        const mapping::PmappingNode& node = (*part.nodes)[i];
        depth += trips[i] > 1;
        if (node.kind != mapping::NodeKind::storage) {
            continue;
        }
        const workload::LocalTensor& tensor =
            part.einsum->tensors[static_cast<std::size_t>(node.tensor)];
        const std::string& memory = part.path->levels[static_cast<std::size_t>(node.level)].name;
        const bool copy = part.einsum->is_copy_operation && !apart(part, node);
        const bool backing = node.backing && tensor.fusable;
        const std::string& held_as = copy ? input_of(part) : tensor.name;
        // A copy holds its tensors once in a memory, under the name of one; others see those that
        // are shared.
        const auto known = std::ranges::find_if(all, [&](const Kept& kept) {
            return copy && kept.memory == memory && kept.held_as == held_as;
        });
        if (known != all.end()) {
            if (backing && known->backing) {
                buffers.unite(memory, known->tensor, tensor.tensor);
            } else if (backing) {
                known->tensor = tensor.tensor;
                known->backing = true;
            }
            continue;
        }
        for (const ComponentReport& component : part.report->components) {
            for (const TensorReport& one : component.tensors) {
                if (component.component == memory && one.tensor == held_as) {
                    all.push_back({tensor.tensor, memory, one.occupancy,
                                   node.persistent ? -1 : depth, backing, held_as,
                                   node.line_buffer});
                }
            }
        }
    }
    return all;
}

/// A branch that reads the state which another one replaces needs the tile before, if it does not
/// take turns with that one.
class OlderStates {
public:
    OlderStates(const workload::Workload& workload, const std::vector<Part>& parts,
                const Range& range, const LoopsAround& loops)
        : workload_(workload),
          parts_(parts),
          range_(range),
          loops_(loops),
          circle_(stages_of(workload, parts, range, loops).circle) {}

    bool read_by(int i, int tensor) const {
        const Part& part = parts_[static_cast<std::size_t>(i)];
        if (tensor < 0 || static_cast<std::size_t>(tensor) >= workload_.tensors.size()) {
            return false;
        }
        const workload::Tensor& t = workload_.tensors[static_cast<std::size_t>(tensor)];
        return std::ranges::count(t.previous_readers, part.einsum->einsum) > 0 &&
               states_in_flight(part, tensor, loops_) &&
               std::ranges::none_of(t.producers, [&](int writer) {
                   return writer == part.einsum->einsum || takes_turns(i, writer);
               });
    }

private:
    bool takes_turns(int i, int einsum) const {
        for (int k = range_.begin; k < range_.end; ++k) {
            if (parts_[static_cast<std::size_t>(k)].einsum->einsum == einsum) {
                return circle_[static_cast<std::size_t>(k - range_.begin)] ==
                       circle_[static_cast<std::size_t>(i - range_.begin)];
            }
        }
        return false;
    }

    const workload::Workload& workload_;
    const std::vector<Part>& parts_;
    const Range& range_;
    const LoopsAround& loops_;
    std::vector<int> circle_;
};

/// How many tiles of a buffer are in use at once. It has a new tile every `rounds_of_tile` rounds,
/// as the loops between it and the split turn, and `tiles` from filling to draining.
class InFlight {
public:
    InFlight(const Part& part, int depth, const LoopsAround& loops) {
        const int above = std::clamp(depth, loops.outside, loops.all);
        rounds_of_tile_ = iterations(part, above, loops.all);
        tiles_ = iterations(part, loops.outside, above);
    }
    /// A branch of this stage uses it, and the tile before.
    void use(int stage, bool older) {
        newest_ = std::min<double>(newest_, stage);
        oldest_ = std::max(oldest_, stage + (older ? rounds_of_tile_ : 0));
    }
    double most() const {
        const double apart = std::max(0.0, oldest_ - newest_);
        return tiles_in_flight(apart, rounds_of_tile_, tiles_);
    }

private:
    double rounds_of_tile_ = 1, tiles_ = 1;
    double newest_ = std::numeric_limits<double>::infinity(), oldest_ = 0;
};

}  // namespace

std::map<std::string, double> shares_held(const workload::Workload& workload,
                                          const std::vector<Part>& parts,
                                          const std::vector<int>& shared, const Range& range,
                                          const std::vector<int>& stages) {
    Buffers buffers;
    std::vector<std::vector<Kept>> all;
    for (const Part& part : parts) {
        all.push_back(kept_by(part, buffers));
    }
    std::map<std::string, double> shares;
    struct Exchanged {
        std::vector<SharedUse> uses;
        int depth = std::numeric_limits<int>::min();
    };
    std::map<std::pair<std::string, int>, Exchanged> exchanged;  // by memory and buffer
    const int n = static_cast<int>(parts.size());
    for (int i = 0; i < n; ++i) {
        for (const Kept& kept : all[static_cast<std::size_t>(i)]) {
            const Lifetime life = lifetime(
                i, kept.depth, n, [&](int k) { return shared[static_cast<std::size_t>(k)]; });
            if (kept.backing) {
                Exchanged& one = exchanged[{kept.memory, buffers.of(kept.memory, kept.tensor)}];
                one.uses.push_back({life, kept.share});
                one.depth = std::max(one.depth, kept.depth + kept.line_buffer);
            } else if (life.first < range.end && range.begin <= life.last) {
                shares[kept.memory] += kept.share;
            }
        }
    }
    const LoopsAround around = loops_around(shared, range);
    const OlderStates older(workload, parts, range, around);
    for (const auto& [key, one] : exchanged) {
        double share = 0;
        add_shared(one.uses, false, [&](int now, double held) {
            share = range.begin <= now && now < range.end ? std::max(share, held) : share;
        });
        InFlight tiles(parts[static_cast<std::size_t>(range.begin)], one.depth, around);
        for (int i = range.begin; i < range.end; ++i) {
            const Part& part = parts[static_cast<std::size_t>(i)];
            for (const workload::LocalTensor& t : part.einsum->tensors) {
                if (buffers.of(key.first, t.tensor) == key.second) {
                    tiles.use(stages[static_cast<std::size_t>(i - range.begin)],
                              older.read_by(i, t.tensor));
                }
            }
        }
        shares[key.first] += share * tiles.most();
    }
    return shares;
}

bool fits(const std::map<std::string, double>& shares) {
    return std::ranges::all_of(shares,
                               [](const auto& one) { return one.second <= arch::most_bits(1); });
}

void check_held(const std::map<std::string, double>& shares, const std::vector<Part>& parts,
                const Range& range) {
    for (const auto& [memory, share] : shares) {
        if (share > arch::most_bits(1)) {
            throw IllegalMapping(
                "the Einsums from '" + parts[static_cast<std::size_t>(range.begin)].einsum->name +
                "' to '" + parts[static_cast<std::size_t>(range.end) - 1].einsum->name +
                "' run at once and together fill memory '" + memory + "' to " +
                spec::number_text(100 * share) + " %; use smaller tile shapes, or !Sequential");
        }
    }
}

}  // namespace tessera::model
