#include "tile_shapes_engine.hpp"

#include <algorithm>
#include <cmath>

// What a step does, decided once when the step is first reached: tests, criteria, programs.

namespace tessera::mapspace {

using model::Formula;
using model::SymbolSet;

void TileShapeStep::reset() {
    symbol = 0;
    before = after = {};
    last = ready = against_incumbent = criteria_ready = comparable = beam_ready = false;
    future = 1.0;
    first_quantity = first_objective = 0;
    tests.clear();
    counted.clear();
    safety.clear();
    count_columns.clear();
    used.clear();
    chain.clear();
    gathered.clear();
    n_highest = n_lowest = 0;
    picks.clear();
    filters.clear();
    symmetries.clear();
    fused_symmetries.clear();
}

TileShapeEngine::TileShapeEngine(model::FormulaPool& pool, const TileShapeRun& run,
                                 const TileShapeOptions& options, TileShapeScratch& scratch)
    : pool_(pool),
      run_(run),
      options_(options),
      scratch_(scratch),
      bounds_(pool, run.symbols, options.vertex_bounds),
      criteria_builder_(bounds_) {
    SymbolSet known;
    const std::size_t n_steps = std::max<std::size_t>(1, run.order.size());
    if (scratch_.steps.size() < n_steps) {
        scratch_.steps.resize(n_steps);
    }
    steps_ = std::span(scratch_.steps).first(n_steps);
    for (Step& step : steps_) {
        step.reset();
    }
    std::vector<int> used;
    for (std::size_t i = 0; i < run.order.size(); ++i) {
        Step& step = steps_[i];
        step.symbol = run.order[i];
        step.before = known;
        step.after = known |= SymbolSet::of(step.symbol);
        for (const int s : used) {
            for (const bool outward : {true, false}) {
                int c = step.symbol;
                while (c >= 0 && c != s) {
                    c = outward ? run.symbols[c].outer : run.symbols[c].inner;
                }
                if (c == s) {
                    step.chain.push_back(s);
                }
            }
        }
        used.push_back(step.symbol);
        step.used = used;
    }
    steps_.back().last = true;
    for (std::size_t k = 0; k < run.objectives.size(); ++k) {
        steps_.back().used.push_back(static_cast<int>(run.symbols.size() + k));
    }
    for (std::size_t i = run.order.size(); i-- > 1;) {
        const TileShapeSymbol& symbol = run.symbols[run.order[i]];
        steps_[i - 1].future =
            steps_[i].future * expected_candidates(symbol, scratch.divisors.of(symbol.bound));
    }
    if (scratch_.tables.size() < steps_.size() + 1) {
        scratch_.tables.resize(steps_.size() + 1);
    }
    staging_.resize(std::max<std::size_t>(1, run.symbols.size()) * kBlock);
    parents_.resize(kBlock);
    if (run_.incumbent && !run_.incumbent->quantities.empty()) {
        const IncumbentBound& incumbent = *run_.incumbent;
        quantities_tested_.assign(incumbent.quantities.size(), Formula(std::nan("")));
        const std::size_t n = incumbent.quantities.size();
        quantity_.resize(n);
        total_.resize(n);
        incumbent_points_.emplace(window_memory_, n);
        for (std::size_t p = 0; p + n <= incumbent.points.size(); p += n) {
            incumbent_points_->add(incumbent.points.data() + p);
        }
    }
    make_checks();
    find_fixed_products();
    for (const Formula& objective : run_.objectives) {
        objectives_.push_back(with_fixed_products(objective));
    }
    for (std::size_t q = 0; q < quantities_tested_.size(); ++q) {
        const Formula& quantity = run_.incumbent->quantities[q];
        const auto at = std::find(run_.objectives.begin(), run_.objectives.end(), quantity);
        quantities_.push_back(
            at == run_.objectives.end()
                ? with_fixed_products(quantity)
                : objectives_[static_cast<std::size_t>(at - run_.objectives.begin())]);
        if (options_.surrogate_bounds) {
            quantities_.back() = surrogate_of_limits(pool_, quantities_.back(), run_.constraints);
        }
    }
    rows_worth_bounds_ = rows_worth_bounds();
}

/// Products that two constraints pin to one value, such as a fan-out that must be used in full.
void TileShapeEngine::find_fixed_products() {
    if (!options_.fixed_products) {
        return;
    }
    for (Check& low : checks_) {
        for (Check& high : checks_) {
            if (low.upper || !high.upper || low.strict || high.strict ||
                !(low.formula == high.formula) || low.limit != high.limit) {
                continue;
            }
            low.fixed = high.fixed = true;
            const std::span<const model::Term> terms = pool_.terms(low.formula);
            if (terms.size() == 1 && low.limit != 0.0) {
                const double value = terms[0].coefficient / low.limit;
                const model::MonomialId monomial = terms[0].monomial;
                fixed_products_.push_back({value, monomial});
                fixed_products_.push_back({1.0 / value, pool_.power(monomial, -1)});
            }
        }
    }
}

/// The term times powers of fixed products, with as few symbols as that achieves.
model::Term TileShapeEngine::shortest_equal(model::Term term) {
    const auto symbols = [this](const model::Term& t) {
        return pool_.monomial(t.monomial).mask.count();
    };
    for (bool shorter = true; shorter;) {
        shorter = false;
        for (const model::Term& one : fixed_products_) {
            // Multiplying can only remove symbols that both have.
            const SymbolSet own = pool_.monomial(term.monomial).mask;
            if (!own.meets(pool_.monomial(one.monomial).mask)) {
                continue;
            }
            const model::Term next{term.coefficient * one.coefficient,
                                   pool_.product(term.monomial, one.monomial)};
            if (symbols(next) < symbols(term)) {
                term = next;
                shorter = true;
            }
        }
    }
    return term;
}

/// A formula with the same value on every legal row. It serves criteria and bounds only; results
/// are always computed from the original.
Formula TileShapeEngine::with_fixed_products(const Formula& f) {
    if (fixed_products_.empty() || f.is_constant()) {
        return f;
    }
    if (pool_.is_max(f)) {
        const std::vector<Formula> branches(pool_.branches(f).begin(), pool_.branches(f).end());
        Formula result = with_fixed_products(branches[0]);
        for (std::size_t b = 1; b < branches.size(); ++b) {
            result = model::max(result, with_fixed_products(branches[b]));
        }
        return result;
    }
    std::vector<model::Term> terms(pool_.terms(f).begin(), pool_.terms(f).end());
    for (model::Term& term : terms) {
        term = shortest_equal(term);
    }
    return pool_.polynomial(terms);
}

void TileShapeEngine::make_checks() {
    const auto add = [this](const Formula& f, std::size_t index, bool upper, bool strict) {
        Check check;
        check.formula = f;
        check.tested = Formula(std::nan(""));
        check.limit = run_.constraints[index].limit;
        check.constraint = static_cast<int>(index);
        check.upper = upper;
        check.strict = strict;
        // A condition that every assignment meets costs no criteria.
        const Formula extreme = upper ? bounds_.never_below(f, {}) : bounds_.never_above(f, {});
        const double value = extreme.constant_value();
        const bool always = upper ? (strict ? value < check.limit : value <= check.limit)
                                  : (strict ? value > check.limit : value >= check.limit);
        if (!always) {
            checks_.push_back(check);
        }
    };
    for (std::size_t i = 0; i < run_.constraints.size(); ++i) {
        const TileShapeConstraint& constraint = run_.constraints[i];
        const Relation relation = constraint.relation;
        const bool strict = relation == Relation::less || relation == Relation::greater;
        if (relation != Relation::greater_equal && relation != Relation::greater) {
            // max(f, g) <= limit is f <= limit and g <= limit.
            std::vector<Formula> parts{constraint.formula};
            if (pool_.is_max(constraint.formula)) {
                const auto branches = pool_.branches(constraint.formula);
                parts.assign(branches.begin(), branches.end());
            }
            for (const Formula& part : parts) {
                add(part, i, true, strict);
            }
        }
        if (relation != Relation::less_equal && relation != Relation::less) {
            add(constraint.formula, i, false, strict);
        }
    }
}

/// Decides what to test of a check once `known` symbols are fixed. False: nothing new to test.
bool TileShapeEngine::prepare_test(Check& check, const SymbolSet& known, Test& test,
                                   Formula& bound) {
    if (check.done) {
        return false;
    }
    const bool exact = known.contains(pool_.mask(check.formula));
    if (!exact && !options_.partial_conditions) {
        return false;
    }
    bound = exact         ? check.formula
            : check.upper ? bounds_.never_above(check.formula, known)
                          : bounds_.never_below(check.formula, known);
    check.done = exact;
    if (!exact && bound == check.tested) {
        return false;
    }
    check.tested = bound;
    test = {check.limit, check.constraint, check.upper, check.strict, exact};
    if (!bound.is_constant()) {
        return true;
    }
    const double value = exact         ? bound.constant_value()
                         : check.upper ? with_slack_below(bound.constant_value())
                                       : with_slack_above(bound.constant_value());
    const bool holds = check.upper ? (check.strict ? value < check.limit : value <= check.limit)
                                   : (check.strict ? value > check.limit : value >= check.limit);
    if (!holds) {
        empty_ = true;
        statistics_->dropped_by_constraint[check.constraint] += 1.0;
    }
    return false;
}

void TileShapeEngine::prepare_tests(Step& step, std::vector<Formula>& outputs) {
    for (Check& check : checks_) {
        Test test;
        Formula bound;
        if (prepare_test(check, step.after, test, bound)) {
            step.tests.push_back(test);
            outputs.push_back(bound);
        }
    }
}

void TileShapeEngine::prepare_incumbent(Step& step, bool worthwhile,
                                        std::vector<Formula>& outputs) {
    step.first_quantity = outputs.size();
    if (quantities_tested_.empty() || !(step.last || worthwhile)) {
        return;
    }
    const IncumbentBound& incumbent = *run_.incumbent;
    for (std::size_t q = 0; q < incumbent.quantities.size(); ++q) {
        // Complete rows are held against the quantity as given.
        const Formula bound =
            bounds_.never_above(step.last ? incumbent.quantities[q] : quantities_[q], step.after);
        step.against_incumbent = step.against_incumbent || !(bound == quantities_tested_[q]);
        quantities_tested_[q] = bound;
        outputs.push_back(bound);
    }
    step.against_incumbent = step.against_incumbent || step.last;
    if (!step.against_incumbent) {
        outputs.resize(step.first_quantity);
    }
}

/// Rows from which bounds of partial ones pay. With halos, costs are sums with many negative terms,
/// and to prove their signs takes as long as to make hundreds of rows.
std::size_t TileShapeEngine::rows_worth_bounds() const {
    std::size_t negative = 0;
    const auto count = [&](const Formula& f) {
        for (const model::Term& t : pool_.terms(f)) {
            negative += t.coefficient < 0.0 ? 1 : 0;
        }
    };
    for (const Formula& f : quantities_) {
        if (f.is_constant() || !pool_.is_max(f)) {
            count(f);
            continue;
        }
        for (const Formula& branch : pool_.branches(f)) {
            count(branch);
        }
    }
    return options_.prune_min_rows * (1 + negative / 3);
}

bool TileShapeEngine::loop_is_definite(const LoopLimit::Loop& loop, const SymbolSet& known) const {
    return (loop.outer < 0 || known.has(loop.outer)) && (loop.own < 0 || known.has(loop.own));
}

void TileShapeEngine::prepare(std::size_t index, std::size_t rows) {
    Step& step = steps_[index];
    step.ready = true;
    std::vector<Formula> outputs;
    prepare_tests(step, outputs);
    if (options_.domain_propagation && !run_.order.empty()) {
        prepare_ranges(step, outputs);
        prepare_picks(step);
    }
    prepare_filters(step);
    prepare_symmetries(step);
    prepare_incumbent(step, 4 * rows >= rows_worth_bounds_, outputs);
    step.first_objective = outputs.size();
    if (step.last) {
        outputs.insert(outputs.end(), run_.objectives.begin(), run_.objectives.end());
    }
    step.program.compile(pool_, outputs);
    for (std::size_t g = 0; g < run_.loop_limits.size(); ++g) {
        const LoopLimit& group = run_.loop_limits[g];
        int definite = 0;
        bool gained = false;
        for (const LoopLimit::Loop& loop : group.loops) {
            definite += loop_is_definite(loop, step.after) ? 1 : 0;
            gained = gained || (loop_is_definite(loop, step.after) &&
                                (index == 0 || !loop_is_definite(loop, step.before)));
        }
        if (gained && definite > group.limit) {
            step.counted.push_back(static_cast<int>(g));
        }
        if (definite > 0 && definite < static_cast<int>(group.loops.size()) &&
            static_cast<int>(group.loops.size()) > group.limit) {
            step.count_columns.push_back(static_cast<int>(g));
        }
    }
    SymbolSet read = step.program.symbols_read();
    for (const int g : step.counted) {
        for (const LoopLimit::Loop& loop : run_.loop_limits[g].loops) {
            read |= SymbolSet::of(loop.outer);
            read |= SymbolSet::of(loop.own);
        }
    }
    for (const int s : read& step.before) {
        step.gathered.push_back(s);
    }
}

/// Known symbols whose value decides which completions a row permits, and fused ones.
SymbolSet TileShapeEngine::keys_of(const SymbolSet& known) const {
    SymbolSet keys;
    SymbolSet enumerated;
    for (const int s : run_.order) {
        enumerated |= SymbolSet::of(s);
    }
    const auto unknown = [&](int s) { return s >= 0 && (enumerated - known).has(s); };
    for (std::size_t s = 0; s < run_.symbols.size(); ++s) {
        const TileShapeSymbol& symbol = run_.symbols[s];
        if (unknown(symbol.outer) || unknown(symbol.inner) ||
            (symbol.fused && run_.fused_are_keys)) {
            keys |= SymbolSet::of(static_cast<int>(s));
        }
        // "Smallest value for its trip count" relates three neighbours.
        if (symbol.choice == TileChoice::one_per_trip_count &&
            (unknown(static_cast<int>(s)) || unknown(symbol.outer) || unknown(symbol.inner))) {
            keys |= SymbolSet::of(static_cast<int>(s)) | SymbolSet::of(symbol.outer) |
                    SymbolSet::of(symbol.inner);
        }
    }
    // Which of the symmetric variables counts depends on the others and on what encloses them.
    for (const SymmetricSymbols& t : run_.symmetries) {
        const SymbolSet all =
            SymbolSet::of(t.first) | SymbolSet::of(t.second) | SymbolSet::of(t.top);
        if ((enumerated - known).meets(all)) {
            keys |= all;
        }
    }
    for (const FusedSymmetries& group : run_.fused_symmetries) {
        const SymbolSet all = fused_symbols(group);
        if ((enumerated - known).meets(all)) {
            keys |= all;
        }
    }
    return keys & known;
}

void TileShapeEngine::prepare_criteria(std::size_t index) {
    Step& step = steps_[index];
    step.criteria_ready = true;
    CriteriaBuilder& builder = criteria_builder_;
    builder.sum_groups(options_.sum_groups);
    builder.start(step.after, keys_of(step.after));
    for (const Formula& objective : objectives_) {
        builder.add_objective(objective);
    }
    for (std::size_t c = 0; c < checks_.size(); ++c) {
        const Check& check = checks_[c];
        // Not check.done: deeper steps may have been prepared before this one is first pruned.
        if (step.after.contains(pool_.mask(check.formula))) {
            continue;
        }
        if (check.fixed) {
            builder.add_equal(check.formula);
        } else {
            builder.add_condition(check.formula, check.upper ? 1 : -1, static_cast<int>(c));
        }
    }
    step.criteria = builder.finish();
    step.comparable = !step.criteria.keys.contains(step.after);
    if (index > 0 && steps_[index - 1].criteria_ready && steps_[index - 1].comparable) {
        // Rows with the same value of a new key stem from different rows that have already been
        // compared by the same criteria: nothing more can be dropped.
        const Criteria& earlier = steps_[index - 1].criteria;
        const auto among = [](const std::vector<Formula>& part, const std::vector<Formula>& whole) {
            return std::ranges::all_of(part, [&](const Formula& f) {
                return std::find(whole.begin(), whole.end(), f) != whole.end();
            });
        };
        if (step.criteria.keys.contains(earlier.keys) && step.criteria.keys.has(step.symbol) &&
            steps_[index - 1].count_columns == step.count_columns &&
            among(earlier.minimise, step.criteria.minimise) &&
            earlier.minimise_unless_safe.empty() && among(earlier.equal, step.criteria.equal)) {
            step.comparable = false;
        }
    }
    std::vector<Formula> outputs = step.criteria.minimise;
    for (const Criteria::OfCondition& criterion : step.criteria.minimise_unless_safe) {
        outputs.push_back(criterion.formula);
        if (std::find(step.safety.begin(), step.safety.end(), criterion.condition) ==
            step.safety.end()) {
            step.safety.push_back(criterion.condition);
        }
    }
    outputs.insert(outputs.end(), step.criteria.equal.begin(), step.criteria.equal.end());
    for (const int c : step.safety) {
        const Check& check = checks_[c];
        outputs.push_back(check.upper ? bounds_.never_below(check.formula, step.after)
                                      : bounds_.never_above(check.formula, step.after));
    }
    step.criteria_program.compile(pool_, outputs);
}

}  // namespace tessera::mapspace
