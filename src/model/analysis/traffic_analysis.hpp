// Third part of analysis.hpp: from tiles and trip counts to action counts.
#pragma once

#include "analysis.hpp"

namespace tessera::model {

/// Bits of the banks that hold `bits` of one tensor.
template <class Num>
Num in_banks(const Num& bits, double bank_bits) {
    return ceil(bits / Num(bank_bits)) * Num(bank_bits);
}

// From the compute outwards. `child` is what the child exchanges with the current holder, summed
// over the loops between them.
template <class Num>
void Analysis<Num>::settle(Nodes nodes, int tensor) {
    const PathTables& t = *t_;
    const bool output = t.tensors[tensor].output;
    const std::size_t first_holder = holders.size();
    const bool compute_skips = output && !t.copy && t.levels[t.n_levels - 1].skip_initial;
    Exchange child{Num(t.copy && output ? 0 : 1), Num(output ? 1 : 0), Num(compute_skips ? 1 : 0),
                   notes_.back().place};
    for (int i = static_cast<int>(notes_.size()) - 2; i >= 0; --i) {
        const HolderNote<Num>& note = notes_[i];
        const mapping::PmappingNode& node = nodes[note.node];
        child.down = child.down * notes_[i + 1].segment;
        child.up = child.up * notes_[i + 1].segment;
        child.first = child.first * notes_[i + 1].segment_first;
        const Exchange own = own_exchange(node, note, child, i > 0);
        holders.push_back(charge(node, note, own, child));
        child = own;
    }
    std::reverse(holders.begin() + static_cast<std::ptrdiff_t>(first_holder), holders.end());
}

// A holder fetches and drains its tile; a toll hands on what its child exchanges.
template <class Num>
typename Analysis<Num>::Exchange Analysis<Num>::own_exchange(const mapping::PmappingNode& node,
                                                             const HolderNote<Num>& note,
                                                             const Exchange& child,
                                                             bool has_parent) const {
    const bool output = t_->tensors[node.tensor].output;
    const bool toll = node.kind == mapping::NodeKind::toll;
    const bool blind_copy = t_->copy && !t_->convention.copy_knows_backing;
    Exchange own{Num(0), Num(0), Num(0), toll ? child.place : note.place};
    if (has_parent && !blind_copy) {
        own.down = toll ? child.down : note.tile;
    }
    if (has_parent && (output || blind_copy)) {
        own.up = toll ? child.up : note.tile;
    }
    if (has_parent && output && !t_->copy && t_->levels[node.level].skip_initial) {
        own.first = toll ? child.first : note.tile;
    }
    return own;
}

/// Values that the holder reads and writes: all its instances, or the first (`unit`).
template <class Num>
typename Analysis<Num>::Values Analysis<Num>::values_moved(const mapping::PmappingNode& node,
                                                           const HolderNote<Num>& note,
                                                           const Exchange& own,
                                                           const Exchange& child, bool unit) const {
    const HolderFacts& holder = t_->holder(node.level, node.tensor);
    const Num spatial = unit ? Num(1) : note.spatial;
    const auto all = [&](const Num& values, const Exchange& e) {
        return times_partial(values * note.temporal * spatial, node.tensor,
                             {e.place, note.place, unit});
    };
    const auto first = [&](const Exchange& e) {
        return times_partial(e.first * note.relevant * spatial, node.tensor,
                             {e.place, note.place, unit, true});
    };
    Values moved{Num(0), Num(0)};
    if (holder.down) {
        moved.writes = all(own.down, own) - first(own);
        moved.reads = all(child.down, child);
        if (t_->levels[node.level].skip_initial && !t_->copy) {
            moved.reads = moved.reads - first(child);
        }
    }
    if (holder.up) {
        moved.reads = moved.reads + all(own.up, own);
        moved.writes = moved.writes + all(child.up, child);
    }
    return moved;
}

template <class Num>
HolderCounts<Num> Analysis<Num>::charge(const mapping::PmappingNode& node,
                                        const HolderNote<Num>& note, const Exchange& own,
                                        const Exchange& child) const {
    const LevelFacts& level = t_->levels[node.level];
    const HolderFacts& holder = t_->holder(node.level, node.tensor);
    Num reads(0), writes(0), first_reads(0), first_writes(0);
    if (holder.down) {
        writes = writes + own.down;
        first_writes = own.first;
        reads = reads + child.down;
        if (level.skip_initial && !t_->copy) {
            first_reads = child.first;
        }
    }
    if (holder.up) {
        reads = reads + own.up;
        writes = writes + child.up;
    }
    HolderCounts<Num> counts;
    counts.node = note.node;
    counts.tensor = node.tensor;
    counts.level = node.level;
    counts.unit_reads =
        (reads * note.temporal - first_reads * note.relevant) * Num(holder.reads_per_value);
    counts.unit_writes =
        (writes * note.temporal - first_writes * note.relevant) * Num(holder.writes_per_value);
    counts.reads = counts.unit_reads * note.spatial;
    counts.writes = counts.unit_writes * note.spatial;
    if (node.level == t_->outermost_memory) {
        counts.down = (reads * note.temporal - first_reads * note.relevant) * note.spatial;
        counts.up = (writes * note.temporal - first_writes * note.relevant) * note.spatial;
    }
    counts.bits = node.kind == mapping::NodeKind::toll ? Num(0) : note.bits;
    counts.least_bits = node.kind == mapping::NodeKind::toll ? Num(0) : note.least_bits;
    if (!partial_.empty()) {
        const Values unit = values_moved(node, note, own, child, true);
        const Values total = values_moved(node, note, own, child, false);
        counts.unit_reads = unit.reads * Num(holder.reads_per_value);
        counts.unit_writes = unit.writes * Num(holder.writes_per_value);
        counts.reads = total.reads * Num(holder.reads_per_value);
        counts.writes = total.writes * Num(holder.writes_per_value);
        if (node.level == t_->outermost_memory) {
            counts.down = total.reads;
            counts.up = total.writes;
        }
    }
    if (level.distributed) {
        counts.unit_reads = counts.unit_reads / note.units;
        counts.unit_writes = counts.unit_writes / note.units;
        counts.bits = counts.bits / note.units;
        counts.least_bits = counts.least_bits / note.units;
    }
    if (level.bank_bits > 0 && node.kind != mapping::NodeKind::toll) {
        counts.bits = in_banks(counts.bits, level.bank_bits);
        counts.least_bits = in_banks(counts.least_bits, level.bank_bits);
    }
    counts.loops_above = node.persistent ? -1 : note.loops_above;
    counts.persistent = node.persistent;
    return counts;
}

// All tensors of a copy are the same data: per memory they are stored and moved once, and not at
// all where one of them is already in place. They take the room of the largest (a copy may be wider
// than its source, or repeat it). What is persistent lies apart from an input that other Einsums
// write, and the input is read where some output lies apart from it. Not so in the reference, where
// they take the room of the smallest.
template <class Num>
void Analysis<Num>::merge_copy(const NestPlan::CopySource& source) {
    const bool physical = t_->convention.check_physical;
    const auto apart = [&](const HolderCounts<Num>& counts) {
        return physical && source.apart(counts.level, counts.persistent);
    };
    std::size_t kept = 0;
    for (std::size_t i = 0; i < holders.size(); ++i) {
        const HolderCounts<Num> counts = holders[i];
        std::size_t same = 0;
        while (same < kept &&
               (holders[same].level != counts.level || apart(holders[same]) != apart(counts))) {
            ++same;
        }
        merged.emplace_back(counts.node, static_cast<int>(same));
        if (same == kept) {
            holders[kept] = counts;
            holders[kept++].tensor = apart(counts) ? counts.tensor : t_->copy_source;
            continue;
        }
        HolderCounts<Num>& into = holders[same];
        const bool is_read = physical && source.read && counts.level == source.level;
        const auto reads = [&](const Num& a, const Num& b) {
            return is_read ? max(a, b) : min(a, b);
        };
        into.reads = reads(into.reads, counts.reads);
        into.unit_reads = reads(into.unit_reads, counts.unit_reads);
        into.down = reads(into.down, counts.down);
        into.writes = min(into.writes, counts.writes);
        into.unit_writes = min(into.unit_writes, counts.unit_writes);
        into.up = min(into.up, counts.up);
        into.bits = physical ? max(into.bits, counts.bits) : min(into.bits, counts.bits);
        into.least_bits = into.bits;
        if (counts.persistent) {
            into.persistent = true;
            into.loops_above = -1;
        }
    }
    holders.resize(kept);
}

}  // namespace tessera::model
