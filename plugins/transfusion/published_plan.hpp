// The mappings of TransFusion's published evaluation, for cost model `tf-paper`.
#pragma once

#include "methods.hpp"
#include "published.hpp"

namespace tessera::transfusion {

/// What the method makes of the layer with these outer tiles; groups carry no figures. `unfused`
/// reads none of the tiles, `flat` and `fusemax` read p, `fusemax_layerfuse` d and p. \throws
/// UserError if the method needs the other cascade of attention.
Found plan_published(Method method, const Layer& layer, const OuterTiles& tiles,
                     const PublishedProblem& published);

}  // namespace tessera::transfusion
