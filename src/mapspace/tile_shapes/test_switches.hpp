// What only tests switch on. It loses optima, and so shows that the tests notice.
#pragma once

#include <atomic>

namespace tessera::mapspace {

/// The rule "hoist" of docs/templates.md in fused gaps, too.
inline std::atomic<bool> hoist_fused_loops_in_tests{false};

}  // namespace tessera::mapspace
