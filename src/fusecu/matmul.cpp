// One matrix product. The rank c of the innermost loop is tiled by 1: a larger tile of c only takes
// room. With a, b the other ranks and X_d the tensor without rank d, the words moved are
//   |X_c| + |X_a| n_a + |X_b| n_b,  n_d = ceil(D_d / T_d),  and T_a T_b + T_a + T_b <= buffer.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "lattice.hpp"

namespace tessera::fusecu {

void check_size(std::int64_t size) {
    if (size < 1 || size > max_rank_size) {
        throw std::invalid_argument("size of a rank is " + std::to_string(size) +
                                    "; expected 1 to " + std::to_string(max_rank_size));
    }
}

std::int64_t square_tile(std::int64_t buffer_words) {
    const auto words = static_cast<double>(std::max<std::int64_t>(buffer_words, 0));
    return static_cast<std::int64_t>(std::sqrt(words + 1)) - 1;
}

void Best::show(std::size_t c, std::size_t a, std::size_t b, std::int64_t t_a, std::int64_t t_b) {
    if (t_a < 1 || t_b < 1 || t_b > room(t_a)) {
        return;
    }
    const std::int64_t n_a = ceil_div(d_[a], std::min(d_[a], t_a));
    const std::int64_t n_b = ceil_div(d_[b], std::min(d_[b], t_b));
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

std::int64_t footprint_words(const Sizes& tile) noexcept {
    return tile[0] * tile[1] + tile[1] * tile[2] + tile[0] * tile[2];
}

int nra_class(const Sizes& sizes, const MatmulTiling& tiling) {
    int once = 1;
    for (std::size_t d = 0; d < 3; ++d) {
        once += static_cast<Rank>(d) != tiling.innermost && tiling.tile[d] >= sizes[d] ? 1 : 0;
    }
    return once;
}

std::optional<MatmulTiling> exact_matmul(const Sizes& sizes, std::int64_t buffer_words) {
    std::for_each(sizes.begin(), sizes.end(), check_size);
    Best best(sizes, buffer_words);
    for (std::size_t c = 0; c < 3; ++c) {
        const std::size_t a = (c + 1) % 3;
        for (std::int64_t t_a = sizes[a]; t_a > 0; t_a = next_tile(sizes[a], t_a)) {
            best.show_widest(c, a, (c + 2) % 3, t_a);
        }
    }
    return best.best();
}

}  // namespace tessera::fusecu
