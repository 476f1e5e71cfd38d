// Who could have put the code there: a plugin is loaded only where nobody but the user, root and
// the owner of this program can add, replace or move a file.
#pragma once

#include <string>

namespace tessera::plugin {

/// Why plugins that are merely found in this folder are not loaded, and what to do; empty: they
/// may be. Every folder from the root on is examined, each opened inside the one before, and no
/// symbolic link is followed. What nobody else can change stays as it was examined.
/// Folders above the program itself are not judged: who can write there can replace the program.
std::string distrust_of_folder(const std::string& path);

/// The same of a file that lies in a folder which may be trusted.
std::string distrust_of_found_file(const std::string& path);

/// The same of a file that the user named: links and other owners are what the user wants, but
/// nobody else may be able to write to the file, or to its folder (canonical path).
std::string distrust_of_named_file(const std::string& path);

}  // namespace tessera::plugin
