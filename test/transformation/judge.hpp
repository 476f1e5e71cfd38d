// One instance of the suite: a problem, its transformed and a wider one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::transformation {

struct Outcome {
    std::string family;
    std::vector<std::string> features, changes;  ///< of the problem; applied to it
    bool proven = false;                         ///< all searches ended with a proof
    bool mapped = false;                         ///< the problem has a legal mapping
    double seconds = 0;
    std::string error;  ///< "" if everything moved as it must
};

Outcome judge(std::uint64_t seed);

}  // namespace tessera::transformation
