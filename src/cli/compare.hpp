// What comparisons of native specs and of Timeloop's inputs share.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/race.hpp"
#include "cli/race_report.hpp"

namespace tessera::cli {

/// Adds --mapper (default `mappers`, which are `what`), -m, --seeds, -o, --force and --json.
void add_compare_options(options::options_description& description, const std::string& mappers,
                         const std::string& what);
/// The names of --mapper, each once.
std::vector<std::string> racer_names(const Arguments& arguments);
/// Seeds, limits (10 s if none is given) and --plain. \pre race.first_seed is set
void read_race_options(const Arguments& arguments, Race& race);
/// \throws UserError if two racers would have one name
void check_names(const Race& race);

telemetry::RunIdentity race_identity(const std::vector<std::string>& args,
                                     const RaceSubject& subject);
/// run.json without the inputs.
io::Json race_run_json(const std::vector<std::string>& args);

/// Runs the race, then prints and writes what it came to. \returns the exit code
int deliver_race(Race& race, const RaceSubject& subject, const Arguments& arguments,
                 io::Json run_json, std::ostream& out, std::ostream& err);

}  // namespace tessera::cli
