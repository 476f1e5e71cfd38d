#include "tessera/mapspace/relaxed_join.hpp"

#include <algorithm>

namespace tessera::mapspace {
namespace {

constexpr std::size_t front_points = 12;

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

void add_sums(CostFront& to, const CostFront& a, const CostFront& b) {
    for (const auto& x : a) {
        for (const auto& y : b) {
            add_to_front(to, {x[0] + y[0], x[1] + y[1]});
        }
    }
    coarsen_front(to, front_points);
}

}  // namespace

bool add_to_front(CostFront& front, const std::array<double, 2>& point) {
    const auto at = std::upper_bound(front.begin(), front.end(), point,
                                     [](const auto& p, const auto& q) { return p[0] < q[0]; });
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
        // Replace the two neighbours that are nearest by their common lower left corner.
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

std::size_t TensorChoicesHash::operator()(const TensorChoices& key) const {
    std::uint64_t h = 0x9e3779b97f4a7c15ull;
    for (const std::int32_t v : key) {
        h ^= static_cast<std::uint64_t>(static_cast<std::uint32_t>(v)) + (h << 6) + (h >> 2);
        h *= 0xff51afd7ed558ccdull;
        h ^= h >> 32;
    }
    return static_cast<std::size_t>(h);
}

void ChoiceTable::add(const TensorChoices& key, const std::array<double, 2>& cost) {
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
    for (const auto& [choices, costs] : a.rows) {
        const auto matches = index.find(pick(choices, common_a));
        if (matches == index.end()) {
            continue;
        }
        for (const Row& other : matches->second) {
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
    : einsums_(std::move(einsums)), n_tensors_(n_tensors), max_rows_(max_rows) {
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
    for (std::size_t e = 0; e < n && valid_; ++e) {
        std::vector<char> needed(n_tensors, 0);
        for (std::size_t t = 0; t < n_tensors; ++t) {
            needed[t] = last[t] > static_cast<int>(e);
        }
        auto next = combine(prefix_[e], einsums_[e], needed, max_rows);
        valid_ = next.has_value();
        prefix_[e + 1] = valid_ ? std::move(*next) : ChoiceTable{};
    }
    for (std::size_t e = n; e-- > 0 && valid_;) {
        std::vector<char> shared(n_tensors, 0);
        for (std::size_t t = 0; t < n_tensors; ++t) {
            shared[t] = first[t] >= 0 && first[t] < static_cast<int>(e);
        }
        auto next = combine(einsums_[e], suffix_[e + 1], shared, max_rows);
        valid_ = next.has_value();
        suffix_[e] = valid_ ? std::move(*next) : ChoiceTable{};
    }
    if (valid_) {
        const auto all = suffix_[0].rows.find({});
        total_ = all == suffix_[0].rows.end() ? CostFront{} : all->second;
    }
}

std::optional<ChoiceTable> RelaxedJoin::rest(std::size_t e) const {
    std::vector<char> own(n_tensors_, 0);
    for (const int t : einsums_[e].tensors) {
        own[static_cast<std::size_t>(t)] = 1;
    }
    return combine(prefix_[e], suffix_[e + 1], own, max_rows_);
}

}  // namespace tessera::mapspace
