#include "support/random_template.hpp"

#include <algorithm>

namespace tessera::testing {

namespace {

using mapping::NodeKind;
using mapping::PmappingNode;

int pick(std::mt19937& random, int n) {
    return static_cast<int>(random() % static_cast<unsigned>(n));
}

mapping::Pmapping random_holders(const arch::Path& path, std::mt19937& random) {
    mapping::Pmapping holders;
    bool outermost = true;
    for (std::size_t l = 0; l < path.levels.size(); ++l) {
        if (!path.levels[l].holds_tensors() ||
            (outermost && path.levels[l].kind != arch::LevelKind::memory)) {
            continue;
        }
        for (std::size_t t = 0; t < path.einsum.tensors.size(); ++t) {
            if (!outermost && pick(random, 2) == 0) {
                continue;
            }
            PmappingNode node;
            node.kind =
                path.levels[l].kind == arch::LevelKind::toll ? NodeKind::toll : NodeKind::storage;
            node.level = static_cast<std::int8_t>(l);
            node.tensor = static_cast<std::int8_t>(t);
            node.backing = outermost;
            node.lower = pick(random, 4) != 0;
            node.persistent = outermost && path.einsum.tensors[t].persistent;
            holders.push_back(node);
        }
        outermost = false;
    }
    return holders;
}

/// A spatial loop over a random dimension, or a temporal one.
PmappingNode random_loop(const arch::Path& path, int variable, std::mt19937& random) {
    PmappingNode node;
    node.kind = NodeKind::temporal;
    node.rank_variable = static_cast<std::int8_t>(variable);
    std::vector<std::pair<int, int>> dims;
    for (std::size_t l = 0; l < path.levels.size(); ++l) {
        for (std::size_t d = 0; d < path.levels[l].spatial.size(); ++d) {
            dims.emplace_back(l, d);
        }
    }
    if (!dims.empty() && pick(random, 3) == 0) {
        const auto [level, dim] = dims[pick(random, static_cast<int>(dims.size()))];
        node.kind = NodeKind::spatial;
        node.level = static_cast<std::int8_t>(level);
        node.dim = static_cast<std::int8_t>(dim);
    }
    return node;
}

}  // namespace

mapspace::Template random_template(const arch::Path& path, std::mt19937& random) {
    const int n_outermost = static_cast<int>(path.einsum.tensors.size());
    mapping::Pmapping nodes = random_holders(path, random);
    for (std::size_t v = 0; v < path.einsum.rank_variables.size(); ++v) {
        const int loops = 1 + pick(random, 3);
        for (int i = 0; i < loops; ++i) {
            const int room = static_cast<int>(nodes.size()) - n_outermost + 1;
            nodes.insert(nodes.begin() + n_outermost + pick(random, room),
                         random_loop(path, static_cast<int>(v), random));
        }
    }
    mapspace::Template result;
    std::vector<int> last(path.einsum.rank_variables.size(), -1);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i].rank_variable >= 0) {
            last[nodes[i].rank_variable] = static_cast<int>(i);
        }
    }
    for (std::size_t v = 0; v < last.size(); ++v) {
        const bool imperfect = path.einsum.rank_variables[v].simple && pick(random, 4) == 0;
        for (int i = 0; i <= last[v]; ++i) {
            if (nodes[i].rank_variable == static_cast<int>(v)) {
                nodes[i].imperfect = imperfect;
            }
        }
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const int v = nodes[i].rank_variable;
        if (v < 0 || static_cast<int>(i) == last[v]) {
            continue;
        }
        mapspace::TileSymbol symbol;
        symbol.rank_variable = v;
        symbol.node = static_cast<int>(i);
        for (std::size_t s = 0; s < result.symbols.size(); ++s) {
            if (result.symbols[s].rank_variable == v) {
                symbol.outer = static_cast<int>(s);
            }
        }
        if (symbol.outer >= 0) {
            result.symbols[symbol.outer].inner = static_cast<int>(result.symbols.size());
        }
        nodes[i].symbol = static_cast<std::int16_t>(result.symbols.size());
        result.symbols.push_back(symbol);
    }
    PmappingNode compute;
    compute.level = static_cast<std::int8_t>(path.levels.size() - 1);
    nodes.push_back(compute);
    result.nodes = nodes;
    return result;
}

std::vector<double> random_tiles(const arch::Path& path, const mapspace::Template& tmpl,
                                 std::mt19937& random) {
    std::vector<double> tiles;
    for (const mapspace::TileSymbol& symbol : tmpl.symbols) {
        const bool free = symbol.outer < 0 && tmpl.nodes[symbol.node].imperfect;
        const auto outer = symbol.outer < 0 ? path.einsum.rank_variables[symbol.rank_variable].bound
                                            : static_cast<std::int64_t>(tiles[symbol.outer]);
        std::vector<std::int64_t> choices;
        for (std::int64_t tile = 1; tile <= std::min<std::int64_t>(outer, 4096); ++tile) {
            if (free || outer % tile == 0) {
                choices.push_back(tile);
            }
        }
        choices.push_back(outer);
        tiles.push_back(
            static_cast<double>(choices[pick(random, static_cast<int>(choices.size()))]));
    }
    return tiles;
}

mapping::Pmapping filled(const mapspace::Template& tmpl, const std::vector<double>& tiles) {
    mapping::Pmapping nodes = tmpl.nodes;
    for (PmappingNode& node : nodes) {
        if (node.symbol >= 0) {
            node.tile = static_cast<std::int64_t>(tiles[node.symbol]);
            node.symbol = -1;
        }
    }
    return nodes;
}

}  // namespace tessera::testing
