// What Einsums hold at the same time: by hand, and whole mappings against one Einsum more.
#include "tessera/model/coexistence.hpp"

#include <boost/test/unit_test.hpp>
#include <random>
#include <vector>

using namespace tessera::model;

namespace {

/// Bits of the buffer while each of `n` Einsums runs; -1: none.
std::vector<double> bits_of(const std::vector<SharedUse>& uses, int n, bool reference_sizes) {
    std::vector<double> out(static_cast<std::size_t>(n), -1);
    add_shared(uses, reference_sizes, [&](int e, double bits) { out.at(e) = bits; });
    return out;
}

/// A chain of Einsums in one memory; one tensor is shared by some of them.
struct Chain {
    struct Holder {
        int depth = 0;
        double bits = 0;
    };
    struct Einsum {
        int loops = 0;
        std::vector<Holder> alone;
        double shared_bits = 0;  ///< 0: it does not use the tensor
    };
    std::vector<Einsum> einsums;
    std::vector<int> shared;  ///< loops of Einsum i and i + 1
    int depth = 0;            ///< of the shared tensor
    int first = 0, last = 0;  ///< its users

    explicit Chain(unsigned seed) {
        std::mt19937 random(seed);
        const auto below = [&](int n) { return static_cast<int>(random() % unsigned(n)); };
        einsums.resize(2 + below(5));
        const int n = static_cast<int>(einsums.size());
        for (int i = 0; i + 1 < n; ++i) {
            shared.push_back(below(4));
        }
        first = below(n);
        last = first + below(n - first);
        int most = 3;
        for (int i = first; i < last; ++i) {
            most = std::min(most, shared[i]);
        }
        depth = below(most + 2) - 1;
        for (int e = 0; e < n; ++e) {
            Einsum& one = einsums[e];
            one.loops = std::max({e > 0 ? shared[e - 1] : 0, e + 1 < n ? shared[e] : 0, depth});
            one.loops += below(3);
            for (int i = below(4); i > 0; --i) {
                one.alone.push_back({below(one.loops + 2) - 1, 1.0 + below(20)});
            }
            const bool uses = e == first || e == last || (first < e && e < last && below(2) == 0);
            one.shared_bits = uses ? 1 + below(20) : 0;
        }
    }

    double peak(bool reference_sizes) const {
        const int n = static_cast<int>(einsums.size());
        std::vector<double> in_use(einsums.size(), 0);
        std::vector<SharedUse> uses;
        const auto life = [&](int e, int at) {
            return lifetime(e, at, n, [&](int i) { return shared[i]; });
        };
        for (int e = 0; e < n; ++e) {
            for (const Holder& h : einsums[e].alone) {
                for (int now = life(e, h.depth).first; now <= life(e, h.depth).last; ++now) {
                    in_use[now] += h.bits;
                }
            }
            if (einsums[e].shared_bits > 0) {
                uses.push_back({life(e, depth), einsums[e].shared_bits});
            }
        }
        add_shared(uses, reference_sizes, [&](int e, double bits) { in_use[e] += bits; });
        return *std::max_element(in_use.begin(), in_use.end());
    }

    double folded_peak(bool reference_sizes) const {
        std::vector<double> held(2, 0), peaks(1, 0);  // by depth, held from -1 on
        double size = 0;                              // of the tensor while it is live
        for (int e = 0; e < static_cast<int>(einsums.size()); ++e) {
            const Einsum& one = einsums[e];
            const int before = e > 0 ? shared[e - 1] : 0;
            const int open = e + 1 < static_cast<int>(einsums.size()) ? shared[e] : 0;
            std::vector<double> own(one.loops + 2, 0), twice(before + 2, 0);
            const auto add = [](std::vector<double>& to, int at, double bits) {
                for (std::size_t d = at + 1; d < to.size(); ++d) {
                    to[d] += bits;
                }
            };
            for (const Holder& h : one.alone) {
                add(own, h.depth, h.bits);
            }
            if (one.shared_bits > 0) {
                add(own, depth, one.shared_bits);
                add(twice, depth, reference_sizes ? size : std::min(size, one.shared_bits));
                size = e > first && reference_sizes ? size : std::max(size, one.shared_bits);
            }
            const Appended all{held.data() + 1, own.data() + 1, twice.data() + 1, before};
            std::vector<double> next(std::max(open, before) + 1, 0);
            for (int d = 0; d <= before; ++d) {
                double& target = next[std::min(d, open)];
                target = std::max(target, all.peak(peaks[d], d));
            }
            next[open] = std::max(next[open], all.held(one.loops));
            for (int d = open - 1; d >= 0; --d) {
                next[d] = std::max(next[d], next[d + 1]);
            }
            std::vector<double> after;
            for (int d = -1; d < open; ++d) {
                after.push_back(all.held(d));
            }
            const bool live = first <= e && e < last && depth == open;
            after.push_back(all.held(open - 1) + (live ? size : 0));
            held = after;
            peaks = next;
        }
        return peaks[0];
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(coexistence)

BOOST_AUTO_TEST_CASE(what_stands_outside_shared_loops_stays) {
    const int shared[] = {1, 2, 0};
    const auto life = [&](int einsum, int depth) {
        return lifetime(einsum, depth, 4, [&](int i) { return shared[i]; });
    };
    const auto is = [](const Lifetime& l, int first, int last) {
        return l.first == first && l.last == last;
    };
    BOOST_TEST(is(life(1, 0), 0, 2));
    BOOST_TEST(is(life(1, 1), 1, 2));
    BOOST_TEST(is(life(1, 2), 1, 1));
    BOOST_TEST(is(life(2, -1), 0, 3));
    BOOST_TEST(is(life(3, 0), 3, 3));
}

BOOST_AUTO_TEST_CASE(a_shared_buffer_is_as_large_as_its_largest_user_so_far) {
    const std::vector<SharedUse> grows{{{1, 1}, 8}, {{3, 3}, 10}};
    BOOST_TEST(bits_of(grows, 5, false) == (std::vector<double>{-1, 8, 8, 10, -1}));
    const std::vector<SharedUse> shrinks{{{0, 0}, 10}, {{2, 3}, 8}};
    BOOST_TEST(bits_of(shrinks, 4, false) == (std::vector<double>{10, 10, 10, 10}));
    // Allocated outside a loop around its first user, too.
    const std::vector<SharedUse> outside{{{0, 1}, 8}, {{0, 1}, 10}};
    BOOST_TEST(bits_of(outside, 2, false) == (std::vector<double>{10, 10}));
}

BOOST_AUTO_TEST_CASE(in_the_reference_the_first_user_says_how_large_it_is) {
    const std::vector<SharedUse> apart{{{0, 0}, 10}, {{2, 2}, 8}};
    BOOST_TEST(bits_of(apart, 3, true) == (std::vector<double>{10, 10, 8}));
    const std::vector<SharedUse> together{{{0, 1}, 10}, {{0, 1}, 13}, {{1, 1}, 12}};
    BOOST_TEST(bits_of(together, 2, true) == (std::vector<double>{13, 15}));
}

BOOST_AUTO_TEST_CASE(buffers_are_united_in_one_memory) {
    Buffers buffers;
    buffers.unite("GLB", 3, 2);
    buffers.unite("GLB", 5, 4);
    BOOST_TEST(buffers.of("GLB", 3) == buffers.of("GLB", 2));
    BOOST_TEST(buffers.of("GLB", 3) != buffers.of("GLB", 5));
    BOOST_TEST(buffers.of("LB", 3) == 3);
    // By way of others.
    buffers.unite("GLB", 5, 3);
    buffers.unite("GLB", 4, 2);
    for (const int tensor : {3, 4, 5}) {
        BOOST_TEST(buffers.of("GLB", tensor) == buffers.of("GLB", 2));
    }
    BOOST_TEST(buffers.of("GLB", 1) == 1);
}

BOOST_AUTO_TEST_CASE(whole_mappings_and_one_einsum_more_agree) {
    for (unsigned seed = 1; seed <= 2000; ++seed) {
        const Chain chain(seed);
        BOOST_TEST(chain.peak(false) == chain.folded_peak(false), "seed " << seed);
        // What a later user makes smaller is not taken back from branches that have finished.
        BOOST_TEST(chain.peak(true) <= chain.folded_peak(true), "seed " << seed);
    }
}

BOOST_AUTO_TEST_SUITE_END()
