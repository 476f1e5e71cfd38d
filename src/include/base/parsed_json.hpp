// JSON documents that are read: values of a library (see tessera/base/json.hpp for written ones).
#pragma once

#include <nlohmann/json.hpp>

#include "tessera/base/json.hpp"

namespace tessera::base {

using ParsedJson = nlohmann::ordered_json;

/// What was read, to be written again.
Json written(const ParsedJson& read);

}  // namespace tessera::base
