// The tree of outer tiles: one level per dimension, its choices, and what fits.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "tessera/transfusion/tileseek.hpp"
#include "transfusion/phases.hpp"

namespace tessera::transfusion {

inline constexpr int levels = 5;

/// Counts of the first levels; the order is b, p, m, d, s.
using Prefix = std::vector<std::int64_t>;

class Tilings {
public:
    /// \throws UserError, NoLegalMapping as tileseek()
    explicit Tilings(const Problem& problem);

    /// Choices of the level after the prefix that can still be legal, ascending. Never empty: the
    /// most tiles of everything that is open fit, because the prefix does.
    std::vector<std::int64_t> choices(const Prefix& prefix) const;
    /// \pre the prefix has all levels
    static OuterTiles tiles(const Prefix& prefix);

private:
    bool fits(Prefix prefix) const;

    Problem problem_;
    std::vector<std::int64_t> divisors_[levels];
};

/// objective_value() of many tiles of one problem: what does not depend on them is kept.
class Objectives {
public:
    Objectives(const Problem& problem, Objective objective);
    double value(const OuterTiles& tiles);

private:
    /// Of the parts that do not depend on tiles, and of two phases by what their traffic depends
    /// on.
    struct Known {
        Objective objective = Objective::energy;
        double fixed = 0;
        std::map<std::pair<std::int64_t, std::int64_t>, double> projections, attention;
    };
    Known known(Objective objective) const;
    double phase_value(Objective objective, Phase phase, const OuterTiles& tiles) const;
    double value(Known& known, const OuterTiles& tiles) const;

    Problem problem_;
    Objective objective_;
    Sizes sizes_;
    Known energy_, latency_;
};

}  // namespace tessera::transfusion
