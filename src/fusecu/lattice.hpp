// What all searches for the tiles of one product share.
#pragma once

#include "tessera/fusecu/matmul.hpp"

namespace tessera::fusecu {

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

/// The smallest tile of as many passes as the next smaller number of words than `tile` needs: the
/// next in the list of tiles that differ in their passes. 0 after 1.
inline std::int64_t next_tile(std::int64_t size, std::int64_t tile) {
    return tile <= 1 ? 0 : ceil_div(size, ceil_div(size, tile - 1));
}

/// \throws std::invalid_argument unless 1 <= size <= max_rank_size
void check_size(std::int64_t size);

/// The largest square tile T x T that leaves room for two tiles of T: (T + 1)^2 <= buffer + 1.
std::int64_t square_tile(std::int64_t buffer_words);

/// Keeps the best of the tilings that it is shown, for one product and one buffer.
class Best {
public:
    Best(const Sizes& sizes, std::int64_t buffer_words) : d_(sizes), buffer_(buffer_words) {}

    /// Tiles t_a, t_b of ranks a, b and 1 of rank c; ignored if they do not fit.
    void show(std::size_t c, std::size_t a, std::size_t b, std::int64_t t_a, std::int64_t t_b);

    /// Tile t_a of rank a, and the largest tile of rank b that fits beside it.
    void show_widest(std::size_t c, std::size_t a, std::size_t b, std::int64_t t_a) {
        show(c, a, b, t_a, room(t_a));
    }

    /// The largest tile that fits beside one of `tile`.
    [[nodiscard]] std::int64_t room(std::int64_t tile) const {
        return tile < 1 || buffer_ < tile ? 0 : (buffer_ - tile) / (tile + 1);
    }

    [[nodiscard]] const std::optional<MatmulTiling>& best() const {
        return best_;
    }

private:
    const Sizes& d_;
    std::int64_t buffer_;
    std::optional<MatmulTiling> best_;
};

}  // namespace tessera::fusecu
