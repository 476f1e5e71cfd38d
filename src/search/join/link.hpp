// One Einsum of a point whose Einsums join, with all that is known of it.
#pragma once

#include "einsum_memo.hpp"
#include "joiner.hpp"

namespace tessera::search {

/// What later Einsums see of those before, kept up to date Einsum after Einsum.
struct Followed {
    int state = 0;
    std::vector<std::int64_t> open_trips;

    /// Before the first Einsum.
    void start() {
        state = 0;
        open_trips.clear();
    }
    /// `trips`: of the running fused loops of the Einsum that was joined.
    void join(const Way& way, const std::vector<std::int64_t>& trips);
    bool operator==(const Followed&) const = default;

    /// Whether an Einsum with these trip counts can run inside the open loops in this way.
    bool fits(const Way& way, const std::vector<std::int64_t>& trips) const;
    /// The one of the ways in which it can, `preferred` first among them; ways.size(): none.
    std::size_t way_in(const std::vector<Way>& ways, const std::vector<std::int64_t>& trips,
                       std::size_t preferred) const;
};

/// Facts of one template with its tile shapes, and of the way in which it follows the Einsums
/// before it.
struct Link : EinsumMemo::Entry {
    Followed before;
    std::uint32_t join = 0;
    const Way* way = nullptr;  ///< null: not followed yet
    int shared = -1;           ///< loops that it shares with the Einsum before, when last followed

    void take(const EinsumMemo::Entry& entry);
};

}  // namespace tessera::search
