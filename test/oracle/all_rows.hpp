// All tile shapes of one template, costed by the oracle's evaluator.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/arch/path.hpp"
#include "tessera/mapspace/template.hpp"

namespace tessera::oracle {

// Which quantities are minimised, besides the fused tile shapes that keep rows apart.
struct Goals {
    bool energy = true, latency = true;
    int memory = -1;  // path level whose use is minimised too, -1: none
};

struct Row {
    std::vector<std::int64_t> tiles;  // per symbol
    std::vector<double> objectives;
};

inline std::int64_t bound_of(const arch::Path& path, int variable) {
    return path.einsum.rank_variables[static_cast<std::size_t>(variable)].bound;
}

/// Number of assignments of the template's unknown tile shapes, constraints aside.
double count_rows(const arch::Path& path, const mapspace::Template& t);

struct AllRowsResult {
    std::vector<Row> rows;  ///< legal ones
    double evaluated = 0;
};

/// At most one fused loop per rank variable has more than one trip.
AllRowsResult all_rows(const arch::Path& path, const mapspace::Template& t, const Goals& goals);

}  // namespace tessera::oracle
