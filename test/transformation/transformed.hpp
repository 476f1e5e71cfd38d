// The same problem, said otherwise or in other units: its optimum is the same but for known
// factors.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tessera/mapping/mapping.hpp"
#include "transformation/random_problem.hpp"

namespace tessera::transformation {

/// Old name to new name.
using NewNames = std::map<std::string, std::string>;

struct Transformed {
    Problem problem;
    std::vector<std::string> changes;  ///< "rank order", "energies", ...
    double energy = 1, time = 1;       ///< factors of all energies and times
    /// Scaled by powers of two, and nothing else: every number must be the same but for exponents.
    bool exact = true;
    /// The tree of a mapping stays as it is.
    bool same_tree = true;
    NewNames variables, tensors, einsums, components, dimensions;

    /// The mapping of the original, in the names of the transformed. \pre same_tree
    mapping::Mapping rewritten(mapping::Mapping mapping) const;
};

/// Draws some of the changes.
Transformed draw_transformed(const Problem& problem, Random& r);

/// Shuffles in place.
template <class Items>
void shuffle(Items& items, Random& r) {
    for (std::size_t i = items.size(); i > 1; --i) {
        std::swap(items[i - 1], items[static_cast<std::size_t>(r.below(static_cast<int>(i)))]);
    }
}

}  // namespace tessera::transformation
