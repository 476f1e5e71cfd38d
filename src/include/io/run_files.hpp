// Which files of a folder a run of tessera wrote.
#pragma once

#include <string>
#include <vector>

#include "base/directory.hpp"
#include "io/json_text.hpp"

namespace tessera::io {

/// run.json of the folder; null if there is none, or if it does not describe a run.
ParsedJson run_description(const base::Directory& folder);
/// Whether it describes a comparison on one problem, which cannot be resumed.
bool is_comparison(const ParsedJson& description);

/// Left by a write that was killed.
bool is_scratch(const std::string& name);
/// The best mappings that a search has found: mapping.yaml, mapping-2.yaml, ...
bool is_mapping(const std::string& name);

/// The names in the folder that a run with this description uses, regular files or not.
std::vector<std::string> run_files(const base::Directory& folder, const ParsedJson& description);

}  // namespace tessera::io
