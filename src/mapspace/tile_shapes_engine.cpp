#include "mapspace/tile_shapes_engine.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::mapspace {

using model::Formula;

namespace {

/// Bounds of incomplete rows are compared with this much slack, so that rounding never drops a
/// row that a complete evaluation would keep.
constexpr double kSlack = 1e-12;

double lower(double value) { return value - kSlack * std::abs(value); }
double higher(double value) { return value + kSlack * std::abs(value); }

}  // namespace

void RowTable::reset(std::size_t n_columns) {
    rows = 0;
    if (columns.size() < n_columns) {
        columns.resize(n_columns);
    }
}

void RowTable::reserve(std::size_t more, std::span<const int> used) {
    for (const int c : used) {
        std::vector<double>& column = columns[c];
        if (column.size() < rows + more) {
            column.resize(std::max(rows + more, 2 * column.size()));
        }
    }
}

void RowTable::keep(std::span<const std::uint32_t> kept, std::span<const int> used) {
    for (const int c : used) {
        double* column = columns[c].data();
        for (std::size_t i = 0; i < kept.size(); ++i) {
            column[i] = column[kept[i]];
        }
    }
    rows = kept.size();
}

TileShapeEngine::TileShapeEngine(model::FormulaPool& pool, const TileShapeRun& run,
                                 const TileShapeOptions& options, TileShapeScratch& scratch)
    : pool_(pool), run_(run), options_(options), scratch_(scratch), bounds_(pool, run.symbols) {
    std::uint32_t known = 0;
    steps_.resize(std::max<std::size_t>(1, run.order.size()));
    std::vector<int> used;
    for (std::size_t i = 0; i < run.order.size(); ++i) {
        Step& step = steps_[i];
        step.symbol = run.order[i];
        step.before = known;
        step.after = known |= 1u << step.symbol;
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
        quantities_.push_back(at == run_.objectives.end()
                                  ? with_fixed_products(quantity)
                                  : objectives_[static_cast<std::size_t>(
                                        at - run_.objectives.begin())]);
    }
}

/// Products that two constraints pin to one value, such as a fan-out that must be used in full.
void TileShapeEngine::find_fixed_products() {
    for (Check& low : checks_) {
        for (Check& high : checks_) {
            if (low.upper || !high.upper || low.strict || high.strict ||
                !(low.formula == high.formula) || low.limit != high.limit) {
                continue;
            }
            low.pinned = high.pinned = true;
            const std::span<const model::Term> terms = pool_.terms(low.formula);
            if (terms.size() == 1 && pool_.monomial(terms[0].monomial).atoms == 0 &&
                low.limit != 0.0) {
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
        return __builtin_popcount(pool_.monomial(t.monomial).mask);
    };
    for (bool shorter = true; shorter;) {
        shorter = false;
        for (const model::Term& one : fixed_products_) {
            // Multiplying can only remove symbols that both have.
            const std::uint32_t own = pool_.monomial(term.monomial).mask;
            if ((own & pool_.monomial(one.monomial).mask) == 0) {
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
        const Formula extreme = upper ? bounds_.never_below(f, 0) : bounds_.never_above(f, 0);
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
bool TileShapeEngine::prepare_test(Check& check, std::uint32_t known, Test& test, Formula& bound) {
    if (check.done) {
        return false;
    }
    const bool exact = (pool_.mask(check.formula) & ~known) == 0;
    bound = exact          ? check.formula
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
                         : check.upper ? lower(bound.constant_value())
                                       : higher(bound.constant_value());
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

void TileShapeEngine::prepare_incumbent(Step& step, std::vector<Formula>& outputs) {
    step.first_quantity = outputs.size();
    if (quantities_tested_.empty()) {
        return;
    }
    const IncumbentBound& incumbent = *run_.incumbent;
    for (std::size_t q = 0; q < incumbent.quantities.size(); ++q) {
        // Complete rows are held against the quantity as given.
        const Formula bound = bounds_.never_above(
            step.last ? incumbent.quantities[q] : quantities_[q], step.after);
        step.against_incumbent = step.against_incumbent || !(bound == quantities_tested_[q]);
        quantities_tested_[q] = bound;
        outputs.push_back(bound);
    }
    step.against_incumbent = step.against_incumbent || step.last;
    if (!step.against_incumbent) {
        outputs.resize(step.first_quantity);
    }
}

bool TileShapeEngine::loop_is_definite(const LoopLimit::Loop& loop, std::uint32_t known) const {
    return (loop.outer < 0 || (known >> loop.outer & 1u)) &&
           (loop.own < 0 || (known >> loop.own & 1u));
}

void TileShapeEngine::prepare(std::size_t index) {
    Step& step = steps_[index];
    step.ready = true;
    std::vector<Formula> outputs;
    prepare_tests(step, outputs);
    prepare_incumbent(step, outputs);
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
    std::uint32_t read = step.program.symbols_read();
    for (const int g : step.counted) {
        for (const LoopLimit::Loop& loop : run_.loop_limits[g].loops) {
            read |= loop.outer >= 0 ? 1u << loop.outer : 0u;
            read |= loop.own >= 0 ? 1u << loop.own : 0u;
        }
    }
    for (std::uint32_t rest = read & step.before; rest != 0; rest &= rest - 1) {
        step.gathered.push_back(__builtin_ctz(rest));
    }
}

/// Known symbols whose value decides which completions a row permits, and fused ones.
std::uint32_t TileShapeEngine::keys_of(std::uint32_t known) const {
    std::uint32_t keys = 0;
    std::uint32_t enumerated = 0;
    for (const int s : run_.order) {
        enumerated |= 1u << s;
    }
    const auto unknown = [&](int s) { return s >= 0 && (enumerated & ~known) >> s & 1u; };
    for (std::size_t s = 0; s < run_.symbols.size(); ++s) {
        const TileShapeSymbol& symbol = run_.symbols[s];
        const auto bit = [](int i) { return i >= 0 ? 1u << i : 0u; };
        if (unknown(symbol.outer) || unknown(symbol.inner) ||
            (symbol.fused && run_.fused_are_keys)) {
            keys |= 1u << s;
        }
        // "Smallest value for its trip count" relates three neighbours.
        if (symbol.choice == TileChoice::one_per_trip_count &&
            (unknown(static_cast<int>(s)) || unknown(symbol.outer) || unknown(symbol.inner))) {
            keys |= 1u << s | bit(symbol.outer) | bit(symbol.inner);
        }
    }
    return keys & known;
}

void TileShapeEngine::prepare_criteria(std::size_t index) {
    Step& step = steps_[index];
    step.criteria_ready = true;
    CriteriaBuilder builder(bounds_);
    builder.start(step.after, keys_of(step.after));
    for (const Formula& objective : objectives_) {
        builder.add_objective(objective);
    }
    for (std::size_t c = 0; c < checks_.size(); ++c) {
        const Check& check = checks_[c];
        // Not check.done: deeper steps may have been prepared before this one is first pruned.
        if ((pool_.mask(check.formula) & ~step.after) == 0) {
            continue;
        }
        if (check.pinned) {
            builder.add_equal(check.formula);
        } else {
            builder.add_condition(check.formula, check.upper ? 1 : -1, static_cast<int>(c));
        }
    }
    step.criteria = builder.finish();
    step.comparable = (step.after & ~step.criteria.keys) != 0;
    if (index > 0 && steps_[index - 1].criteria_ready && steps_[index - 1].comparable) {
        // Rows with the same value of a new key stem from different rows that have already been
        // compared by the same criteria: nothing more can be dropped.
        const Criteria& earlier = steps_[index - 1].criteria;
        const auto among = [](const std::vector<Formula>& part, const std::vector<Formula>& whole) {
            return std::ranges::all_of(part, [&](const Formula& f) {
                return std::find(whole.begin(), whole.end(), f) != whole.end();
            });
        };
        if ((earlier.keys & ~step.criteria.keys) == 0 &&
            (step.criteria.keys >> step.symbol & 1u) &&
            steps_[index - 1].count_columns == step.count_columns &&
            among(earlier.minimise, step.criteria.minimise) &&
            earlier.minimise_unless_safe.empty() &&
            among(earlier.equal, step.criteria.equal)) {
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

void TileShapeEngine::run(RowTable& table, TileShapeStatistics& statistics) {
    statistics_ = &statistics;
    result_ = &table;
    result_used_ = steps_.back().used;
    result_pruned_rows_ = 0;
    table.reset(run_.symbols.size() + run_.objectives.size());
    RowTable& start = scratch_.tables[0];
    start.reset(run_.symbols.size());
    start.rows = 1;
    prepare(0);
    if (run_.order.empty()) {
        RowTable& out = scratch_.tables[1];
        out.reset(table.columns.size());
        if (!empty_) {
            flush(steps_[0], 1, start, out);
            append_result(out);
        }
        return;
    }
    if (!empty_) {
        process(0, start);
    }
    prune_result();
}

void TileShapeEngine::process(std::size_t depth, const RowTable& in) {
    if (!steps_[depth].ready) {
        prepare(depth);
    }
    if (empty_) {
        return;
    }
    const Step& step = steps_[depth];
    const int symbol = step.symbol;
    Expansion at{CandidateCursor(run_.symbols, symbol,
                                 scratch_.divisors.of(run_.symbols[symbol].bound))};
    RowTable& out = scratch_.tables[depth + 1];
    out.reset(run_.symbols.size() + (step.last ? run_.objectives.size() : 0));
    while (at.row < in.rows) {
        expand(step, in, out, at);
        finish_piece(depth, out, at.row < in.rows);
    }
}

/// Prunes what has been produced so far; hands it on when it is complete or too large to wait.
void TileShapeEngine::finish_piece(std::size_t depth, RowTable& out, bool more) {
    const Step& step = steps_[depth];
    if (step.last) {
        append_result(out);
        out.reset(out.columns.size());
        return;
    }
    if (more || static_cast<double>(out.rows) * step.future >= options_.prune_from_rows) {
        prune(depth, out);
    }
    if (more && out.rows * 2 <= options_.max_rows) {
        return;
    }
    if (out.rows > 0) {
        process(depth + 1, out);
    }
    out.reset(out.columns.size());
}

void TileShapeEngine::expand(const Step& step, const RowTable& in, RowTable& out, Expansion& at) {
    double values[model::kMaxSymbols];
    std::size_t filled = 0;
    double* own = staged(step.symbol);
    while (at.row < in.rows) {
        for (const int s : step.chain) {
            values[s] = in.columns[s][at.row];
        }
        if (!at.started) {
            at.cursor.start(values, step.before);
            at.started = true;
        }
        const std::size_t room = kBlock - filled;
        const std::size_t made = at.cursor.next(own + filled, room);
        std::fill_n(parents_.data() + filled, made, static_cast<std::uint32_t>(at.row));
        filled += made;
        if (made < room) {
            ++at.row;
            at.started = false;
        }
        if (filled == kBlock) {
            flush(step, filled, in, out);
            filled = 0;
            if (out.rows + kBlock > options_.max_rows) {
                return;
            }
        }
    }
    if (filled > 0) {
        flush(step, filled, in, out);
    }
}

/// Filters one staged block and appends the rows that are left.
void TileShapeEngine::flush(const Step& step, std::size_t rows, const RowTable& in,
                            RowTable& out) {
    statistics_->enumerated += static_cast<double>(rows);
    if (step.last) {
        statistics_->evaluated += static_cast<double>(rows);
    }
    for (const int s : step.gathered) {
        const double* from = in.columns[s].data();
        double* to = staged(s);
        for (std::size_t i = 0; i < rows; ++i) {
            to[i] = from[parents_[i]];
        }
    }
    double* registers = step.program.block(scratch_.workspace);
    for (std::uint32_t rest = step.program.symbols_read(); rest != 0; rest &= rest - 1) {
        const int s = __builtin_ctz(rest);
        std::copy_n(staged(s), rows, registers + s * kBlock);
    }
    step.program.run(registers, rows);
    std::uint8_t alive[kBlock];
    if (const std::size_t left = filter(step, registers, rows, alive); left > 0) {
        append(step, alive, rows, left, registers, in, out);
    }
}

void TileShapeEngine::append(const Step& step, const std::uint8_t* alive, std::size_t rows,
                             std::size_t left, const double* registers, const RowTable& in,
                             RowTable& out) {
    std::uint8_t kept[kBlock];
    std::uint32_t parent[kBlock];
    std::size_t n = 0;
    for (std::size_t i = 0; i < rows; ++i) {
        kept[n] = static_cast<std::uint8_t>(i);
        parent[n] = parents_[i];
        n += alive[i];
    }
    out.reserve(left, step.used);
    const std::size_t symbols = run_.symbols.size();
    for (const int c : step.used) {
        double* to = out.columns[c].data() + out.rows;
        if (c < static_cast<int>(symbols) && c != step.symbol) {
            const double* from = in.columns[c].data();
            for (std::size_t i = 0; i < left; ++i) {
                to[i] = from[parent[i]];
            }
            continue;
        }
        const double* from =
            c < static_cast<int>(symbols) ? staged(c)
                             : registers + step.program.output_register(step.first_objective + c -
                                                                        symbols) *
                                               kBlock;
        for (std::size_t i = 0; i < left; ++i) {
            to[i] = from[kept[i]];
        }
    }
    out.rows += left;
}

std::size_t TileShapeEngine::filter(const Step& step, const double* registers, std::size_t rows,
                                    std::uint8_t* alive) {
    std::fill_n(alive, rows, std::uint8_t{1});
    drop_by_tests(step, registers, rows, alive);
    if (!step.counted.empty()) {
        drop_by_loop_limits(step, rows, alive);
    }
    if (step.against_incumbent) {
        drop_by_incumbent(step, registers, rows, alive);
    }
    std::size_t left = 0;
    for (std::size_t i = 0; i < rows; ++i) {
        left += alive[i];
    }
    return left;
}

void TileShapeEngine::drop_by_tests(const Step& step, const double* registers, std::size_t rows,
                                    std::uint8_t* alive) {
    for (std::size_t t = 0; t < step.tests.size(); ++t) {
        const Test& test = step.tests[t];
        const double* value = registers + step.program.output_register(t) * kBlock;
        // Complete formulas are compared as they are, bounds with slack.
        const double slack = test.exact ? 0.0 : kSlack;
        std::size_t dropped = 0;
        for (std::size_t i = 0; i < rows; ++i) {
            const double away = slack * std::abs(value[i]);
            const double v = test.upper ? value[i] - away : value[i] + away;
            const bool fails = test.upper ? (test.strict ? v >= test.limit : v > test.limit)
                                          : (test.strict ? v <= test.limit : v < test.limit);
            dropped += alive[i] & (fails ? 1 : 0);
            alive[i] &= fails ? 0 : 1;
        }
        statistics_->dropped_by_constraint[test.constraint] += static_cast<double>(dropped);
    }
}

void TileShapeEngine::drop_by_loop_limits(const Step& step, std::size_t rows,
                                          std::uint8_t* alive) {
    int trips[kBlock];
    for (const int g : step.counted) {
        const LoopLimit& group = run_.loop_limits[g];
        std::fill_n(trips, rows, 0);
        for (const LoopLimit::Loop& loop : group.loops) {
            if (!loop_is_definite(loop, step.after)) {
                continue;
            }
            for (std::size_t i = 0; i < rows; ++i) {
                const double outer =
                    loop.outer < 0 ? static_cast<double>(loop.bound) : staged(loop.outer)[i];
                const double own = loop.own < 0 ? 1.0 : staged(loop.own)[i];
                trips[i] += outer != own ? 1 : 0;
            }
        }
        for (std::size_t i = 0; i < rows; ++i) {
            const bool fails = trips[i] > group.limit;
            statistics_->dropped_by_loop_limit += alive[i] & (fails ? 1 : 0);
            alive[i] &= fails ? 0 : 1;
        }
    }
}

void TileShapeEngine::drop_by_incumbent(const Step& step, const double* registers,
                                        std::size_t rows, std::uint8_t* alive) {
    const IncumbentBound& incumbent = *run_.incumbent;
    const std::size_t n = incumbent.quantities.size();
    for (std::size_t i = 0; i < rows; ++i) {
        if (!alive[i]) {
            continue;
        }
        double product = 1.0;
        for (std::size_t q = 0; q < n; ++q) {
            double value = registers[step.program.output_register(step.first_quantity + q) * kBlock + i];
            value = step.last ? value : lower(value);
            quantity_[q] = value + (q < incumbent.offsets.size() ? incumbent.offsets[q] : 0.0);
            product *= std::max(0.0, quantity_[q]);
        }
        if (product >= incumbent.best_product || incumbent_points_->dominates(quantity_.data())) {
            alive[i] = 0;
            statistics_->dropped_by_incumbent += 1.0;
        }
    }
}

/// A row that meets a condition whatever comes later is at least as good for it as any other.
void TileShapeEngine::void_safe_criteria(const Step& step, std::size_t rows) {
    const Criteria& criteria = step.criteria;
    const std::size_t first = criteria.minimise.size();
    const std::size_t first_worst =
        first + criteria.minimise_unless_safe.size() + criteria.equal.size();
    for (std::size_t k = 0; k < criteria.minimise_unless_safe.size(); ++k) {
        const int condition = criteria.minimise_unless_safe[k].condition;
        const auto at = std::find(step.safety.begin(), step.safety.end(), condition);
        const std::vector<double>& worst =
            scratch_.columns[first_worst + static_cast<std::size_t>(at - step.safety.begin())];
        std::vector<double>& column = scratch_.columns[first + k];
        const Check& check = checks_[condition];
        const auto safe = [&](std::size_t i) {
            const double v = check.upper ? higher(worst[i]) : lower(worst[i]);
            return check.upper ? (check.strict ? v < check.limit : v <= check.limit)
                               : (check.strict ? v > check.limit : v >= check.limit);
        };
        double least = HUGE_VAL;
        for (std::size_t i = 0; i < rows; ++i) {
            least = std::min(least, column[i]);
        }
        const double best = std::nextafter(least, -HUGE_VAL);
        for (std::size_t i = 0; i < rows; ++i) {
            column[i] = safe(i) ? best : column[i];
        }
    }
}

/// Columns of the key symbols; several symbols share a column as long as the numbers stay exact.
void TileShapeEngine::collect_keys(const Step& step, const RowTable& table,
                                   std::vector<const double*>& keys) {
    constexpr double kExact = 9007199254740992.0;  // 2^53
    double range = kExact;                         // of the numbers in the open column
    std::size_t columns = 0;
    for (std::uint32_t rest = step.criteria.keys & step.after; rest != 0; rest &= rest - 1) {
        const int s = __builtin_ctz(rest);
        const double* values = table.columns[s].data();
        const double radix = static_cast<double>(run_.symbols[s].bound) + 1.0;
        if (range * radix <= kExact) {
            double* packed = scratch_.packed[columns - 1].data();
            for (std::size_t i = 0; i < table.rows; ++i) {
                packed[i] = packed[i] * radix + values[i];
            }
            range *= radix;
            continue;
        }
        if (scratch_.packed.size() == columns) {
            scratch_.packed.emplace_back();
        }
        if (scratch_.packed[columns].size() < table.rows) {
            scratch_.packed[columns].resize(table.rows);
        }
        std::copy_n(values, table.rows, scratch_.packed[columns].begin());
        ++columns;
        range = radix;
    }
    for (std::size_t c = 0; c < columns; ++c) {
        keys.push_back(scratch_.packed[c].data());
    }
}

/// Pareto filter over the criteria of a step. Returns whether anything could be compared.
bool TileShapeEngine::prune(std::size_t index, RowTable& table) {
    if (!steps_[index].criteria_ready) {
        prepare_criteria(index);
    }
    Step& step = steps_[index];
    if (!step.comparable || table.rows < 2) {
        return step.comparable;
    }
    const std::size_t formulas = step.criteria_program.output_count();
    const std::size_t total = formulas + step.count_columns.size();
    if (scratch_.columns.size() < total) {
        scratch_.columns.resize(total);
    }
    std::vector<double*> outputs;
    for (std::size_t c = 0; c < total; ++c) {
        if (scratch_.columns[c].size() < table.rows) {
            scratch_.columns[c].resize(table.rows);
        }
        if (c < formulas) {
            outputs.push_back(scratch_.columns[c].data());
        }
    }
    std::vector<const double*> inputs;
    for (std::size_t s = 0; s < run_.symbols.size(); ++s) {
        inputs.push_back(table.columns[s].data());  // read only where known
    }
    step.criteria_program.evaluate(inputs, table.rows, outputs, scratch_.workspace);
    void_safe_criteria(step, table.rows);
    std::vector<const double*> minimise, keys;
    const std::size_t n_minimise =
        step.criteria.minimise.size() + step.criteria.minimise_unless_safe.size();
    for (std::size_t c = 0; c < n_minimise + step.criteria.equal.size(); ++c) {
        (c < n_minimise ? minimise : keys).push_back(outputs[c]);
    }
    for (std::size_t k = 0; k < step.count_columns.size(); ++k) {
        // Fewer loops with more than one trip leave at least as many completions legal.
        std::vector<double>& column = scratch_.columns[formulas + k];
        std::fill_n(column.begin(), table.rows, 0.0);
        for (const LoopLimit::Loop& loop : run_.loop_limits[step.count_columns[k]].loops) {
            if (!loop_is_definite(loop, step.after)) {
                continue;
            }
            for (std::size_t i = 0; i < table.rows; ++i) {
                const double outer =
                    loop.outer < 0 ? static_cast<double>(loop.bound) : inputs[loop.outer][i];
                column[i] += outer != (loop.own < 0 ? 1.0 : inputs[loop.own][i]) ? 1.0 : 0.0;
            }
        }
        minimise.push_back(column.data());
    }
    collect_keys(step, table, keys);
    const auto kept = scratch_.pareto(minimise, keys, table.rows);
    statistics_->dropped_by_pareto += static_cast<double>(table.rows - kept.size());
    table.keep(kept, step.used);
    return true;
}

void TileShapeEngine::append_result(const RowTable& table) {
    result_->reserve(table.rows, result_used_);
    for (const int c : result_used_) {
        std::copy_n(table.columns[c].data(), table.rows,
                    result_->columns[c].data() + result_->rows);
    }
    result_->rows += table.rows;
    if (result_->rows > 2 * result_pruned_rows_ + options_.max_rows) {
        prune_result();
    }
}

void TileShapeEngine::prune_result() {
    std::vector<const double*> minimise, keys;
    for (std::size_t k = 0; k < run_.objectives.size(); ++k) {
        minimise.push_back(result_->columns[run_.symbols.size() + k].data());
    }
    for (const int s : run_.order) {
        if (run_.symbols[s].fused && run_.fused_are_keys) {
            keys.push_back(result_->columns[s].data());
        }
    }
    const auto kept = scratch_.pareto(minimise, keys, result_->rows);
    statistics_->dropped_by_pareto += static_cast<double>(result_->rows - kept.size());
    result_->keep(kept, result_used_);
    result_pruned_rows_ = result_->rows;
}

}  // namespace tessera::mapspace
