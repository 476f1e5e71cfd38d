// Makes and evaluates points of Timeloop's mapspace for search strategies.
#pragma once

#include <vector>

#include "tessera/search/rng.hpp"
#include "tessera/search/space_worker.hpp"
#include "timeloop/mapper/pool.hpp"
#include "timeloop/strategy/space.hpp"

namespace tessera::timeloop {

class StrategyWorker final : public search::SpaceWorker {
public:
    /// Outcome::value is what guide() says of the objectives; latencies are in cycles times
    /// `cycle_s`.
    StrategyWorker(const StrategySpace& space, const CompiledModel& model,
                   std::vector<Objective> objectives, double cycle_s);

    /// Uniform: digits are drawn until a mapping is legal. Where none of the first few dozen is,
    /// factors of the last one go to other loops until it fits.
    search::Outcome draw(std::uint64_t seed, search::Point& point) override;
    search::Outcome move(search::Move move, std::uint64_t seed, std::uint32_t part,
                         search::Point& point) override;
    search::Outcome cross(std::uint64_t seed, const search::Point& mate, std::uint32_t part,
                          std::uint32_t end, search::Point& point) override;
    search::Outcome repair(std::uint64_t seed, search::Point& point) override;
    search::Outcome evaluate(const search::Point& point) override;
    Failures take_failures() override;
    std::uint64_t take_work() override;

    /// Of a point of the space. `cost` is that of the last point that was evaluated.
    Mapping mapping(const search::Point& point);
    const Cost& cost() const {
        return cost_;
    }

private:
    struct Shift {
        std::uint8_t dimension, level;
        std::int32_t prime;
    };

    search::Outcome refused(search::Verdict verdict);
    Misfit build(const search::Point& point, bool stop_early);
    /// Of the point that was built last, which fits all arrays.
    search::Outcome evaluate_built();
    /// The first legal point that `change` makes of next_; it gets the number of the attempt, and
    /// says `legal` once next_ is built.
    template <class Change>
    search::Outcome make(int attempts, search::Point& point, const Change& change);

    /// Changes next_. False: nothing can be changed so.
    bool change(search::Rng& rng, search::Move move, int part);
    bool move_factor(search::Rng& rng, int dimension);
    bool draw_digit(search::Rng& rng, std::size_t digit);
    bool move_spatial(search::Rng& rng);
    bool move_loop(search::Rng& rng);
    bool flip_bypass(search::Rng& rng, int times);
    void draw_all(search::Rng& rng, bool factors);

    /// Makes next_ fit arrays and memories, by steps that each move a factor, and builds it. Else
    /// why not.
    search::Verdict fit(search::Rng& rng);
    bool fit_array(search::Rng& rng, const Misfit& misfit);
    bool fit_memory(search::Rng& rng, int storage);
    bool fill_memory(search::Rng& rng, int storage);
    /// Moves one factor of the dimension (-1: of any) from a level that `from` allows to one that
    /// `to` does.
    template <class From, class To>
    bool shift(search::Rng& rng, const From& from, const To& to, int dimension = -1);

    std::int32_t end(int dimension, int level) const {
        return space_.ends(dimension, next_.tiles[dimension])[level];
    }

    const StrategySpace& space_;
    const CompiledModel& model_;
    const std::vector<Objective> objectives_;
    const double cycle_s_;
    const int dimensions_, levels_;
    std::vector<std::vector<std::int32_t>> primes_;  ///< per dimension, of its bound
    std::vector<int> spatial_, ordered_;  ///< tiling levels: spatial; with loops to permute
    MapSpaceView view_;
    FlatMapping flat_;
    CompiledModel::Workspace scratch_;
    Cost cost_;
    search::Point next_;
    std::vector<Shift> shifts_;
    std::vector<std::int32_t> ends_;
    std::vector<std::uint8_t> order_;
    std::vector<int> targets_;
    Failures failures_{};
    std::uint64_t work_ = 0;
};

}  // namespace tessera::timeloop
