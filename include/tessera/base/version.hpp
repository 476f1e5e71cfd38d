#pragma once

#define TESSERA_VERSION "0.2.0"

namespace tessera {

inline constexpr const char* version = TESSERA_VERSION;

}  // namespace tessera
