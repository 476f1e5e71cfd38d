// The accounting of accounting.hpp for the cost alone: one pass over the levels of each data space,
// innermost first, with everything that cancels or stays zero left out. The same numbers, bit by
// bit; a test compares the two.
#pragma once

#include "timeloop/model/machine.hpp"
#include "timeloop/model/nest_result.hpp"

namespace tessera::timeloop {

/// Sets all of `cost` but `forgets`; only `fit` where the mapping does not fit.
/// `nest.records` is changed. \pre every data space is kept somewhere.
void cost_of(const Machine& machine, NestResult& nest, const DataSpaceMask* keep, Cost& cost);

}  // namespace tessera::timeloop
