#include "tile_shapes_engine.hpp"

#include <algorithm>
#include <cmath>

#include "tessera/base/stop.hpp"

// Comparing the rows of a table.

namespace tessera::mapspace {
namespace {

/// With how many comparisons an incomplete row that goes is paid for: about the time that its
/// completions take.
constexpr double comparisons_per_row = 20000;

}  // namespace

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
            const double v = check.upper ? with_slack_above(worst[i]) : with_slack_below(worst[i]);
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
    for (const int s : step.criteria.keys& step.after) {
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

/// Pareto filter over the criteria of a step.
void TileShapeEngine::prune(std::size_t index, RowTable& table) {
    if (!steps_[index].criteria_ready) {
        prepare_criteria(index);
    }
    Step& step = steps_[index];
    if (!step.comparable || table.rows < 2) {
        return;
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
    if (options_.safe_rows) {
        void_safe_criteria(step, table.rows);
    }
    base::poll_stop();
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
    const auto kept = scratch_.pareto(minimise, keys, table.rows, comparisons_per_row);
    statistics_->dropped_by_pareto += static_cast<double>(table.rows - kept.size());
    table.keep(kept, step.used);
}

/// Rows with the least optimistic completions.
void TileShapeEngine::keep_beam(std::size_t index, RowTable& table) {
    Step& step = steps_[index];
    if (!step.beam_ready) {
        std::vector<model::Formula> outputs;
        for (const model::Formula& q : quantities_) {
            outputs.push_back(bounds_.never_above(q, step.after));
        }
        step.beam_program.compile(pool_, outputs);
        step.beam_ready = true;
    }
    const std::size_t n = quantities_.size();
    std::vector<std::vector<double>> values(n, std::vector<double>(table.rows));
    std::vector<const double*> inputs;
    std::vector<double*> outputs;
    for (std::size_t s = 0; s < run_.symbols.size(); ++s) {
        inputs.push_back(table.columns[s].data());  // read only where known
    }
    for (auto& column : values) {
        outputs.push_back(column.data());
    }
    step.beam_program.evaluate(inputs, table.rows, outputs, scratch_.workspace);
    std::vector<std::pair<double, std::uint32_t>> order(table.rows);
    for (std::size_t i = 0; i < table.rows; ++i) {
        double product = 1.0;
        for (std::size_t q = 0; q < n; ++q) {
            const std::vector<double>& completions = run_.incumbent->completions;
            product *=
                std::max(0.0, values[q][i] + (q < completions.size() ? completions[q] : 0.0));
        }
        order[i] = {product, static_cast<std::uint32_t>(i)};
    }
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(options_.beam),
                     order.end());
    std::vector<std::uint32_t> kept;
    for (std::size_t i = 0; i < options_.beam; ++i) {
        kept.push_back(order[i].second);
    }
    std::sort(kept.begin(), kept.end());
    table.keep(kept, step.used);
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
