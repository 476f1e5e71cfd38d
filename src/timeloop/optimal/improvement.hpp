// Local search from a given mapping: prime factors move between tiling levels, loops change places,
// bypasses change. Stays inside the mapspace; every step is judged by the cost model.
#pragma once

#include "timeloop/mapper/pool.hpp"
#include "timeloop/optimal/stage.hpp"

namespace tessera::timeloop {

class ImprovementHeuristic {
public:
    ImprovementHeuristic(Pool& pool, const Stage& stage);

    /// Starts from `mapping`, which obeys the constraints but need not fit. Steepest steps until no
    /// neighbour is better or `max_evals` are spent. Offers what it finds to the pool.
    /// \return the best value found, in the objective of the stage; HUGE_VAL if nothing fits.
    double run(const Mapping& mapping, std::uint64_t max_evals);
    /// A simple member of the mapspace: all temporal loops as far out as the constraints allow.
    /// Empty if the constraints do not allow such a one.
    std::optional<Mapping> simple(const SpatialChoice& choice,
                                  const std::vector<DataSpaceMask>& keep) const;

private:
    struct Point {
        std::vector<std::int64_t> factor;     // tiling levels x dimensions
        std::vector<std::vector<int>> order;  // per tiling level
        std::vector<int> split;               // per tiling level
        std::vector<DataSpaceMask> keep;      // per storage level
    };
    std::int64_t& factor(Point& point, int level, int d) const {
        return point.factor[static_cast<std::size_t>(level) * dimensions_ + d];
    }
    bool rearrange(Point& point, int level) const;
    bool parallel_enough(Point& point) const;
    double judge(Point& point);
    Mapping to_mapping(Point& point) const;
    bool try_point(Point& candidate);
    bool move_factors(bool twice);
    bool shift(Point& point, int from, int to, int d, std::int64_t prime) const;
    bool move_loops();
    bool move_bypass();
    bool spent() const {
        return evals_ >= max_evals_ || pool_.ended.load(std::memory_order_relaxed);
    }

    Pool& pool_;
    const Stage& stage_;
    const Geometry& g_;
    int dimensions_, levels_;
    Point best_, scratch_point_;
    double value_ = 0;
    std::uint64_t evals_ = 0, max_evals_ = 0;
    FlatMapping flat_;
    CompiledModel::Workspace scratch_;
    Cost cost_;
    Point candidate_;
    double candidate_value_ = 0;
};

}  // namespace tessera::timeloop
