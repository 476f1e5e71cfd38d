// One matrix product. The rank c of the innermost loop is tiled by 1: a larger tile of c only takes
// room. With a, b the other ranks and X_d the tensor without rank d, the words moved are
//   |X_c| + |X_a| n_a + |X_b| n_b,  n_d = ceil(D_d / T_d),  and T_a T_b + T_a + T_b <= buffer.
#include "tessera/fusecu.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace tessera::fusecu {

namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

void check(const Sizes& sizes) {
    for (const std::int64_t size : sizes) {
        if (size < 1 || size > max_rank_size) {
            throw std::invalid_argument("size of a rank is " + std::to_string(size) +
                                        "; expected 1 to " + std::to_string(max_rank_size));
        }
    }
}

// Keeps the best of the tilings that it is shown, for one product and one buffer.
class Best {
public:
    Best(const Sizes& sizes, std::int64_t buffer_words) : d_(sizes), buffer_(buffer_words) {}

    // Tile t_a of rank a, and the largest tile of rank b that fits beside it.
    void show(std::size_t c, std::size_t a, std::size_t b, std::int64_t t_a) {
        const std::int64_t room = buffer_ < t_a ? 0 : (buffer_ - t_a) / (t_a + 1);
        if (t_a < 1 || room < 1) {
            return;
        }
        const std::int64_t n_a = ceil_div(d_[a], t_a);
        const std::int64_t n_b = ceil_div(d_[b], std::min(d_[b], room));
        MatmulTiling t;
        t.tile[c] = 1;
        t.tile[a] = ceil_div(d_[a], n_a);  // the smallest tiles of as many passes
        t.tile[b] = ceil_div(d_[b], n_b);
        t.innermost = static_cast<Rank>(c);
        t.traffic_words = d_[a] * d_[b] + d_[b] * d_[c] * n_a + d_[a] * d_[c] * n_b;
        t.used_words = footprint_words(t.tile);
        if (!best_ || t.traffic_words < best_->traffic_words ||
            (t.traffic_words == best_->traffic_words && t.used_words < best_->used_words)) {
            best_ = t;
        }
    }

    [[nodiscard]] const std::optional<MatmulTiling>& best() const {
        return best_;
    }

private:
    const Sizes& d_;
    std::int64_t buffer_;
    std::optional<MatmulTiling> best_;
};

}  // namespace

std::int64_t footprint_words(const Sizes& tile) noexcept {
    return tile[0] * tile[1] + tile[1] * tile[2] + tile[0] * tile[2];
}

std::optional<MatmulTiling> exact_matmul(const Sizes& sizes, std::int64_t buffer_words) {
    check(sizes);
    Best best(sizes, buffer_words);
    for (std::size_t c = 0; c < 3; ++c) {
        const std::size_t a = (c + 1) % 3;
        const std::size_t b = (c + 2) % 3;
        for (std::int64_t t_a = sizes[a];;) {  // one tile size per number of passes
            best.show(c, a, b, t_a);
            if (t_a == 1) {
                break;
            }
            // The next smaller tile has more passes; the smallest of as many represents them.
            t_a = ceil_div(sizes[a], ceil_div(sizes[a], t_a - 1));
        }
    }
    return best.best();
}

std::optional<MatmulTiling> principles_matmul(const Sizes& sizes, std::int64_t buffer_words) {
    check(sizes);
    Best best(sizes, buffer_words);
    // The smallest tensor lacks the largest rank.
    const auto c =
        static_cast<std::size_t>(std::max_element(sizes.begin(), sizes.end()) - sizes.begin());
    const std::size_t a = (c + 1) % 3;
    const std::size_t b = (c + 2) % 3;
    const auto root = std::sqrt(static_cast<double>(std::max<std::int64_t>(buffer_words, 0)) + 1);
    const auto square = static_cast<std::int64_t>(root) - 1;
    best.show(c, a, b, std::min(sizes[a], square));  // principle 1, clipped where a is short
    best.show(c, b, a, std::min(sizes[b], square));
    best.show(c, a, b, sizes[a]);  // principle 3: the smallest tensor whole
    // Principle 2: the smallest rank untiled; either other tensor may then move again.
    const auto u =
        static_cast<std::size_t>(std::min_element(sizes.begin(), sizes.end()) - sizes.begin());
    best.show((u + 1) % 3, u, (u + 2) % 3, sizes[u]);
    best.show((u + 2) % 3, u, (u + 1) % 3, sizes[u]);
    return best.best();
}

}  // namespace tessera::fusecu
