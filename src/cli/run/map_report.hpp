// What `tessera map` says about its result: one document, the same for people, files.
#pragma once

#include <iosfwd>
#include <map>
#include <optional>
#include <string>

#include "cli/summary.hpp"
#include "io/report_json.hpp"
#include "tessera/mapper/mapper.hpp"

namespace tessera::cli {

/// "full" or "accelforge"
const char* preset_name(const mapspace::MapSpaceOptions& space);

/// What is proven of the later metric: the end of "Proven optimal for latency"; none: nothing is
/// said.
std::string later_text(const std::optional<mapper::LaterMetric>& later,
                       const arch::Architecture& architecture);

/// Of each solution.
std::vector<io::Description> descriptions(const model::Problem& problem,
                                          const mapper::Result& result);

/// The document of --json.
io::Json document(const mapper::Result& result, const std::vector<io::Description>& described,
                  const mapper::Options& settings, double wall_s);

/// result.json: what every run of the same command ends with, byte by byte. Times, memory and the
/// counts that threads share by chance are in status.json.
io::Json stored_document(io::Json document);

/// How a search was asked for, and what is to be printed of it.
struct Asked {
    const mapper::Options& settings;
    const std::string& mapper;  ///< who searched
    const SummaryTables& tables;
    double wall_s = 0;
};

/// The document as text. `best`: of the first solution. \pre there is a solution
void print(std::ostream& out, const model::Problem& problem, const mapper::Result& result,
           const io::Description& best, const Asked& asked);

/// Mappings and drawings, by name. \pre there is a solution
std::map<std::string, std::string> run_files(const model::Problem& problem,
                                             const mapper::Result& result,
                                             const io::Description& best);

/// The exit code of a search without any mapping, and why.
int explain_nothing(const mapper::Result& result, bool interrupted, std::ostream& err);

}  // namespace tessera::cli
