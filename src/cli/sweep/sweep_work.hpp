// A sweep on other ranks: what they are told, and what they make of it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ranks/manager.hpp"
#include "ranks/worker.hpp"
#include "sweep_search.hpp"

namespace tessera::cli {

/// The files of a search, by names as they are spelled, with their texts.
using FileTexts = std::map<std::string, std::string>;

/// What every worker is told. `args`: of the command. The texts hold all that the search reads: a
/// worker sees no file of the manager's.
/// \pre `search` outlives it
ranks::Job sweep_job(const std::vector<std::string>& args, const SweepSearch& search,
                     const FileTexts& texts);
/// A point for a worker.
std::string choice_text(const api::Choice& choice);

/// The same, on the worker's side. \throws tessera::Error
ranks::Work sweep_work(const std::string& job);

/// What the options say of every search of a sweep. \throws UserError
mapper::Options sweep_settings(const Arguments& arguments, const Components& components);
/// Searches at a time on a worker. \throws UserError
int jobs_of_rank(const Arguments& arguments);
/// A search that does not stop is ended: after so many seconds; 0: never.
double kill_after_s(const mapper::Options& settings);

}  // namespace tessera::cli
