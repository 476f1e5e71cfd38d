#pragma once

// Lower bounds that see all conditions at once.
//
// Over the logarithms of trip counts a positive sum of monomials is convex, so the least cost over
// real trip counts that meet the conditions is a convex problem (a geometric program), solved here
// by an interior-point method. What it returns rests on no convergence: for any multipliers >= 0
// the Lagrangian is convex and never above the cost of a legal row, and neither is its tangent
// plane, whose least value over the trip counts is exact. Source: S. Boyd et al., A tutorial on
// geometric programming (2007), and docs/ffm-proofs.md, 2.23.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "known_tiles.hpp"
#include "tessera/mapspace/tile_shapes.hpp"
#include "tessera/model/formula_pool.hpp"
#include "tile_shapes_bounds.hpp"

namespace tessera::mapspace {

/// Holds scratch memory: keep one per thread and reuse it.
class ConvexBound {
public:
    /// Takes a problem; its formulas are not needed afterwards.
    void prepare(model::FormulaPool& pool, std::span<const TileShapeSymbol> symbols,
                 std::span<const TileShapeConstraint> constraints,
                 std::span<const model::Formula> quantities);
    /// The same problem, case by case, if there are cases: where an extent such as p + r - 1 takes
    /// something away and r has few values, no convex function is close to all at once.
    bool prepare_cases(model::FormulaPool& pool, std::span<const TileShapeSymbol> symbols,
                       std::span<const TileShapeConstraint> constraints,
                       std::span<const model::Formula> quantities);
    /// A number that the product of all (quantity + offset) does not go below on rows that meet
    /// the constraints; at least 0. Ends early with a number that is `enough`, and where it is
    /// clear that there is none; with `closest` only with the former.
    double least(std::span<const double> offsets, double enough, bool closest = false);

private:
    /// exp(logarithm + sum of exponent * log(trips)).
    struct Term {
        double logarithm = 0;
        std::size_t first = 0, last = 0;  ///< exponents
    };
    struct Exponent {
        int symbol = 0;
        double value = 0;
    };
    /// factor * (tile shape of the symbol)^exponent; symbol < 0: a number.
    struct Power {
        double factor = 1;
        int symbol = -1;
        double exponent = 0;
    };
    /// Terms and a constant, of any sign, that are nowhere above a formula.
    struct Sum {
        std::size_t first = 0, last = 0;
        double constant = 0;
    };
    struct Quantity {
        bool maximum = false;
        std::size_t first = 0, last = 0;  ///< sums: one, or those of the branches
        double least = 0;                 ///< of a maximum, where a sum lacks something
    };
    /// log(sum of exp(constant + slope . x)) of the terms from `first` to `last`.
    struct LogSum {
        std::size_t first = 0, last = 0;
        double value = 0;
    };
    /// Loops of one rank variable: the logarithms of their trips add up to `length` at most.
    struct Chain {
        std::size_t first = 0, last = 0;  ///< variables
        double length = 0;
    };
    /// A quantity that is a maximum: its logarithm is a variable, above those of its branches.
    struct Maximum {
        std::size_t variable = 0;
        std::size_t first = 0, last = 0;  ///< branches
    };

    /// Positive terms for everything, with one rule for what is taken away.
    struct Problem {
        ChainBounds::CompensatingTerm compensating_term = {};
        bool valid = false;
        bool choice = false;              ///< another rule would come to something else
        std::vector<Exponent> exponents;  ///< of all terms
        std::vector<Term> terms;
        std::vector<Sum> sums;
        std::vector<Quantity> quantities;
        std::size_t first_condition = 0;  ///< of sums
        std::vector<Term> at_least_one;   ///< further conditions
    };

    /// By compensating term: the larger bound may be that of either.
    struct Case {
        Problem surest, closest;
    };

    Term over_trips(double coefficient, std::span<const Power> tiles, Problem& to) const;
    std::optional<Power> extent_below(const model::FormulaPool& pool,
                                      const model::Formula& extent) const;
    bool powers_below(const model::FormulaPool& pool, const model::Monomial& monomial,
                      std::vector<Power>& to) const;
    bool add_products(ChainBounds& bounds, const model::Formula& f, double scale,
                      model::Formula& rest, Problem& to) const;
    static double least_maximum(ChainBounds& bounds, std::span<const model::Formula> branches);
    void add_sum(ChainBounds& bounds, const model::Formula& f, double scale, Problem& to) const;
    void add_known(const KnownTiles& known, Problem& to) const;
    void prepare(ChainBounds& bounds, std::span<const TileShapeConstraint> constraints,
                 std::span<const model::Formula> quantities, const KnownTiles& known, Problem& to,
                 ChainBounds::CompensatingTerm compensating_term) const;
    void take_symbols(std::span<const TileShapeSymbol> symbols);
    void prepare_case(model::FormulaPool& pool, std::span<const TileShapeConstraint> constraints,
                      std::span<const model::Formula> quantities, const KnownTiles& known);
    double least_of_case(const Case& one, std::span<const double> offsets, double enough,
                         bool closest);
    double least_of_one(std::span<const double> offsets, double enough, bool closest);
    double share_left(std::span<const double> offsets);
    double solve(double goal, bool closest);

    void write_variables();
    void add_term(double logarithm);
    void add_slope(std::size_t variable, double slope);
    void write_term(const Term& term);
    bool write_sum(const Sum& sum, double constant, std::size_t over, std::vector<LogSum>& to);
    void lower(const LogSum& f, double by);
    bool write_maximum(const Quantity& q, double offset);
    bool write_problem(std::span<const double> offsets, std::size_t first, std::size_t last);
    void start();

    void evaluate(LogSum& f, std::size_t index);
    bool evaluate_all();
    template <class Weight>
    void add_slopes(const Weight& weight, std::vector<double>& to) const;
    double residual(double target);
    void add_square(const double* v, double weight);
    void add_square_of_term(std::size_t term, double weight);
    void add_curvature(const LogSum& f, std::size_t index, double weight, double own);
    void make_matrix();
    bool solve_newton();
    void find_changes(double target);
    bool step();
    double certificate();

    std::vector<TileShapeSymbol> symbols_;
    std::vector<double> log_bound_;  ///< by symbol
    std::vector<Case> cases_;        ///< more than there are: they keep their memory
    std::size_t n_cases_ = 0;
    const Problem* problem_ = nullptr;  ///< that is being solved

    // One call's problem.
    std::size_t n_ = 0, slack_ = 0, first_maximum_ = 0;
    double removed_ = 0;  ///< a quantity lacks this of being positive terms
    std::vector<Chain> chains_;
    std::vector<int> symbol_of_;            ///< by variable: those of loops come first
    std::vector<double> exponent_of_;       ///< by symbol, of one term
    std::vector<double> constants_;         ///< by term
    std::vector<std::size_t> first_slope_;  ///< by term, and the end: into the next two
    std::vector<std::uint32_t> slope_of_;   ///< variables, ascending within a term
    std::vector<double> slopes_;            ///< that are not 0
    std::vector<double> share_;             ///< by term: part of its sum
    std::vector<LogSum> costs_, conditions_, branches_;
    std::vector<Maximum> maxima_;
    double cost_ = 0;                                 ///< logarithm of the product, at x_
    std::vector<double> gradients_;                   ///< by sum: conditions, branches, costs
    std::vector<double> room_, multiplier_, change_;  ///< by inequality
    std::vector<double> x_, old_x_, old_multiplier_, gradient_, direction_, hessian_, slope_;
};

}  // namespace tessera::mapspace
