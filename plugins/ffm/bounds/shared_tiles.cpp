#include "shared_tiles.hpp"

#include <algorithm>
#include <iterator>

#include "tessera/workload/workload.hpp"

namespace tessera::ffm {
namespace {

constexpr std::int64_t tile_bits = 0xffffffff;  // of PmappingGroup::trips

template <class Set>
Set common(const Set& a, const Set& b) {
    Set out;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(out, out.end()));
    return out;
}

}  // namespace

SharedTiles::SharedTiles(const ExploreContext& context, const std::vector<EinsumSpace>& spaces)
    : c_(context), spaces_(spaces), known_(context.problem->workload->tensors.size()) {}

void SharedTiles::add(std::size_t e) {
    if (!c_.options->mapspace.partial_tiles()) {
        return;
    }
    for (const int t : spaces_[e].shared) {
        const auto& view = spaces_[e].paths.front()->einsum;
        known_[static_cast<std::size_t>(view.tensors[static_cast<std::size_t>(t)].tensor)]
            .try_emplace(e);
    }
    for (const mapspace::PmappingGroup& g : spaces_[e].groups) {
        for (const mapspace::BackedTensor& b : g.structure.tensors) {
            Known& known = known_[static_cast<std::size_t>(b.tensor)][e];
            for (int l = 0; l < b.level; ++l) {
                const auto loop = static_cast<std::size_t>(l);
                const Place place{b.memory, b.rank_of_loop[loop],
                                  g.structure.loops[loop].spatial_dim >= 0 ? 1 : 0};
                Values& values = known[place];
                for (std::size_t r = 0; r < g.rows(); ++r) {
                    values.insert(static_cast<double>(g.trips_of(r)[l] & tile_bits));
                }
            }
        }
    }
}

/// What the explored users of the tensor have, for the Einsum and those that equal it. nullopt: no
/// limit.
std::optional<SharedTiles::Values> SharedTiles::of_loop(std::size_t e, int local_tensor,
                                                        const Place& place) const {
    Values all;
    for (std::size_t copy = e; copy < spaces_.size(); ++copy) {
        if (spaces_[copy].same != spaces_[e].same) {
            continue;
        }
        const auto& view = spaces_[copy].paths.front()->einsum;
        const int tensor = view.tensors[static_cast<std::size_t>(local_tensor)].tensor;
        std::optional<Values> own;
        for (const auto& [user, known] : known_[static_cast<std::size_t>(tensor)]) {
            if (user != copy) {
                const auto it = known.find(place);
                const Values found = it == known.end() ? Values{} : it->second;
                own = own ? common(*own, found) : found;
            }
        }
        if (!own) {
            return std::nullopt;
        }
        all.insert(own->begin(), own->end());
    }
    return all;
}

void SharedTiles::limit(std::size_t e, const TemplateEntry& t,
                        const mapspace::TabulateContext& table,
                        std::vector<mapspace::TileShapeSymbol>& symbols) const {
    const auto& view = t.path->einsum;
    for (std::size_t i = 0; i < t.tmpl.nodes.size(); ++i) {
        const mapping::PmappingNode& holder = t.tmpl.nodes[i];
        if (!holder.backing || holder.persistent ||
            !view.tensors[static_cast<std::size_t>(holder.tensor)].fusable) {
            continue;
        }
        for (std::size_t k = 0; k < i; ++k) {
            const mapping::PmappingNode& loop = t.tmpl.nodes[k];
            if (!loop.is_loop() || loop.symbol < 0 || loop.base > 0) {
                continue;
            }
            mapspace::TileShapeSymbol& symbol = symbols[static_cast<std::size_t>(loop.symbol)];
            const int rank = view.tensors[static_cast<std::size_t>(holder.tensor)]
                                 .rank_of_variable[static_cast<std::size_t>(loop.rank_variable)];
            if (symbol.choice != mapspace::TileChoice::partial_outermost || rank < 0) {
                continue;
            }
            const Place place{table.component_of_level[static_cast<std::size_t>(holder.level)],
                              rank, loop.kind == mapping::NodeKind::spatial ? 1 : 0};
            if (const std::optional<Values> found = of_loop(e, holder.tensor, place)) {
                Values values = *found;
                if (symbol.only) {
                    values = common(values, Values(symbol.only->begin(), symbol.only->end()));
                }
                symbol.only.emplace(values.begin(), values.end());
            }
        }
    }
}

}  // namespace tessera::ffm
