// What this process uses.
#pragma once

#include <cstdint>

namespace tessera::telemetry {

/// User and system, all threads.
double cpu_seconds();
/// Now; 0 if the system does not say.
std::uint64_t resident_bytes();
std::uint64_t peak_resident_bytes();

}  // namespace tessera::telemetry
