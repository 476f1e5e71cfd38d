// From a template and tile shapes to a pmapping.
#include <algorithm>

#include "mapspace/join/fused_structure.hpp"
#include "mapspace/tabulate.hpp"

namespace tessera::mapspace {
namespace {

using mapping::NodeKind;
using mapping::PmappingNode;

/// Moves the loop to the front that leaves the fewest bits of the holder at `holder`. `shape`: tile
/// shapes at the holder.
void settle_order(const arch::Path& path, mapping::Pmapping& nodes, std::size_t holder,
                  std::vector<std::int64_t> shape, const arch::Convention& convention) {
    const workload::LocalTensor& tensor =
        path.einsum.tensors[static_cast<std::size_t>(nodes[holder].tensor)];
    const auto in = [](workload::RankVariableMask set, const PmappingNode& n) {
        return n.kind == NodeKind::temporal && (set >> n.rank_variable & 1) != 0;
    };
    std::size_t first = holder + 1;
    for (; first < nodes.size() && in(tensor.relevant, nodes[first]); ++first) {
        shape[static_cast<std::size_t>(nodes[first].rank_variable)] = nodes[first].largest_tile();
    }
    std::size_t best = first, last = first;
    double least = 0;
    for (; last < nodes.size() && in(tensor.partially_relevant, nodes[last]); ++last) {
        std::vector<std::int64_t> below = shape;
        below[static_cast<std::size_t>(nodes[last].rank_variable)] = nodes[last].largest_tile();
        const double values = arch::values_in(tensor, below, convention);
        if (last == first || values < least) {
            best = last;
            least = values;
        }
    }
    const auto at = [&](std::size_t i) { return nodes.begin() + static_cast<std::ptrdiff_t>(i); };
    if (best > first) {
        std::rotate(at(first), at(best), at(best + 1));
    }
}

void settle_open_orders(const arch::Path& path, mapping::Pmapping& nodes,
                        const arch::Convention& convention) {
    std::vector<std::int64_t> shape = path.einsum.bounds();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i].open_order) {
            nodes[i].open_order = false;
            settle_order(path, nodes, i, shape, convention);
        }
        if (nodes[i].is_loop()) {
            shape[static_cast<std::size_t>(nodes[i].rank_variable)] = nodes[i].largest_tile();
        }
    }
}

}  // namespace

mapping::Pmapping fill(const arch::Path& path, const Template& tmpl, const std::int64_t* tiles,
                       const std::vector<int>& order, const arch::Convention& convention) {
    mapping::Pmapping out;
    std::vector<PmappingNode> fused;  // non-null fused loops, template order
    std::vector<std::int64_t> current = path.einsum.bounds();
    for (std::size_t i = 0; i < tmpl.nodes.size(); ++i) {
        PmappingNode n = tmpl.nodes[i];
        if (!n.is_loop()) {
            out.push_back(n);
            continue;
        }
        const std::int64_t tile = tile_of(n, tiles);
        std::int64_t& outer = current[static_cast<std::size_t>(n.rank_variable)];
        if (tile == outer && n.base == 0) {
            continue;
        }
        n.tile = tile;
        outer = n.largest_tile();
        n.symbol = -1;
        if (static_cast<int>(i) < tmpl.n_fused_nodes) {
            fused.push_back(n);
            n.origin = static_cast<std::int32_t>(fused.size());  // slot, replaced below
        } else {
            n.origin = -1;
        }
        out.push_back(n);
    }
    std::size_t slot = 0;
    for (PmappingNode& n : out) {
        if (n.is_loop() && n.origin > 0) {
            n = fused[static_cast<std::size_t>(order[slot++])];
            n.origin = -1;
        }
    }
    settle_open_orders(path, out, convention);
    return out;
}

}  // namespace tessera::mapspace
