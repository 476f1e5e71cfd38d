// The published results of TransFusion, see test/reference/transfusion/README.md.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tessera/transfusion/model.hpp"

namespace tessera::test {

struct PublishedCase {
    transfusion::Problem problem;
    transfusion::OuterTiles tiles;            ///< that TileSeek chose
    transfusion::OuterTiles layerfuse_tiles;  ///< of the projections in fusemax-layerfuse
    /// Columns of published_results.csv, by method.
    std::map<transfusion::Method, std::map<std::string, double>> results;

    std::string text() const;
};

/// The 60 configurations: two accelerators, five models, six lengths.
const std::vector<PublishedCase>& published_cases();

}  // namespace tessera::test
