// One `tessera map`: inputs, run directory, the search while it runs, its result.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/plugins/components.hpp"
#include "stored_run.hpp"
#include "tessera/mapper/mapper.hpp"

namespace tessera::cli {

/// Runs the mapper and delivers its result to `out`, `err` and the folder of -o. `args`: the words
/// of `arguments`; `settings`: what they ask for; `original`: the run that this one repeats, or
/// null. \returns the exit code. \throws tessera::Error
int run_map(const std::vector<std::string>& args, const Arguments& arguments,
            const mapper::Options& settings, std::ostream& out, std::ostream& err,
            const StoredRun* original = nullptr);

}  // namespace tessera::cli
