// The orders in which Einsums may run, and points seen from them.
//
// Outside the host a point lists its Einsums as the workload does, whatever order they run in.
// Inside, all that joins Einsums (joiner.hpp and what stands on it) knows one order, and points
// that list Einsums as they run.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
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

/// What is made for an order of the Einsums when it is asked for first.
template <class InOrder>
class ByOrder {
public:
    explicit ByOrder(const OpenSpace& space) : space_(space), made_(space.n_orders()) {}

    /// Made of the order's data and these. \pre there is the order
    template <class... Args>
    InOrder& of(std::uint32_t order, Args&&... args) {
        std::unique_ptr<InOrder>& slot = made_[order];
        if (!slot) {
            slot = std::make_unique<InOrder>(space_.data(order), std::forward<Args>(args)...);
        }
        return *slot;
    }
    /// By order; null: not asked for yet.
    const std::vector<std::unique_ptr<InOrder>>& made() const {
        return made_;
    }
    /// A point of the space, but for tile shapes that may not nest.
    bool has_shape(const Point& point) const {
        return point.order < made_.size() && search::has_shape(space_.data(), point);
    }

private:
    const OpenSpace& space_;
    std::vector<std::unique_ptr<InOrder>> made_;
};

/// `space`: of the order in which the Einsums of `point` run, whose shape it has.
void as_run(const OpenSpace::Data& space, const Point& point, Point& inside);
void as_listed(const OpenSpace::Data& space, const Point& inside, Point& point);

}  // namespace tessera::search
