// The five methods of TransFusion's evaluation as plans of groups: what is fused, on which arrays,
// what overlaps. Tiles are free and chosen for the metric.
#pragma once

#include <string>
#include <vector>

#include "groups.hpp"
#include "tessera/transfusion/model.hpp"

namespace tessera::transfusion {

struct Found {
    std::vector<Group> groups;
    std::vector<int> shared;
    std::vector<std::string> notes;  ///< which tiles were chosen
};

/// One group after the other.
double value_of(std::span<const Group> groups, mapper::Metric metric);

/// Tile sizes by rank variable.
using Tiles = std::map<std::string, std::int64_t>;

/// What the method makes of the layer. `given`: tiles of b, p, m, d, s that a fused layer has to
/// take; of others all that are worth it are tried. \throws UserError if it needs the other cascade
/// of attention; NoLegalMapping if no tiles fit; LimitReached if it had to end before it knew.
Found plan_method(Method method, Groups& groups, const Tiles& given = {});

}  // namespace tessera::transfusion
