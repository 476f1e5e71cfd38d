// A pmapping as Timeloop's blocks. Between the holders of one memory and those of the next inner
// one stand temporal loops, then spatial loops; any other order has no equivalent.
#include <algorithm>
#include <string>

#include "native.hpp"
#include "tessera/base/error.hpp"

namespace tessera::model {

namespace {

using mapping::NodeKind;
using mapping::PmappingNode;

[[noreturn]] void refuse(const std::string& what) {
    throw IllegalMapping(what + ", which the cost model timeloop cannot express; use looptree");
}

/// Loops of one block as they are met, outermost first.
struct Block {
    struct Loop {
        int variable;
        std::int64_t trips;
        bool along_y;
    };
    std::vector<Loop> loops;

    void add(int variable, std::int64_t trips, bool along_y, const std::string& name) {
        if (trips == 1) {
            return;
        }
        for (Loop& loop : loops) {
            if (loop.variable != variable) {
                continue;
            }
            if (&loop != &loops.back() || loop.along_y != along_y) {
                refuse("two loops over " + name + " below one memory with others between");
            }
            loop.trips *= trips;
            return;
        }
        loops.push_back({variable, trips, along_y});
    }
};

class Converter {
public:
    Converter(const arch::Path& path, const NativeCase& native)
        : path_(path),
          native_(native),
          mapping_(timeloop::empty_mapping(native.problem, native.architecture)),
          temporal_(mapping_.levels.size()),
          spatial_(mapping_.levels.size()),
          at_(static_cast<int>(mapping_.levels.size()) - 1) {
        for (const workload::LocalRankVariable& variable : path.einsum.rank_variables) {
            sizes_.push_back(variable.bound);
        }
        for (timeloop::LevelMapping& level : mapping_.levels) {
            level.keep = 0;
        }
    }

    timeloop::Mapping convert(std::span<const PmappingNode> nodes);

private:
    void holder(const PmappingNode& node);
    void temporal(const PmappingNode& node);
    void spatial(const PmappingNode& node);
    std::int64_t trips(const PmappingNode& node);
    void enter(int level, const std::string& why);
    void finish_blocks();
    void set_reuse();
    void set_residuals();
    const std::string& variable(const PmappingNode& node) const {
        return path_.einsum.rank_variables[node.rank_variable].name;
    }

    const arch::Path& path_;
    const NativeCase& native_;
    timeloop::Mapping mapping_;
    std::vector<Block> temporal_, spatial_;
    std::vector<std::int64_t> sizes_;  ///< per rank variable, of the tile at hand
    int at_;                           ///< storage level whose block is being filled
};

/// Goes on to an inner storage level; levels skipped keep nothing and have no loops.
void Converter::enter(int level, const std::string& why) {
    if (level > at_) {
        refuse(why + " stands inside " + native_.architecture.storage[at_].name);
    }
    at_ = level;
}

void Converter::holder(const PmappingNode& node) {
    const auto it = std::find(native_.memories.begin(), native_.memories.end(), node.level);
    const std::string& name = path_.levels[node.level].name;
    enter(static_cast<int>(it - native_.memories.begin()), name);
    if (!temporal_[at_].loops.empty() || !spatial_[at_].loops.empty()) {
        refuse("a loop between two tensors held in " + name);
    }
    mapping_.levels[at_].keep |= timeloop::DataSpaceMask{1} << node.tensor;
}

std::int64_t Converter::trips(const PmappingNode& node) {
    std::int64_t& size = sizes_[node.rank_variable];
    const std::int64_t count = (size + node.tile - 1) / node.tile;
    if (size % node.tile != 0 && size != path_.einsum.rank_variables[node.rank_variable].bound) {
        refuse("a partial tile of " + variable(node) + " inside another loop over it");
    }
    size = node.tile;
    return count;
}

void Converter::temporal(const PmappingNode& node) {
    const std::int64_t count = trips(node);
    if (count > 1 && !spatial_[at_].loops.empty()) {
        // Below the fan-out: the next inner memory's block, before any of its tensors.
        if (at_ == 0) {
            refuse("the temporal loop over " + variable(node) + " inside all spatial loops");
        }
        enter(at_ - 1, "");
    }
    temporal_[at_].add(node.rank_variable, count, false, variable(node));
}

void Converter::spatial(const PmappingNode& node) {
    const std::int64_t count = trips(node);
    if (count == 1) {
        return;
    }
    int level = at_;
    while (level > 0 && node.level > native_.memories[level - 1]) {
        --level;
    }
    if (node.level <= native_.memories[level]) {
        refuse("the spatial loop over " + variable(node) +
               " inside the memory whose instances it "
               "counts");
    }
    enter(level, "");
    const std::vector<FanoutDim> dims = fanout_below(path_, native_.memories, level);
    bool along_y = false, found = false;
    for (std::size_t d = 0; d < dims.size(); ++d) {
        if (dims[d].level == node.level && dims[d].dim == node.dim) {
            found = true;
            along_y = d == 1;
        }
    }
    if (!found) {
        throw IllegalMapping("the spatial loop over " + variable(node) + " needs " +
                             std::to_string(count) + " instances of " +
                             path_.levels[node.level].name + ", there is 1");
    }
    spatial_[level].add(node.rank_variable, count, along_y, variable(node));
}

void Converter::finish_blocks() {
    const auto order = [&](timeloop::LoopBlock& block, const std::vector<Block::Loop>& loops,
                           bool is_spatial) {
        std::vector<int> permutation;
        const auto put = [&](bool along_y) {
            for (std::size_t k = loops.size(); k-- > 0;) {
                if (loops[k].along_y == along_y) {
                    permutation.push_back(loops[k].variable);
                    block.factors[loops[k].variable].end = loops[k].trips;
                }
            }
        };
        put(false);
        block.split = is_spatial ? static_cast<int>(permutation.size()) : block.split;
        put(true);
        for (int v = 0; v < static_cast<int>(sizes_.size()); ++v) {
            if (std::find(permutation.begin(), permutation.end(), v) == permutation.end()) {
                permutation.push_back(v);
            }
        }
        block.permutation = permutation;
    };
    for (std::size_t i = 0; i < mapping_.levels.size(); ++i) {
        order(mapping_.levels[i].temporal, temporal_[i].loops, false);
        order(mapping_.levels[i].spatial, spatial_[i].loops, true);
    }
}

/// Tensors that a fan-out may not share are sent to every instance on its own.
void Converter::set_reuse() {
    for (int i = 0; i < static_cast<int>(mapping_.levels.size()); ++i) {
        const std::vector<FanoutDim> dims = fanout_below(path_, native_.memories, i);
        if (dims.empty()) {
            continue;
        }
        std::vector<arch::RankVariableMask> loops(dims.size());
        for (const Block::Loop& loop : spatial_[static_cast<std::size_t>(i)].loops) {
            loops[loop.along_y ? 1 : 0] |= arch::RankVariableMask{1} << loop.variable;
        }
        const Reuse reuse = spatial_reuse(path_, dims, loops);
        mapping_.levels[i].no_multicast_no_reduction =
            static_cast<timeloop::DataSpaceMask>(reuse.separate);
        mapping_.levels[i].no_link_transfer = static_cast<timeloop::DataSpaceMask>(reuse.no_links);
    }
}

/// The last pass of every loop, from the bound minus one as a number in the radix of the trips.
void Converter::set_residuals() {
    for (std::size_t v = 0; v < sizes_.size(); ++v) {
        std::int64_t last = native_.problem.dimensions[v].bound - 1;
        for (timeloop::LevelMapping& level : mapping_.levels) {
            for (timeloop::LoopBlock* block : {&level.spatial, &level.temporal}) {
                timeloop::Factor& factor = block->factors[v];
                factor.residual = last % factor.end + 1;
                last /= factor.end;
            }
        }
    }
}

timeloop::Mapping Converter::convert(std::span<const PmappingNode> nodes) {
    for (const PmappingNode& node : nodes) {
        if (node.kind == NodeKind::storage) {
            holder(node);
        } else if (node.kind == NodeKind::toll) {
            refuse("a toll");
        } else if (node.kind == NodeKind::temporal) {
            temporal(node);
        } else if (node.kind == NodeKind::spatial) {
            spatial(node);
        }
    }
    finish_blocks();
    set_reuse();
    set_residuals();
    for (std::size_t v = 0; v < sizes_.size(); ++v) {
        if (sizes_[v] != 1) {
            refuse("the tile of " + std::to_string(sizes_[v]) + " steps of " +
                   path_.einsum.rank_variables[v].name + " handed to the compute");
        }
    }
    const std::string fault =
        timeloop::structural_fault(native_.problem, native_.architecture, mapping_);
    if (!fault.empty()) {
        throw IllegalMapping(fault);
    }
    return mapping_;
}

}  // namespace

namespace {

/// Whether instances along a loop over `variable` may need the same values of the tensor.
bool shares(const workload::LocalTensor& tensor, int variable) {
    for (const workload::RankAccess& rank : tensor.ranks) {
        for (const workload::AffineTerm& term : rank.terms) {
            if (term.rank_variable == variable) {
                return rank.terms.size() > 1;  // windows overlap
            }
        }
    }
    return true;
}

}  // namespace

Reuse spatial_reuse(const arch::Path& path, const std::vector<FanoutDim>& dims,
                    const std::vector<arch::RankVariableMask>& loops) {
    Reuse result;
    arch::TensorMask shared = 0;  // where they may be
    for (std::size_t d = 0; d < dims.size(); ++d) {
        const arch::TensorMask allowed = path.levels[dims[d].level].spatial[dims[d].dim].may_reuse;
        result.no_links |= path.einsum.all() & ~allowed;
        for (std::size_t t = 0; t < path.einsum.tensors.size(); ++t) {
            for (std::size_t v = 0; v < path.einsum.rank_variables.size(); ++v) {
                if ((loops[d] >> v & 1) != 0 &&
                    shares(path.einsum.tensors[t], static_cast<int>(v))) {
                    const arch::TensorMask bit = arch::TensorMask{1} << t;
                    (allowed >> t & 1 ? shared : result.separate) |= bit;
                }
            }
        }
    }
    for (std::size_t t = 0; t < path.einsum.tensors.size(); ++t) {
        if ((result.separate & shared) >> t & 1) {
            refuse("tensor " + path.einsum.tensors[t].name +
                   ", which one of the spatial dimensions above " +
                   path.levels[dims.back().level].name +
                   " shares and the other may not (may_reuse)");
        }
    }
    return result;
}

timeloop::Mapping native_mapping(const arch::Path& path, std::span<const PmappingNode> nodes,
                                 const NativeCase& native) {
    return Converter(path, native).convert(nodes);
}

}  // namespace tessera::model
