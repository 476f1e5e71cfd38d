// A mapping of one layer as ZigZag writes it (LAYER_complete.json), as a LoopTree.
#pragma once

#include <string>

#include "tessera/arch/architecture.hpp"
#include "tessera/mapping/mapping.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::mapping {

/// Whether the text is such a document.
bool is_zigzag(const std::string& text);

/// Loops, operands, memories and array dimensions of the document have the names of rank variables,
/// tensors, memories and fan-outs, in capitals or not. `file`: for messages.
/// \throws UserError saying what has no counterpart, or what a LoopTree cannot say
Mapping from_zigzag(const std::string& text, const std::string& file,
                    const workload::Workload& workload, const arch::Architecture& architecture);

}  // namespace tessera::mapping
