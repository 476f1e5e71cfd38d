// CoSA's mixed-integer programme for one Einsum (Huang et al., CoSA, ISCA 2021), in logarithms:
// where each prime factor of the ranks goes, to a temporal loop of a memory or to a fan-out.
//
// CoSA gives each prime factor at the permuted memory (its global buffer) a slot of its own. Here
// each rank has one: of a rank's factors the ones further out may join the innermost one, since
// then no tensor is fetched for them more often. So both have the same least objective.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace tessera::search::cosa {

using Ranks = std::uint64_t;  ///< bit per rank

/// A prime that divides the bound of a rank so many times.
struct Prime {
    std::int64_t value = 2;
    int count = 1;
};

struct Tensor {
    Ranks ranks = 0;    ///< that index it
    double weight = 1;  ///< of its traffic
};

/// Memories stand from the inside out; the loops of memory m go over tiles inside its own tile.
struct Memory {
    /// Per tensor: log2 of the values it may hold of it; infinite: nothing limits it here.
    std::vector<double> log2_room;
};

/// Copies of all that lies inside memory `memory`, side by side.
struct FanOut {
    int memory = 0;
    double log2_size = 0;
    Ranks ranks = 0;  ///< that may be spread over it
};

/// Weights of the objective, as published.
struct Weights {
    double utilisation = -0.1, compute = 10, traffic = 1;
};

struct Programme {
    std::vector<std::vector<Prime>> ranks;
    std::vector<Tensor> tensors;
    std::vector<Memory> memories;
    std::vector<FanOut> fan_outs;
    int permuted = 0;  ///< the memory whose loops have an order
    Weights weights;
};

/// Products of the factors in each place.
struct Assignment {
    std::vector<std::vector<std::int64_t>> temporal;  ///< by memory and rank
    std::vector<std::vector<std::int64_t>> spatial;   ///< by fan-out and rank
    std::vector<int> order;  ///< ranks with a loop at the permuted memory, from the inside out
    double objective = 0;
    bool optimal = false;  ///< proven; else the best that was found
};

/// Weight in the objective of log2 of a factor of the rank in a temporal loop of the memory, but
/// for traffic at the permuted memory; and in a fan-out.
double temporal_weight(const Programme& programme, std::size_t memory, std::size_t rank);
double spatial_weight(const Programme& programme, std::size_t fan_out, std::size_t rank);

/// Minimises utilisation + compute + traffic, each with its weight:
///   utilisation  sum over memories and limited tensors of log2 of the tile
///   compute      sum of log2 of all temporal loops
///   traffic      sum over tensors of .99 log2 of the tile inside the permuted memory (spatial
///                factors count .8 + .04 m of that), .99 log2 of the fan-out there, log2 of the
///                loops of the permuted memory from the innermost one that indexes the tensor on,
///                log2 of all loops further out
/// \param gap  relative difference from the optimum that is good enough
/// \param nodes  of branch and bound at most
/// \param stop  asked now and then; true: the best so far
/// \returns without places if nothing was found
Assignment solve(const Programme& programme, double gap, int nodes,
                 const std::function<bool()>& stop);

}  // namespace tessera::search::cosa
