// DPipe: which Einsums of a fused group overlap, on which unit, in which order (TransFusion Sec.
// 4).
//
// The paper splits a group in two halves that work on neighbouring epochs, and takes the best order
// of list scheduling. Modulo scheduling generalises it to any number of stages and any binding.
#pragma once

#include <cstddef>
#include <vector>

#include "tessera/schedule/dag.hpp"

namespace tessera::schedule {

/// How a task gets its unit: the one that ends it first (a tie: the unit listed first), or
/// whichever makes the round shortest.
enum class Binding { greedy, any };

enum class Mode {
    paper,   ///< two stages at most, bipartitions of the paper, greedy binding
    modulo,  ///< any stages, any binding: the least interval that a round can have
};

/// Limits of the search; where one cuts it, Schedule::complete is false.
struct Limits {
    std::size_t states = 2000;    ///< partial schedules that are kept per number of placed tasks
    std::size_t overlaps = 4096;  ///< bipartitions or stage assignments that are tried
    /// Placements that are tried in all, about a microsecond each. Then the order at hand is
    /// completed with the shortest partial schedule alone, and no other bipartition or assignment
    /// is tried.
    std::size_t placements = 500000;
};

/// The unsplit graph, then the bipartitions (S1, S2) of the paper: S1 holds all sources and no
/// sink, is closed under predecessors, both halves are weakly connected, and every source of S1
/// reaches every other task of S1. `complete`: false if the limit cut them off. \throws what
/// check() throws.
std::vector<Overlap> bipartitions(const Dag& dag, const Limits& limits, bool& complete);

/// The best order of a round by dynamic programming over sets of placed tasks that are closed under
/// predecessors. Of two partial schedules with the same set, one that is nowhere later replaces the
/// other. Of equally short rounds, the one in which the units work least. Dominance loses nothing
/// with Binding::any; with Binding::greedy it can lose an order in which a later start leads to a
/// luckier choice of unit.
Schedule best_order(const Dag& dag, const Overlap& overlap, Binding binding,
                    const Limits& limits = {});

/// The shortest round. Deterministic. Thread-safe: no shared state.
/// \throws UserError what check() throws.
Schedule pipeline(const Dag& dag, Mode mode, const Limits& limits = {});

/// The least, over all bindings, of the load of the fullest unit: no round can be shorter.
/// `complete`: as above; if false the value is that of the best binding found.
double least_load_s(const Dag& dag, const Limits& limits, std::vector<int>& binding,
                    bool& complete);

}  // namespace tessera::schedule
