// What can be learned from a shared object without loading it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tessera::plugin {

struct ElfFile {
    /// A defined dynamic symbol.
    struct Export {
        std::string name;
        bool unique = false;  ///< STB_GNU_UNIQUE: one for the whole process
    };

    std::string problem;                ///< why it cannot be a plugin at all; empty: it may be one
    std::optional<std::string> record;  ///< section .tessera.plugin
    std::vector<Export> exports;
};

/// Reads the file; every offset in it is distrusted.
ElfFile read_elf(const std::string& path);

}  // namespace tessera::plugin
