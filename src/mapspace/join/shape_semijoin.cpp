#include "mapspace/shape_semijoin.hpp"

#include <algorithm>
#include <map>

#include "fused_structure.hpp"
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
        auto it = patterns_.find(mask);
        if (it == patterns_.end()) {
            const GroupStructure structure =
                structure_of(context_, tmpl_, loops_, mask, depths_of(tmpl_, mask));
            it = patterns_.emplace(mask, Compatibility(structure, *find(structure, tensor_))).first;
        }
        return known_.count(it->second.of(trips_.data())) != 0;
    }

private:
    const TabulateContext& context_;
    const Template& tmpl_;
    std::vector<FusedNode> loops_;
    int tensor_;
    const CompatibilitySet& known_;
    std::vector<std::int64_t> trips_;
    std::map<std::uint32_t, Compatibility> patterns_;
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
    std::vector<std::int64_t> tiles(symbols.size(), 1);
    std::vector<std::size_t> digit(out.symbols.size(), 0);
    bool any = false, all = true;
    for (std::size_t i = 0; i < out.allowed.size(); ++i) {
        if (i % poll_every == 0) {
            base::poll_stop();
        }
        for (std::size_t k = 0; k < digit.size(); ++k) {
            tiles[static_cast<std::size_t>(out.symbols[k])] =
                static_cast<std::int64_t>(out.values[k][digit[k]]);
        }
        out.allowed[i] = semijoin.possible(tiles) ? 1 : 0;
        any = any || out.allowed[i] != 0;
        all = all && out.allowed[i] != 0;
        for (std::size_t k = digit.size(); k-- > 0;) {  // the next combination
            if (++digit[k] < out.values[k].size()) {
                break;
            }
            digit[k] = 0;
        }
    }
    if (all) {
        return std::nullopt;
    }
    if (!any) {
        out = {{}, {}, {0}};
    }
    return out;
}

}  // namespace tessera::mapspace
