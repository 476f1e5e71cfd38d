#include "fit_memo.hpp"

#include "hash.hpp"

namespace tessera::search {

FitMemo::Entry& FitMemo::of(std::size_t einsum, std::uint32_t tmpl, std::uint32_t running,
                            const std::vector<std::int64_t>& trips,
                            const std::vector<double>& target) {
    entries_.resize(most_entries);
    RowHash hash((static_cast<std::uint64_t>(einsum) << 32) ^ tmpl ^
                 (static_cast<std::uint64_t>(running) << 16));
    hash.add(trips.data(), trips.size());
    hash.add(target.data(), target.size());
    Entry& entry = entries_[hash.place(most_entries)];
    if (entry.known && entry.einsum == einsum && entry.tmpl == tmpl && entry.running == running &&
        entry.trips == trips && entry.target == target) {
        return entry;
    }
    entry.known = false;
    entry.einsum = einsum;
    entry.tmpl = tmpl;
    entry.running = running;
    entry.trips = trips;
    entry.target = target;
    return entry;
}

}  // namespace tessera::search
