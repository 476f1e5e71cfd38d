// Timeloop's mappings as pmappings: the way back from native_mapping.cpp.
#include <algorithm>

#include "native.hpp"

namespace tessera::model {

namespace {

/// Appends the nodes of a mapping, level by level.
class NodeWriter {
public:
    NodeWriter(const arch::Path& path, const NativeCase& native, const timeloop::Mapping& mapping)
        : path_(path), native_(native), mapping_(mapping) {
        for (const workload::LocalRankVariable& variable : path.einsum.rank_variables) {
            sizes_.push_back(variable.bound);
        }
    }

    mapping::Pmapping write(bool spatial_first) {
        for (int i = static_cast<int>(mapping_.levels.size()) - 1; i >= 0; --i) {
            holders(i);
            if (spatial_first) {
                spatial(i);
                temporal(i);
            } else {
                temporal(i);
                spatial(i);
            }
        }
        mapping::PmappingNode& compute = nodes_.emplace_back();
        compute.kind = mapping::NodeKind::compute;
        compute.level = static_cast<std::int8_t>(path_.levels.size() - 1);
        return std::move(nodes_);
    }

private:
    void holders(int i) {
        for (int t = 0; t < static_cast<int>(path_.einsum.tensors.size()); ++t) {
            if (mapping_.levels[i].keeps(t)) {
                mapping::PmappingNode& node = nodes_.emplace_back();
                node.kind = mapping::NodeKind::storage;
                node.tensor = static_cast<std::int8_t>(t);
                node.level = static_cast<std::int8_t>(native_.memories[i]);
                node.backing = (held_ >> t & 1) == 0;
                held_ |= arch::TensorMask{1} << t;
            }
        }
    }
    void temporal(int i) {
        const timeloop::LoopBlock& block = mapping_.levels[i].temporal;
        for (std::size_t k = block.permutation.size(); k-- > 0;) {
            loop(mapping::NodeKind::temporal, block.permutation[k], block);
        }
    }
    void spatial(int i) {
        const std::vector<FanoutDim> dims = fanout_below(path_, native_.memories, i);
        const timeloop::LoopBlock& block = mapping_.levels[i].spatial;
        const auto split = static_cast<std::size_t>(block.split);
        for (std::size_t d = 0; d < dims.size(); ++d) {
            const std::size_t first = d == 0 ? 0 : split;
            for (std::size_t k = d == 0 ? split : block.permutation.size(); k-- > first;) {
                if (loop(mapping::NodeKind::spatial, block.permutation[k], block)) {
                    nodes_.back().level = static_cast<std::int8_t>(dims[d].level);
                    nodes_.back().dim = static_cast<std::int8_t>(dims[d].dim);
                }
            }
        }
    }
    bool loop(mapping::NodeKind kind, int variable, const timeloop::LoopBlock& block) {
        const std::int64_t trips = block.factors[variable].end;
        if (trips == 1) {
            return false;
        }
        mapping::PmappingNode& node = nodes_.emplace_back();
        node.kind = kind;
        node.rank_variable = static_cast<std::int8_t>(variable);
        node.tile = sizes_[variable] /= trips;
        return true;
    }

    const arch::Path& path_;
    const NativeCase& native_;
    const timeloop::Mapping& mapping_;
    mapping::Pmapping nodes_;
    std::vector<std::int64_t> sizes_;
    arch::TensorMask held_ = 0;
};

bool indexes(const arch::Path& path, const mapping::PmappingNode& loop, int tensor) {
    const workload::LocalTensor& local = path.einsum.tensors[tensor];
    return (local.directly_indexing | local.expression_indexing) >> loop.rank_variable & 1;
}

}  // namespace

mapping::Pmapping to_pmapping(const arch::Path& path, const NativeCase& native,
                              const timeloop::Mapping& mapping) {
    return NodeWriter(path, native, mapping).write(false);
}

mapping::Pmapping to_raised_pmapping(const arch::Path& path, const NativeCase& native,
                                     const timeloop::Mapping& mapping) {
    mapping::Pmapping nodes = NodeWriter(path, native, mapping).write(true);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i].kind != mapping::NodeKind::storage) {
            continue;
        }
        std::size_t place = i;
        for (std::size_t k = i; k-- > 0;) {
            const mapping::PmappingNode& before = nodes[k];
            if (before.kind == mapping::NodeKind::temporal &&
                !indexes(path, before, nodes[i].tensor)) {
                place = k;
            } else if (before.kind != mapping::NodeKind::storage ||
                       before.level != nodes[i].level) {
                break;
            }
        }
        const auto at = [&](std::size_t k) {
            return nodes.begin() + static_cast<std::ptrdiff_t>(k);
        };
        std::rotate(at(place), at(i), at(i) + 1);
    }
    return nodes;
}

}  // namespace tessera::model
