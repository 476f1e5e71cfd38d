// What a run is, before its search: for run.json, and for those who watch.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/inputs.hpp"
#include "io/report_json.hpp"
#include "telemetry/snapshot.hpp"
#include "tessera/session.hpp"

namespace tessera::cli {

/// The file of the run folder that keeps the text of an input, which are counted from 1.
std::string kept_name(std::size_t number, const std::string& path);
/// Files that are larger are not kept.
inline constexpr std::size_t largest_kept_bytes = 16U << 20U;
/// The texts of the inputs that are kept, by that name.
std::map<std::string, std::string> kept_inputs(const Inputs& inputs);

/// run.json. Does not change when the run is resumed.
io::Json run_json(const std::vector<std::string>& args, const Inputs& inputs,
                  const mapper::Options& settings, const Arguments& arguments,
                  const tessera::Components& components);

/// Of the document of --json and result.json: what was searched, by whom, and which version.
void put_names(io::Json& document, const Inputs& inputs, const Arguments& arguments,
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
