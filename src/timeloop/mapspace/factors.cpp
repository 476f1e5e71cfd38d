#include <string>

#include "tessera/base/error.hpp"
#include "timeloop/mapspace/merge.hpp"

namespace tessera::timeloop {
namespace {

constexpr std::size_t max_options = 20'000'000;

std::vector<std::int64_t> divisors(std::int64_t n) {
    std::vector<std::int64_t> found;
    for (std::int64_t i = 1; i * i <= n; ++i) {
        if (n % i == 0) {
            found.push_back(i);
            if (i * i != n) {
                found.push_back(n / i);
            }
        }
    }
    return found;
}

struct Splitter {
    int dimension;
    const std::vector<TilingLevel>& levels;
    IndexFactors& out;
    std::vector<int> open;  // levels without a fixed factor, inner to outer
    std::vector<std::int64_t> choices;
    std::vector<std::int32_t> ends, residuals;

    void emit() {
        if (out.count >= max_options) {
            throw UserError("a dimension has more than " + std::to_string(max_options) +
                            " index factorisations; constrain its factors");
        }
        out.ends.insert(out.ends.end(), ends.begin(), ends.end());
        out.residuals.insert(out.residuals.end(), residuals.begin(), residuals.end());
        ++out.count;
    }
    // `rest` is to be split over open[0 .. n).
    void perfect(std::int64_t rest, int n) {
        if (n == 0) {
            if (rest == 1) {
                residuals = ends;
                emit();
            }
            return;
        }
        const int level = open[n - 1];
        if (n == 1) {
            if (levels[level].allows(dimension, rest)) {
                ends[level] = static_cast<std::int32_t>(rest);
                perfect(1, 0);
            }
            return;
        }
        for (const std::int64_t factor : choices) {
            if (rest % factor == 0 && levels[level].allows(dimension, factor)) {
                ends[level] = static_cast<std::int32_t>(factor);
                perfect(rest / factor, n - 1);
            }
        }
    }
    // x: iterations minus one that levels `level` and outer still have to make.
    void ruby(std::int64_t x, int level) {
        if (level == static_cast<int>(levels.size())) {
            if (x == 0) {
                emit();
            }
            return;
        }
        const TilingLevel& l = levels[level];
        const std::int64_t fixed = l.fixed[dimension];
        const std::int64_t last = fixed ? fixed : x + 1;
        for (std::int64_t end = fixed ? fixed : 1; end <= last; ++end) {
            const std::int64_t residual = x % end + 1, rest = x / end;
            const std::int64_t wanted = l.fixed_residual[dimension];
            const bool perfect_loop = residual == end;
            const bool may_differ = wanted || (l.remainder && (fixed || end <= l.remainder));
            // Alone, a shorter last pass is just a shorter loop.
            if ((!perfect_loop && (rest == 0 || !may_differ)) || (wanted && residual != wanted) ||
                !l.allows(dimension, end)) {
                continue;
            }
            ends[level] = static_cast<std::int32_t>(end);
            residuals[level] = static_cast<std::int32_t>(residual);
            ruby(rest, level + 1);
        }
    }
};

}  // namespace

IndexFactors perfect_factors(std::int64_t bound, int dimension,
                             const std::vector<TilingLevel>& levels) {
    IndexFactors out;
    Splitter splitter{dimension, levels, out, {}, divisors(bound), {}, {}};
    splitter.ends.assign(levels.size(), 1);
    std::int64_t rest = bound;
    for (int level = 0; level < static_cast<int>(levels.size()); ++level) {
        const std::int64_t fixed = levels[level].fixed[dimension];
        if (!fixed) {
            splitter.open.push_back(level);
            continue;
        }
        if (rest % fixed != 0 || !levels[level].allows(dimension, fixed)) {
            return out;
        }
        splitter.ends[level] = static_cast<std::int32_t>(fixed);
        rest /= fixed;
    }
    splitter.perfect(rest, static_cast<int>(splitter.open.size()));
    return out;
}

IndexFactors ruby_factors(std::int64_t bound, int dimension,
                          const std::vector<TilingLevel>& levels) {
    IndexFactors out;
    Splitter splitter{dimension, levels, out, {}, {}, {}, {}};
    splitter.ends.assign(levels.size(), 1);
    splitter.residuals.assign(levels.size(), 1);
    splitter.ruby(bound - 1, 0);
    return out;
}

}  // namespace tessera::timeloop
