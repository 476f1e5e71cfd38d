// The parts of a report: those of one run, and those that set several side by side.
#pragma once

#include <vector>

#include "io/page.hpp"
#include "report_run.hpp"

namespace tessera::cli {

/// Sections of one run; `several`: under a heading of its own. Names of files begin with `prefix`.
void add_run(io::Page& page, const ReportRun& run, bool several, const std::string& prefix);

// Its parts. `level`: of the headings.
void add_energy(io::Page& page, const ReportRun& run, int level, const std::string& prefix);
void add_time(io::Page& page, const ReportRun& run, int level, const std::string& prefix);
/// Nothing if no Einsum computes and moves data at the outermost memory.
void add_roofline(io::Page& page, const ReportRun& run, int level, const std::string& prefix);
void add_memories(io::Page& page, const ReportRun& run, int level, const std::string& prefix);
void add_funnel(io::PageSection& section, const telemetry::FunnelView& funnel,
                const std::string& prefix);

/// Sections that compare; the first run is what the others are measured by.
void add_comparison(io::Page& page, const std::vector<ReportRun>& runs);

// Parts that several are made of.
inline constexpr const char* provenance_title = "Inputs and how to repeat it";
/// The words of a command as a shell takes them.
std::string command_line(const std::vector<std::string>& words);
io::PageTable input_table(const std::string& prefix, const std::vector<InputFile>& files);
/// Energy of a component of an Einsum, leakage included.
double component_energy_j(const model::ComponentReport& component);
/// Best and bound over time, and the gap if there is a bound.
void add_convergence(io::PageSection& section, const std::vector<const ReportRun*>& runs,
                     const std::string& prefix);
/// Energy and latency of all mappings; nothing if no run has two.
void add_front(io::PageSection& section, const std::vector<const ReportRun*>& runs,
               const std::string& prefix);

}  // namespace tessera::cli
