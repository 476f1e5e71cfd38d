// Reports and mappings as JSON. Names and units are fixed by schema_version 1; numbers that are not
// finite are left out.
#pragma once

#include "tessera/base/json.hpp"
#include "tessera/mapping/mapping.hpp"
#include "tessera/model/report.hpp"

namespace tessera::io {

using Json = base::Json;

inline constexpr int schema_version = 1;

/// Sets `object[key]` if the value is finite.
void put(Json& object, const std::string& key, double value);

/// One entry of "mappings": totals, Einsums, components, tensors, actions. Without the tree.
Json report_json(const model::Report& report);

/// The tree: {"kind": "nested", "nodes": [{"kind": "storage", "tensors": [...], ...}, ...]}.
Json mapping_json(const mapping::Mapping& mapping);

}  // namespace tessera::io
