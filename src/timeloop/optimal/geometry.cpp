#include "timeloop/optimal/geometry.hpp"

#include <algorithm>
#include <numeric>

#include "tessera/base/error.hpp"
#include "tessera/base/stop.hpp"

namespace tessera::timeloop {

double SpaceShape::tile(const std::int64_t* extents) const {
    double words = 1;
    for (const RankShape& rank : ranks) {
        std::int64_t extent = 1;
        for (std::size_t d = 0; d < rank.coefficient.size(); ++d) {
            extent += rank.coefficient[d] * (extents[d] - 1);
        }
        words *= static_cast<double>(extent);
    }
    return words;
}

namespace {

double distinct_words(const SpaceShape& shape, const std::vector<std::int64_t>& bounds) {
    double words = 1;
    for (const RankShape& rank : shape.ranks) {
        std::int64_t extent = 1, longest = 1;
        for (std::size_t d = 0; d < bounds.size(); ++d) {
            extent += rank.coefficient[d] * (bounds[d] - 1);
            longest = std::max(longest, rank.coefficient[d] ? bounds[d] : 1);
        }
        if (extent > 1'000'000) {
            words *= static_cast<double>(longest);  // at least
            continue;
        }
        std::vector<char> used(static_cast<std::size_t>(extent), 0);
        used[0] = 1;
        for (std::size_t d = 0; d < bounds.size(); ++d) {
            const std::int64_t c = rank.coefficient[d];
            for (std::int64_t i = extent - 1; c != 0 && i >= 0; --i) {
                for (std::int64_t k = 1; used[i] && k < bounds[d] && i + c * k < extent; ++k) {
                    used[i + c * k] = 1;
                }
            }
        }
        words *= static_cast<double>(std::count(used.begin(), used.end(), 1));
    }
    return words;
}

SpaceShape shape_of(const DataSpace& space, int dimensions) {
    SpaceShape shape;
    shape.read_write = space.read_write;
    for (const auto& terms : space.ranks) {
        RankShape rank;
        std::vector<std::int64_t> net(dimensions, 0);
        for (const Term& term : terms) {
            net[term.dimension] += term.value;
        }
        for (int d = 0; d < dimensions; ++d) {
            rank.coefficient.push_back(std::abs(net[d]));
            rank.dimensions |= static_cast<DimensionMask>(net[d] != 0) << d;
        }
        shape.relevant |= rank.dimensions;
        shape.sliding |= rank.sliding();
        shape.ranks.push_back(std::move(rank));
    }
    return shape;
}

void set_costs(Geometry& geometry, const Objective& objective) {
    const Architecture& architecture = geometry.space.architecture();
    using Kind = Objective::Kind;
    const bool words =
        objective.kind == Kind::last_level_accesses || objective.kind == Kind::accesses;
    const int counted =
        objective.kind == Kind::accesses ? objective.level : architecture.levels() - 1;
    for (int level = 0; level < architecture.levels(); ++level) {
        LevelCost cost;
        if (words) {
            cost.read = cost.fill = cost.update = level == counted ? 1 : 0;
            cost.clusters = 0;
        } else {
            const StorageLevel& storage = architecture.storage[level];
            cost.read = storage.energy.read_pj;
            cost.fill = storage.energy.fill_pj;
            cost.update = storage.energy.update_pj;
            cost.block = static_cast<double>(storage.block_size);
            cost.clusters = std::max<std::int64_t>(1, storage.instances / storage.cluster_size);
        }
        geometry.costs.push_back(cost);
    }
    geometry.times_cycles = objective.kind == Kind::edp;
    geometry.cycles_only = objective.kind == Kind::delay;
    geometry.compute_cost = words ? 0 : geometry.computes * architecture.arithmetic.energy_pj;
}

}  // namespace

Geometry::Geometry(const MapSpace& s, const Objective& objective, const ModelOptions& model)
    : space(s),
      dimensions(static_cast<int>(s.problem().dimensions.size())),
      levels(s.architecture().levels()),
      elision(model.first_read_elision),
      links(model.link_transfers),
      temporal(levels, -1),
      spatial(levels, -1) {
    for (const Dimension& dimension : s.problem().dimensions) {
        bounds.push_back(dimension.bound);
        computes *= static_cast<double>(dimension.bound);
    }
    for (const DataSpace& data_space : s.problem().data_spaces) {
        spaces.push_back(shape_of(data_space, dimensions));
        spaces.back().distinct = distinct_words(spaces.back(), bounds);
    }
    for (int index = 0; index < static_cast<int>(s.levels().size()); ++index) {
        const TilingLevel& level = s.levels()[index];
        (level.spatial ? spatial : temporal)[level.storage] = index;
    }
    set_costs(*this, objective);
}

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

class SpatialSearch {
public:
    explicit SpatialSearch(const Geometry& geometry) : g_(geometry) {
        choice_.factor.assign(static_cast<std::size_t>(g_.levels) * g_.dimensions, 1);
        choice_.order.resize(g_.levels);
        choice_.split.assign(g_.levels, 0);
        rest_ = g_.bounds;
    }
    std::vector<SpatialChoice> run() {
        level(0);
        return std::move(found_);
    }

private:
    void level(int storage) {
        if (storage == g_.levels) {
            finish();
            return;
        }
        if (g_.spatial[storage] < 0) {
            level(storage + 1);
            return;
        }
        const TilingLevel& tiling = g_.space.levels()[g_.spatial[storage]];
        factors(storage, tiling, 0, tiling.fanout_x * tiling.fanout_y);
    }
    void factors(int storage, const TilingLevel& tiling, int d, std::int64_t room) {
        if ((++steps_ & 1023) == 0) {
            base::poll_stop();
        }
        std::int64_t* own = &choice_.factor[static_cast<std::size_t>(storage) * g_.dimensions];
        if (d == g_.dimensions) {
            if (arrange(tiling, own, g_.dimensions, choice_.order[storage],
                        choice_.split[storage])) {
                level(storage + 1);
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
            factors(storage, tiling, d + 1, room / f);
        }
        own[d] = 1;
        rest_[d] = whole;
    }
    void finish() {
        double used = 1, parallelism = 1;
        for (int storage = 0; storage < g_.levels; ++storage) {
            double level = 1;
            for (int d = 0; d < g_.dimensions; ++d) {
                level *= static_cast<double>(choice_.factor[storage * g_.dimensions + d]);
            }
            used *= level;
            // In Timeloop's order of operations: the comparison may hang on the last bit.
            parallelism *= level / static_cast<double>(g_.space.architecture().fanout(storage));
        }
        if (parallelism < g_.space.min_parallelism()) {
            return;
        }
        if (found_.size() >= 4'000'000) {
            throw UserError(
                "the mapspace has more than 4000000 spatial choices; constrain factors");
        }
        choice_.cycles = g_.computes / used;
        found_.push_back(choice_);
    }

    const Geometry& g_;
    SpatialChoice choice_;
    std::vector<std::int64_t> rest_;
    std::uint64_t steps_ = 0;
    std::vector<SpatialChoice> found_;
};

}  // namespace

bool arrange(const TilingLevel& level, const std::int64_t* factor, int dimensions,
             std::vector<int>& order, int& split) {
    return Arranger{level, factor, dimensions}.search(order, split);
}

std::vector<SpatialChoice> spatial_choices(const Geometry& geometry) {
    return SpatialSearch(geometry).run();
}

}  // namespace tessera::timeloop
