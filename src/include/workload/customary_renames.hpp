#pragma once

#include <string>
#include <vector>

#include "tessera/workload/workload.hpp"

namespace tessera::workload {

/// The names by which architectures ask for the tensors of an Einsum.
const std::vector<std::string>& customary_names();  // input, output, weight

/// A role that no file says.
struct GuessedRole {
    std::string einsum, role;
    std::vector<std::string> tensors;  ///< at least one
};

/// "Conv: weight is W".
std::string to_text(const GuessedRole& role);

/// Gives Einsums that have no rename of these names the customary ones: `output` is what it makes,
/// `input` what it reads of another Einsum's (of several, or of none: the first that it reads),
/// `weight` whatever else it reads. A name that a tensor or rank variable of the workload has is
/// left alone. \returns what was given to tensors, Einsum by Einsum.
std::vector<GuessedRole> add_customary_renames(Workload& workload);

}  // namespace tessera::workload
