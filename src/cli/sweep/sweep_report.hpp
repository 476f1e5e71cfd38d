// What a sweep says: a table for people, one document, files.
#pragma once

#include <iosfwd>
#include <map>
#include <string>

#include "sweep_plan.hpp"

namespace tessera::cli {

struct SweepResult {
    const SweepPlan& plan;
    /// One for each point; those with the same problem share theirs: see share().
    std::vector<SweepOutcome> outcomes;
};

/// Every point gets the outcome of the first with the same problem.
void share(const SweepPlan& plan, std::vector<SweepOutcome>& outcomes);

/// How many points have this status; empty: not run.
std::size_t count(const SweepResult& result, const std::string& status);

/// result.json: the same for every run of the same sweep.
io::Json sweep_json(const SweepResult& result);
void print_sweep(std::ostream& out, const SweepResult& result);
/// result.json, result.csv, times.csv, drawings, and the mappings of the Pareto points (of all with
/// `all_mappings`), by name.
std::map<std::string, std::string> sweep_files(const SweepResult& result, bool all_mappings);

/// Of the points that were to be searched: 0: each has its mapping, or none is legal; 1: no mapping
/// is legal at any; 2: all failed; 4: some failed, found nothing or were not run; 5: a limit came
/// before any mapping at all of them.
int sweep_exit_code(const SweepResult& result, const std::vector<std::size_t>& searched);

}  // namespace tessera::cli
