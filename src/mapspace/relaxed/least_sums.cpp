#include "least_sums.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "tessera/base/hash.hpp"
#include "tessera/base/stop.hpp"

namespace tessera::mapspace::detail {
namespace {

// Sums of the same costs in another order differ by rounding.
constexpr double below = 1 - 1e-12;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t most_rows = 200'000;
/// Sums between two looks at the stop token.
constexpr std::size_t poll_every = 1024;

/// Positions of these tensors in the table, -1 if it does not list them.
std::vector<int> positions(const SumTable& table, const std::vector<int>& of) {
    std::vector<int> out;
    for (const int t : of) {
        const auto at = std::ranges::lower_bound(table.tensors(), t);
        const bool listed = at != table.tensors().end() && *at == t;
        out.push_back(listed ? static_cast<int>(at - table.tensors().begin()) : -1);
    }
    return out;
}

std::vector<int> intersection(const std::vector<int>& a, const std::vector<int>& b) {
    std::vector<int> out;
    std::ranges::set_intersection(a, b, std::back_inserter(out));
    return out;
}

/// Hash of the parts at these positions, those of -1 left out.
std::uint64_t hash_of(const SumTable& table, std::size_t row, const std::vector<int>& at) {
    std::uint64_t out = 0;
    for (const int i : at) {
        if (i >= 0) {
            const auto p = static_cast<std::size_t>(i);
            out += SumTable::part(table.tensors()[p], table.key(row)[p]);
        }
    }
    return out;
}

/// Rows by the parts at some positions. Equal hashes count as equal parts.
class RowsByPart {
public:
    RowsByPart(const SumTable& table, const std::vector<int>& at) {
        for (std::size_t r = 0; r < table.rows(); ++r) {
            rows_.emplace_back(hash_of(table, r, at), static_cast<std::uint32_t>(r));
        }
        std::ranges::sort(rows_);
    }
    auto find(std::uint64_t hash) const {
        return std::ranges::equal_range(rows_, hash, {}, &Entry::first);
    }

private:
    using Entry = std::pair<std::uint64_t, std::uint32_t>;
    std::vector<Entry> rows_;
};

void lower(const double* a, const double* b, std::size_t width, double* out) {
    for (std::size_t w = 0; w < width; ++w) {
        out[w] = std::min(out[w], a[w] + b[w]);
    }
}

}  // namespace

SumBound::SumBound(JoinGoal goal, const std::vector<std::vector<double>>& known)
    : goal_(goal), known_(known), weights_{{1, 0}} {
    if (goal != JoinGoal::single) {
        weights_.push_back({0, 1});
    }
    for (const std::vector<double>& p : known) {
        best_ = std::min(best_, goal == JoinGoal::edp ? p[0] * p[1] : p[0]);
    }
}

void SumBound::add_mixed(double least_first, double least_second) {
    const double low = least_first * least_first / best_;
    const double high = best_ / (least_second * least_second);
    if (goal_ != JoinGoal::edp || !(low > 0) || !(high > low) || !std::isfinite(high)) {
        return;
    }
    constexpr std::size_t n = most_weights - 2;
    for (std::size_t i = 0; i < n; ++i) {
        const double at = (static_cast<double>(i) + 0.5) / static_cast<double>(n);
        const double weight = low * std::pow(high / low, at);
        weights_.push_back({1, weight});
        touches_.push_back(std::sqrt(weight * best_));
        per_tangent_.push_back(below / (2 * touches_.back()));
    }
}

void SumBound::of_row(const double* objectives, double* sums) const {
    for (std::size_t w = 0; w < weights_.size(); ++w) {
        sums[w] = weights_[w][0] * objectives[0] +
                  (goal_ == JoinGoal::single ? 0.0 : weights_[w][1] * objectives[1]);
    }
}

/// The product is least at a vertex of the convex set.
double SumBound::least_product(const double* sums) const {
    // Along the lower left boundary, from the least first objective on: it is the highest of the
    // lines y = (sum - x) / weight, whose weights ascend.
    double x = sums[0] * below, weight = 0, out = infinity;
    const double least_y = sums[1] * below;
    for (;;) {
        double y = least_y, here = infinity;
        for (std::size_t k = 2; k < weights_.size(); ++k) {
            const double on_line = (sums[k] * below - x) / weights_[k][1];
            if (on_line > y && weights_[k][1] > weight) {
                y = on_line;
                here = weights_[k][1];
            }
        }
        out = std::min(out, x * y);
        if (std::isinf(here)) {
            return out;
        }
        // To where the first line of larger weight is as high.
        const double sum = x + here * y;
        double next = sum - here * least_y;
        for (std::size_t k = 2; k < weights_.size(); ++k) {
            const double w = weights_[k][1];
            if (w > here) {
                next = std::min(next, (w * sum - here * sums[k] * below) / (w - here));
            }
        }
        weight = here;
        x = std::max(x, next);
    }
}

/// Whether the line of some sum lies above the hyperbola of the best product wherever the
/// objectives alone allow points below it.
bool SumBound::product_pruned(const double* sums) const {
    double x = sums[0] * below;
    const double end = best_ / (sums[1] * below);
    for (std::size_t k = 0; k < touches_.size() && x < end; ++k) {
        // The line is above from x = touches / root to touches * root.
        const double above = sums[k + 2] * per_tangent_[k];
        if (above > 1) {
            const double root = above + std::sqrt(above * above - 1);
            x = touches_[k] <= x * root ? std::max(x, touches_[k] * root) : x;
        }
    }
    return x > end;
}

bool SumBound::pruned(const double* sums) const {
    if (goal_ == JoinGoal::edp) {
        return product_pruned(sums);
    }
    if (goal_ == JoinGoal::single) {
        return sums[0] * below > best_;
    }
    const double x = sums[0] * below, y = sums[1] * below;
    return std::ranges::any_of(
        known_, [&](const auto& p) { return p[0] <= x && p[1] <= y && (p[0] < x || p[1] < y); });
}

double SumBound::least_value(const double* sums) const {
    return goal_ == JoinGoal::edp ? least_product(sums) : sums[0] * below;
}

SumBound::Sums SumBound::whole(const double* objectives, const double* completion) const {
    Sums out{};
    of_row(objectives, out.data());
    for (std::size_t w = 0; w < weights_.size(); ++w) {
        out[w] += completion[w];
    }
    return out;
}

bool SumBound::pruned(const double* objectives, const double* completion) const {
    return pruned(whole(objectives, completion).data());
}

double SumBound::least_value(const double* objectives, const double* completion) const {
    return least_value(whole(objectives, completion).data());
}

SumTable::SumTable(std::vector<int> tensors, std::size_t width)
    : tensors_(std::move(tensors)), width_(width), slots_(16, 0) {}

std::uint64_t SumTable::part(int tensor, std::uint64_t compatibility) {
    return base::mix(compatibility + static_cast<std::uint64_t>(tensor) * base::golden_ratio);
}

std::uint64_t SumTable::hash(const std::uint64_t* key) const {
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
        out += part(tensors_[i], key[i]);
    }
    return out;
}

/// Of this hash, or the free one where it belongs.
std::size_t SumTable::slot(std::uint64_t hash) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = static_cast<std::size_t>(hash) & mask;
    while (slots_[at] != 0 && hashes_[slots_[at] - 1] != hash) {
        at = (at + 1) & mask;
    }
    return at;
}

void SumTable::grow() {
    slots_.assign(slots_.size() * 2, 0);
    for (std::size_t r = 0; r < hashes_.size(); ++r) {
        slots_[slot(hashes_[r])] = static_cast<std::uint32_t>(r) + 1;
    }
}

const double* SumTable::find(const std::uint64_t* key) const {
    const std::uint32_t row = slots_[slot(hash(key))];
    return row == 0 ? nullptr : sums(row - 1);
}

double* SumTable::at(const std::uint64_t* key) {
    return at(hash(key), key);
}

double* SumTable::at(std::uint64_t hash, const std::uint64_t* key) {
    std::size_t s = slot(hash);
    if (slots_[s] == 0) {
        if (2 * (hashes_.size() + 1) > slots_.size()) {
            grow();
            s = slot(hash);
        }
        hashes_.push_back(hash);
        keys_.insert(keys_.end(), key, key + tensors_.size());
        sums_.resize(sums_.size() + width_, infinity);
        slots_[s] = static_cast<std::uint32_t>(hashes_.size());
    }
    return sums_.data() + (slots_[s] - 1) * width_;
}

std::size_t SumTable::distinct(std::size_t position) const {
    std::vector<std::uint64_t> all;
    for (std::size_t r = 0; r < rows(); ++r) {
        all.push_back(key(r)[position]);
    }
    std::ranges::sort(all);
    return static_cast<std::size_t>(std::ranges::unique(all).begin() - all.begin());
}

std::optional<SumTable> combined(const SumTable& a, const SumTable& b, const std::vector<int>& kept,
                                 const SumBound& bound, const std::vector<double>& elsewhere,
                                 std::size_t most) {
    const std::size_t width = bound.width();
    SumTable out(kept, width);
    const std::vector<int> common = intersection(a.tensors(), b.tensors());
    const std::vector<int> kept_a = positions(a, kept), common_a = positions(a, common),
                           common_b = positions(b, common);
    std::vector<int> kept_b = positions(b, kept);
    for (std::size_t i = 0; i < kept.size(); ++i) {
        kept_b[i] = kept_a[i] >= 0 ? -1 : kept_b[i];
    }
    const RowsByPart index(a, common_a);
    std::vector<std::uint64_t> hashes_a, key(kept.size());
    for (std::size_t r = 0; r < a.rows(); ++r) {
        hashes_a.push_back(hash_of(a, r, kept_a));
    }
    std::array<double, most_weights> whole{};
    std::size_t sums = 0;
    for (std::size_t r = 0; r < b.rows(); ++r) {
        const std::uint64_t hash_b = hash_of(b, r, kept_b);
        for (const auto& [hash, of_a] : index.find(hash_of(b, r, common_b))) {
            if (sums++ % poll_every == 0) {
                base::poll_stop();
            }
            if (sums > most || out.rows() > most_rows) {
                return std::nullopt;
            }
            for (std::size_t w = 0; w < width; ++w) {
                whole[w] = a.sums(of_a)[w] + b.sums(r)[w] + elsewhere[w];
            }
            if (bound.pruned(whole.data())) {
                continue;
            }
            for (std::size_t i = 0; i < key.size(); ++i) {
                key[i] = kept_a[i] >= 0 ? a.key(of_a)[kept_a[i]] : b.key(r)[kept_b[i]];
            }
            lower(a.sums(of_a), b.sums(r), width, out.at(hashes_a[of_a] + hash_b, key.data()));
        }
    }
    return out;
}

SumTable projected(const SumTable& table, const std::vector<int>& tensors, std::size_t width) {
    SumTable out(tensors, width);
    const std::vector<int> at = positions(table, tensors);
    const std::vector<double> nothing(width, 0.0);
    std::vector<std::uint64_t> key(tensors.size());
    for (std::size_t r = 0; r < table.rows(); ++r) {
        for (std::size_t i = 0; i < key.size(); ++i) {
            key[i] = table.key(r)[at[i]];
        }
        lower(table.sums(r), nothing.data(), width, out.at(key.data()));
    }
    return out;
}

SumTable rest_of(const SumTable& einsum, const SumTable& before, const SumTable& after,
                 std::size_t width) {
    std::vector<int> of_both;
    std::ranges::set_union(einsum.tensors(), before.tensors(), std::back_inserter(of_both));
    // Without what `before` has forgotten.
    const SumTable later = projected(after, intersection(of_both, after.tensors()), width);
    const std::vector<int> common = intersection(einsum.tensors(), before.tensors());
    const std::vector<int> common_einsum = positions(einsum, common),
                           common_before = positions(before, common),
                           later_einsum = positions(einsum, later.tensors()),
                           later_before = positions(before, later.tensors());
    const RowsByPart index(einsum, common_einsum);
    SumTable out(einsum.tensors(), width);
    std::vector<std::uint64_t> key(later.tensors().size());
    std::size_t sums = 0;
    for (std::size_t r = 0; r < before.rows(); ++r) {
        for (const auto& [hash, mine] : index.find(hash_of(before, r, common_before))) {
            if (sums++ % poll_every == 0) {
                base::poll_stop();
            }
            for (std::size_t i = 0; i < key.size(); ++i) {
                key[i] = later_einsum[i] >= 0 ? einsum.key(mine)[later_einsum[i]]
                                              : before.key(r)[later_before[i]];
            }
            if (const double* rest = later.find(key.data())) {
                lower(before.sums(r), rest, width, out.at(einsum.key(mine)));
            }
        }
    }
    return out;
}

}  // namespace tessera::mapspace::detail
