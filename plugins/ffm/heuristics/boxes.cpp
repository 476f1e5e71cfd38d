#include "boxes.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace tessera::ffm {
namespace {

/// Parts of one template.
constexpr double most_boxes = 4096;

/// Of each sum of rank variables in a projection, the one with the fewest values.
std::set<int> filters(const workload::EinsumView& einsum) {
    const auto bound = [&](const workload::AffineTerm& t) {
        return einsum.rank_variables[static_cast<std::size_t>(t.rank_variable)].bound;
    };
    std::set<int> out;
    for (const workload::LocalTensor& tensor : einsum.tensors) {
        for (const workload::RankAccess& rank : tensor.ranks) {
            const auto least =
                std::min_element(rank.terms.begin(), rank.terms.end(),
                                 [&](const auto& a, const auto& b) { return bound(a) < bound(b); });
            if (rank.terms.size() > 1) {
                out.insert(least->rank_variable);
            }
        }
    }
    return out;
}

std::int64_t bound_of(const TemplateEntry& t, int symbol) {
    const auto v =
        static_cast<std::size_t>(t.tmpl.symbols[static_cast<std::size_t>(symbol)].rank_variable);
    return t.path->einsum.rank_variables[v].bound;
}

void add_choices(std::int64_t outer, std::size_t left, TileShapes& chosen,
                 std::vector<TileShapes>& out) {
    if (left == 0) {
        out.push_back(chosen);
        return;
    }
    for (std::int64_t tile = 1; tile <= outer; ++tile) {
        if (outer % tile == 0) {
            chosen.push_back(static_cast<std::int32_t>(tile));
            add_choices(tile, left - 1, chosen, out);
            chosen.pop_back();
        }
    }
}

/// Multichains of divisors.
double count_choices(std::int64_t bound, std::size_t length) {
    double count = 1;
    for (std::int64_t p = 2; bound > 1; ++p) {
        for (double e = 1; bound % p == 0; ++e, bound /= p) {
            count *= (static_cast<double>(length) + e) / e;
        }
    }
    return count;
}

}  // namespace

std::vector<Chain> filter_chains(const TemplateEntry& t) {
    std::vector<std::pair<double, Chain>> all;
    for (const int v : filters(t.path->einsum)) {
        Chain chain;
        bool perfect = true;
        for (std::size_t s = 0; s < t.tmpl.symbols.size(); ++s) {
            const mapspace::TileSymbol& symbol = t.tmpl.symbols[s];
            if (symbol.rank_variable == v) {
                perfect = perfect && !symbol.imperfect && !symbol.fused;
                chain.push_back(static_cast<int>(s));  // outermost first, as they are numbered
            }
        }
        if (!chain.empty() && perfect) {
            all.emplace_back(count_choices(bound_of(t, chain.front()), chain.size()), chain);
        }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Chain> out;
    double boxes = 1;
    for (auto& [count, chain] : all) {
        boxes *= count;
        if (boxes <= most_boxes) {
            out.push_back(std::move(chain));
        }
    }
    return out;
}

double count_choices(const TemplateEntry& t, const std::vector<Chain>& chains) {
    double count = 1;
    for (const Chain& chain : chains) {
        count *= count_choices(bound_of(t, chain.front()), chain.size());
    }
    return count;
}

double count_rows(const TemplateEntry& t) {
    std::map<int, Chain> chains;
    for (std::size_t s = 0; s < t.tmpl.symbols.size(); ++s) {
        chains[t.tmpl.symbols[s].rank_variable].push_back(static_cast<int>(s));
    }
    std::vector<Chain> all;
    for (auto& [variable, chain] : chains) {
        all.push_back(std::move(chain));
    }
    return count_choices(t, all);
}

std::vector<TileShapes> choices_of(const TemplateEntry& t, const Chain& chain) {
    std::vector<TileShapes> out;
    TileShapes chosen;
    add_choices(bound_of(t, chain.front()), chain.size(), chosen, out);
    return out;
}

TemplateEntry fix_tile_shapes(const TemplateEntry& t, const TileShapes& fixed,
                              std::vector<int>& open) {
    TemplateEntry out;
    out.path = t.path;
    out.path_index = t.path_index;
    out.tmpl.nodes = t.tmpl.nodes;
    out.tmpl.constraints = t.tmpl.constraints;
    out.tmpl.n_fused_nodes = t.tmpl.n_fused_nodes;
    open.clear();
    std::vector<int> now(t.tmpl.symbols.size(), -1);
    for (std::size_t s = 0; s < t.tmpl.symbols.size(); ++s) {
        const mapspace::TileSymbol& symbol = t.tmpl.symbols[s];
        mapping::PmappingNode& node = out.tmpl.nodes[static_cast<std::size_t>(symbol.node)];
        if (fixed[s] != 0) {
            node.symbol = -1;
            node.tile = fixed[s];
            continue;
        }
        now[s] = static_cast<int>(open.size());
        node.symbol = static_cast<std::int16_t>(now[s]);
        open.push_back(static_cast<int>(s));
        out.tmpl.symbols.push_back(symbol);
    }
    for (mapspace::TileSymbol& symbol : out.tmpl.symbols) {
        symbol.outer = symbol.outer < 0 ? -1 : now[static_cast<std::size_t>(symbol.outer)];
        symbol.inner = symbol.inner < 0 ? -1 : now[static_cast<std::size_t>(symbol.inner)];
    }
    return out;
}

}  // namespace tessera::ffm
