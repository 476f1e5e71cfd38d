#include "timeloop/optimal/geometry.hpp"

#include <algorithm>

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

}  // namespace tessera::timeloop
