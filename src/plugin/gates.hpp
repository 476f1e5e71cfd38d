// The four gates before a plugin: file, toolchain, shared headers, interface version. Nothing of
// the plugin runs while they are checked.
#pragma once

#include <string>

namespace tessera::plugin {

/// Why the file may not be loaded, and what to do; empty: it may.
std::string gate(const std::string& path);

}  // namespace tessera::plugin
