// One problem solved by FFM and by brute force.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
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

/// What judge_drawn() has seen.
struct Judged {
    std::uint64_t drawn = 0, judged = 0, mapped = 0;
    std::map<std::string, int> kinds;  ///< judged ones
};

/// Judges `n` drawn instances, without those that are `slow`. With TESSERA_SOAK=N in the
/// environment N instances from TESSERA_SOAK_FROM on instead. A check of the test fails for each
/// that disagrees.
Judged judge_drawn(std::uint64_t n, const std::set<std::uint64_t>& slow,
                   const std::function<Instance(std::uint64_t seed)>& draw);

}  // namespace tessera::oracle
