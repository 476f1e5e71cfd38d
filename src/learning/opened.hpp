// The problem behind a space that the host opened.
#pragma once

#include "search/space_data.hpp"

namespace tessera::learning {

/// \throws Bug: the host did not open it
const search::OpenSpace::Data& opened(const search::Space& space);

}  // namespace tessera::learning
