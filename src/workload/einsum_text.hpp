#pragma once

#include <string>
#include <vector>

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

/// Splits "Out[a, B: x + y] = In1[a] * In2[x, y]". Whatever on the right is no Name[...] is
/// ignored: only the movement of tensors counts. \throws UserError
std::vector<AccessText> split_einsum_text(const std::string& text, const Place& place,
                                          bool several_states = false);

}  // namespace tessera::workload
