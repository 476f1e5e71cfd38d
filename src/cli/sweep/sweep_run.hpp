// A sweep on its way: its folder, its children, what is delivered at the end.
#pragma once

#include <iosfwd>
#include <map>
#include <string>

#include "cli/arguments.hpp"
#include "sweep_report.hpp"
#include "sweep_search.hpp"

namespace tessera::cli {

/// Which of the problems are searched: the `index`-th of every `count`, from 1.
struct SweepShard {
    std::size_t index = 1, count = 1;
};

/// How a sweep was asked for.
struct SweepCall {
    const std::vector<std::string>& args;
    const Arguments& arguments;
    SweepShard shard;
    const std::map<std::string, std::string>& texts;  ///< of all files that were read
};

/// Searches the points that the folder of -o does not know yet, and delivers all.
/// \returns the exit code \throws UserError
int run_sweep(const SweepPlan& plan, const SweepSearch& search, const SweepCall& call,
              std::ostream& out, std::ostream& err);

/// Joins the folders of shards of one sweep. \throws UserError
int merge_sweeps(const std::vector<std::string>& folders, const std::vector<std::string>& args,
                 const Arguments& arguments, std::ostream& out, std::ostream& err);

}  // namespace tessera::cli
