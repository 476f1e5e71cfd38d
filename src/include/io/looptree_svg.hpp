// The LoopTree as a drawing for people: a row a node, loops enclose what stands inside them, trips,
// tile sizes, energies and equations beside. Branches that are equal but for names are drawn once.
#pragma once

#include <string>
#include <vector>

#include "io/mapping_notes.hpp"
#include "io/summary.hpp"

namespace tessera::io {

/// A self-contained SVG, 960 pixels wide. \pre `notes` and `summary` are of this mapping
std::string looptree_svg(const model::Problem& problem, const mapping::Mapping& mapping,
                         const std::vector<NodeNote>& notes, const Summary& summary);

}  // namespace tessera::io
