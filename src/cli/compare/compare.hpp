// What comparisons of native specs and of Timeloop's inputs share.
#pragma once

#include <iosfwd>
#include <set>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/plugins/components.hpp"
#include "comparison.hpp"
#include "comparison_report.hpp"

namespace tessera::cli {

/// Adds --mapper (default `mappers`, which are `what`), -m, --seeds, -o, --force and --json.
void add_compare_options(options::Description& description, const std::string& mappers,
                         const std::string& what);
/// The names of --mapper, each once.
std::vector<std::string> contender_names(const Arguments& arguments);
/// The settings of --knob that one of those compared uses; they are no longer unused.
std::vector<std::string> knobs_for(const Arguments& arguments, const std::string& mapper,
                                   std::set<std::string>& unused_knobs);
/// What `--mapper NAME` with the knobs that it uses would be in tessera map; without a name the
/// model alone. \throws UserError
Components components_of(const Arguments& arguments, const std::string& mapper,
                         std::set<std::string>& unused_knobs);
/// The settings of --knob, to be told apart from those that knobs_for() found a use for.
std::set<std::string> given_knobs(const Arguments& arguments);
/// \throws UserError naming one
void refuse_unused(const std::set<std::string>& knobs);
/// Seeds, limits (10 s if none is given) and --plain. \pre comparison.first_seed is set
void read_comparison_options(const Arguments& arguments, Comparison& comparison);
/// \throws UserError if two contenders would have one name
void check_names(const Comparison& comparison);

telemetry::RunIdentity comparison_identity(const std::vector<std::string>& args,
                                           const ComparisonSubject& subject);
/// run.json without the inputs.
io::Json comparison_run_json(const std::vector<std::string>& args);

/// Runs the comparison, then prints and writes what it came to. \returns the exit code
int deliver_comparison(Comparison& comparison, const ComparisonSubject& subject,
                       const Arguments& arguments, io::Json run_json, std::ostream& out,
                       std::ostream& err);

}  // namespace tessera::cli
