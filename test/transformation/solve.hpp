// FFM on a problem, and a given mapping on a problem.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/mapper/mapper.hpp"
#include "transformation/problem.hpp"

namespace tessera::transformation {

struct Cost {
    double energy_j = 0, latency_s = 0;

    double of(mapper::Metric metric) const {
        return mapper::metric_value(metric, energy_j, latency_s);
    }
};

/// No points: there is no legal mapping.
struct Optimum {
    std::vector<Cost> points;                 ///< one, or the Pareto set
    std::optional<mapping::Mapping> mapping;  ///< of the first point
};

/// nullopt: not proven within the limits. Other errors than NoLegalMapping pass through.
/// `without`: mapper::Options::without.
std::optional<Optimum> solve(const Problem& problem, const std::vector<mapper::Metric>& metrics,
                             const std::vector<std::string>& without = {},
                             double time_limit_s = 120);

/// The mapping's cost; `why` says what makes it illegal, or no member of the mapspace.
Cost evaluate(const Problem& problem, const mapping::Mapping& mapping, std::string& why);

}  // namespace tessera::transformation
