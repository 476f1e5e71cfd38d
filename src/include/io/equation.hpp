#pragma once

#include <string>

#include "tessera/workload/workload.hpp"

namespace tessera::io {

/// "QK[b, h, m, p] = Q[b, h, m, e] * K[b, h, p, e]"; a rank that is no single variable of its own
/// name is written `P: p + 2*r`; a copy ends with "(copy)". Names are not escaped.
std::string equation(const workload::Workload& workload, int einsum);

}  // namespace tessera::io
