// What the sub-commands print.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "io/description.hpp"
#include "io/report_json.hpp"
#include "io/run_directory.hpp"
#include "tessera/arch/architecture.hpp"
#include "tessera/mapper/mapper.hpp"

namespace tessera::cli {

/// CPU time and memory of this process.
struct Usage {
    double cpu_s = 0;
    double peak_rss_bytes = 0;
};
Usage usage();

/// The unit, or nothing for an architecture with `units: arbitrary`.
std::string unit(const arch::Architecture& architecture, const std::string& name);
/// "J s"; "words" for traffic whatever the units of the architecture.
std::string metric_unit(const arch::Architecture& architecture, mapper::Metric metric);

/// (best - bound) / best; null without a bound or with several metrics (0 if the set is complete).
io::Json gap_json(const mapper::Result& result, const std::vector<mapper::Metric>& metrics);

/// What `explain --json` prints.
std::string verdict_document(bool legal, io::Json violations, io::Json latency = nullptr);

std::string metric_name(mapper::Metric metric);
/// "energy,latency"
std::string metric_names(const std::vector<mapper::Metric>& metrics);

/// Energy, latency and EDP, one a line.
void print_totals(std::ostream& out, const arch::Architecture& architecture,
                  const model::Report& report);
/// The charts of Report::pipelines; nothing without them.
void print_pipelines(std::ostream& out, const model::Report& report);
void print_fused_groups(std::ostream& out, const std::vector<std::vector<std::string>>& groups);
/// The LoopTree with trip counts and sizes of tiles.
void print_tree(std::ostream& out, const mapping::Mapping& mapping,
                const std::vector<io::NodeNote>& notes);
/// Columns aligned, two spaces apart; the first `text_columns` to the left, the others to the
/// right.
void print_table(std::ostream& out, std::vector<std::vector<std::string>> rows,
                 std::size_t text_columns);
/// Every line of `text` with two spaces in front.
void print_indented(std::ostream& out, const std::string& text);

/// Where the files of a run are.
void print_place(std::ostream& out, const io::RunDirectory& folder);
/// What could not be written of a result that is printed; the mappings among it in full.
void explain_unwritten(std::ostream& err, const io::RunDirectory& folder,
                       const std::vector<io::RunDirectory::Unwritten>& unwritten,
                       const std::map<std::string, std::string>& files, const std::string& remedy);

}  // namespace tessera::cli
