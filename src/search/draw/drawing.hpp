// Random templates and tile shapes, Einsum after Einsum.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "fit_memo.hpp"
#include "followers.hpp"

namespace tessera::search {

/// Scratch of one thread. What is drawn depends on the random numbers alone.
class Drawing {
public:
    Drawing(const OpenSpace::Data& space, Joiner& joiner, TileStore& tiles)
        : space_(space), joiner_(joiner), followers_(space, joiner, tiles) {}

    /// Templates and tile shapes of a whole mapping whose Einsums join; false if none was found.
    bool draw(Rng& rng, Point& point);

    /// One way to go on at `at`, its tile shapes in values(). Null if nothing was found.
    const Joiner::Option* draw_einsum(Rng& rng, Compatibility& at);

    /// Random tile shapes into values(); false if none were found.
    bool draw_tiles(Rng& rng, std::size_t einsum, std::uint32_t tmpl, std::uint32_t running,
                    const std::vector<std::int64_t>& trips);

    /// Tile shapes into values(). `rng` is used for those alone whose target is 0. `remembered`:
    /// the same question is likely to come again.
    Found fit_tiles(Rng& rng, const Fit& fit, bool remembered = true);

    const std::vector<double>& values() const {
        return values_;
    }
    Followers& followers() {
        return followers_;
    }

    /// Attempts that came to nothing, by verdict.
    std::array<std::uint64_t, 9> failures{};
    /// Tile shapes that were tried.
    std::uint64_t work = 0;

private:
    bool pick_tiles(Rng& rng, Compatibility& at, std::size_t index);
    Compatibility* next(Rng& rng, Compatibility& at, Point& point);

    const OpenSpace::Data& space_;
    Joiner& joiner_;
    /// `straight`: all of the target is above 0, and likely to be legal.
    Found search_tiles(Rng& rng, const Fit& fit, bool straight, std::uint64_t& steps);

    /// What an Einsum of the chain finds, and how many tile shapes were chosen before it.
    struct Stage {
        Compatibility* at = nullptr;
        std::size_t tiles = 0;
    };

    Followers followers_;
    std::vector<Stage> stages_;
    FitMemo fits_;
    std::vector<double> values_;
    Followed seen_;
    std::vector<std::int64_t> trips_;
};

}  // namespace tessera::search
