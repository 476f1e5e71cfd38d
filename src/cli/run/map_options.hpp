// Options that say what is searched and how: shared by map and compare.
#pragma once

#include "cli/arguments.hpp"
#include "tessera/mapper/mapper.hpp"

namespace tessera::cli {

/// Adds --mapspace and its switches.
void add_mapspace_options(options::Description& description);
/// What they ask for. \throws UserError
mapspace::MapSpaceOptions mapspace_options(const Arguments& arguments);

/// Adds --metric, --mapspace, --compat, the mapspace's switches, --threads and --seed.
void add_search_options(options::Description& description);

/// What they, the limits and --metric ask for. \throws UserError
mapper::Options mapper_options(const Arguments& arguments);

/// What is said of a mapspace beside its preset: ", unfused, imperfect temporal"; may be empty.
std::string switches_text(const mapspace::MapSpaceOptions& space);

/// The mapper that has a mapspace of its own, of the same name.
inline constexpr const char* timeloop_name = "timeloop";
/// \throws UserError if the mapper does not search the mapspace that --mapspace names
void check_mapspace(const Arguments& arguments, const std::string& mapper);

}  // namespace tessera::cli
