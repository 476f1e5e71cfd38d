// Branches of a LoopTree that run at once, simulated round by round.
//
// Nothing here knows of stages, steady states or of how many tiles of a tensor there are:
//   - A branch goes through its iterations in order, one in each round from its first one on. All
//     values that an iteration reads must have been made in rounds before: boxes of values are
//     compared, iteration by iteration. Of a state it needs what the iteration before has left.
//     A branch that would have to wait begins a round later instead.
//   - In a round every component is a server that works for the branches that take part, a part of
//     an iteration of each in turn; the round ends when all servers have nothing left to do.
//   - What branches exchange is kept from the round of its first user to that of its last.
#pragma once

#include <vector>

#include "oracle/oracle_tree.hpp"

namespace tessera::oracle {

/// Einsums `first` to `last` of a tree, neighbouring branches of one split.
struct AtOnce {
    int first = 0, last = 0;
};

/// All choices of disjoint sets of branches that may run at once; the empty one first.
std::vector<std::vector<AtOnce>> all_overlaps(const std::vector<int>& shared);

struct PipelineRun {
    bool possible = true;  ///< false: branches wait for each other for ever
    double latency_s = 0;
    std::vector<double> round_s;    ///< of one turn of the loops around, from filling to draining
    std::vector<double> most_bits;  ///< per memory of the space
};

PipelineRun simulate(const Space& space, const Tree& tree, const AtOnce& branches);

/// All Einsums, those of `overlap` at once. Infinite if that does not run or fit.
double latency_s(const Space& space, const Tree& tree, const std::vector<AtOnce>& overlap);

}  // namespace tessera::oracle
