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

/// A plugin of Tessera's own that needs a library which not everybody has. It is named as its
/// component is.
struct Optional {
    std::string name;
    std::string file;     ///< "" if it was not built
    std::string missing;  ///< the library without which it was not
};

/// In the folder `optional` beside the program, or PREFIX/lib/tessera/optional of an installed one.
const std::vector<Optional>& optional_plugins();

/// Loads the optional plugin of this name; nothing is done if there is none, or it was not built.
/// \throws PluginError
void load_optional(const std::string& name);

/// "; mapper 'cosa' needs cbc, ..." of an optional plugin that was not built; else "".
std::string why_absent(const std::string& name);

}  // namespace tessera::plugin
