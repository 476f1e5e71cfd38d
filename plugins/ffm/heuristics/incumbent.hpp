// The best mapping so far; with several metrics, the Pareto set of the step that ended last.
#pragma once

#include <limits>
#include <vector>

#include "../explorer.hpp"
#include "tessera/mapspace/join.hpp"

namespace tessera::ffm {

inline double value_at(const std::vector<double>& objectives) {
    return objectives.size() == 2 ? objectives[0] * objectives[1] : objectives[0];
}

struct Incumbent {
    std::vector<mapspace::JoinedMapping> mappings;  ///< best first; empty: none is known
    std::vector<mapper::Solution> solutions;        ///< the same, evaluated by the model
    std::vector<UsedPmapping> used;                 ///< of the first, by Einsum; empty: not known

    bool known() const {
        return !mappings.empty();
    }
    /// What it costs; infinite if none is known.
    double value() const {
        return known() ? value_at(mappings.front().objectives)
                       : std::numeric_limits<double>::infinity();
    }
    /// Its objectives; none if none is known.
    std::vector<double> costs() const {
        return known() ? mappings.front().objectives : std::vector<double>{};
    }
    /// Those of all mappings.
    std::vector<std::vector<double>> points() const {
        std::vector<std::vector<double>> out;
        for (const mapspace::JoinedMapping& m : mappings) {
            out.push_back(m.objectives);
        }
        return out;
    }
};

}  // namespace tessera::ffm
