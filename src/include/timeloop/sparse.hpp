// Sparse designs as Timeloop has them (its model Sparseloop): which levels hold which data spaces
// in which format, and which accesses and computes are gated or skipped for the sake of zeros.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sparsity/format.hpp"

namespace tessera::timeloop {

/// What a storage level does with data spaces, each with an energy of its own. The order is that in
/// which their energies are added.
enum class StorageOperation : std::uint8_t {
    random_read,
    random_fill,
    random_update,
    gated_read,
    gated_fill,
    gated_update,
    skipped_read,
    skipped_fill,
    skipped_update,
    random_metadata_read,
    gated_metadata_read,
    skipped_metadata_read,
    random_metadata_fill,
    gated_metadata_fill,
    skipped_metadata_fill,
    random_metadata_update,
    gated_metadata_update,
    skipped_metadata_update,
    decompression,
    compression,
};
inline constexpr int storage_operations = 20;
/// One value for each operation.
template <class T>
using PerOperation = std::array<T, storage_operations>;

constexpr int at(StorageOperation operation) {
    return static_cast<int>(operation);
}

struct RankSpec {
    sparsity::Format format = sparsity::Format::uncompressed_offset_pairs;
    std::uint32_t metadata_bits = 0, payload_bits = 0;  ///< of one word
    std::vector<std::vector<int>> flattened;  ///< lists of dimensions that may be one rank
};

/// How a level holds a data space.
struct Representation {
    std::vector<RankSpec> ranks;  ///< innermost first
    bool inner_to_outer = false;  ///< ranks are given to loops from the innermost on
    bool compressed = false;      ///< some rank is
};

/// Accesses to `target` are left out where one of `conditions` is zero.
struct ActionOptimization {
    int target = 0;
    std::vector<int> conditions;
};
/// Of these the one that saves most is done.
using OptimizationGroup = std::vector<ActionOptimization>;

struct LevelOptimizations {
    std::map<int, Representation> representations;  ///< by data space
    std::vector<OptimizationGroup> gating, skipping, spatial_skipping;
};

/// `sparse_optimizations`.
struct SparseDesign {
    std::vector<LevelOptimizations> levels;     ///< storage levels, innermost first
    bool formats = false;                       ///< any level has a representation
    bool gate_on_zero_operand = false;          ///< of the arithmetic
    bool skip_on_not_aligned_operands = false;  ///< of the arithmetic

    /// Spatial skipping packs instances: fan-outs hold for those that are left.
    bool packs_instances() const {
        return std::any_of(levels.begin(), levels.end(), [](const LevelOptimizations& level) {
            return !level.spatial_skipping.empty();
        });
    }
};

/// Attributes of a storage level that only matter to sparse designs.
struct MetadataStorage {
    std::int64_t block_size = 1, word_bits = 0, width_bits = 0;
    std::optional<std::int64_t> depth;
    bool decompresses = false, compresses = false;

    std::int64_t size_bits() const {
        return depth.value_or(0) * width_bits;
    }
};

// ---- What an evaluation says of them ---------------------------------------------------------

/// Accesses to one rank.
struct RankAccesses {
    std::uint64_t metadata = 0, payload = 0;
};
using TileAccesses = std::vector<RankAccesses>;  ///< innermost rank first

/// One data space in one storage level, beside DataSpaceStats; per instance.
struct SparseSpaceStats {
    std::string density;  ///< its model: "fixed-structured"
    std::string format;   ///< of its ranks, outermost first: "uop cp "; "none"
    std::uint64_t tile_points = 0;
    std::uint64_t max_instances = 0;
    TileAccesses capacity;                   ///< words of the ranks of the fullest tile
    std::uint64_t capacity_bits = 0;         ///< the same
    PerOperation<std::uint64_t> accesses{};  ///< scalars; of metadata operations see below
    PerOperation<TileAccesses> format_accesses;
    PerOperation<std::uint64_t> format_bits{};
    double energy_per_algorithmic_access_pj = 0;
    double shared_format_share = 0, read_format_share = 0, write_format_share = 0;
};

}  // namespace tessera::timeloop
