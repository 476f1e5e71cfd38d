// Plugins from files. Thread rule: main thread, before other threads are started.
#pragma once

#include <string>
#include <vector>

namespace tessera::plugin {

/// A file (or folder) that was passed over, and why.
struct Refusal {
    std::string file, reason;

    std::string message() const {
        return "cannot load " + file + ": " + reason;
    }
};

/// Loads a plugin that the user named. \throws PluginError saying why not and what to do.
void load_file(const std::string& path);

/// Loads every tessera-*.so in the folders of TESSERA_PLUGIN_PATH (separated by colons) and in
/// PREFIX/lib/tessera/plugins of an installed program. Done once; later calls return the same.
/// TESSERA_PLUGIN_VERBOSE=1 tells every decision on stderr.
const std::vector<Refusal>& discover();

}  // namespace tessera::plugin
