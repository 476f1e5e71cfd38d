#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tessera {

/// Folders that hold `arch-specs/` and `problem-shapes/`, in search order: the colon-separated
/// entries of the environment variable TESSERA_DATA_PATH, `../share/tessera` next to the folder of
/// the program or of libtessera.so (an installed copy), else the checkout of set_checkout().
std::vector<std::filesystem::path> data_folders();

/// The checkout that a program was built in. Thread rule: before main().
void set_checkout(const std::filesystem::path& folder);

/// The file that `name` stands for. `kind` is "arch-specs" or "problem-shapes". A name that exists
/// as a file is a path and returned as it is; any other is looked up as `<data
/// folder>/<kind>/<name>` with or without the ending `.yaml`. Throws UserError naming the nearest
/// known name if there is none.
std::filesystem::path find_data(const std::string& kind, const std::string& name);

/// Names (without `.yaml`, subfolders with `/`) of all files of a kind, sorted, each once.
std::vector<std::string> list_data(const std::string& kind);

}  // namespace tessera
