// A search of a comparison in its own process.
#pragma once

#include <string>
#include <vector>

namespace tessera::cli {

/// Runs `tessera compare` with these words. \returns the trial of its document, as JSON; what it
/// shows while it runs goes to `pipe` line by line. Errors are trials that failed.
std::string run_field_search(const std::vector<std::string>& words, int pipe);

}  // namespace tessera::cli
