#include "tile_shapes_engine.hpp"

#include <algorithm>
#include <cmath>

#include "tessera/base/stop.hpp"

namespace tessera::mapspace {

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

void TileShapeEngine::run(RowTable& table, TileShapeStatistics& statistics) {
    statistics_ = &statistics;
    result_ = &table;
    result_used_ = steps_.back().used;
    result_pruned_rows_ = 0;
    table.reset(run_.symbols.size() + run_.objectives.size());
    RowTable& start = scratch_.tables[0];
    start.reset(run_.symbols.size());
    start.rows = 1;
    prepare(0, 1);
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
    base::poll_stop();
    if (!steps_[depth].ready) {
        prepare(depth, in.rows);
    }
    if (empty_) {
        return;
    }
    find_ranges(steps_[depth], in);
    const Step& step = steps_[depth];
    const int symbol = step.symbol;
    Expansion at{
        CandidateCursor(run_.symbols, symbol, scratch_.divisors.of(run_.symbols[symbol].bound)),
        0,
        false,
        {},
        {}};
    RowTable& out = scratch_.tables[depth + 1];
    out.reset(run_.symbols.size() + (step.last ? run_.objectives.size() : 0));
    while (at.row < in.rows) {
        expand(step, in, out, at);
        finish_piece(depth, out, at.row < in.rows);
        if (run_.stop_at_first && result_->rows > 0) {
            return;
        }
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
    const bool worthwhile = options_.partial_pareto && out.rows >= options_.prune_min_rows &&
                            static_cast<double>(out.rows) * step.future >= options_.prune_from_rows;
    if ((more && options_.partial_pareto) || worthwhile) {
        prune(depth, out);
    }
    if (options_.beam > 0 && out.rows > options_.beam) {
        keep_beam(depth, out);
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
    const bool propagated = step.n_highest + step.n_lowest + step.picks.size() > 0;
    while (at.row < in.rows) {
        for (const int s : step.chain) {
            values[s] = in.columns[s][at.row];
        }
        if (!at.started) {
            at.cursor.start(values, step.before);
            at.started = true;
            if (propagated) {
                propagate(step, in, at);
            }
            start_filters(step, in, at);
        }
        const std::size_t room = kBlock - filled;
        const std::size_t made = at.cursor.next(own + filled, room);
        std::size_t kept = keep_allowed(step, at, own + filled, made);
        kept = keep_symmetries(step, in, at.row, own + filled, kept);
        std::fill_n(parents_.data() + filled, kept, static_cast<std::uint32_t>(at.row));
        filled += kept;
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
void TileShapeEngine::flush(const Step& step, std::size_t rows, const RowTable& in, RowTable& out) {
    base::poll_stop();
    statistics_->enumerated += static_cast<double>(rows);
    if (statistics_->enumerated > options_.most_enumerated) {
        throw TooManyRows();
    }
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
    for (const int s : step.program.symbols_read()) {
        std::copy_n(staged(s), rows, registers + s * kBlock);
    }
    step.program.run(registers, rows);
    std::uint8_t alive[kBlock];
    if (const std::size_t left = filter(step, registers, rows, alive); left > 0) {
        append(step, {alive, rows, left}, registers, in, out);
    }
}

void TileShapeEngine::append(const Step& step, const Survivors& of_block, const double* registers,
                             const RowTable& in, RowTable& out) {
    const auto [alive, rows, left] = of_block;
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
            c < static_cast<int>(symbols)
                ? staged(c)
                : registers +
                      step.program.output_register(step.first_objective + c - symbols) * kBlock;
        for (std::size_t i = 0; i < left; ++i) {
            to[i] = from[kept[i]];
        }
    }
    out.rows += left;
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

}  // namespace tessera::mapspace
