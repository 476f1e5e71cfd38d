// Run folders, read for a report: the mapping is costed again, so that all numbers are of one
// model.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/inputs.hpp"
#include "io/description.hpp"
#include "telemetry/snapshot.hpp"
#include "tessera/mapper/mapper.hpp"

namespace tessera::cli {

struct ReportRun {
    std::string name;   ///< the folder as the user named it
    std::string label;  ///< short and unique among those of the report
    std::string model_name;
    std::vector<std::string> command;
    std::string directory, version, started, host;
    std::uint64_t seed = 0;
    std::vector<std::pair<std::string, std::string>> defines;
    std::string status;                        ///< of result.json; empty: the run has no result yet
    std::string metric;                        ///< "edp", "energy,latency"
    std::optional<double> gap;                 ///< of result.json
    std::optional<mapper::LaterMetric> later;  ///< the same
    std::string stopped_by;
    std::unique_ptr<Inputs> inputs;
    std::vector<mapper::Solution> solutions;      ///< the best first; at least one
    io::Description description;                  ///< of the first
    std::optional<telemetry::Snapshot> snapshot;  ///< the last state of the search
    std::vector<std::string> remarks;             ///< what a reader should know

    model::Problem problem() const {
        return inputs->problem();
    }
    const model::Report& report() const {
        return solutions.front().report;
    }
    /// "J", or nothing if the architecture's units are arbitrary.
    std::string unit(const char* name) const {
        return inputs->architecture->arbitrary_units() ? "" : name;
    }
};

/// \throws UserError if the folder holds no run of `tessera map`, no mapping yet, or if an input
/// file has changed since
ReportRun read_report_run(const std::string& folder, const std::vector<std::string>& plugin_args);

}  // namespace tessera::cli
