// What the analysis of a sparse design knows about one mapping. Its steps, in their order:
//   formats.cpp     do the formats of the levels fit each other; which loops make which rank
//   occupancy.cpp   expected values and words of formats per tile, accesses to the latter
//   temporal.cpp    how probable it is that an access is gated or skipped
//   spatial.cpp     how many instances spatial skipping leaves idle
//   combine.cpp     accesses that are left, level by level; those gated and skipped
//   computes.cpp    the same of computes
//   storage.cpp     capacities, vector accesses, energies, bandwidths
// The rules and their roundings are Timeloop's; docs/sparsity.md tells them by an example.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sparsity/density.hpp"
#include "timeloop/mapping.hpp"
#include "timeloop/model.hpp"

namespace tessera::timeloop::sparse {

/// Ends the analysis: the mapping does not fit.
struct Misfitting {
    Fit fit;
};
[[noreturn]] inline void misfit(Fit::Kind kind, int level, std::uint64_t needed = 0,
                                double available = 0) {
    throw Misfitting{{kind, level, needed, available}};
}

using Extents = std::vector<std::int64_t>;  ///< per dimension

/// One loop of the nest with those of a single iteration: their places count.
struct NestLoop {
    int dimension = 0;
    std::int64_t end = 1;
    LoopKind kind = LoopKind::temporal;
    Extents extents;  ///< of the tile of this loop and those inside it

    bool spatial() const {
        return kind != LoopKind::temporal;
    }
    bool trivial() const {
        return end <= 1;
    }
};

struct Words {
    double metadata = 0, payload = 0;
    std::uint32_t metadata_bits = 0, payload_bits = 0;

    bool empty() const {
        return metadata == 0 && payload == 0;
    }
};

/// Loops that are one rank of a format.
using RankLoops = std::vector<NestLoop>;

/// One data space in one storage level.
struct Held {
    bool kept = false;
    std::uint64_t points = 0;  ///< of its tile; 0 if it is not kept
    std::uint64_t reads = 0, fills = 0, updates = 0;
    double temporal_reductions = 0;
    std::uint64_t replication = 1;
    double average_instances = 1;
    std::uint64_t max_x = 1, max_y = 1;
    int parent = -1, child = -1;  ///< the next levels that keep it; -1: none
    const Representation* format = nullptr;
    sparsity::Tile tile;
    std::vector<RankLoops> ranks;          ///< innermost first
    std::vector<sparsity::Tile> subtiles;  ///< below each rank, then the whole
    std::vector<std::uint64_t> fibers;     ///< points of one fiber of each rank
    double expected_density = 1, expected_values = 0;
    std::vector<Words> expected_words;  ///< per rank
    TileAccesses format_reads, format_fills, format_updates;
    PerOperation<std::uint64_t> accesses{};
    PerOperation<TileAccesses> format_accesses;

    bool compressed() const {
        return format != nullptr && format->compressed;
    }
    std::size_t rank_count() const {
        return format == nullptr ? 0 : format->ranks.size();
    }
};

struct Expanded {
    std::uint64_t x = 1, y = 1;
};

struct Computes {
    std::uint64_t replication = 1;
    double accesses = 0;  ///< of one instance
    double average_instances = 1;
    std::uint64_t max_x = 1, max_y = 1;
    std::uint64_t random = 0, gated = 0, skipped = 0;
};

enum class Saving : std::uint8_t { none, gate, skip };

struct State {
    /// \throws UserError for densities that do not fit their data spaces
    State(const Problem& problem, const Architecture& architecture, const Mapping& mapping);

    const Problem& problem;
    const Architecture& architecture;
    const SparseDesign& design;
    const Mapping& mapping;
    int levels, spaces;
    std::vector<std::unique_ptr<const sparsity::Density>> densities;  ///< per data space
    std::vector<std::vector<NestLoop>> loops;  ///< per level, innermost first
    std::vector<std::vector<bool>> uses;       ///< [space][dimension]
    std::vector<Held> held;
    Computes computes;

    // Per data space and level: what is saved there, and how probably.
    std::vector<Saving> saving;
    std::vector<char> spatial;
    std::vector<double> saved, spatially_saved;
    // Per data space: an operand whose innermost level saves accesses, and how probably.
    std::vector<char> operand_saved;
    std::vector<double> operand_condition_empty;

    Held& of(int level, int space) {
        return held[static_cast<std::size_t>(level * spaces + space)];
    }
    const Held& of(int level, int space) const {
        return held[static_cast<std::size_t>(level * spaces + space)];
    }
    std::size_t place(int level, int space) const {
        return static_cast<std::size_t>(level * spaces + space);
    }
    bool writes(int space) const {
        return problem.data_spaces[static_cast<std::size_t>(space)].read_write;
    }
    /// The tile of a data space where the dimensions have these extents.
    sparsity::Tile project(int space, const Extents& extents) const;
    const sparsity::Density& density(int space) const {
        return *densities[static_cast<std::size_t>(space)];
    }
    Extents scalar() const {
        return Extents(problem.dimensions.size(), 1);
    }
    bool saves(int level, int space) const {
        return saving[place(level, space)] != Saving::none || spatial[place(level, space)] != 0;
    }
};

void check_formats(const State& state);
void define_ranks(State& state);
void expect_occupancy(State& state);
/// Words of the ranks of a tile that holds so many values.
std::vector<Words> words_given(const State& state, int level, int space, std::uint64_t values);
void save_in_time(State& state);
void save_in_space(State& state);
void combine(State& state);
void count_computes(State& state);

/// Sets the figures of all levels and the totals. `cycles`: of the arithmetic.
void finish_levels(State& state, const ModelOptions& options, std::uint64_t cycles, Stats& stats);

}  // namespace tessera::timeloop::sparse
