// Timeloop's output files, byte for byte in the layout of either dialect, and one JSON document
// with the same figures under names.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "timeloop/architecture.hpp"
#include "timeloop/mapper.hpp"
#include "timeloop/mapping.hpp"
#include "timeloop/model.hpp"
#include "timeloop/problem.hpp"
#include "timeloop/read.hpp"

namespace tessera::timeloop {

/// A mapping with everything that is printed about it. Refers to its parts.
struct Evaluated {
    const Problem& problem;
    const Architecture& architecture;
    const Mapping& mapping;
    const Stats& stats;
};

/// "Utilization = 0.57 | pJ/Compute =  183.086", without an end of line; dialect master
/// adds the cycles.
std::string summary_line(const Stats& stats, Dialect dialect);

/// As the environment variables TIMELOOP_OUTPUT_STAT_SCIENTIFIC, TIMELOOP_OUTPUT_STAT_DEFAULT_FLOAT
/// and TIMELOOP_HIDE_INCONSEQUENTIAL_STATS say.
void write_stats(std::ostream& out, const Evaluated& evaluated, Dialect dialect);
/// The loop nest; `indent` stands before every line.
void write_map_text(std::ostream& out, const Evaluated& evaluated, Dialect dialect,
                    const std::string& indent = "");
/// `mapping:` in the grammar of inputs, without an end of line.
void write_map_yaml(std::ostream& out, const Problem& problem, const Architecture& architecture,
                    const Mapping& mapping);
/// The setting `mapping` in libconfig.
void write_map_cfg(std::ostream& out, const Problem& problem, const Architecture& architecture,
                   const Mapping& mapping);
/// The libconfig input without `mapper` and `mapspace`, with the mapping instead (none: without).
std::string config_with_mapping(const Input& input, const Mapping* mapping);
void write_tenssella(std::ostream& out, const Problem& problem, const Mapping& mapping);
/// The archive `map+stats.xml`, in the layout of 3.0.3.
void write_xml(std::ostream& out, const Evaluated& evaluated);
/// One row of oaves.csv (dialect master: orojenesis.csv): capacity used innermost, traffic
/// outermost. `file`: of the mapping, or "None".
void write_frontier_row(std::ostream& out, const Evaluated& evaluated, Dialect dialect,
                        const std::string& compact, const std::string& file);

/// Per storage level (innermost first) its loops, innermost first. A level without temporal loops
/// has one of a single iteration.
std::vector<std::vector<Loop>> printed_loops(const Problem& problem, const Mapping& mapping);
/// "for M in [0:8) (Spatial-X)".
std::string loop_text(const Problem& problem, const Loop& loop);

// ---- The JSON document beside Timeloop's output files ----------------------------------------

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
