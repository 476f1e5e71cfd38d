// The usage of memories among the metrics of the command line.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "tessera/library.hpp"

namespace tessera::cli {

/// "energy", "resource_usage:GlobalBuffer" of --metric.
std::vector<std::string> listed_metrics(const Arguments& arguments);

/// Of --metric resource_usage:MEMORY; Arguments::metrics() are the others.
UsageGoals usage_goals(const Arguments& arguments);

/// "energy,resource_usage:GlobalBuffer"
std::string metric_names(const std::vector<mapper::Metric>& metrics, const UsageGoals& usage);

}  // namespace tessera::cli
