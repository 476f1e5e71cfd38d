// What a comparison on many instances reads: its instances, and the trials of its searches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/parsed_json.hpp"
#include "field_results.hpp"

namespace tessera::cli {

/// A YAML list of {name, arch, workload, define: {NAME: VALUE}}, whose files are looked at.
/// \throws UserError with the place
std::vector<FieldInstance> read_instances(const std::string& file);

/// A trial of the document of tessera compare; nothing: it is none.
std::optional<Trial> read_trial(const base::ParsedJson& json);

}  // namespace tessera::cli
