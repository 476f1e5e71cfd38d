// The tree of outer tiles: one level per dimension, its choices, and what fits.
#pragma once

#include <array>
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
    double energy_j(const OuterTiles& tiles);
    double energy_j(Phase phase, const OuterTiles& tiles) const;
    double latency_s(const OuterTiles& tiles);

    Problem problem_;
    Objective objective_;
    Sizes sizes_;
    /// With the units of their Einsums, on which buffer accesses depend; tiles change none of them.
    std::array<PhaseCost, phase_count> phases_;
    double compute_j_ = 0;
    double fixed_s_ = 0;  ///< of norm and feed-forward
    /// By the tiles that the phase has.
    std::array<std::map<std::array<std::int64_t, 4>, double>, phase_count> energies_j_;
    /// Seconds of two phases by what their traffic depends on.
    std::map<std::pair<std::int64_t, std::int64_t>, double> projections_s_, attention_s_;
};

}  // namespace tessera::transfusion
