#include "model/looptree.hpp"

#include "tessera/plugin/cost_model.hpp"

namespace tessera::model {

TESSERA_PLUGIN(CostModel, LoopTree, "looptree", "fused mappings as LoopTrees, with formulas",
               "Fast and Fusiest (FFM); LoopTree");

}  // namespace tessera::model
