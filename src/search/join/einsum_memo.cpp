#include "einsum_memo.hpp"

#include <algorithm>
#include <bit>

#include "search/draw/hash.hpp"

namespace tessera::search {

namespace {

constexpr std::size_t most_entries = 64;

}  // namespace

EinsumMemo::EinsumMemo(const OpenSpace::Data& space)
    : space_(space), entries_(space.einsums.size() * most_entries) {}

const EinsumMemo::Entry& EinsumMemo::of(std::size_t einsum, std::uint32_t tmpl,
                                        const std::int64_t* tiles) {
    const TemplateData& t = space_.einsums[einsum].templates[tmpl];
    const std::size_t n = t.symbols.size();
    RowHash hash(tmpl);
    hash.add(tiles, n);
    Entry& entry = entries_[einsum * most_entries + hash.place(most_entries)];
    if (entry.known && entry.tmpl == tmpl && std::equal(tiles, tiles + n, entry.tiles.begin())) {
        return entry;
    }
    entry.known = false;  // until it is filled: memory may run out
    entry.tmpl = tmpl;
    entry.tiles.assign(tiles, tiles + n);
    fill(t, entry);
    entry.known = true;
    return entry;
}

void EinsumMemo::fill(const TemplateData& t, Entry& entry) {
    values_.assign(entry.tiles.begin(), entry.tiles.end());
    entry.checked = false;
    entry.verdict = check(t, entry);
    if (entry.verdict != Verdict::legal) {
        return;
    }
    entry.pattern = find_pattern(t, running_loops(t, values_.data()));
    if (entry.pattern == nullptr) {
        entry.verdict = Verdict::constraint;
        return;
    }
    trips_of(t, entry.pattern->loops, values_.data(), entry.trips);
    costs_.resize(2 + t.holdings.size());
    t.cost.evaluate_one(values_, costs_, workspace_);
    entry.energy_j = costs_[0];
    entry.latency_s = costs_[1];
    reserve(t, entry);
}

/// A reservation below all running fused loops is gone before another Einsum runs.
void EinsumMemo::reserve(const TemplateData& t, Entry& entry) const {
    Reserved& out = entry.reserved;
    out.own = t.taken_bits;
    out.outward.clear();
    const std::uint32_t running = entry.pattern->loops;
    const int innermost = std::popcount(running);
    for (std::size_t i = 0; i < t.holdings.size(); ++i) {
        const Holding& h = t.holdings[i];
        const int depth =
            h.loops_above < 0
                ? -1
                : std::popcount(running & ((1ull << t.fused_of_loop[h.loops_above]) - 1));
        if (h.tensor < 0 && depth == innermost) {
            out.own[h.memory] += costs_[2 + i];
        } else {
            out.outward.push_back({h.memory, depth, h.tensor, costs_[2 + i]});
        }
    }
}

Verdict EinsumMemo::check(const TemplateData& t, Entry& entry) {
    if (wrong_tile_shape(t, values_.data()) >= 0) {
        return Verdict::tile_shape;
    }
    if (!meets_loop_limits(t, values_.data())) {
        return Verdict::constraint;
    }
    entry.checked = true;
    outputs_.resize(t.limits.size());
    t.check.evaluate_one(values_, outputs_, workspace_);
    for (std::size_t i = 0; i < t.limits.size(); ++i) {
        if (!t.limits[i].holds(outputs_[i])) {
            return t.limits[i].verdict;
        }
    }
    return Verdict::legal;
}

}  // namespace tessera::search
