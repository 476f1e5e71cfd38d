// Files that are either old or new, never half.
#pragma once

#include <filesystem>
#include <string>

namespace tessera::base {

/// Writes `.name.tmp` beside the file and renames it. `durable`: survives a power cut too.
/// \throws UserError naming the file and the system's reason
void write_atomically(const std::filesystem::path& path, const std::string& content,
                      bool durable = false);

/// The whole file, or nothing if it cannot be read.
std::string read_file(const std::filesystem::path& path);

}  // namespace tessera::base
