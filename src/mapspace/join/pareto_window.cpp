#include "pareto_window.hpp"

#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tessera::mapspace {

namespace {

using Search = bool (*)(const double* blocks, std::size_t count, std::size_t columns,
                        const double* point);

#if defined(__x86_64__)

/// Baseline of the architecture: pairs of lanes.
bool search_plain(const double* blocks, std::size_t count, std::size_t columns,
                  const double* point) {
    for (std::size_t b = 0; b < count; ++b, blocks += columns * DominanceWindow::kBlock) {
        int alive = 0xff;
        for (std::size_t c = 0; c < columns && alive != 0; ++c) {
            const double* lane = blocks + c * DominanceWindow::kBlock;
            const __m128d value = _mm_set1_pd(point[c]);
            int below = 0;
            for (int pair = 0; pair < 4; ++pair) {
                below |= _mm_movemask_pd(_mm_cmple_pd(_mm_loadu_pd(lane + 2 * pair), value))
                         << (2 * pair);
            }
            alive &= below;
        }
        if (alive != 0) {
            return true;
        }
    }
    return false;
}

[[gnu::target("avx2")]] bool search_avx2(const double* blocks, std::size_t count,
                                         std::size_t columns, const double* point) {
    for (std::size_t b = 0; b < count; ++b, blocks += columns * DominanceWindow::kBlock) {
        int alive = 0xff;
        for (std::size_t c = 0; c < columns && alive != 0; ++c) {
            const double* lane = blocks + c * DominanceWindow::kBlock;
            const __m256d value = _mm256_set1_pd(point[c]);
            const __m256d low = _mm256_cmp_pd(_mm256_loadu_pd(lane), value, _CMP_LE_OQ);
            const __m256d high = _mm256_cmp_pd(_mm256_loadu_pd(lane + 4), value, _CMP_LE_OQ);
            alive &= _mm256_movemask_pd(low) | _mm256_movemask_pd(high) << 4;
        }
        if (alive != 0) {
            return true;
        }
    }
    return false;
}

Search choose() {
    return __builtin_cpu_supports("avx2") ? search_avx2 : search_plain;
}

#else

bool search_plain(const double* blocks, std::size_t count, std::size_t columns,
                  const double* point) {
    for (std::size_t b = 0; b < count; ++b, blocks += columns * DominanceWindow::kBlock) {
        unsigned alive = 0xff;
        for (std::size_t c = 0; c < columns && alive != 0; ++c) {
            unsigned below = 0;
            for (std::size_t i = 0; i < DominanceWindow::kBlock; ++i) {
                below |= (blocks[c * DominanceWindow::kBlock + i] <= point[c] ? 1u : 0u) << i;
            }
            alive &= below;
        }
        if (alive != 0) {
            return true;
        }
    }
    return false;
}

Search choose() {
    return search_plain;
}

#endif

}  // namespace

void DominanceWindow::add(const double* point) {
    const std::size_t block = size_ / kBlock * kBlock * columns_;
    const std::size_t lane = size_ % kBlock;
    if (lane == 0) {
        // Free lanes must never dominate: inf <= inf must not happen, so NaN.
        memory_.resize(block);
        memory_.resize(block + kBlock * columns_, std::numeric_limits<double>::quiet_NaN());
    }
    for (std::size_t c = 0; c < columns_; ++c) {
        memory_[block + c * kBlock + lane] = point[c];
    }
    ++size_;
}

bool DominanceWindow::dominates(const double* point) const {
    static const Search search = choose();
    return search(memory_.data(), (size_ + kBlock - 1) / kBlock, columns_, point);
}

}  // namespace tessera::mapspace
