// The larger actions of tessera plugins.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

namespace tessera::cli {

/// Writes the folder ./NAME. \throws UserError
int new_plugin(const std::string& kind, const std::string& name, std::ostream& out);

struct CheckOptions {
    bool json = false;
    std::uint64_t seed = 0;
    bool in_process = false;  ///< for a debugger: no process per test
    std::string only;         ///< name of the one test to run
};

/// Contract tests of every component of a plugin file, or of one component by name.
int check_plugin(const std::string& name_or_file, const CheckOptions& options, std::ostream& out);

}  // namespace tessera::cli
