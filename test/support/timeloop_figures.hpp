// The figures of a Timeloop evaluation as text, one row per level, data space and network, in the
// order of columns that test/reference/timeloop/README.md describes.
#pragma once

#include <map>
#include <string>

#include "timeloop/model.hpp"

namespace tessera::testing {

using FigureRows = std::map<std::string, std::string>;

FigureRows figure_rows(const timeloop::Problem& problem, const timeloop::Architecture& architecture,
                       const timeloop::Stats& stats, timeloop::Dialect dialect);

/// A complete Timeloop input: problem, architecture with the energies of its tables, mapping.
struct TimeloopInput {
    timeloop::Problem problem;
    timeloop::Architecture architecture;
    timeloop::Mapping mapping;
};
TimeloopInput timeloop_input(const std::string& text, timeloop::Dialect dialect);

}  // namespace tessera::testing
