// The oracle's enumeration of one Einsum's chains, straight from the membership test of
// docs/mapspace.md section 2: all holders, all orders, all loops in all gaps, all tile shapes.
//
// It shares no template rule, pruning or legality code with the library.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "oracle/oracle_cost.hpp"
#include "tessera/mapspace/template.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::oracle {

/// What a chain must know of other Einsums to have line buffers and prologues.
struct LineBuffer {
    std::vector<workload::Prologue> prologues;  ///< that readers bring about, whatever the variable
    std::set<std::pair<int, std::string>> overlap;  ///< tensor, rank that a reader indexes by a sum
};

/// Calls `sink` with every chain of the Einsum on this path that meets section 2 but C4, tile
/// shapes filled in, loops of trip count 1 left out. Capacity is not looked at. Returns false when
/// `sink` did so, which ends the enumeration.
bool enumerate_chains(const arch::Path& path, const mapspace::MapSpaceOptions& options,
                      const std::function<bool(const mapping::Pmapping&)>& sink,
                      const LineBuffer& line_buffer = {});

/// One fused loop as the other chains see it.
struct SharedLoop {
    int rank_variable = 0;  ///< local to the Einsum
    std::int64_t trips = 1;
    bool spatial = false;
    std::string level, dim;  ///< spatial
    std::int64_t tile = 1, prologue = 0, base = 0;
    bool operator==(const SharedLoop&) const = default;
};

/// The backing holder of a fusable tensor.
struct Backing {
    int tensor = 0;  ///< index into Workload::tensors
    std::string memory;
    int depth = 0;
    double bits = 0;
    bool persistent = false;
    bool line_buffer = false;
    int shared_loops() const {
        return depth + (line_buffer ? 1 : 0);
    }
    bool operator==(const Backing&) const = default;
};

/// Chains that differ in nothing that other chains can see; equal rows are counted, not repeated.
struct ChainRow {
    double energy_j = 0, latency_s = 0;
    /// Per memory of the group, bits at depth 0, 1, ... and, last, deeper than all shared loops;
    /// backing holders of fusable tensors left out.
    std::vector<double> bits;
    /// Seconds for which each of the components that were named is busy.
    std::vector<double> busy_s;
    std::uint64_t count = 0;
    mapping::Pmapping example;
    int path = 0;  ///< which of the Einsum's paths
};

struct ChainGroup {
    std::vector<Backing> backings;   ///< sorted by tensor
    std::vector<SharedLoop> prefix;  ///< loops above the deepest of them
    std::vector<ChainRow> rows;
};

/// A memory of finite size.
struct Memory {
    std::string name;
    double size_bits = 0;
};

/// All chains of one Einsum over all its paths, costed, those that alone exceed a memory left out.
struct EinsumChains {
    std::vector<arch::Path> paths;
    std::vector<ChainGroup> groups;
    std::uint64_t chains = 0;  ///< legal ones, before equal rows were merged
};

/// Chains that differ in how long one of `components` is busy are rows of their own.
/// \throws TooMany once more than `limit` chains exist.
struct TooMany : std::runtime_error {
    using std::runtime_error::runtime_error;
};
EinsumChains all_chains(std::vector<arch::Path> paths, const std::vector<Memory>& memories,
                        const mapspace::MapSpaceOptions& options, std::uint64_t limit,
                        const LineBuffer& line_buffer = {},
                        const std::vector<std::string>& components = {},
                        Partial partial = Partial::as_it_is);

}  // namespace tessera::oracle
