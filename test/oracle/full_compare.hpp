// One problem solved by FFM and by brute force.
#pragma once

#include <string>

#include "oracle/oracle_instance.hpp"

namespace tessera::oracle {

struct Outcome {
    bool judged = false;  ///< false: too large to enumerate
    bool mapped = false;  ///< a legal mapping exists
    std::string kind;
    std::string error;  ///< "" if both agree on energy, latency (each with the other one
                        ///< where it is equal), EDP and the Pareto set
    double seconds = 0;
};

/// Over all Einsum orders if the instance's options say so. With `engine`, FFM works under these
/// options instead of the instance's.
Outcome judge(const Instance& instance, const mapspace::MapSpaceOptions* engine = nullptr,
              arch::Compat compat = arch::Compat::accelforge);

}  // namespace tessera::oracle
