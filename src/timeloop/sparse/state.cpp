// The nest with all its loops, and tiles of data spaces.
#include "state.hpp"

#include <algorithm>
#include <cstdlib>

#include "tessera/base/error.hpp"

namespace tessera::timeloop::sparse {

namespace {

void append(const LoopBlock& block, bool spatial, Extents& extents, std::vector<NestLoop>& into) {
    for (std::size_t q = 0; q < block.permutation.size(); ++q) {
        const auto dimension = static_cast<std::size_t>(block.permutation[q]);
        NestLoop loop;
        loop.dimension = block.permutation[q];
        loop.end = block.factors[dimension].end;
        loop.kind = kind_of(spatial, static_cast<int>(q) < block.split);
        extents[dimension] *= loop.end;
        loop.extents = extents;
        into.push_back(std::move(loop));
    }
}

}  // namespace

sparsity::Tile State::project(int space, const Extents& extents) const {
    sparsity::Tile tile;
    for (const auto& rank : problem.data_spaces[static_cast<std::size_t>(space)].ranks) {
        std::int64_t extent = 1;
        for (const Term& term : rank) {
            extent +=
                std::abs(term.value) * (extents[static_cast<std::size_t>(term.dimension)] - 1);
        }
        tile.push_back(extent);
    }
    return tile;
}

State::State(const Problem& a_problem, const Architecture& an_architecture,
             const Mapping& a_mapping)
    : problem(a_problem),
      architecture(an_architecture),
      design(*an_architecture.sparse),
      mapping(a_mapping),
      levels(an_architecture.levels()),
      spaces(static_cast<int>(a_problem.data_spaces.size())) {
    Extents extents = scalar();
    for (int i = 0; i < levels; ++i) {
        const LevelMapping& level = mapping.levels[static_cast<std::size_t>(i)];
        loops.emplace_back();
        if (architecture.fanout(i) > 1) {
            append(level.spatial, true, extents, loops.back());
        }
        append(level.temporal, false, extents, loops.back());
    }
    const auto cells = static_cast<std::size_t>(levels * spaces);
    held.resize(cells);
    saving.resize(cells, Saving::none);
    spatial.resize(cells, 0);
    saved.resize(cells, 0);
    spatially_saved.resize(cells, 0);
    operand_saved.resize(static_cast<std::size_t>(spaces), 0);
    operand_condition_empty.resize(static_cast<std::size_t>(spaces), 0);
    for (int s = 0; s < spaces; ++s) {
        const DataSpace& data_space = problem.data_spaces[static_cast<std::size_t>(s)];
        uses.emplace_back(problem.dimensions.size(), false);
        for (const auto& rank : data_space.ranks) {
            for (const Term& term : rank) {
                uses.back()[static_cast<std::size_t>(term.dimension)] = true;
            }
        }
        try {
            densities.push_back(sparsity::make_density(data_space.density, project(s, extents)));
        } catch (const sparsity::Unanswerable& why) {
            throw UserError("the density of data space " + data_space.name + ": " + why.what());
        }
    }
}

}  // namespace tessera::timeloop::sparse
