// tessera compare --instances: mappers on many problems, each search in a process of its own.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/arguments.hpp"

namespace tessera::cli {

/// Adds --instances, --jobs and --resume.
void add_field_options(options::Description& description);

/// \pre --instances is given \returns the exit code \throws UserError
int compare_field(const std::vector<std::string>& args, const Arguments& arguments,
                  std::ostream& out, std::ostream& err);

}  // namespace tessera::cli
