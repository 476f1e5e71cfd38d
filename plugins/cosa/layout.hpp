// From an Einsum's hardware to CoSA's programme, and from its solution to tile shapes of a
// template.
#pragma once

#include <span>

#include "programme.hpp"
#include "tessera/arch/path.hpp"
#include "tessera/mapspace/template.hpp"

namespace tessera::search::cosa {

/// What the programme calls a memory or a fan-out is on this level of the path.
struct Layout {
    Programme programme;
    std::vector<int> memory_of_level;  ///< -1: none
    struct Dim {
        int level = 0, dim = 0;
    };
    std::vector<Dim> fan_outs;
};

/// Which tensor is held where: bit per tensor, by level. Templates differ in that.
std::vector<arch::TensorMask> held(const arch::Path& path, const mapspace::Template& tmpl);

/// `like`: templates of one path that hold the same tensors. A memory is shared equally by the
/// tensors that it holds (CoSA's share matrix, whose published values are those of its Simba).
/// Fan-outs take the ranks that some template spreads over them.
Layout layout_of(const arch::Path& path, std::span<const mapspace::Template* const> like,
                 const Weights& weights);

/// Tile shapes of a template that has the factors as close to their places as it has loops.
struct Fit {
    std::vector<std::int64_t> tiles;
    /// log2 of factors times the memories that they are away from theirs; then pairs of loops of
    /// the permuted memory that stand in the other order.
    double away = 0;
    int swapped = 0;

    bool better_than(const Fit& other) const {
        return away != other.away ? away < other.away : swapped < other.swapped;
    }
};

/// Where a gap has several loops over a rank, its factor is in the innermost, or the outermost.
Fit fit(const Layout& layout, const Assignment& assignment, const arch::Path& path,
        const mapspace::Template& tmpl, bool innermost);

}  // namespace tessera::search::cosa
