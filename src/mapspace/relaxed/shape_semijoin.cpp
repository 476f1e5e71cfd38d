#include "mapspace/shape_semijoin.hpp"

#include <algorithm>
#include <map>

#include "mapspace/join/fused_structure.hpp"
#include "mapspace/row_semijoin.hpp"
#include "mapspace/tile_shapes_candidates.hpp"
#include "tessera/base/stop.hpp"

namespace tessera::mapspace {
namespace {

constexpr std::size_t most_combinations = 1u << 16, most_of_partial_tiles = 1u << 20;
/// Combinations between two looks at the stop token.
constexpr std::size_t poll_every = 1024;

const BackedTensor* find(const GroupStructure& structure, int tensor) {
    const auto at = std::find_if(structure.tensors.begin(), structure.tensors.end(),
                                 [&](const BackedTensor& b) { return b.tensor == tensor; });
    return at == structure.tensors.end() ? nullptr : &*at;
}

/// The node of the backing holder; -1 if there is none, or if the template has line buffers or
/// loops with a prologue.
int holder_of(const Template& tmpl, int tensor) {
    int holder = -1;
    for (std::size_t i = 0; i < tmpl.nodes.size(); ++i) {
        const mapping::PmappingNode& n = tmpl.nodes[i];
        if (n.line_buffer || n.base > 0) {
            return -1;
        }
        holder = n.backing && n.tensor == tensor ? static_cast<int>(i) : holder;
    }
    return holder;
}

/// Partial tiles of which only some are of use: these, and what encloses them.
std::vector<double> values_of_use(std::span<const TileShapeSymbol> symbols, int s) {
    std::vector<double> out{static_cast<double>(symbols[static_cast<std::size_t>(s)].bound)};
    for (; s >= 0; s = symbols[static_cast<std::size_t>(s)].outer) {
        const TileShapeSymbol& symbol = symbols[static_cast<std::size_t>(s)];
        if (!symbol.fused || !symbol.only) {
            return {};
        }
        out.insert(out.end(), symbol.only->begin(), symbol.only->end());
    }
    std::ranges::sort(out);
    out.erase(std::ranges::unique(out).begin(), out.end());
    return out;
}

/// Perfect tile shapes; none if the symbol may have others.
std::vector<double> perfect_values(const TileShapeSymbol& symbol) {
    if (!symbol.fused || symbol.choice != TileChoice::divisors) {
        return {};
    }
    const DivisorTable table(symbol.bound);
    return {table.divisors().begin(), table.divisors().end()};
}

/// Symbols of the loops, with all values that they may take. False: too many, or any integer.
bool find_symbols(const Template& tmpl, std::span<const FusedNode> loops,
                  std::span<const TileShapeSymbol> symbols, bool partial, AllowedShapes& out) {
    std::size_t combinations = 1;
    for (const FusedNode& loop : loops) {
        const int s = tmpl.nodes[static_cast<std::size_t>(loop.node)].symbol;
        if (s < 0) {
            continue;
        }
        out.symbols.push_back(s);
        out.values.push_back(partial ? values_of_use(symbols, s)
                                     : perfect_values(symbols[static_cast<std::size_t>(s)]));
        combinations *= out.values.back().size();
        if (combinations == 0 ||
            combinations > (partial ? most_of_partial_tiles : most_combinations)) {
            return false;
        }
    }
    out.allowed.assign(combinations, 0);
    return true;
}

/// Calls `visit` with the tile shapes of all combinations that nest (others stand for no mapping)
/// and their places in the table.
template <class Visit>
void for_each_nested(std::span<const TileShapeSymbol> symbols, const AllowedShapes& table,
                     bool partial, Visit visit) {
    std::vector<std::int64_t> tiles(symbols.size(), 1);
    const std::size_t n = table.symbols.size();
    std::vector<int> outer(n, -1);  // of those in the table, which stand from the outside in
    for (std::size_t k = 0; k < n; ++k) {
        const int o = symbols[static_cast<std::size_t>(table.symbols[k])].outer;
        const auto end = table.symbols.begin() + static_cast<std::ptrdiff_t>(k);
        outer[k] = std::find(table.symbols.begin(), end, o) != end ? o : -1;
    }
    const auto from = [&](auto& self, std::size_t k, std::size_t place) -> void {
        if (k == n) {
            visit(tiles, place);
            return;
        }
        const std::int64_t most = outer[k] >= 0 ? tiles[static_cast<std::size_t>(outer[k])] : 0;
        for (std::size_t digit = 0; digit < table.values[k].size(); ++digit) {
            const auto tile = static_cast<std::int64_t>(table.values[k][digit]);
            if (outer[k] < 0 || (partial ? tile <= most : most % tile == 0)) {
                tiles[static_cast<std::size_t>(table.symbols[k])] = tile;
                self(self, k + 1, place * table.values[k].size() + digit);
            }
        }
    };
    from(from, 0, 0);
}

/// Tells for given tile shapes whether a tensor's compatibility is known.
class Semijoin {
public:
    Semijoin(const TabulateContext& context, const Template& tmpl, std::vector<FusedNode> loops,
             int tensor, const CompatibilitySet& known)
        : context_(context),
          tmpl_(tmpl),
          loops_(std::move(loops)),
          tensor_(tensor),
          known_(known),
          trips_(loops_.size()) {}

    bool possible(const std::vector<std::int64_t>& tiles) {
        trips_of(*context_.path, tmpl_, loops_, tiles.data(), trips_);
        std::uint32_t mask = 0;
        std::size_t n = 0;
        for (std::size_t k = 0; k < trips_.size(); ++k) {
            if (trips_[k] > 1) {
                mask |= 1u << k;
                const auto node = static_cast<std::size_t>(loops_[k].node);
                trips_[n++] = match_key(context_, tmpl_.nodes[node], trips_[k], tiles.data());
            }
        }
        return known_.count(of_loops(mask).of(trips_.data())) != 0;
    }

private:
    /// Most combinations have the loops of the one before.
    Compatibility& of_loops(std::uint32_t mask) {
        if (last_ == patterns_.end() || last_->first != mask) {
            last_ = patterns_.find(mask);
        }
        if (last_ == patterns_.end()) {
            const GroupStructure structure =
                structure_of(context_, tmpl_, loops_, mask, depths_of(tmpl_, mask));
            last_ =
                patterns_.emplace(mask, Compatibility(structure, *find(structure, tensor_))).first;
        }
        return last_->second;
    }

    const TabulateContext& context_;
    const Template& tmpl_;
    std::vector<FusedNode> loops_;
    int tensor_;
    const CompatibilitySet& known_;
    std::vector<std::int64_t> trips_;
    std::map<std::uint32_t, Compatibility> patterns_;
    std::map<std::uint32_t, Compatibility>::iterator last_ = patterns_.end();
};

}  // namespace

void add_compatibility(const PmappingGroup& group, int tensor, CompatibilitySet& to) {
    if (const BackedTensor* held = find(group.structure, tensor)) {
        const Compatibility compatibility(group.structure, *held);
        for (std::size_t r = 0; r < group.rows(); ++r) {
            to.insert(compatibility.of(group.trips_of(r)));
        }
    }
}

std::optional<AllowedShapes> allowed_shapes(const TabulateContext& context, const Template& tmpl,
                                            std::span<const TileShapeSymbol> symbols, int tensor,
                                            const CompatibilitySet& known) {
    const int holder = holder_of(tmpl, tensor);
    std::vector<FusedNode> loops = fused_nodes(tmpl);
    std::erase_if(loops, [&](const FusedNode& loop) { return loop.node > holder; });
    AllowedShapes out;
    if (holder < 0 || !find_symbols(tmpl, loops, symbols, context.match_tile_shapes, out)) {
        return std::nullopt;
    }
    Semijoin semijoin(context, tmpl, loops, tensor, known);
    std::size_t nested = 0, allowed = 0;
    for_each_nested(symbols, out, context.match_tile_shapes,
                    [&](const std::vector<std::int64_t>& tiles, std::size_t i) {
                        if (nested++ % poll_every == 0) {
                            base::poll_stop();
                        }
                        out.allowed[i] = semijoin.possible(tiles) ? 1 : 0;
                        allowed += out.allowed[i];
                    });
    if (allowed == nested) {
        return std::nullopt;
    }
    if (allowed == 0) {
        out = {{}, {}, {0}};
    }
    return out;
}

}  // namespace tessera::mapspace
