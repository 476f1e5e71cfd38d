// What a template looks like in vectors (tessera/search/vector.hpp): names and values.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "search/space_data.hpp"

namespace tessera::search {

/// A loop of a template.
struct VectorLoop {
    int variable = 0;  ///< local rank variable
    int symbol = -1;   ///< -1: hands on tile shape 1
    std::string name;  ///< of its trip count
    std::size_t slot = 0;
};

/// Name and value of everything about a template that tile shapes do not change, and its loops.
struct Look {
    std::vector<std::pair<std::string, float>> fixed;
    std::vector<VectorLoop> loops;
};

Look look_of(const TemplateData& t);

}  // namespace tessera::search
