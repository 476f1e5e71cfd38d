#pragma once

#include <string>

#include "tessera/workload/workload.hpp"

namespace tessera::io {

/// "QK[b, h, m, p] = Q[b, h, m, e] * K[b, h, p, e]", with the operators and functions that the file
/// has. An Einsum without text: with those of its operation, with `*` if it has none. A rank that
/// is no single variable of its own name is written `P: p + 2*r`; a copy ends with "(copy)". The
/// text of an Einsum with one output is read back as the same Einsum. Names are not escaped.
std::string equation(const workload::Workload& workload, int einsum);

/// The right-hand side without names: "[] * [] + []". Equal ones do alike.
std::string equation_form(const workload::Workload& workload, int einsum);

}  // namespace tessera::io
