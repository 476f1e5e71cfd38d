#pragma once

#include "tessera/spec/expression.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::workload {

/// Sets the symbols that einsum_symbols() describes, and the universe, in `symbols`.
void define_symbols(spec::Symbols& symbols, const Workload& workload, const EinsumView& view);

/// Names of the sets every Einsum has; no tensor or rename may take them.
const std::vector<std::string>& reserved_set_names();

}  // namespace tessera::workload
