// First look at an unknown file: it is loaded in a child process, so that a plugin that crashes or
// hangs takes nothing with it. What came of it is remembered (deny list).
#pragma once

#include <string>

namespace tessera::plugin {

/// Why the file may not be loaded; empty: it may. Remembered by path, size and time of change in
/// TESSERA_PLUGIN_CACHE, or plugins.json in $XDG_CACHE_HOME/tessera (~/.cache/tessera).
/// A child that takes longer than TESSERA_PLUGIN_SCAN_TIME seconds (5) is killed.
std::string examine(const std::string& path);

}  // namespace tessera::plugin
