// The orders in which Einsums may run, and points seen from them.
//
// Outside the host a point lists its Einsums as the workload does, whatever order they run in.
// Inside, all that joins Einsums (joiner.hpp and what stands on it) knows one order, and points
// that list Einsums as they run.
#pragma once

#include <vector>

#include "search/space_data.hpp"

namespace tessera::search {

struct EinsumOrders {
    std::vector<std::vector<int>> orders;  ///< each: Einsums as they run
    bool complete = true;
};

/// All that the mapspace has (docs/mapspace.md, section 3), that of the workload first; that one
/// alone, incomplete, if there are more than `most`.
EinsumOrders einsum_orders(const workload::Workload& workload, std::size_t most);

/// One choice per Einsum with a template that there is, one tile shape per symbol.
bool has_shape(const OpenSpace::Data& space, const Point& point);

/// `space`: of the order in which the Einsums of `point` run, whose shape it has.
void as_run(const OpenSpace::Data& space, const Point& point, Point& inside);
void as_listed(const OpenSpace::Data& space, const Point& inside, Point& point);

}  // namespace tessera::search
