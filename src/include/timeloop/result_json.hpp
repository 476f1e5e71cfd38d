// The JSON document beside Timeloop's output files.
#pragma once

#include <optional>
#include <string>

#include "timeloop/input.hpp"
#include "timeloop/mapper.hpp"
#include "timeloop/stats.hpp"

namespace tessera::timeloop {

/// What is known about one run. `mapping` and `stats` are empty when nothing was found; `search` is
/// empty for a model.
struct RunResult {
    const Input& input;
    const Mapping* mapping = nullptr;
    const Stats* stats = nullptr;
    const MapperResult* search = nullptr;
    std::optional<double> gap;  ///< of the search, see MapperResult::gap()
};

/// Energies in J, areas in m^2, counts and cycles as numbers; two-space indentation, an end of
/// line at the end. docs/timeloop.md lists the keys; `schema_version` grows when one changes.
std::string result_json(const RunResult& run);

/// The level whose cycles are those of the whole, or the arithmetic level.
std::string bottleneck(const Architecture& architecture, const Stats& stats);

}  // namespace tessera::timeloop
