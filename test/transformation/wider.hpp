// A problem whose mapspace holds that of the original, or whose mappings cost no more: its optimum
// is never worse.
#pragma once

#include <string>
#include <vector>

#include "transformation/random_problem.hpp"

namespace tessera::transformation {

struct Wider {
    Problem problem;
    std::vector<std::string> changes;  ///< "more memory", "more fused loops", ...; may be empty
    bool same_tree = true;             ///< mappings of the original are mappings of it
};

/// Draws a few of the changes that apply.
Wider draw_wider(const Problem& problem, Random& r);

}  // namespace tessera::transformation
