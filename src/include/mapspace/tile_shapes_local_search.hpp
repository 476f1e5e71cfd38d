#pragma once

// Local search over the tile shapes of one template: a good row within milliseconds, no proof.

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/mapspace/tile_shapes.hpp"
#include "tessera/model/compiled_formulas.hpp"

namespace tessera::mapspace {

/// What is to be small: the product of all (quantity + completion bound).
struct LocalSearchGoal {
    std::vector<model::Formula> quantities;
    std::vector<double> completions;  ///< as many, or none
};

/// Improves legal rows. A move takes one prime factor from one loop of a rank variable to another,
/// or does so for two variables at a time where a fan-out has to stay in use.
class TileShapeLocalSearch {
public:
    /// Formulas belong to the current pool and are not needed afterwards. `start`: a legal row, one
    /// tile shape per symbol; best-effort conditions have to stay met as well as there.
    TileShapeLocalSearch(const TileShapeProblem& problem, const LocalSearchGoal& goal,
                         std::span<const std::int32_t> start);

    /// Goes downhill until no move helps, again and again from rows some random moves away, until
    /// nothing better is found or after `max_rows` rows. Deterministic.
    void run(double max_rows);

    double value() const {
        return value_;
    }
    double rows() const {
        return rows_;
    }
    const std::vector<std::int32_t>& shapes() const {
        return shapes_;
    }

private:
    /// Factor `prime` goes from one loop of a chain to another (indices of loops, outermost 0).
    struct Move {
        int chain = 0, from = 0, to = 0;
        std::int64_t prime = 1;
    };
    struct Chain {
        std::int64_t bound = 1;
        std::vector<int> symbols;  ///< outermost first
        std::vector<std::int64_t> primes;
    };

    void read_chains(const TileShapeProblem& problem);
    std::vector<Move> moves() const;
    bool may_be_spatial(const Chain& chain, int loop) const;
    std::int64_t trips(const Chain& chain, int loop) const;
    void apply(const Move& move, std::int32_t* shapes) const;
    void stage(std::span<const Move> moves);
    void evaluate();
    void go_to(std::size_t row);
    bool take_best();
    void local_search(double max_rows);
    bool kick();
    std::uint64_t random();
    bool legal(std::size_t row) const;
    double value_of(std::size_t row) const;
    bool single_step(const std::vector<Move>& all, double max_rows);
    bool double_step(const std::vector<Move>& all, bool trade, double max_rows);

    const TileShapeProblem& problem_;
    std::vector<Chain> chains_;
    std::vector<double> completions_, levels_;
    std::vector<std::int32_t> shapes_;
    double value_ = 0, rows_ = 0;
    model::CompiledFormulas program_;
    model::FormulaWorkspace workspace_;
    std::vector<std::vector<double>> in_, out_;  ///< columns of the staged rows
    std::size_t staged_ = 0;
    std::uint64_t random_ = 0;
};

}  // namespace tessera::mapspace
