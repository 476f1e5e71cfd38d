#include "timeloop/optimal/mapping_bound.hpp"

namespace tessera::timeloop {
MappingBound mapping_bound(const Geometry& geometry, const Mapping& mapping) {
    SpatialChoice choice;
    std::vector<DataSpaceMask> keep;
    double used = 1;
    for (const LevelMapping& level : mapping.levels) {
        for (const Factor& factor : level.spatial.factors) {
            choice.factor.push_back(factor.end);
            used *= static_cast<double>(factor.end);
        }
        keep.push_back(level.keep);
    }
    choice.cycles = geometry.computes / used;
    const Edges edges(geometry, choice, keep);
    const Lattice& lattice = edges.lattice();
    MappingBound bound{edges.constant(), edges.cycles(), edges.floor()};
    for (int space = 0; space < static_cast<int>(geometry.spaces.size()); ++space) {
        for (const Edge& edge : edges.of(space)) {
            std::size_t x = 0;
            bool fresh = true, closed = false;
            for (int level = 0; level < geometry.levels && !closed; ++level) {
                const LoopBlock& block = mapping.levels[level].temporal;
                for (const int d : block.permutation) {
                    const std::int64_t n = block.factors[d].end;
                    if (n == 1) {
                        continue;
                    }
                    if (level > edge.child && (geometry.spaces[space].relevant >> d & 1)) {
                        bound.linear += edges.closure(edge, x, d, n, level, fresh);
                        closed = true;
                        break;
                    }
                    fresh = fresh && level <= edge.child;
                    x = lattice.times(x, d, n);
                }
            }
            if (!closed) {
                bound.linear += edges.cost(edge, edges.full_words(edge, x), edges.linked(edge, x));
            }
        }
    }
    return bound;
}

}  // namespace tessera::timeloop
