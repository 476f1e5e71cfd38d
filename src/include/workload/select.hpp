#pragma once

#include <string>
#include <vector>

#include "tessera/workload/workload.hpp"

namespace tessera::workload {

/// The workload with these Einsums only, in its own order. Sizes, widths and renames stay what they
/// are in the whole; a tensor whose producer or consumers are left out is an input or a result.
/// \throws UserError for a name that is no Einsum, with the nearest one, or if none is named
Workload selected(const Workload& workload, const std::vector<std::string>& einsums);

}  // namespace tessera::workload
