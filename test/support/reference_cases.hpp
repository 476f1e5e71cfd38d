// Cases of the reference figures under test/reference: one JSON object a line, gzip compressed.
#pragma once

#include <functional>
#include <string>

#include <yaml-cpp/yaml.h>

namespace tessera::testing {

/// Folder of the AccelForge reference figures.
std::string accelforge_folder();

/// Calls `use` for every line of a compressed file; JSON is a subset of YAML.
void for_each_case(const std::string& file, const std::function<void(const YAML::Node&)>& use);

}  // namespace tessera::testing
