// Ranks that are alike as one, for the solver.
#pragma once

#include <algorithm>

#include "programme.hpp"

namespace tessera::search::cosa {

inline bool has(Ranks ranks, std::size_t rank) {
    return (ranks >> rank & 1u) != 0;
}

/// Ranks that index the same tensors and may be spread alike are one: in which order they stand
/// next to each other changes nothing, and the solver would try both (`p` and `q` of a
/// convolution).
struct Merged {
    explicit Merged(const Programme& whole) : programme(whole) {
        programme.ranks.clear();
        for (Tensor& tensor : programme.tensors) {
            tensor.ranks = 0;
        }
        for (FanOut& fan_out : programme.fan_outs) {
            fan_out.ranks = 0;
        }
        for (std::size_t j = 0; j < whole.ranks.size(); ++j) {
            std::size_t g = 0;
            while (g < members.size() && !alike(whole, members[g].front(), j)) {
                ++g;
            }
            if (g == members.size()) {
                add_group(whole, j);
            }
            members[g].push_back(j);
            for (const Prime& prime : whole.ranks[j]) {
                add(programme.ranks[g], prime);
            }
        }
    }

    /// The factors of a group go to its ranks, first come, first served.
    Assignment split(const Assignment& a, const Programme& whole) const {
        const std::vector<std::int64_t> ones(whole.ranks.size(), 1);
        Assignment out = a;
        out.temporal.assign(a.temporal.size(), ones);
        out.spatial.assign(a.spatial.size(), ones);
        out.order.clear();
        for (std::size_t g = 0; g < members.size(); ++g) {
            for (const std::size_t j : members[g]) {
                for (const Prime& prime : whole.ranks[j]) {
                    take(a, out, g, j, prime);
                }
            }
        }
        for (const int g : a.order) {
            for (const std::size_t j : members[static_cast<std::size_t>(g)]) {
                if (out.temporal[static_cast<std::size_t>(whole.permuted)][j] > 1) {
                    out.order.push_back(static_cast<int>(j));
                }
            }
        }
        return out;
    }

    Programme programme;
    std::vector<std::vector<std::size_t>> members;  ///< ranks, by merged rank

private:
    static bool alike(const Programme& p, std::size_t a, std::size_t b) {
        const auto same = [&](const auto& all) {
            return std::all_of(all.begin(), all.end(), [&](const auto& one) {
                return has(one.ranks, a) == has(one.ranks, b);
            });
        };
        return same(p.tensors) && same(p.fan_outs);
    }

    void add_group(const Programme& whole, std::size_t rank) {
        const std::size_t g = members.size();
        members.emplace_back();
        programme.ranks.emplace_back();
        for (std::size_t v = 0; v < whole.tensors.size(); ++v) {
            programme.tensors[v].ranks |= has(whole.tensors[v].ranks, rank) ? 1ull << g : 0;
        }
        for (std::size_t f = 0; f < whole.fan_outs.size(); ++f) {
            programme.fan_outs[f].ranks |= has(whole.fan_outs[f].ranks, rank) ? 1ull << g : 0;
        }
    }

    static void add(std::vector<Prime>& primes, const Prime& prime) {
        for (Prime& known : primes) {
            if (known.value == prime.value) {
                known.count += prime.count;
                return;
            }
        }
        primes.push_back(prime);
    }

    /// As many of a rank's prime as it has, from what no rank of the group before it took.
    void take(const Assignment& a, Assignment& out, std::size_t group, std::size_t rank,
              const Prime& prime) const {
        int left = prime.count;
        const auto from = [&](std::int64_t all, auto&& place) {
            std::int64_t free = all;
            for (const std::size_t j : members[group]) {
                free /= place[j];
            }
            for (; left > 0 && free % prime.value == 0; free /= prime.value, --left) {
                place[rank] *= prime.value;
            }
        };
        for (std::size_t m = 0; m < a.temporal.size(); ++m) {
            from(a.temporal[m][group], out.temporal[m]);
        }
        for (std::size_t f = 0; f < a.spatial.size(); ++f) {
            from(a.spatial[f][group], out.spatial[f]);
        }
    }
};

}  // namespace tessera::search::cosa
