#include "chains.hpp"

#include <algorithm>
#include <numeric>

#include "tessera/base/error.hpp"

namespace tessera::transfusion {

namespace {

using mapping::NodeKind;
using mapping::PmappingNode;

std::int64_t largest_divisor(std::int64_t n, std::int64_t most) {
    for (std::int64_t d = std::min(n, most); d > 1; --d) {
        if (n % d == 0) {
            return d;
        }
    }
    return 1;
}

/// One variable over one dimension of a fan-out.
struct Spread {
    int level = 0, dim = 0, variable = 0;
    std::int64_t instances = 1;
};

class Builder {
public:
    Builder(const arch::Path& path, const ChainPlan& plan)
        : path_(path), plan_(plan), buffer_(buffer_level(path)), tile_(path.einsum.bounds()) {}

    mapping::Pmapping run() {
        for (int t = 0; t < tensors(); ++t) {
            if (kept(t) == nullptr) {
                hold(t, path_.first_memory(), true);
            }
        }
        for (int depth = 0; depth <= loops(); ++depth) {
            hold_in_buffer(depth);
            if (depth < loops()) {
                const LoopPlan& loop = this->loop(depth);
                const int v = path_.einsum.find_rank_variable(loop.variable);
                if (v >= 0) {
                    temporal(v, loop.tile);
                }
            }
        }
        below_buffer();
        return std::move(nodes_);
    }

private:
    int tensors() const {
        return static_cast<int>(path_.einsum.tensors.size());
    }
    const workload::LocalTensor& tensor(int t) const {
        return path_.einsum.tensors[static_cast<std::size_t>(t)];
    }
    int loops() const {
        return static_cast<int>(plan_.shared.size() + plan_.own.size());
    }
    const LoopPlan& loop(int i) const {
        const auto u = static_cast<std::size_t>(i);
        return u < plan_.shared.size() ? plan_.shared[u] : plan_.own[u - plan_.shared.size()];
    }
    const KeepPlan* find(const std::vector<KeepPlan>& plans, int t) const {
        const auto found = std::find_if(plans.begin(), plans.end(), [&](const KeepPlan& keep) {
            return keep.tensor == tensor(t).name;
        });
        return found == plans.end() ? nullptr : &*found;
    }
    const KeepPlan* kept(int t) const {
        return find(plan_.kept, t);
    }
    bool indexes(int t, int variable) const {
        return (tensor(t).relevant | tensor(t).partially_relevant) >> variable & 1;
    }

    void hold(int t, int level, bool backing, bool line_buffer = false) {
        PmappingNode node;
        node.kind = NodeKind::storage;
        node.tensor = static_cast<std::int8_t>(t);
        node.level = static_cast<std::int8_t>(level);
        node.backing = backing;
        node.line_buffer = line_buffer;
        nodes_.push_back(node);
    }

    /// Running states stand last, right above their loop. A copy needs no second holder.
    void hold_in_buffer(int depth) {
        for (const bool states : {false, true}) {
            for (int t = 0; t < tensors(); ++t) {
                if (path_.einsum.is_copy_operation && kept(t) == nullptr) {
                    continue;
                }
                const int v = tensor(t).state_variable;
                const bool state = v >= 0 && tile_[static_cast<std::size_t>(v)] > 1;
                const KeepPlan* keep = kept(t);
                const int at = keep != nullptr ? keep->depth : private_depth(t);
                if (state == states && at == depth) {
                    hold(t, buffer_, keep != nullptr, state);
                }
            }
        }
    }

    int private_depth(int t) const {
        if (const KeepPlan* held = find(plan_.held, t)) {
            return held->depth;
        }
        int depth = plan_.resident || tensor(t).output ? 0 : loops();
        for (int i = depth; i < loops(); ++i) {
            const int v = path_.einsum.find_rank_variable(loop(i).variable);
            depth = v >= 0 && indexes(t, v) ? i + 1 : depth;
        }
        return depth;
    }

    void temporal(int variable, std::int64_t tile) {
        std::int64_t& open = tile_[static_cast<std::size_t>(variable)];
        if (tile >= open) {
            return;
        }
        PmappingNode node;
        node.kind = NodeKind::temporal;
        node.rank_variable = static_cast<std::int8_t>(variable);
        node.tile = tile;
        open = tile;
        nodes_.push_back(node);
    }

    bool output_index(int variable) const {
        for (int t = 0; t < tensors(); ++t) {
            if (tensor(t).output && indexes(t, variable)) {
                return true;
            }
        }
        return false;
    }

    /// Whether all instances of the fan-out must share a tensor that the variable indexes.
    bool parts_what_is_shared(const arch::PathDim& dim, int variable) const {
        for (int t = 0; t < tensors(); ++t) {
            if ((dim.reuse >> t & 1) && indexes(t, variable)) {
                return true;
            }
        }
        return false;
    }

    /// Variables that may be spread over a fan-out: large tiles of outputs first.
    std::vector<int> candidates(const arch::PathDim& dim) const {
        std::vector<int> all;
        const workload::RankVariableMask states = path_.einsum.state_variables();
        for (int v = 0; v < static_cast<int>(tile_.size()); ++v) {
            if (!(states >> v & 1) && tile_[static_cast<std::size_t>(v)] > 1 &&
                !parts_what_is_shared(dim, v)) {
                all.push_back(v);
            }
        }
        std::stable_sort(all.begin(), all.end(), [&](int a, int b) {
            const bool x = output_index(a), y = output_index(b);
            return x != y ? x
                          : tile_[static_cast<std::size_t>(a)] > tile_[static_cast<std::size_t>(b)];
        });
        return all;
    }

    std::vector<Spread> spread() {
        std::vector<std::int64_t> left = tile_;
        std::vector<Spread> spreads;
        for (int l = buffer_ + 1; l < static_cast<int>(path_.levels.size()); ++l) {
            const auto& dims = path_.levels[static_cast<std::size_t>(l)].spatial;
            for (int d = 0; d < static_cast<int>(dims.size()); ++d) {
                const arch::PathDim& dim = dims[static_cast<std::size_t>(d)];
                std::int64_t room = dim.fanout;
                for (const int v : candidates(dim)) {
                    std::int64_t& rest = left[static_cast<std::size_t>(v)];
                    const std::int64_t n = largest_divisor(rest, room);
                    if (n > 1) {
                        spreads.push_back({l, d, v, n});
                        rest /= n;
                        room /= n;
                    }
                }
            }
        }
        // Outputs: what is not spread is run over in time, outside. Reductions: inside.
        for (int v = 0; v < static_cast<int>(tile_.size()); ++v) {
            const std::int64_t open = tile_[static_cast<std::size_t>(v)];
            if (output_index(v) && left[static_cast<std::size_t>(v)] > 1) {
                temporal(v, open / left[static_cast<std::size_t>(v)]);
            }
        }
        return spreads;
    }

    void spatial(const Spread& one) {
        std::int64_t& open = tile_[static_cast<std::size_t>(one.variable)];
        PmappingNode node;
        node.kind = NodeKind::spatial;
        node.rank_variable = static_cast<std::int8_t>(one.variable);
        node.level = static_cast<std::int8_t>(one.level);
        node.dim = static_cast<std::int8_t>(one.dim);
        node.tile = open /= one.instances;
        nodes_.push_back(node);
    }

    /// What a memory below the buffer has to keep.
    void hold_kept(int l) {
        const arch::PathLevel& level = path_.levels[static_cast<std::size_t>(l)];
        if (level.kind != arch::LevelKind::memory || level.keep.empty() ||
            path_.einsum.is_copy_operation) {
            return;
        }
        const arch::TensorMask must =
            arch::evaluate_tensors(level.keep, path_.symbols) & path_.einsum.all();
        for (int t = 0; t < tensors(); ++t) {
            if (must >> t & 1) {
                hold(t, l, false);
            }
        }
    }

    void below_buffer() {
        const std::vector<Spread> spreads = spread();
        for (int l = buffer_ + 1; l < static_cast<int>(path_.levels.size()); ++l) {
            for (const Spread& one : spreads) {
                if (one.level == l) {
                    spatial(one);
                }
            }
            hold_kept(l);
        }
        for (int v = 0; v < static_cast<int>(tile_.size()); ++v) {
            temporal(v, 1);
        }
        PmappingNode compute;
        compute.level = static_cast<std::int8_t>(path_.levels.size() - 1);
        nodes_.push_back(compute);
    }

    const arch::Path& path_;
    const ChainPlan& plan_;
    int buffer_ = 0;
    std::vector<std::int64_t> tile_;
    mapping::Pmapping nodes_;
};

}  // namespace

int buffer_level(const arch::Path& path) {
    for (int l = path.first_memory() + 1; l < static_cast<int>(path.levels.size()); ++l) {
        const arch::PathLevel& level = path.levels[static_cast<std::size_t>(l)];
        if (level.kind == arch::LevelKind::memory && level.enabled) {
            return l;
        }
    }
    throw UserError("no buffer stands between the outermost memory and '" + path.compute().name +
                    "'; this mapper needs one");
}

mapping::Pmapping chain(const arch::Path& path, const ChainPlan& plan) {
    return Builder(path, plan).run();
}

int loops_of(const workload::EinsumView& einsum, const std::vector<LoopPlan>& loops) {
    int n = 0;
    std::vector<std::int64_t> open = einsum.bounds();
    for (const LoopPlan& loop : loops) {
        const int v = einsum.find_rank_variable(loop.variable);
        if (v >= 0 && loop.tile < open[static_cast<std::size_t>(v)]) {
            open[static_cast<std::size_t>(v)] = loop.tile;
            ++n;
        }
    }
    return n;
}

}  // namespace tessera::transfusion
