// The six designs of bench/timeloop, read as a user's input would be.
#pragma once

#include <string>
#include <vector>

#include "timeloop/constraints.hpp"
#include "timeloop/model.hpp"

namespace tessera::testing {

struct TimeloopDesign {
    timeloop::Problem problem;
    timeloop::Architecture architecture;
    timeloop::Constraints constraints;
};

/// `eyeriss_like-conv64` and so on.
TimeloopDesign timeloop_design(const std::string& name);

}  // namespace tessera::testing
