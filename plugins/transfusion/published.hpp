// TransFusion's published evaluation of a mapping: cost model `tf-paper`.
//
// The published evaluation knows a layer by its sizes, an accelerator by six numbers and a mapping
// by its method and five tile counts. All of them are read out of the specs and the tree; the
// closed forms of tessera/transfusion/model.hpp do the rest, simplifications included.
#pragma once

#include "layer.hpp"
#include "tessera/transfusion/model.hpp"

namespace tessera::transfusion {

/// Name of the cost model.
inline constexpr const char* tf_paper = "tf-paper";

/// The layer and its accelerator as the published evaluation knows them, with its settings but for
/// the mode. \throws UserError naming what it cannot express.
struct PublishedProblem {
    explicit PublishedProblem(const Layer& layer);

    Problem problem;
    Settings settings;  ///< maxima on the 2D array where the architecture allows them
};

}  // namespace tessera::transfusion
