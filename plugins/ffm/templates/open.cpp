// Paths and templates of an Einsum.
#include "open.hpp"

#include <algorithm>
#include <cmath>

#include "mapspace/tracked_memories.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/model/formula_pool.hpp"

namespace tessera::ffm {

EinsumSpace open_einsum(const ExploreContext& context, int einsum) {
    EinsumSpace space;
    space.einsum = einsum;
    space.same = static_cast<std::size_t>(einsum);
    const model::Problem& p = *context.problem;
    const std::shared_ptr<arch::Paths> paths = p.paths_or_new();
    std::string computes;
    for (const std::string& compute : p.architecture->compute_names()) {
        auto path = std::make_unique<arch::Path>(paths->of(einsum, compute));
        if (!path->compute().enabled) {
            computes += (computes.empty() ? "" : ", ") + path->refusal();
            continue;
        }
        space.paths.push_back(std::move(path));
    }
    if (space.paths.empty()) {
        space.no_compute = "no compute may run it: " + computes;
    }
    return space;
}

bool make_templates(const ExploreContext& context, EinsumSpace& space, std::size_t most) {
    mapspace::MapSpaceOptions mapspace = context.options->mapspace;
    mapspace.partial_inner_tiles = context.problem->convention().partial_inner_tiles;
    std::string infeasible;
    for (std::size_t i = 0; i < space.paths.size(); ++i) {
        const arch::Path& path = *space.paths[i];
        try {
            const auto add = [&](mapspace::Template&& tmpl) {
                base::poll_stop();
                TemplateEntry& added = space.templates->emplace_back();
                added.path = &path;
                added.path_index = static_cast<int>(i);
                added.tmpl = std::move(tmpl);
            };
            if (!mapspace::enumerate_templates(path, mapspace, most, add)) {
                space.templates->clear();
                return false;
            }
        } catch (const NoLegalMapping& none) {
            infeasible = none.what();  // unless another compute can run it
        }
    }
    if (space.templates->empty() && !infeasible.empty()) {
        throw NoLegalMapping(infeasible);
    }
    return true;
}

bool has_tile_shapes(const ExploreContext& context, const EinsumSpace& space) {
    std::vector<mapspace::TabulateContext> tables;
    for (const auto& path : space.paths) {
        tables.push_back(mapspace::table_context(context, *path));
    }
    mapspace::TileShapeOptions options = context.switches.tiles;
    options.first_rows = true;
    mapspace::TileShapeExplorer explorer;
    mapspace::TileShapeResult found;
    model::FormulaPool pool;
    return std::ranges::any_of(*space.templates, [&](const TemplateEntry& t) {
        base::poll_stop();
        pool.clear();
        const model::FormulaScope scope(pool);
        const model::TemplateFormulas f =
            context.model->formulate(*context.problem, *t.path, t.tmpl);
        mapspace::TileShapeProblem problem = mapspace::tile_shape_problem(
            context, *t.path, t.tmpl, f, tables[static_cast<std::size_t>(t.path_index)]);
        problem.best_effort.clear();  // some row meets them as well as any
        explorer.explore(problem, options, found);
        return found.rows > 0;
    });
}

std::vector<mapspace::TrackedMemory> tracked_memories(const std::vector<EinsumSpace>& spaces) {
    std::vector<mapspace::EinsumTemplates> einsums;
    for (const EinsumSpace& space : spaces) {
        mapspace::EinsumTemplates& own = einsums.emplace_back();
        for (const auto& path : space.paths) {
            own.paths.push_back(path.get());
        }
        if (space.same != static_cast<std::size_t>(space.einsum)) {
            continue;
        }
        for (const TemplateEntry& t : *space.templates) {
            own.templates.push_back({t.path, &t.tmpl});
        }
    }
    return mapspace::tracked_memories(einsums);
}

void add_limited(const std::set<std::string>& memories, const std::vector<EinsumSpace>& spaces,
                 std::vector<mapspace::TrackedMemory>& tracked) {
    for (const EinsumSpace& space : spaces) {
        for (const auto& path : space.paths) {
            for (const arch::PathLevel& level : path->levels) {
                if (!memories.contains(level.name) || !std::isfinite(level.size_bits)) {
                    continue;
                }
                const auto known =
                    std::ranges::find(tracked, level.name, &mapspace::TrackedMemory::name);
                if (known == tracked.end()) {
                    tracked.push_back({level.name, level.size_bits});
                } else {
                    known->size_bits = std::max(known->size_bits, level.size_bits);
                }
            }
        }
    }
}

}  // namespace tessera::ffm
