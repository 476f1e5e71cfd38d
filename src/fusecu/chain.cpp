// A chain of matrix products: the best cut into single products and fused pairs of neighbours.
#include <stdexcept>
#include <string>

#include "lattice.hpp"

namespace tessera::fusecu {

namespace {

bool fuses(FuseRule rule, const Sizes& first, const std::optional<MatmulTiling>& one,
           const Sizes& second, const std::optional<MatmulTiling>& two) {
    return rule == FuseRule::exact || (rule == FuseRule::principle_4 && one && two &&
                                       nra_class(first, *one) == nra_class(second, *two));
}

}  // namespace

std::optional<Chain> best_chain(std::int64_t m, const std::vector<std::int64_t>& d,
                                std::int64_t buffer_words, Capacity capacity, FuseRule rule) {
    if (d.size() < 2 || d.size() > max_chain_length + 1) {
        throw std::invalid_argument("a chain has " + std::to_string(d.size()) +
                                    " sizes; expected 2 to " +
                                    std::to_string(max_chain_length + 1));
    }
    // best[i]: the first i products; the last step leads to it from 0 to 2 products before.
    struct State {
        bool fits = false;
        std::int64_t traffic_words = 0;
        ChainStep last;
    };
    std::vector<State> best(d.size());
    best[0].fits = true;
    std::optional<MatmulTiling> before;
    for (std::size_t i = 1; i < d.size(); ++i) {
        const Sizes sizes{m, d[i - 1], d[i]};
        const std::optional<MatmulTiling> single = exact_matmul(sizes, buffer_words);
        const auto offer = [&](std::size_t first, ChainStep step) {
            const std::int64_t words = best[first].traffic_words + step.traffic_words;
            if (best[first].fits && (!best[i].fits || words < best[i].traffic_words)) {
                step.first = first;
                best[i] = {true, words, std::move(step)};
            }
        };
        if (single) {
            offer(i - 1, {0, single, {}, single->traffic_words});
        }
        if (i > 1 && fuses(rule, {m, d[i - 2], d[i - 1]}, before, sizes, single)) {
            if (const auto pair =
                    exact_pair({m, d[i - 2], d[i - 1], d[i]}, buffer_words, capacity)) {
                offer(i - 2, {0, {}, pair, pair->traffic_words});
            }
        }
        before = single;
    }
    if (!best.back().fits) {
        return std::nullopt;
    }
    Chain chain;
    chain.traffic_words = best.back().traffic_words;
    for (std::size_t i = d.size() - 1; i > 0; i = chain.steps.front().first) {
        chain.steps.insert(chain.steps.begin(), best[i].last);
    }
    return chain;
}

}  // namespace tessera::fusecu
