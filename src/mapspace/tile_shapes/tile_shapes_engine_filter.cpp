#include "tile_shapes_engine.hpp"

#include <algorithm>
#include <cmath>

// Dropping rows of one block.

namespace tessera::mapspace {

/// Holds quantity_ against the incumbent, with each of the alternative completion bounds.
bool TileShapeEngine::pruned_by_incumbent() {
    const IncumbentBound& incumbent = *run_.incumbent;
    const std::size_t n = quantity_.size();
    std::size_t at = 0;
    do {
        double product = 1.0;
        for (std::size_t q = 0; q < n; ++q) {
            total_[q] =
                quantity_[q] +
                (at + q < incumbent.completions.size() ? incumbent.completions[at + q] : 0.0);
            product *= std::max(0.0, total_[q]);
        }
        if (product < incumbent.best_product && !incumbent_points_->dominates(total_.data())) {
            return false;
        }
        at += n;
    } while (at < incumbent.completions.size());
    return true;
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
        const double slack = test.exact ? 0.0 : kBoundSlack;
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

void TileShapeEngine::drop_by_loop_limits(const Step& step, std::size_t rows, std::uint8_t* alive) {
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

void TileShapeEngine::drop_by_incumbent(const Step& step, const double* registers, std::size_t rows,
                                        std::uint8_t* alive) {
    const auto values = [&](std::size_t q) {
        return registers + step.program.output_register(step.first_quantity + q) * kBlock;
    };
    if (quantity_.size() == 2 && run_.incumbent->points.empty()) {
        double least[kBlock];
        least_products(values(0), values(1), step.last, least);
        std::size_t dropped = 0;
        for (std::size_t i = 0; i < rows; ++i) {
            const bool pruned = !(least[i] < run_.incumbent->best_product);
            dropped += alive[i] & (pruned ? 1 : 0);
            alive[i] &= pruned ? 0 : 1;
        }
        statistics_->dropped_by_incumbent += static_cast<double>(dropped);
        return;
    }
    for (std::size_t i = 0; i < rows; ++i) {
        if (!alive[i]) {
            continue;
        }
        for (std::size_t q = 0; q < quantity_.size(); ++q) {
            const double value = values(q)[i];
            quantity_[q] = step.last ? value : with_slack_below(value);
        }
        if (pruned_by_incumbent()) {
            alive[i] = 0;
            statistics_->dropped_by_incumbent += 1.0;
        }
    }
}

/// Of a block: least product of both quantities over all completion bounds. All rows of the block,
/// there or not: the compiler computes a fixed number of them several at a time.
void TileShapeEngine::least_products(const double* a, const double* b, bool exact,
                                     double* least) const {
    static constexpr double no_completion[] = {0.0, 0.0};
    const std::vector<double>& given = run_.incumbent->completions;
    const std::span<const double> completions =
        given.empty() ? std::span(no_completion) : std::span(given);
    double low_a[kBlock], low_b[kBlock];
    for (std::size_t i = 0; i < kBlock; ++i) {
        low_a[i] = exact ? a[i] : with_slack_below(a[i]);
        low_b[i] = exact ? b[i] : with_slack_below(b[i]);
        least[i] = HUGE_VAL;
    }
    for (std::size_t at = 0; at + 2 <= completions.size(); at += 2) {
        const double more_a = completions[at], more_b = completions[at + 1];
        for (std::size_t i = 0; i < kBlock; ++i) {
            const double sum_a = low_a[i] + more_a, sum_b = low_b[i] + more_b;
            const double product = (0.0 < sum_a ? sum_a : 0.0) * (0.0 < sum_b ? sum_b : 0.0);
            least[i] = product < least[i] ? product : least[i];
        }
    }
}

}  // namespace tessera::mapspace
