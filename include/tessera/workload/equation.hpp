// The right-hand side of an Einsum as its text writes it.
#pragma once

#include <string>
#include <vector>

namespace tessera::workload {

/// Either text (operators, functions, brackets, numbers) or an input.
struct EquationPart {
    std::string text;
    int access = -1;  ///< index into Einsum::accesses; -1: text
};

struct Equation {
    std::vector<EquationPart> parts;  ///< empty: the Einsum has no text
    /// Einsum::operations were derived from the parts. They count where a compute of the
    /// architecture lists operations.
    bool gives_operations = false;
};

}  // namespace tessera::workload
