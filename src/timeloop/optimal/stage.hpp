// One objective of the list: what is minimised among the mappings that equal the incumbent in the
// objectives before it.
//
// Three ways to keep to those before:
//   delay               cycles follow from spatial choices, or show when a mapping is evaluated
//   energy, EDP         ties are rare: the tables are those of energy, limited to what is proven
//   accesses            ties are many: the tables get a price for each word at that level. With
//                       price p and at most w words, cost + p * words - p * w is no more than the
//                       cost of any mapping that keeps to w, so that the least of it is a bound.
#pragma once

#include <optional>

#include "timeloop/mapper/pool.hpp"
#include "timeloop/optimal/geometry.hpp"

namespace tessera::timeloop {

class Stage {
public:
    /// \pre `objective` is 0, or there is an incumbent
    Stage(const Pool& pool, std::size_t objective);
    Stage(const Stage&) = delete;

    std::size_t objective() const {
        return objective_;
    }
    /// Bounds of tasks are of this one.
    const Geometry& geometry() const {
        return geometry_;
    }
    /// Tables are of this one.
    const Geometry& tables() const {
        return other_ ? *other_ : geometry_;
    }
    /// Of the objective. HUGE_VAL: worse than the incumbent in an earlier one.
    double value(const Cost& cost) const;
    /// The objective counts cycles or words.
    bool counts() const {
        return tie_of(pool_.objectives[objective_]) == 0;
    }
    /// What local search goes by: the value, and the objectives after it.
    double guide(const Cost& cost) const;
    /// Values up to this times a bound are no more than it.
    double slack() const {
        return 1 + tie_of(pool_.objectives[objective_]);
    }
    /// Largest cost in the tables with which a mapping of so many cycles or more can still be as
    /// good as `best`.
    double limit(double cycles, double best) const;
    /// Of the objective: what the least cost in the tables proves.
    double bound(double linear, double cycles) const;

private:
    double own_limit(double cycles, double best) const;
    bool allows(const Cost& cost) const;

    const Pool& pool_;
    std::size_t objective_;
    std::vector<double> caps_;  ///< of the objectives before it
    Geometry geometry_;
    std::optional<Geometry> other_;
    std::ptrdiff_t earlier_ = -1;  ///< the tables are of this one before it; negative: its own
    double paid_ = 0;              ///< prices of all words that those before allow
};

}  // namespace tessera::timeloop
