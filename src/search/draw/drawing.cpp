#include "drawing.hpp"

#include <algorithm>

#include "steps_back.hpp"
#include "tessera/base/stop.hpp"

namespace tessera::search {

namespace {

// An Einsum is given up after these many attempts; from the second number on, among those options
// alone that have tile shapes.
constexpr int einsum_attempts = 64, blind_attempts = 48;
// Tile shapes that are not listed: attempts, and choices of each attempt for each symbol.
constexpr int tile_attempts = 16;
constexpr std::uint64_t steps_per_symbol = 64, fit_steps_per_symbol = 4;

}  // namespace

bool Drawing::draw_tiles(Rng& rng, std::size_t einsum, std::uint32_t tmpl, std::uint32_t running,
                         const std::vector<std::int64_t>& trips) {
    TileChooser& tiles = followers_.walk(einsum, tmpl).chooser();
    for (int i = 0; i < tile_attempts; ++i) {
        base::poll_stop();
        const std::uint64_t most = steps_per_symbol * (1 + tiles.size());
        std::uint64_t left = most;
        tiles.start(running, trips);
        const bool found = tiles.draw(rng, left);
        work += most - left;
        if (found || left > 0) {
            values_ = tiles.values();
            return found;
        }
    }
    return false;
}

Found Drawing::search_tiles(Rng& rng, const Fit& fit, bool straight, std::uint64_t& steps) {
    TileChooser& tiles = followers_.walk(fit.einsum, fit.tmpl).chooser();
    const std::uint64_t most = fit_steps_per_symbol * (1 + tiles.size());
    std::uint64_t left = most;
    tiles.start(fit.running, fit.trips);
    bool found = straight && tiles.take_nearest(fit.target);
    if (!found) {
        tiles.start(fit.running, fit.trips);
        found = tiles.draw(rng, left, &fit.target);
    }
    // Of failures it may be known that they are, which must not make a difference.
    steps = found ? most - left + 1 : 1;
    if (found) {
        values_ = tiles.values();
    }
    return found ? Found::yes : left > 0 ? Found::none : Found::given_up;
}

Found Drawing::fit_tiles(Rng& rng, const Fit& fit, bool remembered) {
    std::uint64_t steps = 0;
    const bool all = std::find(fit.target.begin(), fit.target.end(), 0.0) == fit.target.end();
    if (!all || !remembered) {
        const Found found = search_tiles(rng, fit, false, steps);
        work += steps;
        return found;
    }
    FitMemo::Entry& entry = fits_.of(fit);
    if (!entry.known) {
        entry.found = search_tiles(rng, fit, true, steps);
        entry.work = steps;
        if (entry.found == Found::yes) {
            entry.values = values_;
        }
        entry.known = true;
    }
    work += entry.work;
    if (entry.found == Found::yes) {
        values_ = entry.values;
    }
    return entry.found;
}

/// Tile shapes of an option into `values_`; false if it has none or none were found.
bool Drawing::pick_tiles(Rng& rng, Compatibility& at, std::size_t index) {
    ++work;
    const TileShapes& shapes = followers_.shapes(at, index);
    if (shapes.kind == TileShapes::Kind::none) {
        return false;
    }
    const Joiner::Option& option = followers_.options(at)[index];
    const TemplateData& t = space_.einsums[at.einsum].templates[option.tmpl];
    const std::size_t n = t.symbols.size();
    if (shapes.kind == TileShapes::Kind::listed) {
        const std::int64_t* const row = shapes.tiles.data() + rng.below(shapes.count) * n;
        values_.assign(row, row + n);
        return true;
    }
    if (!draw_tiles(rng, at.einsum, option.tmpl, t.patterns[option.pattern].loops,
                    followers_.wanted(at, option))) {
        ++failures[static_cast<std::size_t>(Verdict::constraint)];
        return false;
    }
    return true;
}

const Joiner::Option* Drawing::draw_einsum(Rng& rng, Compatibility& at) {
    const std::vector<Joiner::Option>& options = followers_.options(at);
    for (int i = 0; i < einsum_attempts && !options.empty(); ++i) {
        base::poll_stop();
        std::size_t index = 0;
        if (i < blind_attempts) {
            index = rng.below(options.size());
        } else if (const auto& live = followers_.live(at); !live.empty()) {
            index = live[rng.below(live.size())];
        } else {
            return nullptr;
        }
        if (pick_tiles(rng, at, index)) {
            return &options[index];
        }
    }
    return nullptr;
}

/// The next Einsum of `point`; what later ones see then. Null if nothing was found.
Compatibility* Drawing::next(Rng& rng, Compatibility& at, Point& point) {
    const Joiner::Option* const option = draw_einsum(rng, at);
    if (option == nullptr) {
        return nullptr;
    }
    const TemplateData& t = space_.einsums[at.einsum].templates[option->tmpl];
    const Pattern& pattern = t.patterns[option->pattern];
    const Way& way = joiner_.ways(at.state, pattern.structure)[option->way];
    trips_of(t, pattern.loops, values_.data(), trips_);
    seen_.join(way, trips_);
    point.choices.push_back({option->tmpl, option->way});
    for (const double v : values_) {
        point.tiles.push_back(static_cast<std::int64_t>(v));
    }
    return &followers_.after(at.einsum + 1, seen_);
}

bool Drawing::draw(Rng& rng, Point& point) {
    const std::size_t n = space_.einsums.size();
    point.choices.clear();
    point.tiles.clear();
    followers_.trim();
    stages_.resize(n + 1);
    stages_[0] = {&followers_.after(0, {}), 0};
    StepsBack back;
    for (std::size_t e = 0; e < n;) {
        stages_[e + 1] = {next(rng, *stages_[e].at, point), point.tiles.size()};
        if (stages_[e + 1].at != nullptr) {
            ++e;
            continue;
        }
        if (!back.from(e)) {
            return false;
        }
        ++failures[static_cast<std::size_t>(Verdict::incompatible)];
        point.choices.resize(e);
        point.tiles.resize(stages_[e].tiles);
    }
    return true;
}

}  // namespace tessera::search
