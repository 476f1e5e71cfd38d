#include "link.hpp"

#include <algorithm>

namespace tessera::search {

void Followed::join(const Way& way, const std::vector<std::int64_t>& trips) {
    open_trips.resize(static_cast<std::size_t>(way.plan.n_open));
    for (int p = 0; p < way.plan.n_open; ++p) {
        open_trips[p] = trips[way.plan.order[p]];
    }
    state = way.next;
}

bool Followed::fits(const Way& way, const std::vector<std::int64_t>& trips) const {
    for (int j = 0; j < way.plan.n_left; ++j) {
        if (trips[way.plan.right_of_left[j]] != open_trips[j]) {
            return false;
        }
    }
    return true;
}

std::size_t Followed::way_in(const std::vector<Way>& ways, const std::vector<std::int64_t>& trips,
                             std::size_t preferred) const {
    const auto runs = [&](const Way& way) { return fits(way, trips); };
    return preferred < ways.size() && runs(ways[preferred])
               ? preferred
               : static_cast<std::size_t>(std::ranges::find_if(ways, runs) - ways.begin());
}

void Link::take(const EinsumMemo::Entry& entry) {
    known = false;  // until all is copied, member after member: memory may run out
    way = nullptr;
    static_cast<EinsumMemo::Entry&>(*this) = entry;
}

}  // namespace tessera::search
