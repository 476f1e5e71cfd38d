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

/// What the method makes of the layer. \throws UserError if it needs the other cascade of
/// attention; NoLegalMapping if no tiles fit.
Found plan_method(Method method, Groups& groups);

}  // namespace tessera::transfusion
