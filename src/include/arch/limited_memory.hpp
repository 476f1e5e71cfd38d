// An architecture of which a memory may be filled in part only.
#pragma once

#include <string>

#include "tessera/arch/architecture.hpp"

namespace tessera::arch {

/// The same architecture, but its paths give the memory this share of its size. All else is as it
/// was, energies that depend on the size as well. `share`: in (0, 1].
Architecture with_limited_memory(const Architecture& given, const std::string& memory,
                                 double share);

}  // namespace tessera::arch
