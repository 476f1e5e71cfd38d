// What the environment asks of a test, e.g. TESSERA_SOAK: more of it than usual.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace tessera::test {

/// A whole number; `standard` if it is not set.
inline std::uint64_t setting(const char* name, std::uint64_t standard) {
    const char* const text = std::getenv(name);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : standard;
}

}  // namespace tessera::test
