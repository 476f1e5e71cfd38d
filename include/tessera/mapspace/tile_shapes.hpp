#pragma once

// Exploration of the unknown tile shapes of one template.
//
// The explorer enumerates one tile shape after the other and drops partial choices that cannot be
// part of any result: those that break a constraint whatever is chosen later, those that cannot
// beat an incumbent, and those that another partial choice beats in every criterion. The result is
// the exact Pareto set over the objectives, one set per combination of fused tile shapes.
//
// Legal assignments. The symbols of one rank variable form a chain
//     bound >= outermost >= ... >= innermost >= 1,
// and the mode of the inner of two neighbours says how they must relate (TileChoice). The set of
// legal assignments does not depend on the order of enumeration.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/comparison.hpp"
#include "tessera/model/formula.hpp"

namespace tessera::mapspace {

/// How a tile shape relates to the enclosing one (`outer`: the next outer symbol, or the bound).
enum class TileChoice : std::uint8_t {
    divisors,            ///< divides `outer` and the bound of the rank variable
    divisors_of_outer,   ///< divides `outer`; differs from `divisors` below an imperfect loop
    every_integer,       ///< any value up to `outer`: the last tile may be partial
    one_per_trip_count,  ///< as every_integer, but only the smallest value for each trip count
    /// If `outer` is the whole bound, this may be the outermost loop with more than one trip, whose
    /// last tile may be partial: one of partial_tiles(bound). Else divides `outer`.
    partial_outermost,
};
// A symbol whose *inner* neighbour is in one of the first two modes is a multiple of that
// neighbour.

/// Tile shapes of a loop that may leave a partial last tile: for every trip count and every
/// divisor d of the bound the smallest multiple of d that makes it. Ascending; the bound and all
/// its divisors are among them.
std::vector<double> partial_tiles(std::int64_t bound);

struct TileShapeSymbol {
    std::int64_t bound = 1;  ///< of the rank variable; at most 2^31 - 1
    int outer = -1;          ///< next outer symbol of the same rank variable, -1: the bound
    int inner = -1;          ///< next inner symbol, -1: tile 1
    bool fused = false;      ///< rows that differ here never prune each other
    bool spatial = false;
    TileChoice choice = TileChoice::divisors;
    /// partial_outermost: if given, only these values (ascending) and that of `outer` are of use.
    std::optional<std::vector<double>> only = {};
};

using Relation = base::Comparison;

/// What a condition stands for.
enum class LimitKind : std::uint8_t { capacity, fanout, constraint, best_effort };

/// Hard condition. Compared exactly as evaluated: give whole-number formulas and limits.
struct TileShapeConstraint {
    model::Formula formula;
    Relation relation = Relation::less_equal;
    double limit = 0.0;
    /// Upper limits: if given, nowhere above `formula` and without a minimum; convex bounds look at
    /// it instead.
    std::optional<model::Formula> below = {};
    LimitKind kind = LimitKind::constraint;
};

/// Condition to be met if possible. In list order, over all rows legal so far: if some row reaches
/// `minimum`, the rows that do stay; otherwise those that attain the largest value.
struct BestEffortMinimum {
    model::Formula formula;
    double minimum = 0.0;
};

/// At most `limit` of these loops may have more than one trip.
struct LoopLimit {
    struct Loop {
        int outer = -1;          ///< symbol of the enclosing tile, -1: `bound`
        int own = -1;            ///< symbol of the own tile, -1: 1
        std::int64_t bound = 1;  ///< enclosing tile when `outer` is -1
    };
    std::vector<Loop> loops;
    int limit = 0;
};

/// What is already known to be reachable. A row is dropped if its quantities cannot get below with
/// any of the alternative completion bounds: with points, if for some point p every quantity_j +
/// completion_j >= p_j; with a product, if the product of all (quantity_j + completion_j) >=
/// best_product (energy and latency: EDP). Quantities and completion bounds must not be negative in
/// product mode. Equality drops. A quantity must be an objective or a sum of objectives with
/// positive factors: a row that another row prunes is then dropped whenever that one is.
struct IncumbentBound {
    std::vector<model::Formula> quantities;
    std::vector<double> completions;  ///< alternative after alternative; empty: one of zeros
    std::vector<double> points;       ///< point after point, one number per quantity
    double best_product = std::numeric_limits<double>::infinity();
};

/// Combinations of fused tile shapes outside of which no row is of use. Rows that prune each other
/// have the same fused tile shapes, so both are of use or none is.
struct AllowedShapes {
    std::vector<int> symbols;                 ///< fused ones
    std::vector<std::vector<double>> values;  ///< by symbol: all that it may take, ascending
    /// By combination, the last symbol's value changing fastest: 0 or 1.
    std::vector<std::uint8_t> allowed;
};

/// Formulas belong to the FormulaPool that is current during `explore`.
struct TileShapeProblem {
    std::vector<TileShapeSymbol> symbols;  ///< at most model::kMaxSymbols
    std::vector<model::Formula> objectives;
    std::vector<TileShapeConstraint> constraints;
    std::vector<BestEffortMinimum> best_effort;
    std::vector<LoopLimit> loop_limits;
    IncumbentBound incumbent;
    std::vector<AllowedShapes> allowed;  ///< all of them hold
};

struct TileShapeOptions {
    /// Largest table held at a time; larger steps are processed in pieces.
    std::size_t max_rows = 1u << 20;
    /// Partial choices are compared only when this many rows would be enumerated otherwise.
    double prune_from_rows = 4096;
    /// Tables with fewer partial choices are not worth the making of criteria and bounds.
    std::size_t prune_min_rows = 48;
    /// Any legal row will do: the first ones found end the exploration.
    bool first_rows = false;
    /// The exploration is given up when it has produced more rows.
    double most_enumerated = std::numeric_limits<double>::infinity();
    /// Not exact: partial choices kept per step, those whose bound of the incumbent's quantities is
    /// least (their product, with the first completion bounds). 0: all.
    std::size_t beam = 0;
    /// Ideas that can be switched off; the result is the same, the work is not.
    bool partial_pareto = true;      ///< compare incomplete rows
    bool partial_conditions = true;  ///< test conditions on incomplete rows
    bool safe_rows = true;           ///< rows that meet a condition anyway are not compared by it
    bool fixed_products = true;      ///< products that conditions pin simplify criteria
    bool surrogate_bounds = true;    ///< upper limits raise bounds of incomplete rows
    bool vertex_bounds = true;       ///< signs of sums proven at the ends of the symbols' ranges
    bool limited_first = true;       ///< symbols of limited loops may come first
    bool fixed_first = true;         ///< with partial tiles: those with one value come first
    bool symmetries = true;          ///< of tile shapes with the same products one is made
    bool fused_symmetries = true;    ///< of fused ones too; the others are written down afterwards
    bool convex = true;              ///< a bound that sees all constraints, where tiles are partial
    bool convex_first = false;       ///< and where they are not
    bool domain_propagation = true;  ///< values that conditions and loop limits drop are not made
    /// For tests only: an unsound criterion, which adds up addends with different unknown factors.
    /// It shows that the tests notice a lost optimum.
    bool sum_groups = false;
};

struct TileShapeStatistics {
    double space = 0.0;       ///< legal assignments before constraints
    std::string exact_space;  ///< the same as decimal digits; empty if only estimated
    double enumerated = 0.0;  ///< rows produced, partial ones included
    double evaluated = 0.0;   ///< complete rows whose objectives were computed
    std::vector<double> dropped_by_constraint;  ///< rows, by index in `constraints`
    double dropped_by_loop_limit = 0.0;
    double dropped_by_best_effort = 0.0;
    double dropped_by_incumbent = 0.0;
    double dropped_as_not_allowed = 0.0;
    double dropped_by_pareto = 0.0;
};

/// Columnar: shapes[symbol][row], objectives[objective][row].
struct TileShapeResult {
    bool given_up = false;  ///< TileShapeOptions::most_enumerated; no rows then
    std::size_t rows = 0;
    std::vector<std::vector<std::int32_t>> shapes;
    std::vector<std::vector<double>> objectives;
    /// What the best-effort conditions decide to, in their order, if this exploration has shown it:
    /// as lower limits in their place they leave the same rows.
    std::optional<std::vector<double>> levels;
    TileShapeStatistics statistics;
};

/// Holds scratch memory and divisor tables: keep one per thread and reuse it.
class TileShapeExplorer {
public:
    TileShapeExplorer();
    ~TileShapeExplorer();
    TileShapeExplorer(const TileShapeExplorer&) = delete;
    TileShapeExplorer& operator=(const TileShapeExplorer&) = delete;

    /// Deterministic. Adds formulas to the current pool. Row order is the order of enumeration. No
    /// legal row is no error: rows = 0. \throws Bug if symbols do not form chains or a bound is out
    /// of range.
    void explore(const TileShapeProblem& problem, const TileShapeOptions& options,
                 TileShapeResult& result);

    /// What the best-effort conditions decide to, in their order: the values that rows have to
    /// reach. Empty if there is no legal row at all. The incumbent plays no part.
    std::vector<double> best_effort_levels(const TileShapeProblem& problem,
                                           const TileShapeOptions& options);

    /// A number that the formula does not go below on any legal row; cheap, and not always
    /// attained.
    double lower_bound(const TileShapeProblem& problem, const model::Formula& formula);

    /// A number that the product of all (quantity + completion bound) does not go below on any row
    /// that meets the constraints; at least 0. Closer and dearer than lower_bound, as it sees all
    /// constraints at once. Ends early with a number that is `enough`, and where it is clear that
    /// there is none; with `closest` only with the former.
    double convex_bound(const TileShapeProblem& problem, std::span<const model::Formula> quantities,
                        std::span<const double> completions, double enough, bool closest = false);

    /// TileShapeStatistics::exact_space of the symbols.
    std::string space(std::span<const TileShapeSymbol> symbols);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::mapspace
