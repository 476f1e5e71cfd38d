#pragma once

// The enumeration loop behind TileShapeExplorer.
//
// Per step (one symbol):   expand rows by the candidates of the symbol, block by block
//                          -> drop rows that break a check whatever comes later, or the incumbent
//                          -> if it pays: Pareto filter over the criteria
// After the last step the objectives are columns of the table and the Pareto filter is final.
// A step whose output would exceed max_rows is processed in pieces, each pruned on its own and,
// if they still add up, carried through to the end before the next piece is made.

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mapspace/bounds/tile_shapes_bounds.hpp"
#include "mapspace/join/pareto_window.hpp"
#include "mapspace/pareto.hpp"
#include "mapspace/tile_shapes_candidates.hpp"
#include "tessera/mapspace/tile_shapes.hpp"
#include "tessera/model/compiled_formulas.hpp"
#include "tile_shapes_criteria.hpp"
#include "tile_shapes_symmetries.hpp"

namespace tessera::mapspace {

/// Bounds of incomplete rows are compared with this much slack, so that rounding never drops a
/// row that a complete evaluation would keep.
inline constexpr double kBoundSlack = 1e-12;

inline double with_slack_below(double value) {
    return value - kBoundSlack * std::abs(value);
}
inline double with_slack_above(double value) {
    return value + kBoundSlack * std::abs(value);
}

/// Columns 0..n-1 belong to the symbols, the rest to objectives. The columns in use hold `rows`
/// numbers; their vectors are longer, so that appending is copying.
struct RowTable {
    std::size_t rows = 0;
    std::vector<std::vector<double>> columns;

    void reset(std::size_t n_columns);
    /// Room for `more` rows after the last one.
    void reserve(std::size_t more, std::span<const int> used);
    /// Keeps the rows of `kept` (ascending) in `used` columns.
    void keep(std::span<const std::uint32_t> kept, std::span<const int> used);
};

/// One comparison of a step's output with a limit.
struct TileShapeTest {
    double limit = 0.0;
    int constraint = 0;
    bool upper = true;
    bool strict = false;
    bool exact = false;
};
/// A loop limit that leaves a symbol only the tile shapes of its neighbours once it is reached.
struct TileShapePick {
    int limit = 0;
    std::vector<LoopLimit::Loop> others;  ///< loops known without the symbol
    bool outside = false,
         inside = false;           ///< the symbol's own loop counts; the one that it encloses
    LoopLimit::Loop outer, inner;  ///< these loops
};
/// AllowedShapes as far as its symbols are known after a step.
struct TileShapeFilter {
    int table = 0;
    std::vector<int> symbols;          ///< known before, places in the table
    std::vector<std::size_t> strides;  ///< of these
    int own = 0;                       ///< the step's symbol, its place in the table
    std::size_t own_stride = 1;
    std::vector<std::uint8_t> allowed;  ///< whether some completion is
};
/// What enumerating one symbol involves; decided when the step is first reached.
struct TileShapeStep {
    int symbol = 0;
    model::SymbolSet before;  ///< known symbols without and with this one
    model::SymbolSet after;
    bool last = false;
    double future = 1.0;  ///< expected completions of one row
    bool ready = false;
    model::CompiledFormulas program;
    std::vector<TileShapeTest> tests;
    std::vector<int> counted;  ///< loop limits that gained a definite loop
    bool against_incumbent = false;
    std::size_t first_quantity = 0;
    std::size_t first_objective = 0;
    bool criteria_ready = false;
    bool comparable = false;  ///< pruning can drop something
    Criteria criteria;
    model::CompiledFormulas criteria_program;
    bool beam_ready = false;
    model::CompiledFormulas beam_program;
    std::vector<int> safety;         ///< conditions whose worst case is an output, in order
    std::vector<int> count_columns;  ///< loop limits still open
    std::vector<int> used;           ///< columns of the table after this step
    std::vector<int> chain;          ///< known symbols of the same rank variable
    std::vector<int> gathered;       ///< known symbols that checks read, beside the own
    // Values of the symbol that tests and loop limits would drop are not made.
    model::CompiledFormulas range_program;  ///< highest values, then lowest
    std::size_t n_highest = 0, n_lowest = 0;
    std::vector<double> lowest, highest;  ///< by row of the input
    std::vector<TileShapePick> picks;
    std::vector<TileShapeFilter> filters;
    std::vector<SymmetricSymbols> symmetries;  ///< those that this symbol completes
    std::vector<int> fused_symmetries;  ///< the same, by place in TileShapeRun::fused_symmetries

    /// Empty again, but with its memory.
    void reset();
};

/// Memory that outlives one exploration.
struct TileShapeScratch {
    DivisorCache divisors;
    model::FormulaWorkspace workspace;
    ParetoFilter pareto;
    std::vector<RowTable> tables;
    std::vector<TileShapeStep> steps;
    std::vector<std::vector<double>> columns;  // of criteria
    std::vector<std::vector<double>> packed;   // of keys
};

/// What one run of the loop is about: a problem without best-effort conditions.
struct TileShapeRun {
    std::span<const TileShapeSymbol> symbols;
    std::span<const model::Formula> objectives;
    std::span<const TileShapeConstraint> constraints;
    std::span<const LoopLimit> loop_limits;
    const IncumbentBound* incumbent = nullptr;
    std::span<const AllowedShapes> allowed;
    std::span<const SymmetricSymbols> symmetries;
    std::span<const FusedSymmetries> fused_symmetries;  ///< with two fused symbols per chain
    std::span<const int> order;  ///< symbols to enumerate; all others stay unknown
    bool fused_are_keys = true;
    bool stop_at_first = false;  ///< one legal row is all that is asked for
};

/// More rows than TileShapeOptions::most_enumerated.
struct TooManyRows {};

class TileShapeEngine {
public:
    TileShapeEngine(model::FormulaPool& pool, const TileShapeRun& run,
                    const TileShapeOptions& options, TileShapeScratch& scratch);

    /// Runs; afterwards `table` holds symbol columns (enumerated ones) and objective columns.
    /// Counts are added to `statistics`, whose dropped_by_constraint must fit the constraints.
    void run(RowTable& table, TileShapeStatistics& statistics);

private:
    using Step = TileShapeStep;
    using Test = TileShapeTest;

    /// A one-sided condition on a formula without maximum on the wrong side.
    struct Check {
        model::Formula formula;
        model::Formula tested;  ///< last bound that was tested
        double limit = 0.0;
        int constraint = 0;
        bool upper = true;  ///< formula <= limit, else >=
        bool strict = false;
        bool done = false;
        bool fixed = false;  ///< another check pins the formula to the same limit
    };
    struct Expansion {
        CandidateCursor cursor;
        std::size_t row = 0;
        bool started = false;
        std::vector<std::size_t> base;   ///< by filter of the step: where the row's part begins
        std::vector<std::size_t> place;  ///< by filter: the last candidate's among the values
    };

    void make_checks();
    void find_fixed_products();
    model::Formula with_fixed_products(const model::Formula& f);
    model::Term shortest_equal(model::Term term);
    void prepare(std::size_t index, std::size_t rows);
    void prepare_tests(Step& step, std::vector<model::Formula>& outputs);
    void prepare_ranges(Step& step, std::span<const model::Formula> tested);
    void prepare_picks(Step& step);
    void find_ranges(Step& step, const RowTable& in);
    void propagate(const Step& step, const RowTable& in, Expansion& at) const;
    void prepare_filters(Step& step);
    void start_filters(const Step& step, const RowTable& in, Expansion& at) const;
    std::size_t keep_allowed(const Step& step, Expansion& at, double* candidates, std::size_t n);
    static model::SymbolSet fused_symbols(const FusedSymmetries& group);
    void prepare_symmetries(Step& step) const;
    std::size_t keep_symmetries(const Step& step, const RowTable& in, std::size_t row,
                                double* candidates, std::size_t n) const;
    bool prepare_test(Check& check, const model::SymbolSet& known, Test& test,
                      model::Formula& bound);
    void prepare_incumbent(Step& step, bool worthwhile, std::vector<model::Formula>& outputs);
    void prepare_criteria(std::size_t index);
    model::SymbolSet keys_of(const model::SymbolSet& known) const;
    std::size_t rows_worth_bounds() const;
    bool loop_is_definite(const LoopLimit::Loop& loop, const model::SymbolSet& known) const;
    void process(std::size_t depth, const RowTable& in);
    void finish_piece(std::size_t depth, RowTable& out, bool more);
    void expand(const Step& step, const RowTable& in, RowTable& out, Expansion& at);
    void flush(const Step& step, std::size_t rows, const RowTable& in, RowTable& out);
    /// Which of the rows of a block are left.
    struct Survivors {
        const std::uint8_t* alive = nullptr;  ///< by row
        std::size_t rows = 0, left = 0;
    };
    void append(const Step& step, const Survivors& of_block, const double* registers,
                const RowTable& in, RowTable& out);
    void void_safe_criteria(const Step& step, std::size_t rows);
    void collect_keys(const Step& step, const RowTable& table, std::vector<const double*>& keys);
    std::size_t filter(const Step& step, const double* registers, std::size_t rows,
                       std::uint8_t* alive);
    void drop_by_tests(const Step& step, const double* registers, std::size_t rows,
                       std::uint8_t* alive);
    void drop_by_loop_limits(const Step& step, std::size_t rows, std::uint8_t* alive);
    void drop_by_incumbent(const Step& step, const double* registers, std::size_t rows,
                           std::uint8_t* alive);
    bool pruned_by_incumbent();
    void least_products(const double* a, const double* b, bool exact, double* least) const;
    void prune(std::size_t index, RowTable& table);
    void keep_beam(std::size_t index, RowTable& table);
    void prune_result();
    void append_result(const RowTable& table);
    double* staged(int symbol) {
        return staging_.data() + symbol * kBlock;
    }

    static constexpr std::size_t kBlock = model::CompiledFormulas::kBlockRows;

    model::FormulaPool& pool_;
    const TileShapeRun& run_;
    const TileShapeOptions& options_;
    TileShapeScratch& scratch_;
    ChainBounds bounds_;
    CriteriaBuilder criteria_builder_;
    std::vector<Check> checks_;
    std::vector<model::Term> fixed_products_;  ///< what every legal row evaluates to 1
    std::vector<model::Formula> objectives_;   ///< equal to the run's on every legal row
    std::vector<model::Formula> quantities_;   ///< the incumbent's, likewise
    std::span<Step> steps_;
    std::vector<model::Formula> quantities_tested_;
    std::size_t rows_worth_bounds_ = 0;
    std::vector<double> staging_;         // symbols of the block at hand, kBlock each
    std::vector<std::uint32_t> parents_;  // row of the input table each staged row comes from
    std::vector<double> quantity_, total_;
    std::vector<double> window_memory_;
    std::optional<DominanceWindow> incumbent_points_;
    RowTable* result_ = nullptr;
    std::vector<int> result_used_;
    std::size_t result_pruned_rows_ = 0;
    TileShapeStatistics* statistics_ = nullptr;
    bool empty_ = false;
};

/// What is to be enumerated.
struct OrderedSpace {
    std::span<const TileShapeSymbol> symbols;
    std::span<const TileShapeConstraint> constraints;
    std::span<const LoopLimit> limits;  ///< whose loops come first
    std::span<const SymmetricSymbols> symmetries;
};

/// Order of enumeration: inner before outer, fused last; limited loops first if they leave few
/// combinations. With symmetric variables: what encloses the first of them, then symmetric
/// variables together. `fixed_first`: in chains with partial tiles, symbols that constraints leave
/// one value.
std::vector<int> tile_shape_order(const model::FormulaPool& pool, const OrderedSpace& space,
                                  bool fixed_first, DivisorCache& cache);

/// Mean number of candidates of a symbol whose inner neighbour is known.
double expected_candidates(const TileShapeSymbol& symbol, DivisorTable& table);

}  // namespace tessera::mapspace
