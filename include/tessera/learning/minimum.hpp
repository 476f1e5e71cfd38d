// The algorithmic minimum: every tensor crosses every memory once, every compute is busy. No
// mapping reaches it; it makes problems of different size comparable.
// Source: Hegde et al., "Mind Mappings", ASPLOS 2021, section 5.1, and its cost model.
#pragma once

#include <map>
#include <string>

#include "tessera/model/cost_model.hpp"

namespace tessera::learning {

struct Minimum {
    double energy_j = 0, latency_s = 0;
    std::map<std::string, double> by_tensor_j;  ///< "EINSUM MEMORY TENSOR"

    double edp_js() const {
        return energy_j * latency_s;
    }
};

/// Words of a tensor: of each rank the addend that reaches furthest, so without halos. Memories:
/// all on the way to the first compute that may run the Einsum, read for inputs and written for
/// outputs. Shared intermediates count in each Einsum, so that it is no minimum of fused mappings.
Minimum algorithmic_minimum(const model::Problem& problem);

}  // namespace tessera::learning
