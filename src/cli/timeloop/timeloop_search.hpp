// Searches on Timeloop's inputs in tessera's commands: options, settings, units.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/plugins/components.hpp"
#include "telemetry/snapshot.hpp"
#include "timeloop/mapper.hpp"
#include "timeloop/read.hpp"

namespace tessera::cli {

/// Adds --metric, --threads, --seed and the limits and views of a search.
void add_timeloop_search(options::Description& description);

bool is_timeloop_algorithm(const std::string& name);
/// The algorithm of a name, in either spelling. \throws UserError naming `option`
timeloop::Algorithm timeloop_algorithm(const std::string& option, const std::string& name);

/// The strategy that --mapper or --strategy names, with its knobs and those of mapper `search`.
/// \throws UserError if it is none
timeloop::StrategySettings timeloop_strategy(const Components& components);

/// What the input says, replaced by what the options say.
timeloop::MapperSettings timeloop_settings(const Arguments& arguments, timeloop::Input& input);

/// The first objective in the words and units of tessera's commands.
struct TimeloopMetric {
    std::string name;  ///< "edp", "energy", "latency", "accesses"
    std::string key;   ///< in JSON: "edp_j_cycles"
    std::string unit;  ///< "J cycles"
    double scale = 1;  ///< from the objective's own unit to it
};
TimeloopMetric timeloop_metric(const timeloop::MapperSettings& settings);

/// What a search runs with beside its input.
struct TimeloopSearch {
    base::Budget budget;
    telemetry::Recorder* recorder = nullptr;  ///< told in J and cycles; null: nobody listens
    const std::atomic<bool>* stop = nullptr;
    std::vector<timeloop::Mapping> start;  ///< known mappings
};

/// A whole search. \throws UserError
timeloop::MapperResult timeloop_search(const timeloop::Input& input,
                                       const timeloop::Constraints& constraints,
                                       const timeloop::MapperSettings& settings,
                                       const TimeloopSearch& search);

/// The name of the problem, of the architecture.
std::string timeloop_workload(const timeloop::Input& input);
std::string timeloop_hardware(const timeloop::Input& input);

/// -m: the mapping alone. \throws UserError if there is none
timeloop::Mapping timeloop_mapping(timeloop::Input& input);
/// The mapping of a file, for the problem and architecture of `files`. What is doubtful about it is
/// added to `warnings`. \throws UserError
timeloop::Mapping timeloop_mapping(const std::string& path, std::vector<std::string> files,
                                   const spec::Defines& defines, timeloop::Warnings& warnings);
/// Why the hardware cannot run the mapping: structure, its constraints, capacity; empty: it can.
std::string timeloop_fault(const timeloop::Input& input, const timeloop::Mapping& mapping);
/// Of --start. What is doubtful about it is added to the warnings of `input`. \throws UserError for
/// a mapping that is no member of the mapspace
timeloop::Mapping timeloop_start(const std::string& path, const std::vector<std::string>& files,
                                 const spec::Defines& defines, timeloop::Input& input,
                                 const timeloop::Constraints& constraints,
                                 const timeloop::MapperSettings& settings);

/// tessera map and tessera compare for Timeloop's inputs. `args`: the command's; `files`: what -a
/// and -w name. \returns the exit code \throws tessera::Error
int timeloop_map(const std::vector<std::string>& args, const Arguments& arguments,
                 const std::vector<std::string>& files, std::ostream& out, std::ostream& err);
int timeloop_compare(const std::vector<std::string>& args, const std::vector<std::string>& files,
                     std::ostream& out, std::ostream& err);

/// Totals and a line for each level.
void print_timeloop_stats(std::ostream& out, const timeloop::Input& input,
                          const timeloop::Stats& stats);

}  // namespace tessera::cli
