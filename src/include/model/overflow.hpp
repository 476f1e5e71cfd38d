// Memories with `on_overflow: bypass`: what does not fit passes them by (docs/model.md, section 3).
#pragma once

#include <string>
#include <vector>

#include "tessera/mapping/mapping.hpp"
#include "tessera/model/cost_model.hpp"

namespace tessera::model {

struct SettledMapping {
    mapping::Mapping mapping;
    std::vector<std::string> left_out;  ///< a line for each holder that passes a memory by
};

/// A given mapping as the hardware runs it. While such a memory overflows, the holder in it that
/// takes the most bits is left out, of equal ones the first of the tree; not the outermost holder
/// of its tensor. A mapping that does not fit even so, or that cannot be evaluated, is returned as
/// far as it could be settled: evaluation tells what is wrong with it.
/// \throws UserError as mapping::split() does
SettledMapping settle_overflow(const Problem& problem, mapping::Mapping mapping);

}  // namespace tessera::model
