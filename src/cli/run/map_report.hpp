// What `tessera map` says about its result: one document, the same for people, files.
#pragma once

#include <iosfwd>
#include <map>
#include <optional>
#include <string>

#include "cli/answer/proof.hpp"
#include "cli/summary.hpp"
#include "io/report_json.hpp"
#include "tessera/mapper/mapper.hpp"

namespace tessera::cli {

/// Of each solution.
std::vector<io::Description> descriptions(const model::Problem& problem,
                                          const mapper::Result& result);

/// The document of --json.
io::Json document(const mapper::Result& result, const std::vector<io::Description>& described,
                  const mapper::Options& settings, const UsageGoals& usage, double wall_s);

/// result.json: what every run of the same command ends with, byte by byte. Times, memory and the
/// counts that threads share by chance are in status.json.
io::Json stored_document(io::Json document);

/// How a search was asked for, and what is to be printed of it.
struct Asked {
    const mapper::Options& settings;
    const UsageGoals& usage;
    const Measured& measured;
    const SummaryTables& tables;
    bool tree = false;  ///< the LoopTree, too
    double wall_s = 0;
};

/// The document as text, what matters most last. `best`: of the first solution. \pre there is a
/// solution
void print(std::ostream& out, const model::Problem& problem, const mapper::Result& result,
           const io::Description& best, const Asked& asked);

/// Mappings and drawings, by name. \pre there is a solution
std::map<std::string, std::string> run_files(const model::Problem& problem,
                                             const mapper::Result& result,
                                             const io::Description& best);

/// The exit code of a search without any mapping, and why.
int explain_nothing(const mapper::Result& result, bool interrupted, std::ostream& err);

}  // namespace tessera::cli
