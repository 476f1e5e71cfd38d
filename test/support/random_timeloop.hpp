// Random problems, architectures and mappings in Timeloop's terms, legal but for capacities.
#pragma once

#include <random>

#include "timeloop/model.hpp"

namespace tessera::testing {

struct TimeloopCase {
    timeloop::Problem problem;
    timeloop::Architecture architecture;
    timeloop::Mapping mapping;
};

struct TimeloopCaseOptions {
    double imperfect = 0;       ///< share of cases with imperfect factors
    bool networks = true;       ///< hop, router, ingress and wire energies
    bool reuse_limits = false;  ///< no_temporal_reuse and its like
    bool finite = false;        ///< sizes that some mappings exceed
    int most_levels = 7;
};

TimeloopCase random_timeloop_case(std::mt19937_64& random, const TimeloopCaseOptions& options);

/// Another mapping of the same problem and architecture.
timeloop::Mapping random_timeloop_mapping(std::mt19937_64& random, const timeloop::Problem& problem,
                                          const timeloop::Architecture& architecture,
                                          const TimeloopCaseOptions& options);

/// All levels leak, the innermost one as the outermost one is switched off; dialect master only.
void let_leak(timeloop::Architecture& architecture);

/// The case as an input of Timeloop v3.0.3.
std::string timeloop_yaml(const TimeloopCase& c);

}  // namespace tessera::testing
