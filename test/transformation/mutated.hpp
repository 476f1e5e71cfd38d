// Random changes of a LoopTree: holders and loops come, go and move, tile shapes change, Einsums
// are fused and parted. Most results break a rule; the others are mappings that no search drew.
#pragma once

#include "tessera/mapping/mapping.hpp"
#include "transformation/random_problem.hpp"

namespace tessera::transformation {

/// One to four changes; each variable then ends with tile shape 1 in every branch.
mapping::Mapping mutated(mapping::Mapping mapping, const Problem& problem, Random& r);

}  // namespace tessera::transformation
