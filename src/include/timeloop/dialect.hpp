// The two versions of Timeloop whose numbers and files can be reproduced.
#pragma once

#include <cstdint>

namespace tessera::timeloop {

/// v3_0_3: the last tagged version, without leakage. master: the version that the published
/// reference outputs come from.
enum class Dialect : std::uint8_t { v3_0_3, master };

}  // namespace tessera::timeloop
