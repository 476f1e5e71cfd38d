// Random graphs of tasks, and exhaustive searches over their schedules.
#pragma once

#include <random>

#include "tessera/schedule/dpipe.hpp"

namespace tessera::test {

/// `n` tasks on two units; latencies are small integers, one in six tasks runs on one unit only.
/// With `recurrences`, some successors write a state that a predecessor reads.
schedule::Dag random_dag(std::mt19937& random, int n, bool recurrences);

/// All topological orders of the round's edges, tasks bound as `binding` says.
double shortest_round(const schedule::Dag& dag, const schedule::Overlap& overlap,
                      schedule::Binding binding);

/// All stages from 0 to the number of tasks less one, all orders, all bindings.
double shortest_round_of_all_stages(const schedule::Dag& dag);

/// The fullest unit's load, the least over all bindings.
double least_load(const schedule::Dag& dag);

/// Bipartitions by their definition, from all subsets: sets S1 as bits, without the unsplit graph.
std::vector<std::uint64_t> defined_bipartitions(const schedule::Dag& dag);

}  // namespace tessera::test
