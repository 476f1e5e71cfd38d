// From tile sizes and access records to counts, energies and cycles (bypass, peers, first reads,
// vector accesses, bandwidths, networks): one pass over the levels of each data space, innermost
// first. It has no loops over the nest.
#pragma once

#include "machine.hpp"
#include "nest_result.hpp"

namespace tessera::timeloop {

/// Sets all of `cost` but `forgets`; only `fit` where the mapping does not fit. `nest.records` is
/// changed. \pre every data space is kept somewhere, cost.fit is ok
void account(const Machine& machine, NestResult& nest, const FlatMapping& flat, Cost& cost);

/// The same, complete also where the mapping does not fit, with the figures behind it: those of the
/// arithmetic, of levels, networks and their data spaces, but for what the mapping does not change.
void account(const Machine& machine, NestResult& nest, const FlatMapping& flat, Cost& cost,
             Stats& stats);

}  // namespace tessera::timeloop
