// What a run is, before its search: for run.json, and for those who watch.
#pragma once

#include <string>
#include <vector>

#include "cli/inputs.hpp"
#include "io/report_json.hpp"
#include "telemetry/snapshot.hpp"
#include "tessera/session.hpp"

namespace tessera::cli {

/// run.json. Does not change when the run is resumed.
io::Json run_json(const std::vector<std::string>& args, const Inputs& inputs,
                  const mapper::Options& settings, const Arguments& arguments,
                  const tessera::Components& components);

/// Parts of run.json: what steers the search, and the components in use with their files.
io::Json options_json(const mapper::Options& settings, const Arguments& arguments,
                      const tessera::Components& components, arch::Compat compat);
io::Json plugins_json(const tessera::Components& components);

telemetry::RunIdentity identity(const std::vector<std::string>& args, const Inputs& inputs,
                                const mapper::Options& settings, const Arguments& arguments,
                                const tessera::Components& components);

std::vector<telemetry::PluginView> plugins_in_use(const tessera::Components& components);

}  // namespace tessera::cli
