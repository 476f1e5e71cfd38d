// Tiles of one matrix product in closed form: principles 1 to 3, and the tiles around them.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "lattice.hpp"

namespace tessera::fusecu {

namespace {

// The rank that the smallest tensor lacks: the largest.
std::size_t largest(const Sizes& d) {
    return static_cast<std::size_t>(std::max_element(d.begin(), d.end()) - d.begin());
}

// Principle 1: the smallest tensor stationary, its tile square; where a rank is shorter than the
// square, the other takes what is left.
void principle_1(Best& best, const Sizes& d, std::int64_t buffer_words) {
    const std::size_t c = largest(d);
    const std::size_t a = (c + 1) % 3;
    const std::size_t b = (c + 2) % 3;
    const std::int64_t square = square_tile(buffer_words);
    if (d[a] < square) {
        best.show_widest(c, a, b, d[a]);
    } else if (d[b] < square) {
        best.show_widest(c, b, a, d[b]);
    } else {
        best.show(c, a, b, square, square);
    }
}

// Principle 2: the smallest rank untiled. Either other tensor may then move again; `literal`: the
// one whose choice leaves the two smaller tensors moved once.
void principle_2(Best& best, const Sizes& d, bool literal) {
    const auto u = static_cast<std::size_t>(std::min_element(d.begin(), d.end()) - d.begin());
    for (const std::size_t k : {1, 2}) {
        const std::size_t tiled = (u + k) % 3;
        const std::size_t c = 3 - u - tiled;
        if (!literal || d[tiled] <= d[c]) {
            best.show_widest(c, u, tiled, d[u]);
        }
    }
}

// Principle 3: the smallest tensor whole.
void principle_3(Best& best, const Sizes& d) {
    const std::size_t c = largest(d);
    best.show(c, (c + 1) % 3, (c + 2) % 3, d[(c + 1) % 3], d[(c + 2) % 3]);
}

}  // namespace

std::optional<MatmulTiling> principles_matmul(const Sizes& sizes, std::int64_t buffer_words) {
    std::for_each(sizes.begin(), sizes.end(), check_size);
    Best best(sizes, buffer_words);
    principle_1(best, sizes, buffer_words);
    principle_2(best, sizes, false);
    principle_3(best, sizes);
    return best.best();
}

std::optional<MatmulTiling> literal_matmul(const Sizes& sizes, std::int64_t buffer_words) {
    std::for_each(sizes.begin(), sizes.end(), check_size);
    Best best(sizes, buffer_words);
    const std::size_t c = largest(sizes);
    const std::int64_t shortest = *std::min_element(sizes.begin(), sizes.end());
    const double per_square = static_cast<double>(buffer_words) /
                              (static_cast<double>(shortest) * static_cast<double>(shortest));
    if (buffer_words > sizes[(c + 1) % 3] * sizes[(c + 2) % 3]) {
        principle_3(best, sizes);
    }
    if (!best.best() && per_square > 0.25) {
        principle_2(best, sizes, true);
    }
    if (!best.best() || per_square <= 0.5) {
        principle_1(best, sizes, buffer_words);
    }
    return best.best();
}

std::optional<MatmulTiling> polish_matmul(const Sizes& sizes, std::int64_t buffer_words,
                                          std::int64_t width) {
    std::for_each(sizes.begin(), sizes.end(), check_size);
    if (width < 0 || width > max_polish_width) {
        throw std::invalid_argument("polish width is " + std::to_string(width) +
                                    "; expected 0 to " + std::to_string(max_polish_width));
    }
    Best best(sizes, buffer_words);
    const std::int64_t square = square_tile(buffer_words);
    if (square < 1) {
        return std::nullopt;  // 3 words hold the tiles of one element
    }
    for (std::size_t i = 0; i < 6; ++i) {
        const std::size_t c = i / 2;
        const std::size_t a = (c + 1 + i % 2) % 3;
        const std::size_t b = 3 - c - a;
        const auto passes = [&](std::int64_t n) {
            if (n >= 1 && n <= sizes[a]) {
                best.show_widest(c, a, b, ceil_div(sizes[a], n));
            }
        };
        const std::int64_t centre = ceil_div(sizes[a], std::min(square, sizes[a]));
        for (std::int64_t n = centre - width; n <= centre + width; ++n) {
            passes(n);
        }
        for (const std::int64_t n : {1, 2, 3}) {
            passes(n);
        }
        if (sizes[b] <= square) {
            best.show_widest(c, b, a, sizes[b]);
        }
    }
    return best.best();
}

}  // namespace tessera::fusecu
