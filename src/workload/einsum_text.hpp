#pragma once

#include <string>
#include <vector>

#include "tessera/workload/equation.hpp"
#include "tessera/workload/operations.hpp"
#include "workload/affine.hpp"

namespace tessera::workload {

/// One rank of a projection as written.
struct RankText {
    std::string rank;
    std::string expression;
};

/// One `Name[a, B: x + y]`.
struct AccessText {
    std::string tensor;
    std::vector<RankText> ranks;
    bool output = false;
};

struct EinsumText {
    std::vector<AccessText> accesses;  ///< the output first
    Equation equation;                 ///< the right-hand side; indices into `accesses`
    std::string left_over;             ///< what stands beside the output
};

/// Splits "Out[a, B: x + y] = In1[a] * In2[x, y]". \throws UserError
EinsumText split_einsum_text(const std::string& text, const Place& place,
                             bool several_states = false);

struct DerivedOperations {
    /// Per point. Empty: products alone, or nothing is said: one action `compute`.
    std::vector<OperationCount> operations;
    std::string doubt;   ///< why nothing is derived; empty: it was understood
    std::string remedy;  ///< "did you mean 'max'?", or empty
};

/// What the right-hand side says to be done. `reduces`: the Einsum has rank variables that index
/// none of its outputs.
DerivedOperations derive_operations(const Equation& equation, bool reduces);

}  // namespace tessera::workload
