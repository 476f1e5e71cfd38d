#include "fit_memo.hpp"

#include "hash.hpp"

namespace tessera::search {

FitMemo::Entry& FitMemo::of(const Fit& fit) {
    entries_.resize(most_entries);
    RowHash hash((static_cast<std::uint64_t>(fit.einsum) << 32) ^ fit.tmpl ^
                 (static_cast<std::uint64_t>(fit.running) << 16));
    hash.add(fit.trips.data(), fit.trips.size());
    hash.add(fit.target.data(), fit.target.size());
    Entry& entry = entries_[hash.place(most_entries)];
    if (entry.known && entry.einsum == fit.einsum && entry.tmpl == fit.tmpl &&
        entry.running == fit.running && entry.trips == fit.trips && entry.target == fit.target) {
        return entry;
    }
    entry.known = false;
    entry.einsum = fit.einsum;
    entry.tmpl = fit.tmpl;
    entry.running = fit.running;
    entry.trips = fit.trips;
    entry.target = fit.target;
    return entry;
}

}  // namespace tessera::search
