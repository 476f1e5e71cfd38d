// From loops and holders to a Template, and the key by which templates are compared.
#include <algorithm>

#include "template_internal.hpp"
#include "tessera/base/error.hpp"
#include "tessera/model/symbol_set.hpp"

namespace tessera::mapspace::detail {

int fused_end(const Space& space, const Items& items) {
    int end = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (items[i].holder() && items[i].backing && (space.fusable >> items[i].tensor & 1)) {
            end = static_cast<int>(i) + (items[i].line_buffer ? 2 : 0);
        }
    }
    return end;
}

namespace {

// Loops that the reservation of the holder at `index` passes on its way down; see the placement of
// reservations in the cost model.
int loops_passed(const Space& space, const Items& items, int index) {
    const Item& holder = items[index];
    if (holder.kind != NodeKind::storage || holder.backing) {
        return 0;
    }
    int passed = 0;
    for (std::size_t i = index + 1; i < items.size() && items[i].loop(); ++i) {
        const Item& loop = items[i];
        if (loop.kind == NodeKind::spatial) {
            if (loop.level != holder.level) {
                return passed;
            }
        } else if (!(space.indexing[holder.tensor] >> loop.rank_variable & 1)) {
            return passed;
        } else if (!(space.relevant[holder.tensor] >> loop.rank_variable & 1)) {
            return passed + 1;
        }
        ++passed;
    }
    return passed;
}

void label_imperfect(const Space& space, Template& out,
                     const std::vector<std::vector<int>>& loops_of) {
    for (std::size_t v = 0; v < loops_of.size(); ++v) {
        if (!space.path.einsum.rank_variables[v].simple || loops_of[v].empty() ||
            out.nodes[loops_of[v].front()].base > 0) {
            continue;  // exact shares only
        }
        for (std::size_t k = 0; k < loops_of[v].size(); ++k) {
            const bool spatial = out.nodes[loops_of[v][k]].kind == NodeKind::spatial;
            if (!(spatial ? space.options.imperfect_spatial : space.options.imperfect_temporal)) {
                continue;
            }
            // The trips of loop k are the outer tile over its own: freedom lies in the outer tile.
            out.nodes[loops_of[v][k == 0 ? 0 : k - 1]].imperfect = true;
            if (!space.options.partial_inner_tiles) {
                out.nodes[loops_of[v][k]].imperfect = true;
            }
        }
    }
}

/// Sets of symbols and of fused loops have room for so many. \throws UserError
void check_sizes(const Space& space, const Template& out,
                 const std::vector<std::vector<int>>& loops_of) {
    const auto refuse = [&](std::size_t n, std::size_t most, const std::string& what) {
        if (n > most) {
            throw UserError("Einsum '" + space.path.einsum.name + "': a mapping of it has " +
                            std::to_string(n) + " " + what + ", at most " + std::to_string(most) +
                            " are supported; keep fewer tensors in fewer memories, or give fewer "
                            "rank variables more than one value");
        }
    };
    std::size_t symbols = 0;
    for (const std::vector<int>& loops : loops_of) {
        symbols += loops.empty() ? 0 : loops.size() - 1;
    }
    refuse(symbols, model::kMaxSymbols, "unknown tile shapes");
    const auto fused = std::count_if(out.nodes.begin(), out.nodes.begin() + out.n_fused_nodes,
                                     [](const mapping::PmappingNode& n) { return n.is_loop(); });
    refuse(static_cast<std::size_t>(fused), max_fused_loops_of_template,
           "loops above shared tensors");
}

void add_symbols(Template& out, const std::vector<std::vector<int>>& loops_of) {
    for (const std::vector<int>& loops : loops_of) {
        int outer = -1;
        for (std::size_t k = 0; k + 1 < loops.size(); ++k) {
            mapping::PmappingNode& node = out.nodes[loops[k]];
            node.symbol = static_cast<std::int16_t>(out.symbols.size());
            node.tile = 0;
            out.symbols.push_back({node.rank_variable, loops[k], outer, -1,
                                   loops[k] < out.n_fused_nodes, node.kind == NodeKind::spatial,
                                   node.imperfect});
            if (outer >= 0) {
                out.symbols[outer].inner = node.symbol;
            }
            outer = node.symbol;
        }
    }
}

/// Loops of one spatial dimension over the given variables.
std::vector<int> loops_in(const Template& out, int level, int dim, RankVariableMask variables) {
    std::vector<int> loops;
    for (std::size_t i = 0; i < out.nodes.size(); ++i) {
        const mapping::PmappingNode& node = out.nodes[i];
        if (node.kind == NodeKind::spatial && node.level == level && node.dim == dim &&
            (variables >> node.rank_variable & 1)) {
            loops.push_back(static_cast<int>(i));
        }
    }
    return loops;
}

class Constraints {
public:
    Constraints(const Space& space, const Items& items, Template& out, Reasons& reasons)
        : space_(space), items_(items), out_(out), reasons_(reasons) {}
    bool add();

private:
    bool add_bound(int level, int dim, const arch::LoopBound& bound);
    bool add_bound(int level, int dim, const arch::LoopBound& bound, RankVariableMask variables);

    const Space& space_;
    const Items& items_;
    Template& out_;
    Reasons& reasons_;
};

bool Constraints::add() {
    const auto& levels = space_.path.levels;
    for (int l = 0; l < static_cast<int>(levels.size()); ++l) {
        for (int d = 0; d < static_cast<int>(levels[l].spatial.size()); ++d) {
            const arch::PathDim& dim = levels[l].spatial[d];
            for (const arch::LoopBound& bound : dim.loop_bounds) {
                if (!forces_one(bound) && !add_bound(l, d, bound)) {
                    return false;
                }
            }
            // Copies do not compute, so nothing keeps their instances busy.
            std::vector<int> loops = loops_in(out_, l, d, ~RankVariableMask{0});
            if (dim.min_usage > 0 && !space_.copy && !loops.empty()) {
                out_.constraints.push_back({TemplateConstraint::Kind::min_usage, std::move(loops),
                                            arch::LoopBound::Op::greater_equal, dim.min_usage, l, d,
                                            dim.where});
            }
        }
    }
    return true;
}

bool Constraints::add_bound(int level, int dim, const arch::LoopBound& bound) {
    const arch::PathDim& d = space_.path.levels[level].spatial[dim];
    // A variable whose loop another constraint forbids, or which may not be looped over here, is
    // free.
    const RankVariableMask variables =
        bound.variables & ~forced_to_one(space_, d) & spatial_variables(space_, items_, level);
    if (bound.product) {
        return add_bound(level, dim, bound, variables);
    }
    bool ok = true;
    for_each_bit(variables,
                 [&](int v) { ok = ok && add_bound(level, dim, bound, RankVariableMask{1} << v); });
    return ok;
}

bool Constraints::add_bound(int level, int dim, const arch::LoopBound& bound,
                            RankVariableMask variables) {
    if (!variables) {
        return true;
    }
    std::vector<int> loops = loops_in(out_, level, dim, variables);
    if (!loops.empty()) {
        out_.constraints.push_back({TemplateConstraint::Kind::loop_bound, std::move(loops),
                                    bound.op, bound.value, level, dim, bound.where});
        return true;
    }
    const bool has_values = (variables & space_.variables) != 0;
    if (has_values || base::holds(bound.op, 1, bound.value)) {
        return true;  // a loop that was removed for another reason is not held against the template
    }
    std::string names;
    for_each_bit(variables, [&](int v) {
        names += (names.empty() ? "" : " * ") + space_.path.einsum.rank_variables[v].name;
    });
    reasons_.constraint = bound.where.text() + ": loop bound on '" +
                          space_.path.levels[level].name + "' dimension '" +
                          space_.path.levels[level].spatial[dim].name + "': trips of " + names +
                          " are 1 (the rank variable has one value), required " +
                          base::sign_of(bound.op) + " " + spec::number_text(bound.value);
    return false;
}

}  // namespace

std::string structure_key(const Space& space, const Items& items,
                          std::vector<std::uint8_t>& sinks) {
    std::string key;
    key.reserve(items.size() * 3);
    sinks.clear();
    const int fused = fused_end(space, items);
    std::vector<std::pair<std::uint16_t, int>> run;
    const auto flush = [&] {
        // Where a reservation ends among fused loops decides which of them may be exchanged.
        const bool in_fused = !run.empty() && run.back().second < fused;
        std::sort(run.begin(), run.end());
        for (const auto& [code, index] : run) {
            key.push_back('\1');
            key.push_back(static_cast<char>(code >> 8));
            key.push_back(static_cast<char>(code & 255));
            const int passed = loops_passed(space, items, index);
            if (in_fused) {
                key.push_back(static_cast<char>(passed));
            } else {
                sinks.push_back(static_cast<std::uint8_t>(passed));
            }
        }
        run.clear();
    };
    for (int i = 0; i < static_cast<int>(items.size()); ++i) {
        const Item& item = items[i];
        if (item.holder()) {
            run.emplace_back(static_cast<std::uint16_t>((item.tensor << 8 | item.level) << 1 |
                                                        (item.line_buffer ? 1 : 0)),
                             i);
            continue;
        }
        flush();
        key.push_back(item.kind == NodeKind::spatial ? '\3' : '\2');
        key.push_back(static_cast<char>(item.rank_variable));
        if (item.base > 0) {
            key.push_back('\4');
            key.append(reinterpret_cast<const char*>(&item.prologue), sizeof item.prologue);
            key.append(reinterpret_cast<const char*>(&item.base), sizeof item.base);
        }
        if (item.kind == NodeKind::spatial) {
            key.push_back(static_cast<char>(item.level));
            key.push_back(static_cast<char>(item.dim));
        }
    }
    flush();
    return key;
}

bool finish(const Space& space, const Items& items, Template& out, Reasons& reasons) {
    out.nodes.clear();
    out.nodes.reserve(items.size() + 1);
    std::vector<std::vector<int>> loops_of(space.path.einsum.rank_variables.size());
    for (const Item& item : items) {
        if (item.loop()) {
            loops_of[item.rank_variable].push_back(static_cast<int>(out.nodes.size()));
        }
        out.nodes.push_back({.kind = item.kind,
                             .tensor = item.tensor,
                             .level = item.level,
                             .dim = item.dim,
                             .rank_variable = item.rank_variable,
                             .backing = item.backing,
                             .persistent = item.persistent,
                             .lower = item.kind == NodeKind::storage && !item.backing,
                             .open_order = item.open_order,
                             .line_buffer = item.line_buffer,
                             .prologue = item.prologue,
                             .base = item.base});
    }
    out.nodes.push_back({.kind = NodeKind::compute,
                         .level = static_cast<std::int8_t>(space.path.levels.size() - 1),
                         .lower = false});
    out.n_fused_nodes = fused_end(space, items);
    bool complete = true;
    for_each_bit(space.variables, [&](int v) {
        if (loops_of[v].empty()) {
            complete = false;
            reasons.loops = "constraints leave no loop over rank variable '" +
                            space.path.einsum.rank_variables[v].name + "' (" +
                            std::to_string(space.bound(v)) + " values)";
        }
    });
    if (!complete) {
        return false;
    }
    check_sizes(space, out, loops_of);
    label_imperfect(space, out, loops_of);
    add_symbols(out, loops_of);
    return Constraints(space, items, out, reasons).add();
}

}  // namespace tessera::mapspace::detail
