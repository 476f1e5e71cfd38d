#include "tessera/mapspace/tile_shapes.hpp"

#include <algorithm>
#include <cmath>

#include "mapspace/bounds/convex_bound.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/stop.hpp"
#include "tile_shapes_engine.hpp"

// Best-effort conditions are turned into hard ones, then the engine runs once:
//   1. Every condition gets a level that no legal row can exceed: its minimum, or less if the
//      enumeration of its own symbols alone shows so.
//   2. If rows meet all levels at once, the levels are what the conditions decide to, whatever
//      their order.
//   3. Otherwise, with the levels of larger conditions still unchecked, these are lowered as in 1
//      and 2 is repeated; at last a run with the conditions as objectives finds the levels in list
//      order.

namespace tessera::mapspace {

using model::Formula;
using model::SymbolSet;

struct TileShapeExplorer::Impl {
    TileShapeScratch scratch;
    RowTable table;
    RowTable side_table;
    ConvexBound convex;
    bool given_up = false;
    bool levels_met = false;  ///< some row is known to meet the levels of the last run

    double level_of_own_symbols(const TileShapeProblem& problem, std::span<const int> symbols,
                                const BestEffortMinimum& condition, const TileShapeOptions& options,
                                TileShapeStatistics& statistics);
    double level_of_few(const TileShapeProblem& problem, std::span<const int> symbols,
                        const BestEffortMinimum& condition, TileShapeStatistics& statistics);
    bool optimistic_levels(const TileShapeProblem& problem, const TileShapeOptions& options,
                           bool all, std::vector<double>& levels, TileShapeStatistics& statistics);
    bool reach_levels(const TileShapeProblem& problem, const TileShapeOptions& options,
                      std::span<const double> levels, TileShapeStatistics& statistics);
    bool decide_levels(const TileShapeProblem& problem, const TileShapeOptions& options,
                       std::vector<double>& levels, TileShapeStatistics& statistics);
    bool pruned_as_a_whole(const TileShapeProblem& problem, const TileShapeOptions& options);
    std::vector<double> explore_all(const TileShapeProblem& problem,
                                    const TileShapeOptions& options,
                                    TileShapeStatistics& statistics);
    bool convex_beats_all(const TileShapeProblem& problem, const TileShapeOptions& options);
    bool levels_reachable(const TileShapeProblem& problem, const TileShapeOptions& options,
                          std::span<const double> levels);
    bool reachable(const TileShapeRun& main, const TileShapeOptions& options,
                   TileShapeStatistics& statistics);
    void run(const TileShapeRun& run, const TileShapeOptions& options, RowTable& to,
             TileShapeStatistics& statistics);
    void write_all_ways(const TileShapeProblem& problem,
                        const std::vector<FusedSymmetries>& symmetries);
    void copy_result(const TileShapeProblem& problem, TileShapeResult& result) const;
};

namespace {

void check_chains(std::span<const TileShapeSymbol> symbols) {
    const auto n = static_cast<int>(symbols.size());
    if (n > model::kMaxSymbols) {
        throw Bug("a template has more tile-shape symbols than formulas support");
    }
    int reached = 0;
    for (int s = 0; s < n; ++s) {
        const TileShapeSymbol& symbol = symbols[s];
        const bool links = symbol.outer < n && symbol.inner < n &&
                           (symbol.outer < 0 || symbols[symbol.outer].inner == s) &&
                           (symbol.inner < 0 || (symbols[symbol.inner].outer == s &&
                                                 symbols[symbol.inner].bound == symbol.bound));
        if (!links || symbol.bound < 1 || symbol.bound > 2147483647) {
            throw Bug("tile-shape symbols do not form chains, or a bound is out of range");
        }
        for (int i = symbol.outer < 0 ? s : -1; i >= 0 && reached <= n; i = symbols[i].inner) {
            ++reached;
        }
    }
    if (reached != n) {
        throw Bug("tile-shape symbols form a ring");
    }
}

void add_counts(const TileShapeStatistics& from, std::size_t own, TileShapeStatistics& to) {
    to.enumerated += from.enumerated;
    to.evaluated += from.evaluated;
    to.dropped_by_loop_limit += from.dropped_by_loop_limit;
    to.dropped_by_incumbent += from.dropped_by_incumbent;
    to.dropped_as_not_allowed += from.dropped_as_not_allowed;
    to.dropped_by_pareto += from.dropped_by_pareto;
    for (std::size_t c = 0; c < from.dropped_by_constraint.size(); ++c) {
        (c < own ? to.dropped_by_constraint[c] : to.dropped_by_best_effort) +=
            from.dropped_by_constraint[c];
    }
}

/// The constraints of the problem followed by one per best-effort condition.
std::vector<TileShapeConstraint> with_levels(const TileShapeProblem& problem,
                                             std::span<const double> levels) {
    std::vector<TileShapeConstraint> all = problem.constraints;
    for (std::size_t c = 0; c < levels.size(); ++c) {
        all.push_back({problem.best_effort[c].formula, Relation::greater_equal, levels[c]});
    }
    return all;
}

/// Limits on loops that may decide the order of enumeration.
std::span<const LoopLimit> limits_first(const TileShapeProblem& problem,
                                        const TileShapeOptions& options) {
    return options.limited_first ? std::span<const LoopLimit>(problem.loop_limits)
                                 : std::span<const LoopLimit>();
}

}  // namespace

void TileShapeExplorer::Impl::run(const TileShapeRun& run, const TileShapeOptions& options,
                                  RowTable& to, TileShapeStatistics& statistics) {
    statistics.dropped_by_constraint.assign(run.constraints.size(), 0.0);
    try {
        TileShapeEngine(model::FormulaPool::current(), run, options, scratch).run(to, statistics);
    } catch (const TooManyRows&) {
        given_up = true;
        to.reset(run.symbols.size() + run.objectives.size());
    }
}

/// Largest value of a condition over its own symbols, and at most its minimum.
double TileShapeExplorer::Impl::level_of_own_symbols(const TileShapeProblem& problem,
                                                     std::span<const int> symbols,
                                                     const BestEffortMinimum& condition,
                                                     const TileShapeOptions& options,
                                                     TileShapeStatistics& statistics) {
    const Formula objective = -condition.formula;
    TileShapeRun run;
    run.symbols = problem.symbols;
    run.objectives = {&objective, 1};
    run.constraints = problem.constraints;
    run.order = symbols;
    run.fused_are_keys = false;
    TileShapeStatistics counts;
    this->run(run, options, side_table, counts);
    counts.dropped_by_constraint.clear();  // incomplete rows say nothing about constraints
    add_counts(counts, 0, statistics);
    return side_table.rows == 0
               ? condition.minimum
               : std::min(condition.minimum, -side_table.columns[problem.symbols.size()][0]);
}

/// The same for few assignments, one after the other.
double TileShapeExplorer::Impl::level_of_few(const TileShapeProblem& problem,
                                             std::span<const int> symbols,
                                             const BestEffortMinimum& condition,
                                             TileShapeStatistics& statistics) {
    const SymbolSet mask = condition.formula.depends_on();
    std::vector<const TileShapeConstraint*> own;
    for (const TileShapeConstraint& constraint : problem.constraints) {
        if (mask.contains(constraint.formula.depends_on())) {
            own.push_back(&constraint);
        }
    }
    double values[model::kMaxSymbols] = {};
    double largest = -HUGE_VAL;
    const auto visit = [&](const auto& self, std::size_t depth, const SymbolSet& known) -> void {
        if (largest >= condition.minimum) {
            return;
        }
        if (depth == symbols.size()) {
            statistics.enumerated += 1.0;
            const double value = condition.formula.value(values);
            if (value > largest && std::ranges::all_of(own, [&](const TileShapeConstraint* c) {
                    return holds(c->relation, c->formula.value(values), c->limit);
                })) {
                largest = value;
            }
            return;
        }
        const int s = symbols[depth];
        CandidateCursor cursor(problem.symbols, s, scratch.divisors.of(problem.symbols[s].bound));
        cursor.start(values, known);
        double batch[64];
        for (std::size_t made = 64; made == 64;) {
            made = cursor.next(batch, 64);
            for (std::size_t i = 0; i < made; ++i) {
                values[s] = batch[i];
                self(self, depth + 1, known | SymbolSet::of(s));
            }
        }
    };
    visit(visit, 0, {});
    return largest == -HUGE_VAL ? condition.minimum : std::min(condition.minimum, largest);
}

/// Levels that no legal row exceeds. Conditions on many symbols keep their minimum unless `all`.
/// Returns whether some condition was left unchecked.
bool TileShapeExplorer::Impl::optimistic_levels(const TileShapeProblem& problem,
                                                const TileShapeOptions& options, bool all,
                                                std::vector<double>& levels,
                                                TileShapeStatistics& statistics) {
    constexpr double kFewAssignments = 300.0;
    bool unchecked = false;
    levels.clear();
    for (const BestEffortMinimum& condition : problem.best_effort) {
        const SymbolSet mask = condition.formula.depends_on();
        std::vector<int> symbols;
        double assignments = 1.0;
        for (std::size_t s = 0; s < problem.symbols.size(); ++s) {
            if (problem.symbols[s].outer >= 0) {
                continue;
            }
            const std::size_t first = symbols.size();
            for (int i = static_cast<int>(s); i >= 0; i = problem.symbols[i].inner) {
                if (mask.has(i)) {
                    symbols.push_back(i);
                    assignments *= expected_candidates(
                        problem.symbols[i], scratch.divisors.of(problem.symbols[i].bound));
                }
            }
            std::reverse(symbols.begin() + static_cast<std::ptrdiff_t>(first), symbols.end());
        }
        if (assignments <= kFewAssignments) {
            levels.push_back(level_of_few(problem, symbols, condition, statistics));
        } else if (all) {
            levels.push_back(
                level_of_own_symbols(problem, symbols, condition, options, statistics));
        } else {
            levels.push_back(condition.minimum);
            unchecked = true;
        }
    }
    return unchecked;
}

/// Levels in list order over all legal rows. False if there is no legal row at all.
bool TileShapeExplorer::Impl::decide_levels(const TileShapeProblem& problem,
                                            const TileShapeOptions& options,
                                            std::vector<double>& levels,
                                            TileShapeStatistics& statistics) {
    const std::vector<int> order =
        tile_shape_order(model::FormulaPool::current(),
                         {problem.symbols, problem.constraints, limits_first(problem, options), {}},
                         options.fixed_first, scratch.divisors);
    std::vector<Formula> objectives;
    for (const BestEffortMinimum& condition : problem.best_effort) {
        objectives.push_back(-condition.formula);
    }
    TileShapeRun run;
    run.symbols = problem.symbols;
    run.objectives = objectives;
    run.constraints = problem.constraints;
    run.loop_limits = problem.loop_limits;
    run.order = order;
    run.fused_are_keys = false;
    TileShapeStatistics counts;
    this->run(run, options, side_table, counts);
    add_counts(counts, problem.constraints.size(), statistics);
    std::vector<std::size_t> left(side_table.rows);
    for (std::size_t r = 0; r < left.size(); ++r) {
        left[r] = r;
    }
    for (std::size_t c = 0; c < problem.best_effort.size(); ++c) {
        const std::vector<double>& negated = side_table.columns[problem.symbols.size() + c];
        double largest = -HUGE_VAL;
        for (const std::size_t r : left) {
            largest = std::max(largest, -negated[r]);
        }
        levels[c] = std::min(problem.best_effort[c].minimum, largest);
        std::erase_if(left, [&](std::size_t r) { return -negated[r] < levels[c]; });
    }
    return side_table.rows > 0;
}

/// Runs with the levels as hard conditions. False if it is open whether any row meets them.
bool TileShapeExplorer::Impl::reach_levels(const TileShapeProblem& problem,
                                           const TileShapeOptions& options,
                                           std::span<const double> levels,
                                           TileShapeStatistics& statistics) {
    const std::vector<TileShapeConstraint> constraints = with_levels(problem, levels);
    model::FormulaPool& pool = model::FormulaPool::current();
    const bool all_rows = options.beam == 0 && !options.first_rows;
    const Symmetries symmetries =
        options.symmetries ? find_symmetries(pool, problem, options.fused_symmetries && all_rows)
                           : Symmetries{};
    const std::vector<AllowedShapes> allowed =
        symmetries.fused.empty() ? problem.allowed
                                 : allowed_of_products(problem.allowed, symmetries.fused);
    const std::vector<int> order = tile_shape_order(
        pool, {problem.symbols, constraints, limits_first(problem, options), symmetries.pairs},
        options.fixed_first, scratch.divisors);
    // Pairs with one fused symbol per chain are symmetric variables like any other.
    std::vector<FusedSymmetries> two_fused = symmetries.fused;
    std::erase_if(two_fused, [](const FusedSymmetries& group) { return group.fused == 1; });
    TileShapeRun run;
    run.symbols = problem.symbols;
    run.objectives = problem.objectives;
    run.constraints = constraints;
    run.loop_limits = problem.loop_limits;
    run.incumbent = &problem.incumbent;
    run.allowed = allowed;
    run.symmetries = symmetries.pairs;
    run.fused_symmetries = two_fused;
    run.order = order;
    run.stop_at_first = options.first_rows;
    TileShapeStatistics counts;
    this->run(run, options, table, counts);
    add_counts(counts, problem.constraints.size(), statistics);
    const bool open = counts.dropped_by_incumbent + counts.dropped_as_not_allowed > 0.0;
    levels_met = table.rows > 0 ||
                 (!levels.empty() && !given_up && open && reachable(run, options, statistics));
    write_all_ways(problem, symmetries.fused);
    return levels.empty() || given_up || levels_met;
}

/// Rows of fused symmetric variables, one per product of their tile shapes, as rows of all tile
/// shapes.
void TileShapeExplorer::Impl::write_all_ways(const TileShapeProblem& problem,
                                             const std::vector<FusedSymmetries>& symmetries) {
    if (symmetries.empty() || table.rows == 0) {
        return;
    }
    const std::size_t n = problem.symbols.size();
    std::vector<std::vector<double>> columns(n + problem.objectives.size());
    std::vector<double> shapes(n);
    std::size_t row = 0;
    const std::function<void()> write = [&] {
        for (std::size_t c = 0; c < columns.size(); ++c) {
            columns[c].push_back(c < n ? shapes[c] : table.columns[c][row]);
        }
    };
    for (; row < table.rows; ++row) {
        base::poll_stop();
        for (std::size_t s = 0; s < n; ++s) {
            shapes[s] = table.columns[s][row];
        }
        for_each_way(symmetries, problem.symbols, problem.allowed, shapes, scratch.divisors, write);
    }
    table.rows = columns.front().size();
    std::swap_ranges(columns.begin(), columns.end(), table.columns.begin());
}

bool TileShapeExplorer::Impl::levels_reachable(const TileShapeProblem& problem,
                                               const TileShapeOptions& options,
                                               std::span<const double> levels) {
    const std::vector<TileShapeConstraint> constraints = with_levels(problem, levels);
    const std::vector<int> order =
        tile_shape_order(model::FormulaPool::current(),
                         {problem.symbols, constraints, limits_first(problem, options), {}},
                         options.fixed_first, scratch.divisors);
    TileShapeRun run;
    run.symbols = problem.symbols;
    run.constraints = constraints;
    run.loop_limits = problem.loop_limits;
    run.order = order;
    TileShapeStatistics counts;
    return reachable(run, options, counts);
}

/// True if some row meets all hard conditions of `main`, of use or not.
bool TileShapeExplorer::Impl::reachable(const TileShapeRun& main, const TileShapeOptions& options,
                                        TileShapeStatistics& statistics) {
    TileShapeRun run = main;
    run.objectives = {};
    run.incumbent = nullptr;
    run.allowed = {};
    run.fused_are_keys = false;
    run.stop_at_first = true;
    TileShapeOptions in_depth = options;
    in_depth.max_rows = std::min<std::size_t>(options.max_rows, 128);
    in_depth.beam = 0;
    in_depth.prune_min_rows = std::min<std::size_t>(options.prune_min_rows, 16);
    TileShapeStatistics counts;
    this->run(run, in_depth, side_table, counts);
    counts.dropped_by_constraint.clear();
    add_counts(counts, 0, statistics);
    return side_table.rows > 0;
}

double lower_bound_of(const TileShapeProblem& problem, const Formula& formula,
                      bool surrogate_bounds) {
    model::FormulaPool& pool = model::FormulaPool::current();
    const Formula surrogate =
        surrogate_bounds ? surrogate_of_limits(pool, formula, problem.constraints) : formula;
    return with_slack_below(
        ChainBounds(pool, problem.symbols).never_above(surrogate, {}).constant_value());
}

/// True if no assignment at all can beat the incumbent.
bool TileShapeExplorer::Impl::pruned_as_a_whole(const TileShapeProblem& problem,
                                                const TileShapeOptions& options) {
    const IncumbentBound& incumbent = problem.incumbent;
    const std::size_t n = incumbent.quantities.size();
    if (n == 0) {
        return false;
    }
    std::vector<double> least(n), total(n);
    for (std::size_t q = 0; q < n; ++q) {
        least[q] = lower_bound_of(problem, incumbent.quantities[q], options.surrogate_bounds);
    }
    std::size_t at = 0;
    do {
        double product = 1.0;
        for (std::size_t q = 0; q < n; ++q) {
            total[q] =
                least[q] +
                (at + q < incumbent.completions.size() ? incumbent.completions[at + q] : 0.0);
            product *= std::max(0.0, total[q]);
        }
        bool pruned = product >= incumbent.best_product;
        for (std::size_t p = 0; p + n <= incumbent.points.size() && !pruned; p += n) {
            pruned = std::equal(total.begin(), total.end(), incumbent.points.begin() + p,
                                [](double mine, double theirs) { return mine >= theirs; });
        }
        if (!pruned) {
            return false;
        }
        at += n;
    } while (at < incumbent.completions.size());
    return true;
}

/// The same by a convex bound, where tile shapes are too many to be looked at first.
bool TileShapeExplorer::Impl::convex_beats_all(const TileShapeProblem& problem,
                                               const TileShapeOptions& options) {
    const IncumbentBound& incumbent = problem.incumbent;
    const std::size_t n = incumbent.quantities.size();
    const bool many =
        options.convex_first || std::ranges::any_of(problem.symbols, [](const TileShapeSymbol& s) {
            return s.choice == TileChoice::partial_outermost;
        });
    double goal = incumbent.best_product;
    if (n == 1 && !incumbent.points.empty()) {
        goal = std::ranges::min(incumbent.points);
    }
    if (!options.convex || !many || n == 0 || !std::isfinite(goal)) {
        return false;
    }
    convex.prepare(model::FormulaPool::current(), problem.symbols, problem.constraints,
                   incumbent.quantities);
    const std::span<const double> all = incumbent.completions;
    std::size_t at = 0;
    do {
        const auto completions = all.empty() ? all : all.subspan(at, n);
        if (!(convex.least(completions, goal) >= goal)) {
            return false;
        }
        at += n;
    } while (at < all.size());
    return true;
}

void TileShapeExplorer::Impl::copy_result(const TileShapeProblem& problem,
                                          TileShapeResult& result) const {
    const std::size_t n = problem.symbols.size();
    result.rows = table.rows;
    result.shapes.resize(n);
    for (std::size_t s = 0; s < n; ++s) {
        const double* column = table.columns[s].data();
        result.shapes[s].assign(column, column + table.rows);
    }
    result.objectives.resize(problem.objectives.size());
    for (std::size_t k = 0; k < problem.objectives.size(); ++k) {
        const double* column = table.columns[n + k].data();
        result.objectives[k].assign(column, column + table.rows);
    }
}

TileShapeExplorer::TileShapeExplorer() : impl_(std::make_unique<Impl>()) {}

TileShapeExplorer::~TileShapeExplorer() = default;

double TileShapeExplorer::lower_bound(const TileShapeProblem& problem, const Formula& formula) {
    return lower_bound_of(problem, formula, true);
}

double TileShapeExplorer::convex_bound(const TileShapeProblem& problem,
                                       std::span<const Formula> quantities,
                                       std::span<const double> completions, double enough,
                                       bool closest) {
    model::FormulaPool& pool = model::FormulaPool::current();
    ConvexBound& convex = impl_->convex;
    convex.prepare(pool, problem.symbols, problem.constraints, quantities);
    const double whole = convex.least(completions, enough, closest);
    if (!closest || whole >= enough ||
        !convex.prepare_cases(pool, problem.symbols, problem.constraints, quantities)) {
        return whole;
    }
    return std::max(whole, convex.least(completions, enough, true));
}

std::string TileShapeExplorer::space(std::span<const TileShapeSymbol> symbols) {
    std::string exact;
    count_assignments(symbols, impl_->scratch.divisors, exact);
    return exact;
}

std::vector<double> TileShapeExplorer::best_effort_levels(const TileShapeProblem& problem,
                                                          const TileShapeOptions& options) {
    check_chains(problem.symbols);
    TileShapeStatistics statistics;
    statistics.dropped_by_constraint.assign(problem.constraints.size(), 0.0);
    std::vector<double> levels;
    const bool unchecked = impl_->optimistic_levels(problem, options, false, levels, statistics);
    bool decided = impl_->levels_reachable(problem, options, levels);
    if (!decided && unchecked) {
        const std::vector<double> tried = levels;
        impl_->optimistic_levels(problem, options, true, levels, statistics);
        decided = levels != tried && impl_->levels_reachable(problem, options, levels);
    }
    if (!decided && !impl_->decide_levels(problem, options, levels, statistics)) {
        levels.clear();
    }
    return levels;
}

void TileShapeExplorer::explore(const TileShapeProblem& problem, const TileShapeOptions& options,
                                TileShapeResult& result) {
    check_chains(problem.symbols);
    TileShapeStatistics& statistics = result.statistics;
    statistics = {};
    result.given_up = impl_->given_up = false;
    result.levels.reset();
    statistics.dropped_by_constraint.assign(problem.constraints.size(), 0.0);
    statistics.space =
        count_assignments(problem.symbols, impl_->scratch.divisors, statistics.exact_space);

    if (impl_->pruned_as_a_whole(problem, options) || impl_->convex_beats_all(problem, options)) {
        statistics.dropped_by_incumbent = statistics.space;
        impl_->table.reset(problem.symbols.size() + problem.objectives.size());
        impl_->copy_result(problem, result);
        return;
    }
    std::vector<double> levels = impl_->explore_all(problem, options, statistics);
    if (impl_->levels_met) {
        result.levels = std::move(levels);
    }
    result.given_up = impl_->given_up;
    impl_->copy_result(problem, result);
}

/// The levels of the best-effort conditions that the rows meet.
std::vector<double> TileShapeExplorer::Impl::explore_all(const TileShapeProblem& problem,
                                                         const TileShapeOptions& options,
                                                         TileShapeStatistics& statistics) {
    std::vector<double> levels;
    const bool unchecked = optimistic_levels(problem, options, false, levels, statistics);
    bool decided = reach_levels(problem, options, levels, statistics);
    // Rows that meet all levels prove that the levels are right; a beam proves nothing else.
    decided = decided || options.beam > 0;
    if (!decided && unchecked) {
        const std::vector<double> tried = levels;
        optimistic_levels(problem, options, true, levels, statistics);
        decided = levels != tried && reach_levels(problem, options, levels, statistics);
    }
    if (!decided && decide_levels(problem, options, levels, statistics)) {
        reach_levels(problem, options, levels, statistics);
    }
    return levels;
}

}  // namespace tessera::mapspace
