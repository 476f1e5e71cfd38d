// What is left of the accesses of every level. A saving at one level takes its share from all
// levels inside it, down to the next that saves by itself; there and at the level itself accesses
// become gated or skipped ones.
#include <algorithm>
#include <cmath>

#include "state.hpp"
#include "timeloop/model/counters.hpp"

namespace tessera::timeloop::sparse {

namespace {

using Op = StorageOperation;

/// `count` without its share, rounded down.
double less(double count, double share) {
    return count - std::floor(count * share);
}

/// Accesses of one data space at one level that may still be made.
struct Left {
    double reads = 0, fills = 0, updates = 0;
    TileAccesses format_reads, format_fills, format_updates;
    bool finished = false;
};

class Combination {
public:
    explicit Combination(State& state) : state_(state) {}

    void run() {
        for (int s = 0; s < state_.spaces; ++s) {
            for (int i = state_.levels - 1; i >= 0; --i) {
                leave_out_empty(i, s);
            }
        }
        const double all = real(state_.computes.replication) * state_.computes.accesses;
        double computes = all;
        for (int s = 0; s < state_.spaces; ++s) {
            left_.assign(static_cast<std::size_t>(state_.levels), {});
            for (int i = 0; i < state_.levels; ++i) {
                begin(i, s);
            }
            for (int i = state_.levels - 1; i >= 0; --i) {
                if (state_.saves(i, s)) {
                    propagate(i, s, computes);
                }
            }
            for (int i = 0; i < state_.levels; ++i) {
                if (state_.saving[state_.place(i, s)] == Saving::none) {
                    finish_without_saving(i, s);
                }
            }
        }
        state_.computes.random = counter(computes);
        convert();
    }

private:
    std::uint64_t& count(Held& held, Op op) const {
        return held.accesses[static_cast<std::size_t>(at(op))];
    }
    TileAccesses& formats(Held& held, Op op) const {
        return held.format_accesses[static_cast<std::size_t>(at(op))];
    }
    Left& left(int level) {
        return left_[static_cast<std::size_t>(level)];
    }

    /// With a format, elements that hold nothing are not accessed.
    void leave_out_empty(int level, int space) {
        Held& held = state_.of(level, space);
        count(held, Op::random_read) = held.reads;
        count(held, Op::random_fill) = held.fills;
        count(held, Op::random_update) = held.updates;
        if (held.format == nullptr) {
            return;
        }
        const double sparsity = 1 - held.expected_density;
        count(held, Op::random_read) = counter(less(real(held.reads), sparsity));
        count(held, Op::random_fill) = counter(less(real(held.fills), sparsity));
        if (state_.writes(space)) {
            count(held, Op::random_update) = counter(less(real(held.updates), sparsity));
        }
    }

    void begin(int level, int space) {
        Held& held = state_.of(level, space);
        left(level) = {real(count(held, Op::random_read)),
                       real(count(held, Op::random_fill)),
                       real(count(held, Op::random_update)),
                       held.format_reads,
                       held.format_fills,
                       held.format_updates,
                       false};
    }

    double share_of(int level, int space) const {
        const std::size_t place = state_.place(level, space);
        const double in_time = state_.saving[place] == Saving::none ? 0 : state_.saved[place];
        if (state_.spatial[place] == 0) {
            return in_time;
        }
        if (in_time != 0) {
            misfit(Fit::Kind::two_skips, level);
        }
        return state_.spatially_saved[place];
    }

    /// Only ranks from the first on are scaled where it is the last, too: Timeloop's loop over the
    /// ranks has its bounds the wrong way round.
    void scale_formats(TileAccesses& accesses, double share, std::size_t first) const {
        if (first != 0) {
            return;
        }
        if (accesses.empty()) {
            throw sparsity::Unanswerable("a format without any expected words");
        }
        RankAccesses& rank = accesses.front();
        rank.metadata = counter(less(real(rank.metadata), share));
        rank.payload = counter(less(real(rank.payload), share));
    }

    void propagate(int level, int space, double& computes) {
        const double share = share_of(level, space);
        int inner = level - 1;
        for (; inner >= 0; --inner) {
            Left& of = left(inner);
            of.fills = less(of.fills, share);
            of.reads = less(of.reads, share);
            of.updates = less(of.updates, share);
            if (state_.of(inner, space).format != nullptr) {
                const std::size_t ranks = left(level).format_reads.size() - 1;  // wraps around
                scale_formats(of.format_fills, share, std::min(of.format_fills.size(), ranks));
                scale_formats(of.format_reads, share, std::min(of.format_reads.size(), ranks));
                scale_formats(of.format_updates, share, of.format_updates.size());
            }
            if (state_.saves(inner, space)) {
                // Reads of formats are set from their updates: Timeloop's.
                const std::size_t place = state_.place(inner, space);
                const double own = state_.spatial[place] != 0 ? state_.spatially_saved[place]
                                                              : state_.saved[place];
                finish(inner, space, of.format_updates, 1 - ((1 - own) / (1 - share)));
                break;
            }
        }
        if (!left(level).finished) {
            finish(level, space, left(level).format_reads, share);
        }
        if (inner < 0 && !state_.writes(space)) {
            computes = less(computes, share);
            state_.operand_saved[static_cast<std::size_t>(space)] = 1;
            state_.operand_condition_empty[static_cast<std::size_t>(space)] =
                std::round(share * 1000000) / 1000000;
        }
    }

    void set_random(int level, int space, const TileAccesses& format_reads) {
        Held& held = state_.of(level, space);
        const Left& of = left(level);
        count(held, Op::random_fill) = counter(of.fills);
        count(held, Op::random_read) = counter(of.reads);
        count(held, Op::random_update) = counter(of.updates);
        formats(held, Op::random_metadata_fill) = of.format_fills;
        formats(held, Op::random_metadata_read) = format_reads;
        formats(held, Op::random_metadata_update) = of.format_updates;
    }

    void finish(int level, int space, const TileAccesses& format_reads, double share) {
        const TileAccesses reads = format_reads;
        set_random(level, space, reads);
        left(level).finished = true;
        if (state_.spatial[state_.place(level, space)] == 0) {
            save_locally(level, space, share);
        }
    }

    void move(std::uint64_t& from, std::uint64_t& to, double share) const {
        const double moved = std::floor(real(from) * share);
        from = counter(real(from) - moved);
        to = counter(real(to) + moved);
    }

    void save_locally(int level, int space, double share) {
        Held& held = state_.of(level, space);
        const bool gates = state_.saving[state_.place(level, space)] == Saving::gate;
        std::uint64_t& reads = count(held, Op::random_read);
        std::uint64_t& saved_reads = count(held, gates ? Op::gated_read : Op::skipped_read);
        if (state_.writes(space)) {
            const std::uint64_t moved = counter(std::ceil(real(reads) * share));
            saved_reads += moved;
            reads -= moved;
        } else {
            const std::uint64_t moved = counter(std::floor(real(reads) * share));
            saved_reads += moved;
            reads -= moved;
        }
        move(count(held, Op::random_update),
             count(held, gates ? Op::gated_update : Op::skipped_update), share);
        save_formats(level, space, gates, share);
        if (held.kept && state_.writes(space)) {
            held.temporal_reductions =
                std::ceil(held.temporal_reductions * real(count(held, Op::random_update)) /
                          real(held.updates));
        }
    }

    void save_formats(int level, int space, bool gates, double share) {
        Held& held = state_.of(level, space);
        const Held& handed = held.child < 0 ? held : state_.of(held.child, space);
        TileAccesses& reads = formats(held, Op::random_metadata_read);
        TileAccesses& updates = formats(held, Op::random_metadata_update);
        TileAccesses& saved_reads =
            formats(held, gates ? Op::gated_metadata_read : Op::skipped_metadata_read);
        TileAccesses& saved_updates =
            formats(held, gates ? Op::gated_metadata_update : Op::skipped_metadata_update);
        const std::size_t ranks = handed.rank_count();
        if (ranks >
            std::min({reads.size(), updates.size(), saved_reads.size(), saved_updates.size()})) {
            misfit(Fit::Kind::child_format, level);
        }
        for (std::size_t r = 0; r < ranks; ++r) {
            move(reads[r].metadata, saved_reads[r].metadata, share);
            move(updates[r].metadata, saved_updates[r].metadata, share);
            move(reads[r].payload, saved_reads[r].payload, share);
            move(updates[r].payload, saved_updates[r].payload, share);
        }
    }

    void finish_without_saving(int level, int space) {
        const TileAccesses reads = left(level).format_reads;
        set_random(level, space, reads);
        Held& held = state_.of(level, space);
        held.temporal_reductions =
            held.updates == 0
                ? 0
                : std::ceil(held.temporal_reductions * real(count(held, Op::random_update)) /
                            real(held.updates));
    }

    /// Data that changes its form on the way between two levels.
    void convert() {
        for (int i = state_.levels - 1; i >= 0; --i) {
            for (int s = 0; s < state_.spaces; ++s) {
                Held& held = state_.of(i, s);
                if (held.compressed()) {
                    continue;
                }
                if (held.parent >= 0 && state_.of(held.parent, s).compressed()) {
                    Held& parent = state_.of(held.parent, s);
                    if (state_.writes(s)) {
                        count(held, Op::compression) += count(parent, Op::random_update);
                    }
                    count(held, Op::decompression) += count(held, Op::random_fill);
                }
                if (held.child >= 0 && state_.of(held.child, s).compressed()) {
                    misfit(Fit::Kind::child_format, i);
                }
            }
        }
    }

    State& state_;
    std::vector<Left> left_;  ///< of one data space
};

}  // namespace

void combine(State& state) {
    Combination(state).run();
}

}  // namespace tessera::timeloop::sparse
