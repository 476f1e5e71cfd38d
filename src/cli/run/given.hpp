// The options of a command line as they were given, to be given again.
#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"

namespace tessera::cli::options {

struct Given {
    std::string name;                         ///< without dashes
    std::vector<std::string> tokens, values;  ///< as written; what stands behind the name
};

/// In the order in which they stand. \throws std::invalid_argument saying what is wrong
std::vector<Given> given(const std::vector<std::string>& args, const Description& known);

}  // namespace tessera::cli::options
