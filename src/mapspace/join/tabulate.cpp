// A template's rows differ in which fused loops are null (trip count 1); each such pattern is a
// group.
#include "mapspace/tabulate.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <span>

#include "fused_structure.hpp"
#include "join_rows.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/model/compiled_formulas.hpp"

namespace tessera::mapspace {
namespace {

using mapping::PmappingNode;

/// Rows between two looks at the stop token.
constexpr std::size_t poll_every = 64;

/// Formula of a backing holder's occupancy.
int occupancy_index(const model::TemplateFormulas& f, int level, int tensor) {
    for (std::size_t i = 0; i < f.occupancies.size(); ++i) {
        const model::OccupancyFormula& o = f.occupancies[i];
        if (o.level == level && o.tensor == tensor && o.backing) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

/// Columns of one null pattern, prepared once: occupancy terms and tensor sizes.
struct Columns {
    struct Term {
        int tracked = 0, depth = 0, formula = 0;
    };
    std::vector<Term> terms;
    std::vector<int> size_formula;  ///< per backed tensor, -1: untracked
};

Columns columns_of(const TabulateContext& c, const model::TemplateFormulas& f,
                   const GroupStructure& st, const Depths& depths) {
    Columns out;
    for (std::size_t i = 0; i < f.occupancies.size(); ++i) {
        const model::OccupancyFormula& o = f.occupancies[i];
        const int tracked = c.tracked_of_level[static_cast<std::size_t>(o.level)];
        if (tracked >= 0 && !o.shared) {
            const int depth =
                o.loops_above < 0 ? -1 : depths.of_loops[static_cast<std::size_t>(o.loops_above)];
            out.terms.push_back({tracked, depth, static_cast<int>(i)});
        }
    }
    for (const BackedTensor& b : st.tensors) {
        int formula = -1;
        for (std::size_t l = 0; b.tracked >= 0 && l < c.component_of_level.size(); ++l) {
            if (c.component_of_level[l] == b.memory) {
                formula = occupancy_index(f, static_cast<int>(l), b.tensor);
            }
        }
        out.size_formula.push_back(formula);
    }
    return out;
}

}  // namespace

std::vector<PmappingGroup> tabulate(const TabulateContext& c, const Template& tmpl,
                                    const model::TemplateFormulas& formulas,
                                    const TemplateRows& rows, std::uint32_t template_index) {
    const std::vector<FusedNode> fused = fused_nodes(tmpl);
    const std::size_t n_symbols = tmpl.symbols.size();
    std::vector<std::int64_t> trips(fused.size());
    std::vector<model::Formula> held;
    for (const model::OccupancyFormula& o : formulas.occupancies) {
        held.push_back(o.bits);
    }
    const model::CompiledFormulas occupancies(
        model::FormulaPool::current(),
        rows.rows > 0 ? std::span<const model::Formula>(held) : std::span<const model::Formula>());
    model::FormulaWorkspace workspace;
    std::vector<double> symbols(n_symbols), bits(formulas.occupancies.size());
    struct Pattern {
        std::size_t group = 0;
        Columns columns;
    };
    std::map<std::uint32_t, Pattern> patterns;
    std::vector<PmappingGroup> groups;
    for (std::size_t r = 0; r < rows.rows; ++r) {
        if (r % poll_every == 0) {
            base::poll_stop();
        }
        const std::int64_t* tiles = rows.tiles.data() + r * n_symbols;
        trips_of(*c.path, tmpl, fused, tiles, trips);
        std::uint32_t mask = 0;
        for (std::size_t k = 0; k < fused.size(); ++k) {
            mask |= trips[k] > 1 ? 1u << k : 0u;
        }
        const auto [it, fresh] = patterns.try_emplace(mask);
        if (fresh) {
            const Depths depths = depths_of(tmpl, mask);
            it->second.group = groups.size();
            GroupStructure structure = structure_of(c, tmpl, fused, mask, depths);
            add_breaks(formulas, depths, structure);
            it->second.columns = columns_of(c, formulas, structure, depths);
            groups.push_back(
                {std::move(structure), c.n_objectives, c.n_tracked, {}, {}, {}, {}, c.n_busy});
        }
        const Pattern& pattern = it->second;
        PmappingGroup& g = groups[pattern.group];
        for (std::size_t s = 0; s < n_symbols; ++s) {
            symbols[s] = static_cast<double>(tiles[s]);
        }
        occupancies.evaluate_one(symbols, bits, workspace);
        const std::size_t base = g.values.size();
        g.values.resize(base + static_cast<std::size_t>(g.stride()), 0.0);
        double* row = g.values.data() + base;
        for (int k = 0; k < c.n_objectives; ++k) {
            row[k] = rows.objectives[r * static_cast<std::size_t>(c.n_objectives) +
                                     static_cast<std::size_t>(k)];
        }
        for (int u = 0; u < c.n_busy; ++u) {
            row[g.busy_column(u)] =
                rows.busy[r * static_cast<std::size_t>(c.n_busy) + static_cast<std::size_t>(u)];
        }
        for (const Columns::Term& t : pattern.columns.terms) {
            for (int d = t.depth; d <= g.n_loops(); ++d) {
                row[g.occupancy_column(t.tracked, d)] += bits[static_cast<std::size_t>(t.formula)];
            }
        }
        for (int m = 0; m < c.n_tracked; ++m) {
            row[g.occupancy_column(m, g.n_loops())] += c.taken_bits[static_cast<std::size_t>(m)];
        }
        for (std::size_t t = 0; t < pattern.columns.size_formula.size(); ++t) {
            const int formula = pattern.columns.size_formula[t];
            row[g.size_column(static_cast<int>(t))] =
                formula >= 0 ? bits[static_cast<std::size_t>(formula)] : 0.0;
        }
        for (std::size_t k = 0; k < fused.size(); ++k) {
            if (mask >> k & 1u) {
                const PmappingNode& loop = tmpl.nodes[static_cast<std::size_t>(fused[k].node)];
                g.trips.push_back(match_key(c, loop, trips[k], tiles));
            }
        }
        g.source_template.push_back(template_index);
        g.source_row.push_back(static_cast<std::uint32_t>(r));
    }
    for (PmappingGroup& g : groups) {
        prune_pareto(g);
    }
    return groups;
}

void take_rows(const TileShapeResult& found, std::size_t symbols, std::size_t objectives,
               std::size_t busy, TemplateRows& rows) {
    rows.rows = found.rows;
    rows.tiles.resize(found.rows * symbols);
    rows.objectives.resize(found.rows * objectives);
    rows.busy.resize(found.rows * busy);
    const std::size_t first_busy = found.objectives.size() - busy;
    for (std::size_t r = 0; r < found.rows; ++r) {
        for (std::size_t s = 0; s < symbols; ++s) {
            rows.tiles[r * symbols + s] = found.shapes[s][r];
        }
        for (std::size_t k = 0; k < objectives; ++k) {
            rows.objectives[r * objectives + k] = found.objectives[k][r];
        }
        for (std::size_t u = 0; u < busy; ++u) {
            rows.busy[r * busy + u] = found.objectives[first_busy + u][r];
        }
    }
}

void keep_tiles(const TemplateRows& rows, std::size_t symbols, std::vector<PmappingGroup>& groups,
                std::vector<std::int32_t>& tiles) {
    constexpr std::uint32_t unused = std::numeric_limits<std::uint32_t>::max();
    std::vector<std::uint32_t> at(rows.rows, unused);
    std::uint32_t kept = 0;
    tiles.clear();
    for (PmappingGroup& g : groups) {
        for (std::uint32_t& row : g.source_row) {
            if (at[row] == unused) {
                at[row] = kept++;
                const auto from = rows.tiles.begin() + static_cast<std::ptrdiff_t>(row * symbols);
                tiles.insert(tiles.end(), from, from + static_cast<std::ptrdiff_t>(symbols));
            }
            row = at[row];
        }
    }
    tiles.shrink_to_fit();
}

void globalise_tensors(std::vector<PmappingGroup>& groups, const workload::EinsumView& einsum) {
    auto global = [&](int local) { return einsum.tensors[static_cast<std::size_t>(local)].tensor; };
    for (PmappingGroup& g : groups) {
        for (BackedTensor& b : g.structure.tensors) {
            b.tensor = global(b.tensor);
            b.shares_buffer_of = b.shares_buffer_of < 0 ? -1 : global(b.shares_buffer_of);
        }
    }
}

void PmappingGroup::keep(const std::vector<std::uint32_t>& rows) {
    detail::keep_rows(values, static_cast<std::size_t>(stride()), rows);
    detail::keep_rows(trips, structure.loops.size(), rows);
    detail::keep_rows(source_template, 1, rows);
    detail::keep_rows(source_row, 1, rows);
}

std::vector<PmappingGroup> merge_groups(std::vector<PmappingGroup>&& groups) {
    std::map<GroupStructure, std::size_t> where;
    std::vector<PmappingGroup> out;
    for (PmappingGroup& g : groups) {
        base::poll_stop();
        const auto [it, fresh] = where.try_emplace(g.structure, out.size());
        if (fresh) {
            out.push_back(std::move(g));
            continue;
        }
        PmappingGroup& to = out[it->second];
        auto extend = [](auto& a, const auto& b) { a.insert(a.end(), b.begin(), b.end()); };
        extend(to.values, g.values);
        extend(to.trips, g.trips);
        extend(to.source_template, g.source_template);
        extend(to.source_row, g.source_row);
    }
    for (PmappingGroup& g : out) {
        prune_pareto(g);
    }
    return out;
}

PmappingGroup thinned(const PmappingGroup& g, std::size_t rows) {
    const std::size_t loops = g.structure.loops.size();
    std::map<std::vector<std::int64_t>, std::vector<std::uint32_t>> by_trips;
    for (std::size_t r = 0; r < g.rows(); ++r) {
        by_trips[{g.trips_of(r), g.trips_of(r) + loops}].push_back(static_cast<std::uint32_t>(r));
    }
    auto cost = [&](std::uint32_t r) {
        return g.n_objectives == 2 ? g.row(r)[0] * g.row(r)[1] : g.row(r)[0];
    };
    auto occupied = [&](std::uint32_t r) {
        double bits = 0;
        for (int m = 0; m < g.n_tracked; ++m) {
            bits += g.row(r)[g.occupancy_column(m, g.n_loops())];
        }
        return bits;
    };
    PmappingGroup out{g.structure, g.n_objectives, g.n_tracked, {}, {}, {}, {}, g.n_busy};
    for (auto& [trips, list] : by_trips) {
        if (list.size() > rows) {
            std::stable_sort(list.begin(), list.end(), [&](std::uint32_t a, std::uint32_t b) {
                return occupied(a) < occupied(b);
            });
            std::stable_sort(list.begin() + 1, list.end(),
                             [&](std::uint32_t a, std::uint32_t b) { return cost(a) < cost(b); });
            list.resize(rows);
        }
        for (const std::uint32_t r : list) {
            out.values.insert(out.values.end(), g.row(r), g.row(r) + g.stride());
            out.trips.insert(out.trips.end(), trips.begin(), trips.end());
            out.source_row.push_back(g.source_row[r]);
            out.source_template.push_back(g.source_template[r]);
        }
    }
    return out;
}

}  // namespace tessera::mapspace
