#include "tessera/mapspace/relaxed_join.hpp"

#include <algorithm>
#include <iterator>

#include "tessera/base/stop.hpp"

namespace tessera::mapspace {
namespace {

constexpr std::size_t front_points = 12;
/// Sums of fronts between two looks at the stop token.
constexpr std::size_t poll_every = 64;

/// Positions of the tensors of `of` that `table` has, in `table`.
std::vector<int> positions(const ChoiceTable& table, const std::vector<int>& of) {
    std::vector<int> out;
    for (const int t : of) {
        const auto at = std::lower_bound(table.tensors.begin(), table.tensors.end(), t);
        out.push_back(at != table.tensors.end() && *at == t
                          ? static_cast<int>(at - table.tensors.begin())
                          : -1);
    }
    return out;
}

TensorChoices pick(const TensorChoices& from, const std::vector<int>& at) {
    TensorChoices out;
    out.reserve(at.size());
    for (const int i : at) {
        out.push_back(from[static_cast<std::size_t>(i)]);
    }
    return out;
}

/// Sums of the points of both fronts.
void add_sums(CostFront& to, const CostFront& a, const CostFront& b) {
    for (const CostPoint& x : a) {
        for (const CostPoint& y : b) {
            add_to_front(to, {x[0] + y[0], x[1] + y[1]});
        }
    }
    coarsen_front(to, front_points);
}

}  // namespace

bool add_to_front(CostFront& front, const CostPoint& point) {
    const auto at =
        std::upper_bound(front.begin(), front.end(), point,
                         [](const CostPoint& p, const CostPoint& q) { return p[0] < q[0]; });
    // Of the points that are not larger in the first, the last one is the least in the second.
    if (at != front.begin() && (*std::prev(at))[1] <= point[1]) {
        return false;
    }
    auto from = at;
    if (from != front.begin() && (*std::prev(from))[0] == point[0]) {
        --from;
    }
    auto to = from;
    while (to != front.end() && (*to)[1] >= point[1]) {
        ++to;
    }
    if (from == to) {
        front.insert(from, point);
    } else {
        *from = point;
        front.erase(std::next(from), to);
    }
    return true;
}

void coarsen_front(CostFront& front, std::size_t size) {
    while (front.size() > size) {
        // Replace the two neighbours that are nearest by their common lower left vertex.
        std::size_t best = 0;
        double least = 0;
        for (std::size_t i = 0; i + 1 < front.size(); ++i) {
            const double gap = (front[i + 1][0] - front[i][0]) * (front[i][1] - front[i + 1][1]);
            if (i == 0 || gap < least) {
                best = i;
                least = gap;
            }
        }
        front[best][1] = front[best + 1][1];
        front.erase(front.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
}

void ChoiceTable::add(const TensorChoices& key, const CostPoint& cost) {
    add_to_front(rows[key], cost);
}

std::optional<ChoiceTable> combine(const ChoiceTable& a, const ChoiceTable& b,
                                   const std::vector<char>& keep, std::size_t max_rows) {
    ChoiceTable out;
    std::vector<int> common;
    std::set_intersection(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(),
                          std::back_inserter(common));
    std::vector<int> all;
    std::set_union(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(),
                   std::back_inserter(all));
    for (const int t : all) {
        if (keep[static_cast<std::size_t>(t)]) {
            out.tensors.push_back(t);
        }
    }
    const std::vector<int> from_a = positions(a, out.tensors), from_b = positions(b, out.tensors);
    const std::vector<int> common_a = positions(a, common), common_b = positions(b, common);
    using Row = const std::pair<const TensorChoices, CostFront>*;
    std::unordered_map<TensorChoices, std::vector<Row>, TensorChoicesHash> index;
    for (const auto& row : b.rows) {
        index[pick(row.first, common_b)].push_back(&row);
    }
    TensorChoices key(out.tensors.size());
    std::size_t sums = 0;
    for (const auto& [choices, costs] : a.rows) {
        const auto matches = index.find(pick(choices, common_a));
        if (matches == index.end()) {
            continue;
        }
        for (const Row& other : matches->second) {
            if (sums++ % poll_every == 0) {
                base::poll_stop();
            }
            for (std::size_t i = 0; i < key.size(); ++i) {
                key[i] = from_a[i] >= 0 ? choices[static_cast<std::size_t>(from_a[i])]
                                        : other->first[static_cast<std::size_t>(from_b[i])];
            }
            add_sums(out.rows[key], costs, other->second);
            if (out.rows.size() > max_rows) {
                return std::nullopt;
            }
        }
    }
    return out;
}

RelaxedJoin::RelaxedJoin(std::vector<ChoiceTable> einsums, std::size_t n_tensors,
                         std::size_t max_rows)
    : einsums_(std::move(einsums)) {
    const std::size_t n = einsums_.size();
    std::vector<int> first(n_tensors, -1), last(n_tensors, -1);
    for (std::size_t e = 0; e < n; ++e) {
        for (const int t : einsums_[e].tensors) {
            const auto i = static_cast<std::size_t>(t);
            first[i] = first[i] < 0 ? static_cast<int>(e) : first[i];
            last[i] = static_cast<int>(e);
        }
    }
    ChoiceTable nothing;
    nothing.add({}, {0.0, 0.0});
    prefix_.assign(n + 1, {});
    suffix_.assign(n + 1, {});
    prefix_[0] = suffix_[n] = nothing;
    std::vector<char> keep(n_tensors, 0);
    for (std::size_t e = 0; e < n && valid_; ++e) {
        for (const int t : einsums_[e].tensors) {
            keep[static_cast<std::size_t>(t)] =
                last[static_cast<std::size_t>(t)] > static_cast<int>(e);
        }
        auto next = combine(prefix_[e], einsums_[e], keep, max_rows);
        valid_ = next.has_value();
        prefix_[e + 1] = valid_ ? std::move(*next) : ChoiceTable{};
    }
    std::fill(keep.begin(), keep.end(), char{0});
    for (std::size_t e = n; e-- > 0 && valid_;) {
        for (const int t : einsums_[e].tensors) {
            keep[static_cast<std::size_t>(t)] =
                first[static_cast<std::size_t>(t)] < static_cast<int>(e);
        }
        auto next = combine(einsums_[e], suffix_[e + 1], keep, max_rows);
        valid_ = next.has_value();
        suffix_[e] = valid_ ? std::move(*next) : ChoiceTable{};
    }
    if (valid_) {
        const auto all = suffix_[0].rows.find({});
        total_ = all == suffix_[0].rows.end() ? CostFront{} : all->second;
    }
}

ChoiceTable RelaxedJoin::rest(std::size_t e) const {
    const ChoiceTable &before = prefix_[e], &own = einsums_[e], &after = suffix_[e + 1];
    ChoiceTable out;
    out.tensors = own.tensors;
    std::vector<int> common;
    std::set_intersection(before.tensors.begin(), before.tensors.end(), own.tensors.begin(),
                          own.tensors.end(), std::back_inserter(common));
    const std::vector<int> common_before = positions(before, common),
                           common_own = positions(own, common),
                           after_before = positions(before, after.tensors),
                           after_own = positions(own, after.tensors);
    std::unordered_map<TensorChoices, std::vector<const TensorChoices*>, TensorChoicesHash> index;
    for (const auto& row : own.rows) {
        index[pick(row.first, common_own)].push_back(&row.first);
    }
    TensorChoices key(after.tensors.size());
    std::size_t sums = 0;
    for (const auto& [choices, costs] : before.rows) {
        const auto matches = index.find(pick(choices, common_before));
        if (matches == index.end()) {
            continue;
        }
        for (const TensorChoices* mine : matches->second) {
            if (sums++ % poll_every == 0) {
                base::poll_stop();
            }
            for (std::size_t i = 0; i < key.size(); ++i) {
                key[i] = after_own[i] >= 0 ? (*mine)[static_cast<std::size_t>(after_own[i])]
                                           : choices[static_cast<std::size_t>(after_before[i])];
            }
            const auto it = after.rows.find(key);
            if (it != after.rows.end()) {
                add_sums(out.rows[*mine], costs, it->second);
            }
        }
    }
    return out;
}

}  // namespace tessera::mapspace
