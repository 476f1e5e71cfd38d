#include "search/tables/table_options.hpp"

#include <algorithm>
#include <compare>

#include "search/draw/hash.hpp"
#include "tessera/base/stop.hpp"

namespace tessera::search {
namespace {

// Runs that are remembered, about 128 MiB.
constexpr std::size_t most_remembered = std::size_t{1} << 22U;

/// The trip counts that the open loops demand of the outermost fused loops, as long as they demand
/// all of them.
std::vector<std::int64_t> demanded_prefix(const Way& way, const Followed& open) {
    std::vector<std::int64_t> demanded(static_cast<std::size_t>(way.plan.n_left), 0);
    for (int j = 0; j < way.plan.n_left; ++j) {
        const auto position = static_cast<std::size_t>(way.plan.right_of_left[j]);
        if (position < demanded.size()) {
            demanded[position] = open.open_trips[j];
        }
    }
    demanded.erase(std::ranges::find(demanded, 0), demanded.end());
    return demanded;
}

/// Of the outermost loops alone.
std::strong_ordering compare_outermost(const std::vector<std::int64_t>& trips,
                                       const std::vector<std::int64_t>& demanded) {
    const auto end = trips.begin() + static_cast<std::ptrdiff_t>(demanded.size());
    return std::lexicographical_compare_three_way(trips.begin(), end, demanded.begin(),
                                                  demanded.end());
}

}  // namespace

TableOption TableOptions::operator[](std::uint64_t i) const {
    const auto run = std::ranges::partition_point(runs_, [&](const Run& r) { return r.end <= i; });
    return {run->first + static_cast<std::uint32_t>(i - run->begin), run->way};
}

std::uint64_t TableOptions::before(std::uint32_t from) const {
    const auto run =
        std::ranges::partition_point(runs_, [&](const Run& r) { return r.first < from; });
    return run == runs_.end() ? size() : run->begin;
}

void TableOptions::add(std::uint32_t first, std::uint32_t last, std::uint32_t way) {
    if (first < last) {
        const std::uint64_t begin = size();
        runs_.push_back({first, way, begin, begin + (last - first)});
    }
}

std::size_t TableOptionMemo::Hash::operator()(const std::vector<std::int64_t>& key) const {
    RowHash hash(key.size());
    hash.add(key.data(), key.size());
    return static_cast<std::size_t>(hash.sum() ^ (hash.sum() >> 32));
}

const std::vector<TableOptionMemo::StateWay>& TableOptionMemo::ways(std::size_t einsum, int state) {
    const auto known = ways_.find(state);
    if (known != ways_.end()) {
        return known->second;
    }
    std::vector<StateWay> made;
    const EinsumRows& own = space_.einsums[einsum];
    for (int s = 0; s + 1 < static_cast<int>(own.begin.size()); ++s) {
        if (own.begin[s] == own.begin[s + 1]) {
            continue;
        }
        base::poll_stop();
        const std::vector<Way>& all = joiner_.ways(state, s);
        for (std::uint32_t w = 0; w < all.size(); ++w) {
            made.push_back({s, w, &all[w]});
        }
    }
    return ways_.emplace(state, std::move(made)).first->second;
}

void TableOptionMemo::add_fitting(const EinsumRows& own, const StateWay& w, const Followed& open,
                                  TableOptions& out) {
    const std::vector<std::int64_t> demanded = demanded_prefix(*w.way, open);
    const auto begin = own.groups.begin() + own.begin[w.structure];
    const auto end = own.groups.begin() + own.begin[w.structure + 1];
    const auto first = std::partition_point(begin, end, [&](const CompatibilityGroup& g) {
        return compare_outermost(g.trips, demanded) < 0;
    });
    const auto last = std::partition_point(first, end, [&](const CompatibilityGroup& g) {
        return compare_outermost(g.trips, demanded) == 0;
    });
    // Asked last: it looks at all that can follow.
    if (first == last || !joiner_.completes(w.way->next)) {
        return;
    }
    const auto index = [&](auto at) { return static_cast<std::uint32_t>(at - own.groups.begin()); };
    if (demanded.size() == static_cast<std::size_t>(w.way->plan.n_left)) {
        out.add(index(first), index(last), w.index);
        return;
    }
    for (auto g = first; g != last; ++g) {  // loops further in have to be looked at
        auto fitting = g;
        while (fitting != last && open.fits(*w.way, fitting->trips)) {
            ++fitting;
        }
        out.add(index(g), index(fitting), w.index);
        if (fitting == last) {
            break;
        }
        g = fitting;
    }
}

const TableOptions& TableOptionMemo::of(std::size_t einsum, const Followed& open) {
    key_.assign(1, open.state);
    key_.insert(key_.end(), open.open_trips.begin(), open.open_trips.end());
    const auto known = options_.find(key_);
    if (known != options_.end()) {
        return known->second;
    }
    TableOptions made;
    for (const StateWay& w : ways(einsum, open.state)) {
        base::poll_stop();
        add_fitting(space_.einsums[einsum], w, open, made);
    }
    remembered_ += made.n_runs() + key_.size() / 4 + 4;
    return options_.emplace(key_, std::move(made)).first->second;
}

void TableOptionMemo::forget() {
    if (remembered_ > most_remembered) {
        options_.clear();
        remembered_ = 0;
    }
}

}  // namespace tessera::search
