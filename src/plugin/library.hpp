#pragma once

#include <string>

#include "tessera/plugin/abi.h"

namespace tessera::plugin {

/// Loads a file that has passed the gates and asks it for its descriptor. The file stays loaded.
/// `problem`: why that failed; then null. `linked` becomes false if the file was not even linked,
/// as happens where this program does not export what the file needs.
const tessera_plugin* open_library(const std::string& path, std::string& problem,
                                   bool* linked = nullptr);

}  // namespace tessera::plugin
