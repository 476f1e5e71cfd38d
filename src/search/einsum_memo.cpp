#include "search/einsum_memo.hpp"

#include <algorithm>

namespace tessera::search {

namespace {

constexpr std::size_t most_entries = 64;

std::size_t place_of(std::uint32_t tmpl, const std::int64_t* tiles, std::size_t n) {
    std::uint64_t h = tmpl;
    for (std::size_t i = 0; i < n; ++i) {
        h = (h ^ static_cast<std::uint64_t>(tiles[i])) * 0x9e3779b97f4a7c15ull;
        h ^= h >> 29;
    }
    return h % most_entries;
}

int find_pattern(const TemplateData& t, std::uint32_t running) {
    const auto at = std::lower_bound(
        t.patterns.begin(), t.patterns.end(), running,
        [](const Pattern& pattern, std::uint32_t loops) { return pattern.loops < loops; });
    return at != t.patterns.end() && at->loops == running
               ? static_cast<int>(at - t.patterns.begin())
               : -1;
}

}  // namespace

EinsumMemo::EinsumMemo(const OpenSpace::Data& space)
    : space_(space), entries_(space.einsums.size() * most_entries) {}

const EinsumMemo::Entry& EinsumMemo::of(std::size_t einsum, std::uint32_t tmpl,
                                        const std::int64_t* tiles) {
    const TemplateData& t = space_.einsums[einsum].templates[tmpl];
    const std::size_t n = t.symbols.size();
    Entry& entry = entries_[einsum * most_entries + place_of(tmpl, tiles, n)];
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
    if (entry.pattern < 0) {
        entry.verdict = Verdict::constraint;
        return;
    }
    trips_of(t, t.patterns[static_cast<std::size_t>(entry.pattern)].loops, values_.data(),
             entry.trips);
    entry.costs.resize(2 + t.holdings.size());
    t.cost.evaluate_one(values_, entry.costs, workspace_);
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
