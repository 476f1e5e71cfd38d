// Drawings of a sweep: pareto.svg, and for each axis of numbers how the metric depends on it.
#pragma once

#include <map>
#include <string>

#include "sweep_report.hpp"

namespace tessera::cli {

std::map<std::string, std::string> sweep_plots(const SweepResult& result,
                                               const std::vector<std::size_t>& front);

}  // namespace tessera::cli
