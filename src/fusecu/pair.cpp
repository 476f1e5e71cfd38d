// A fused pair of matrix products. For each order of the common loops and each choice of what is
// retained, the passes over M are listed and the tile of L is the largest that fits: the words that
// the buffer holds are linear in it.
#include <algorithm>

#include "lattice.hpp"

namespace tessera::fusecu {

namespace {

// constant + slope * tile_l words.
struct Line {
    std::int64_t constant = 0, slope = 0;

    Line operator+(const Line& other) const {
        return {constant + other.constant, slope + other.slope};
    }
    [[nodiscard]] std::int64_t at(std::int64_t tile_l) const {
        return constant + slope * tile_l;
    }
    [[nodiscard]] std::int64_t largest_within(std::int64_t words) const {
        return words < constant ? 0 : (words - constant) / slope;  // C makes the slope positive
    }
};

// What the buffer holds in either product.
struct Need {
    Line first, second;
};

Need need(const PairSizes& d, const PairTiling& t, Capacity capacity) {
    Line stays{0, t.tile_m};  // C
    Line first, second;
    (t.m_outer && t.retains_k ? stays : first).constant +=
        t.tile_m * (t.m_outer && t.retains_k ? d[1] : 1);
    (!t.m_outer && t.retains_k ? stays : first).slope += !t.m_outer && t.retains_k ? d[1] : 1;
    (t.m_outer && t.retains_n ? stays : second).constant +=
        t.tile_m * (t.m_outer && t.retains_n ? d[3] : 1);
    (!t.m_outer && t.retains_n ? stays : second).slope += !t.m_outer && t.retains_n ? d[3] : 1;
    if (capacity == Capacity::coresident) {
        return {stays + first + second, stays + first + second};
    }
    return {stays + first, stays + second};
}

std::int64_t traffic_words(const PairSizes& d, const PairTiling& t) {
    const std::int64_t n_m = ceil_div(d[0], t.tile_m);
    const std::int64_t n_l = ceil_div(d[2], t.tile_l);
    const std::int64_t n_a = t.m_outer && t.retains_k ? 1 : n_l;
    const std::int64_t n_b = !t.m_outer && t.retains_k ? 1 : n_m;
    const std::int64_t n_d = !t.m_outer && t.retains_n ? 1 : n_m;
    const std::int64_t n_e = t.m_outer && t.retains_n ? 1 : n_l;
    return d[0] * d[1] * n_a + d[1] * d[2] * n_b + d[2] * d[3] * n_d + d[0] * d[3] * n_e;
}

}  // namespace

std::optional<PairTiling> exact_pair(const PairSizes& sizes, std::int64_t buffer_words,
                                     Capacity capacity) {
    std::for_each(sizes.begin(), sizes.end(), check_size);
    std::optional<PairTiling> best;
    for (unsigned choice = 0; choice < 8; ++choice) {
        PairTiling t;
        t.m_outer = (choice & 1U) == 0;
        t.retains_k = (choice & 2U) != 0;
        t.retains_n = (choice & 4U) != 0;
        for (t.tile_m = sizes[0]; t.tile_m > 0; t.tile_m = next_tile(sizes[0], t.tile_m)) {
            const Need words = need(sizes, t, capacity);
            const std::int64_t widest =
                std::min({sizes[2], words.first.largest_within(buffer_words),
                          words.second.largest_within(buffer_words)});
            if (widest < 1) {
                continue;
            }
            t.tile_l = ceil_div(sizes[2], ceil_div(sizes[2], widest));
            t.traffic_words = traffic_words(sizes, t);
            t.used_words = std::max(words.first.at(t.tile_l), words.second.at(t.tile_l));
            if (!best || t.traffic_words < best->traffic_words ||
                (t.traffic_words == best->traffic_words && t.used_words < best->used_words)) {
                best = t;
            }
        }
    }
    return best;
}

}  // namespace tessera::fusecu
