// The space of the rows of pmapping tables ("genome T" of FFM's comparison with other mappers): for
// every Einsum a row of its Pareto table. Smaller than the space of templates, with the same
// optimum, and all its tile shapes are legal; but the tables have to be made first, which is the
// better part of mapping by FFM.
//
// A point's Choice::tmpl is a compatibility group: pmappings that other Einsums see alike, with the
// same fused loops, trip counts and backing holders. Its tile shape is the row of the group,
// cheapest first. What such points are charged is told by SpaceWorker::take_charge().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "tessera/search/open_space.hpp"

namespace tessera::search {

struct TablesOptions {
    bool want_energy = true, want_latency = true;  ///< what rows are compared by
    int threads = 1;
    const std::atomic<bool>* stop = nullptr;  ///< polled while the tables are made
};

/// Immutable; may be read by several threads.
class Tables {
public:
    struct Data;

    /// Of an opened space, which must outlive it. `model` is the one it was opened with.
    /// \throws UserError if there are more than 50 million rows, LimitReached if stopped.
    Tables(const OpenSpace& space, const model::CostModel& model, const TablesOptions& options);
    ~Tables();

    const Space& space() const;
    std::unique_ptr<SpaceWorker> make_worker() const;

    /// The same mapping as a point of the opened space. \pre its rows are there
    Point point_of(const Point& rows) const;
    /// And back; false: some of its pmappings are no rows of the tables.
    bool rows_of(const Point& point, Point& rows) const;

    std::uint64_t rows() const;

private:
    std::unique_ptr<Data> data_;
};

}  // namespace tessera::search
