// Costs every chain of an Einsum and sorts the chains by what other chains can see of them.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "oracle/oracle_chain.hpp"

namespace tessera::oracle {

namespace {

using mapping::NodeKind;
using mapping::Pmapping;

struct Costed {
    std::vector<Backing> backings;
    std::vector<SharedLoop> prefix;
    ChainRow row;
};

bool exceeds_alone(const arch::Path& path, const ChainCost& c) {
    for (std::size_t l = 0; l < path.levels.size(); ++l) {
        double bits = 0;
        for (const auto& h : c.holders) {
            bits += static_cast<std::size_t>(h.level) == l ? h.bits : 0;
        }
        if (bits > path.levels[l].size_bits) {
            return true;
        }
    }
    return false;
}

// Tiles of a loop with a prologue, and what they are split into, leave none.
bool has_partial_tile(const arch::Path& path, const Pmapping& nodes) {
    std::vector<std::int64_t> tile;
    std::set<int> below_prologue;
    for (const auto& v : path.einsum.rank_variables) {
        tile.push_back(v.bound);
    }
    for (const auto& n : nodes) {
        if (n.kind == NodeKind::temporal || n.kind == NodeKind::spatial) {
            auto& current = tile[static_cast<std::size_t>(n.rank_variable)];
            if (n.base > 0) {
                below_prologue.insert(n.rank_variable);
            }
            if (!below_prologue.contains(n.rank_variable) && current % n.tile != 0) {
                return true;
            }
            current = n.tile;
        }
    }
    return false;
}

// L6: with its partial tiles the reference takes such loops further in. Temporal, over a variable
// with a partial tile, where nothing is shared below, above a holder whose tensor lacks it.
bool reference_moves_inside(const arch::Path& path, const Pmapping& nodes) {
    std::set<int> partial, unseen;
    for (std::size_t t = 0; t < path.einsum.tensors.size(); ++t) {
        if (path.einsum.tensors[t].fusable) {
            unseen.insert(static_cast<int>(t));
        }
    }
    for (const auto& n : nodes) {
        if (n.is_loop()) {
            Pmapping own;
            std::ranges::copy_if(nodes, std::back_inserter(own), [&](const auto& other) {
                return other.is_loop() && other.rank_variable == n.rank_variable;
            });
            if (has_partial_tile(path, own)) {
                partial.insert(n.rank_variable);
            }
        }
    }
    std::set<int> above;  // since the last holder
    for (const auto& n : nodes) {
        if (n.kind == NodeKind::storage) {
            const auto& relevancy =
                path.einsum.tensors[static_cast<std::size_t>(n.tensor)].relevancy;
            const bool resends = !(
                path.levels[static_cast<std::size_t>(n.level)].no_resend_to_below >> n.tensor & 1);
            for (const int v : above) {
                if (resends &&
                    relevancy[static_cast<std::size_t>(v)] == workload::Relevancy::irrelevant) {
                    return true;
                }
            }
            above.clear();
            unseen.erase(n.tensor);
        } else if (n.kind == NodeKind::temporal && unseen.empty() &&
                   partial.contains(n.rank_variable)) {
            above.insert(n.rank_variable);
        }
    }
    return false;
}

// With partial tiles, shared loops have to agree in tile shape besides (L6): both in one number.
std::vector<SharedLoop> leading_loops(const arch::Path& path, const Pmapping& nodes, int depth,
                                      bool partial_tiles) {
    std::vector<SharedLoop> loops;
    std::vector<std::int64_t> tile;
    for (const auto& v : path.einsum.rank_variables) {
        tile.push_back(v.bound);
    }
    for (const auto& n : nodes) {
        if (static_cast<int>(loops.size()) == depth) {
            break;
        }
        if (n.kind != NodeKind::temporal && n.kind != NodeKind::spatial) {
            continue;
        }
        auto& current = tile[static_cast<std::size_t>(n.rank_variable)];
        SharedLoop loop{n.rank_variable,
                        n.base > 0 ? n.base / n.tile : (current + n.tile - 1) / n.tile,
                        n.kind == NodeKind::spatial,
                        "",
                        "",
                        n.tile,
                        n.prologue,
                        n.base};
        loop.trips = partial_tiles ? loop.trips << 32 | n.tile : loop.trips;
        if (loop.spatial) {
            const auto& level = path.levels[static_cast<std::size_t>(n.level)];
            loop.level = level.name;
            loop.dim = level.spatial[static_cast<std::size_t>(n.dim)].name;
        }
        current = n.tile + n.prologue;
        loops.push_back(loop);
    }
    return loops;
}

Costed describe(const arch::Path& path, const Pmapping& nodes, const ChainCost& c,
                const std::vector<Memory>& memories, bool partial_tiles) {
    Costed out;
    int depth = 0;
    for (const auto& h : c.holders) {
        const auto& tensor = path.einsum.tensors[static_cast<std::size_t>(h.tensor)];
        if (h.backing && tensor.fusable) {
            const bool persistent = h.depth < 0;
            out.backings.push_back({tensor.tensor,
                                    path.levels[static_cast<std::size_t>(h.level)].name,
                                    std::max(h.depth, 0), h.bits, persistent,
                                    nodes[static_cast<std::size_t>(h.node)].line_buffer});
            depth = std::max(depth, out.backings.back().shared_loops());
        }
    }
    std::sort(out.backings.begin(), out.backings.end(),
              [](const Backing& a, const Backing& b) { return a.tensor < b.tensor; });
    out.prefix = leading_loops(path, nodes, depth, partial_tiles);
    out.row.energy_j = c.energy_j();
    out.row.latency_s = c.latency_s;
    const std::size_t width = static_cast<std::size_t>(depth) + 1;
    out.row.bits.assign(memories.size() * width, 0);
    for (const auto& h : c.holders) {
        const auto& tensor = path.einsum.tensors[static_cast<std::size_t>(h.tensor)];
        if (h.backing && tensor.fusable) {
            continue;
        }
        for (std::size_t m = 0; m < memories.size(); ++m) {
            if (memories[m].name == path.levels[static_cast<std::size_t>(h.level)].name) {
                // Persistent bits are there all the time: the join treats depth 0 of a persistent
                // tensor through Backing only, so private ones must not exist in finite memories.
                if (h.depth < 0) {
                    throw Unsupported("oracle: private persistent tensors are not supported");
                }
                out.row.bits[m * width + static_cast<std::size_t>(std::min(h.depth, depth))] +=
                    h.bits;
            }
        }
    }
    return out;
}

std::vector<double> busy_s(const arch::Path& path, const ChainCost& c,
                           const std::vector<std::string>& components) {
    std::vector<double> busy;
    for (const std::string& component : components) {
        const int level = path.find_level(component);
        busy.push_back(level < 0 ? 0
                                 : c.level_latency[static_cast<std::size_t>(level)] *
                                       path.einsum.n_instances);
    }
    return busy;
}

using GroupKey = std::vector<std::tuple<std::int64_t, std::int64_t, std::string, std::string>>;

GroupKey key_of(const Costed& c) {
    GroupKey key;
    for (const auto& b : c.backings) {
        key.emplace_back(b.tensor, b.depth, b.memory, b.line_buffer ? "windows" : "");
    }
    for (const auto& l : c.prefix) {
        key.emplace_back(l.rank_variable, l.spatial ? -l.trips : l.trips,
                         l.level + "/" + std::to_string(l.tile),
                         l.dim + "/" + std::to_string(l.prologue) + "/" + std::to_string(l.base));
    }
    return key;
}

std::vector<double> row_key(const ChainRow& row) {
    std::vector<double> key = row.bits;
    key.insert(key.end(), row.busy_s.begin(), row.busy_s.end());
    key.push_back(row.energy_j);
    key.push_back(row.latency_s);
    return key;
}

// C4: the conditions about utilisation, dimension after dimension, for chains with the same holders
// in the same order. First all utilisations that occur are collected, then the ones to keep are
// chosen.
class Utilisation {
public:
    explicit Utilisation(const arch::Path& path) {
        for (int l = 0; l < static_cast<int>(path.levels.size()); ++l) {
            const auto& dims = path.levels[static_cast<std::size_t>(l)].spatial;
            for (int d = 0; d < static_cast<int>(dims.size()); ++d) {
                const auto& dim = dims[static_cast<std::size_t>(d)];
                if (dim.min_usage > 0) {
                    conditions_.push_back({l, d, dim.min_usage * static_cast<double>(dim.fanout)});
                }
            }
        }
    }

    bool any() const {
        return !conditions_.empty();
    }

    void collect(const Pmapping& nodes, const ChainCost& c, bool perfect) {
        kept_[holders_and_sets(nodes)].insert(used(c));
        if (perfect) {
            perfect_[holders_and_sets(nodes)].insert(used(c));
        }
    }

    void choose() {
        for (auto& [key, all] : kept_) {
            // Chains without partial tiles say what can be asked for, where there are any.
            auto& deciding = perfect_[key];
            for (std::size_t w = 0; w < conditions_.size(); ++w) {
                double most = 0;
                for (const auto& u : deciding.empty() ? all : deciding) {
                    most = std::max(most, u[w]);
                }
                const auto too_low = [&](const auto& u) {
                    return u[w] < std::min(most, conditions_[w].used);
                };
                std::erase_if(all, too_low);
                std::erase_if(deciding, too_low);
            }
        }
    }

    bool accepts(const Pmapping& nodes, const ChainCost& c) const {
        return kept_.at(holders_and_sets(nodes)).count(used(c)) > 0;
    }

private:
    // Of loops that may be left out, each set is what is left of a larger one. Those of line
    // buffers and those over variables with a prologue may not: they are sets of their own.
    static std::vector<int> holders_and_sets(const Pmapping& nodes) {
        std::vector<int> key;
        std::set<int> kept;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            const auto& n = nodes[i];
            if (n.kind == NodeKind::storage) {
                key.insert(key.end(), {-1, n.level, n.tensor});
                if (n.line_buffer) {
                    key.insert(key.end(), {-2, nodes.at(i + 1).rank_variable});
                }
            } else if (n.is_loop() && (n.base > 0 || kept.contains(n.rank_variable))) {
                kept.insert(n.rank_variable);
                key.insert(key.end(), {-3, n.rank_variable, n.base, n.prologue,
                                       static_cast<int>(n.kind), n.level, n.dim});
            }
        }
        return key;
    }

    std::vector<double> used(const ChainCost& c) const {
        std::vector<double> result(conditions_.size(), 1);
        for (const auto& d : c.dims) {
            for (std::size_t w = 0; w < conditions_.size(); ++w) {
                if (conditions_[w].level == d.level && conditions_[w].dim == d.dim) {
                    result[w] = d.used;
                }
            }
        }
        return result;
    }

    std::vector<DimUse> conditions_;
    std::map<std::vector<int>, std::set<std::vector<double>>> kept_, perfect_;
};

}  // namespace

EinsumChains all_chains(std::vector<arch::Path> paths, const std::vector<Memory>& memories,
                        const mapspace::MapSpaceOptions& options, std::uint64_t limit,
                        const LineBuffer& line_buffer, const std::vector<std::string>& components,
                        Partial partial) {
    const bool partial_tiles = options.partial_tiles();
    EinsumChains all;
    all.paths = std::move(paths);
    std::map<GroupKey, std::size_t> group_of;
    std::vector<std::map<std::vector<double>, std::size_t>> row_of;
    std::uint64_t visited = 0;
    for (int p = 0; p < static_cast<int>(all.paths.size()); ++p) {
        const arch::Path& path = all.paths[static_cast<std::size_t>(p)];
        Utilisation utilisation(path);
        if (utilisation.any()) {
            enumerate_chains(
                path, options,
                [&](const Pmapping& nodes) {
                    const ChainCost c = cost(path, nodes, partial);
                    if (!exceeds_alone(path, c)) {
                        utilisation.collect(nodes, c, !has_partial_tile(path, nodes));
                    }
                    return ++visited < limit;
                },
                line_buffer);
            utilisation.choose();
        }
        const bool complete = enumerate_chains(
            path, options,
            [&](const Pmapping& nodes) {
                if (partial == Partial::average && reference_moves_inside(path, nodes)) {
                    return true;
                }
                const ChainCost c = cost(path, nodes, partial);
                if (!exceeds_alone(path, c) &&
                    (!utilisation.any() || utilisation.accepts(nodes, c))) {
                    Costed chain = describe(path, nodes, c, memories, partial_tiles);
                    chain.row.busy_s = busy_s(path, c, components);
                    const auto g = group_of.emplace(key_of(chain), all.groups.size());
                    if (g.second) {
                        all.groups.push_back({chain.backings, chain.prefix, {}});
                        row_of.emplace_back();
                    }
                    auto& rows = all.groups[g.first->second].rows;
                    const auto r = row_of[g.first->second].emplace(row_key(chain.row), rows.size());
                    if (r.second) {
                        chain.row.example = nodes;
                        chain.row.path = p;
                        rows.push_back(std::move(chain.row));
                    }
                    ++rows[r.first->second].count;
                    ++all.chains;
                }
                return ++visited < limit;
            },
            line_buffer);
        if (!complete) {
            throw TooMany("oracle: too many chains");
        }
    }
    return all;
}

}  // namespace tessera::oracle
