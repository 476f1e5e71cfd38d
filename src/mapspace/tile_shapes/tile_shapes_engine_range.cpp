#include <algorithm>
#include <cmath>

#include "tile_shapes_engine.hpp"

// Values that need not be made. A test on a sum of positive monomials bounds each of them, and so
// the one unknown in it, the symbol at hand, for every row of the input. Tests are made all the
// same: a range has slack and decides nothing.

namespace tessera::mapspace {
namespace {

using model::Formula;
using model::Term;

constexpr double kRangeSlack = 1e-9;
/// Of one step; every one costs an evaluation per row.
constexpr std::size_t kMaxRanges = 8;

}  // namespace

/// Formulas over known symbols that bound the step's own.
void TileShapeEngine::prepare_ranges(Step& step, std::span<const Formula> tested) {
    std::vector<Formula> highest, lowest;
    for (std::size_t t = 0; t < step.tests.size(); ++t) {
        const Test& test = step.tests[t];
        const std::span<const Term> found = plain_terms(pool_, tested[t]);
        const std::vector<Term> terms(found.begin(), found.end());  // the pool may move its own
        if (!(test.limit > 0.0) || (!test.upper && terms.size() != 1)) {
            continue;
        }
        for (const Term& term : terms) {
            model::Exponents exponents = pool_.monomial(term.monomial).exponents;
            const int e = exponents.get(step.symbol);
            if (std::abs(e) != 1 || highest.size() + lowest.size() >= kMaxRanges) {
                continue;
            }
            exponents.set(step.symbol, 0);
            const model::MonomialId others = pool_.intern(exponents, 0);
            // c s^e R against the limit: s^e against limit / (c R).
            std::vector<Term> one{e > 0
                                      ? Term{test.limit / term.coefficient, pool_.power(others, -1)}
                                      : Term{term.coefficient / test.limit, others}};
            auto& to = test.upper == (e > 0) ? highest : lowest;
            const Formula range = pool_.polynomial(one);
            if (std::find(to.begin(), to.end(), range) == to.end()) {
                to.push_back(range);
            }
        }
    }
    step.n_highest = highest.size();
    step.n_lowest = lowest.size();
    highest.insert(highest.end(), lowest.begin(), lowest.end());
    if (!highest.empty()) {
        step.range_program.compile(pool_, highest);
    }
}

/// Loop limits that the symbol's loops count for.
void TileShapeEngine::prepare_picks(Step& step) {
    for (const LoopLimit& group : run_.loop_limits) {
        TileShapePick pick;
        pick.limit = group.limit;
        for (const LoopLimit::Loop& loop : group.loops) {
            if (!loop_is_definite(loop, step.after)) {
                continue;
            }
            if (loop.own == step.symbol) {
                pick.outside = true;
                pick.outer = loop;
            } else if (loop.outer == step.symbol) {
                pick.inside = true;
                pick.inner = loop;
            } else {
                pick.others.push_back(loop);
            }
        }
        const int known = static_cast<int>(pick.others.size()) + pick.outside + pick.inside;
        if ((pick.outside || pick.inside) && known > pick.limit) {
            step.picks.push_back(std::move(pick));
        }
    }
}

/// Evaluates the ranges of all rows.
void TileShapeEngine::find_ranges(Step& step, const RowTable& in) {
    const std::size_t n = step.n_highest + step.n_lowest;
    if (n == 0) {
        return;
    }
    step.highest.assign(in.rows, HUGE_VAL);
    step.lowest.assign(in.rows, 0.0);
    std::vector<double> memory(n * kBlock);
    std::vector<const double*> inputs(run_.symbols.size());
    std::vector<double*> outputs;
    for (std::size_t k = 0; k < n; ++k) {
        outputs.push_back(memory.data() + k * kBlock);
    }
    for (std::size_t from = 0; from < in.rows; from += kBlock) {
        const std::size_t rows = std::min(kBlock, in.rows - from);
        for (std::size_t s = 0; s < inputs.size(); ++s) {
            inputs[s] = step.before.has(s) ? in.columns[s].data() + from : nullptr;
        }
        step.range_program.evaluate(inputs, rows, outputs, scratch_.workspace);
        for (std::size_t k = 0; k < n; ++k) {
            double* to = (k < step.n_highest ? step.highest : step.lowest).data() + from;
            for (std::size_t i = 0; i < rows; ++i) {
                to[i] = k < step.n_highest ? std::min(to[i], outputs[k][i] * (1 + kRangeSlack))
                                           : std::max(to[i], outputs[k][i] * (1 - kRangeSlack));
            }
        }
    }
}

/// Leaves out values of the symbol for the row at hand.
void TileShapeEngine::propagate(const Step& step, const RowTable& in, Expansion& at) const {
    const auto value = [&](int symbol, double otherwise) {
        return symbol < 0 ? otherwise : in.columns[symbol][at.row];
    };
    double low = 0.0, high = HUGE_VAL, either = 0.0, other = 0.0;
    bool picked = false;
    if (step.n_highest + step.n_lowest > 0) {
        low = step.lowest[at.row];
        high = step.highest[at.row];
    }
    for (const TileShapePick& pick : step.picks) {
        int left = pick.limit;
        for (const LoopLimit::Loop& loop : pick.others) {
            left -= value(loop.outer, static_cast<double>(loop.bound)) != value(loop.own, 1.0);
        }
        if (left >= pick.outside + pick.inside) {
            continue;
        }
        // With one loop left the tile shape is that of a neighbour; with none, of both.
        const double outer = value(pick.outer.outer, static_cast<double>(pick.outer.bound));
        const double inner = value(pick.inner.own, 1.0);
        picked = true;
        either = pick.outside ? outer : inner;
        other = pick.inside && left == 1 ? inner : either;
        low = pick.inside && left < 1 ? std::max(low, inner) : low;
        high = pick.inside && left < 1 ? std::min(high, inner) : high;
        break;  // the limits themselves are tested in any case
    }
    at.cursor.restrict(low, high, picked, either, other);
}

}  // namespace tessera::mapspace
