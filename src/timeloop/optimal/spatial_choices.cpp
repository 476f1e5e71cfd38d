#include <algorithm>
#include <cmath>
#include <numeric>

#include "tessera/base/stop.hpp"
#include "timeloop/optimal/geometry.hpp"

namespace tessera::timeloop {
namespace {

// X dimensions must come first in the order; unit dimensions may stand anywhere.
struct Arranger {
    const TilingLevel& level;
    const std::int64_t* factor;
    int dimensions;

    bool fits(const std::vector<int>& order, int split) const {
        std::int64_t x = 1, y = 1;
        for (int i = 0; i < dimensions; ++i) {
            (i < split ? x : y) *= factor[order[i]];
        }
        return x <= level.fanout_x && y <= level.fanout_y;
    }
    bool search(std::vector<int>& order, int& split) {
        std::vector<int> running, unit;
        for (const int d : level.free) {
            (factor[d] > 1 ? running : unit).push_back(d);
        }
        // A block whose order Timeloop does not permute keeps the canonical one.
        if (level.canonical) {
            order.resize(dimensions);
            std::iota(order.begin(), order.end(), 0);
            return any_split(order, split);
        }
        for (DimensionMask x = 0; x < DimensionMask{1} << running.size(); ++x) {
            for (const bool units_first : {false, true}) {
                order = level.prefix;
                add(order, running, x, true);
                if (units_first) {
                    order.insert(order.end(), unit.begin(), unit.end());
                }
                add(order, running, x, false);
                if (!units_first) {
                    order.insert(order.end(), unit.begin(), unit.end());
                }
                order.insert(order.end(), level.suffix.begin(), level.suffix.end());
                if (any_split(order, split) ||
                    (level.split >= 0 && padded(order, unit, x, running, split))) {
                    return true;
                }
            }
        }
        return false;
    }

private:
    static void add(std::vector<int>& order, const std::vector<int>& running, DimensionMask x,
                    bool chosen) {
        for (std::size_t i = 0; i < running.size(); ++i) {
            if ((x >> i & 1) == chosen) {
                order.push_back(running[i]);
            }
        }
    }
    bool any_split(const std::vector<int>& order, int& split) const {
        if (level.split >= 0) {
            split = static_cast<int>(std::min<std::int64_t>(level.split, dimensions));
            return fits(order, split);
        }
        for (split = dimensions; split >= 0; --split) {
            if (fits(order, split)) {
                return true;
            }
        }
        return false;
    }
    // Unit dimensions fill the places between the X dimensions and a fixed split.
    bool padded(std::vector<int>& order, const std::vector<int>& unit, DimensionMask x,
                const std::vector<int>& running, int& split) const {
        std::vector<int> front = level.prefix;
        add(front, running, x, true);
        std::size_t used = 0;
        while (static_cast<std::int64_t>(front.size()) < level.split && used < unit.size()) {
            front.push_back(unit[used++]);
        }
        add(front, running, x, false);
        front.insert(front.end(), unit.begin() + static_cast<std::ptrdiff_t>(used), unit.end());
        front.insert(front.end(), level.suffix.begin(), level.suffix.end());
        order = front;
        return any_split(order, split);
    }
};

/// Product of all fan-outs, as far as the bounds can use it.
double most_parallel(const Geometry& g) {
    double fanouts = 1;
    for (const TilingLevel& tiling : g.space.levels()) {
        fanouts *= tiling.spatial ? static_cast<double>(tiling.fanout_x * tiling.fanout_y) : 1;
    }
    return std::min(fanouts, g.computes);
}

/// Is the minimum parallelism reached? \param used of all spatial blocks together
bool parallel_enough(const Geometry& g, const SpatialChoice& choice, double& used) {
    double parallelism = 1;
    used = 1;
    for (int storage = 0; storage < g.levels; ++storage) {
        double level = 1;
        for (int d = 0; d < g.dimensions; ++d) {
            level *= static_cast<double>(choice.factor[storage * g.dimensions + d]);
        }
        used *= level;
        // In Timeloop's order of operations: the comparison may hang on the last bit.
        parallelism *= level / static_cast<double>(g.space.architecture().fanout(storage));
    }
    return parallelism >= g.space.min_parallelism();
}

SpatialChoice empty_choice(const Geometry& g) {
    SpatialChoice choice;
    choice.factor.assign(static_cast<std::size_t>(g.levels) * g.dimensions, 1);
    choice.order.resize(g.levels);
    choice.split.assign(g.levels, 0);
    return choice;
}

/// Level by level, dimension by dimension. Of too many choices those that use most instances are
/// wanted: they are looked for in rounds, each for those that use at least half as many as the
/// round before.
class SpatialSearch {
public:
    SpatialSearch(const Geometry& geometry, std::size_t most, const std::function<void()>& many)
        : g_(geometry), most_(most), many_(many), choice_(empty_choice(geometry)) {
        rest_ = g_.bounds;
        outer_fanouts_.assign(g_.levels + 1, 1);
        for (int storage = g_.levels - 1; storage >= 0; --storage) {
            outer_fanouts_[storage] = outer_fanouts_[storage + 1];
            if (g_.spatial[storage] >= 0) {
                const TilingLevel& tiling = g_.space.levels()[g_.spatial[storage]];
                outer_fanouts_[storage] *= static_cast<double>(tiling.fanout_x * tiling.fanout_y);
            }
        }
    }
    SpatialChoices run() {
        SpatialChoices choices;
        level(0, 1);
        if (full_) {
            found_.clear();
            choices.rest_cycles = g_.computes / rounds();
        }
        choices.list = std::move(found_);
        std::uint32_t compared = 0;
        std::stable_sort(choices.list.begin(), choices.list.end(),
                         [&](const SpatialChoice& a, const SpatialChoice& b) {
                             if ((++compared & 0xfff) == 0) {
                                 base::poll_stop();
                             }
                             return a.cycles < b.cycles;
                         });
        return choices;
    }

private:
    static constexpr std::size_t many_found = 2000;
    static constexpr std::uint64_t many_steps = 200'000;

    /// \return what is left out uses no more instances
    double rounds() {
        least_ = most_parallel(g_);
        below_ = HUGE_VAL;
        for (full_ = false;; below_ = least_, least_ /= 2) {
            level(0, 1);
            if (full_) {
                return std::min(below_, most_parallel(g_));
            }
        }
    }
    void level(int storage, double used) {
        if (storage == g_.levels) {
            finish();
            return;
        }
        if (g_.spatial[storage] < 0) {
            level(storage + 1, used);
            return;
        }
        const TilingLevel& tiling = g_.space.levels()[g_.spatial[storage]];
        factors(storage, tiling, 0, tiling.fanout_x * tiling.fanout_y, used);
    }
    void look_up() {
        ++steps_;
        if ((steps_ & 1023) == 0) {
            base::poll_stop();
        }
        if (!told_ && (steps_ == many_steps || found_.size() >= many_found)) {
            told_ = true;
            if (many_) {
                many_();
            }
        }
    }
    /// Can so many instances be used?
    bool reaches(int storage, std::int64_t room, double used) const {
        if (least_ <= 1) {
            return true;
        }
        double left = 1;
        for (const std::int64_t rest : rest_) {
            left *= static_cast<double>(rest);
        }
        const double instances = static_cast<double>(room) * outer_fanouts_[storage + 1];
        return used * std::min(left, instances) >= least_;
    }
    void factors(int storage, const TilingLevel& tiling, int d, std::int64_t room, double used) {
        look_up();
        if (full_ || !reaches(storage, room, used)) {
            return;
        }
        std::int64_t* own = &choice_.factor[static_cast<std::size_t>(storage) * g_.dimensions];
        if (d == g_.dimensions) {
            if (arrange(tiling, own, g_.dimensions, choice_.order[storage],
                        choice_.split[storage])) {
                level(storage + 1, used);
            }
            return;
        }
        const std::int64_t whole = rest_[d];
        const std::int64_t fixed = tiling.fixed[d],
                           least = std::max<std::int64_t>(1, tiling.at_least[d]);
        const std::int64_t most = tiling.at_most[d] ? std::min(room, tiling.at_most[d]) : room;
        for (std::int64_t f = fixed ? fixed : least; f <= (fixed ? fixed : std::min(most, whole));
             ++f) {
            if (whole % f != 0 || f > most || f < least) {
                continue;
            }
            own[d] = f;
            rest_[d] = whole / f;
            factors(storage, tiling, d + 1, room / f, used * static_cast<double>(f));
        }
        own[d] = 1;
        rest_[d] = whole;
    }
    void finish() {
        double used = 1;
        if (!parallel_enough(g_, choice_, used) || used < least_ || used >= below_) {
            return;
        }
        if (found_.size() >= most_) {
            full_ = true;
            return;
        }
        choice_.cycles = g_.computes / used;
        found_.push_back(choice_);
    }

    const Geometry& g_;
    const std::size_t most_;
    const std::function<void()>& many_;
    SpatialChoice choice_;
    std::vector<std::int64_t> rest_;
    std::vector<double> outer_fanouts_;    ///< of all levels from one on
    double least_ = 0, below_ = HUGE_VAL;  ///< instances used in this round
    std::uint64_t steps_ = 0;
    bool full_ = false, told_ = false;
    std::vector<SpatialChoice> found_;
};

}  // namespace

bool arrange(const TilingLevel& level, const std::int64_t* factor, int dimensions,
             std::vector<int>& order, int& split) {
    return Arranger{level, factor, dimensions}.search(order, split);
}

SpatialChoices spatial_choices(const Geometry& geometry, std::size_t most,
                               const std::function<void()>& many) {
    return SpatialSearch(geometry, most, many).run();
}

namespace {

/// What the constraints demand. False: they demand what does not divide or fit.
bool least_factors(const Geometry& g, SpatialChoice& choice, std::vector<std::int64_t>& rest) {
    for (int storage = 0; storage < g.levels; ++storage) {
        if (g.spatial[storage] < 0) {
            continue;
        }
        const TilingLevel& tiling = g.space.levels()[g.spatial[storage]];
        std::int64_t* own = &choice.factor[static_cast<std::size_t>(storage) * g.dimensions];
        for (int d = 0; d < g.dimensions; ++d) {
            std::int64_t f =
                std::max<std::int64_t>(1, tiling.fixed[d] ? tiling.fixed[d] : tiling.at_least[d]);
            const std::int64_t room = std::min(rest[d], tiling.fanout_x * tiling.fanout_y);
            while (f <= room && (rest[d] % f != 0 || !tiling.allows(d, f))) {
                ++f;
            }
            if (f > room) {
                return false;
            }
            own[d] = f;
            rest[d] /= f;
        }
        if (!arrange(tiling, own, g.dimensions, choice.order[storage], choice.split[storage])) {
            return false;
        }
    }
    return true;
}

/// The most of a dimension that fits a block beside what is there.
void fill(const Geometry& g, int storage, int d, SpatialChoice& choice, std::int64_t& rest) {
    const TilingLevel& tiling = g.space.levels()[g.spatial[storage]];
    std::int64_t* own = &choice.factor[static_cast<std::size_t>(storage) * g.dimensions];
    const std::int64_t before = own[d];
    const std::int64_t room = std::max(tiling.fanout_x, tiling.fanout_y) / before;
    for (std::int64_t more = std::min(rest, room); more > 1; --more) {
        own[d] = before * more;
        if (rest % more == 0 && tiling.allows(d, own[d]) &&
            arrange(tiling, own, g.dimensions, choice.order[storage], choice.split[storage])) {
            rest /= more;
            return;
        }
    }
    own[d] = before;
    arrange(tiling, own, g.dimensions, choice.order[storage], choice.split[storage]);
}

}  // namespace

std::optional<SpatialChoice> filled_choice(const Geometry& g, int first) {
    SpatialChoice choice = empty_choice(g);
    std::vector<std::int64_t> rest = g.bounds;
    if (!least_factors(g, choice, rest)) {
        return std::nullopt;
    }
    for (int storage = 0; storage < g.levels; ++storage) {
        for (int i = 0; g.spatial[storage] >= 0 && i < g.dimensions; ++i) {
            const int d = (first + i) % g.dimensions;
            fill(g, storage, d, choice, rest[d]);
        }
    }
    double used = 1;
    if (!parallel_enough(g, choice, used)) {
        return std::nullopt;
    }
    choice.cycles = g.computes / used;
    return choice;
}

}  // namespace tessera::timeloop
