// Paths and templates of an Einsum.
#include "open.hpp"
#include "mapspace/tracked_memories.hpp"
#include "tessera/base/stop.hpp"

namespace tessera::ffm {

EinsumSpace open_einsum(const ExploreContext& context, int einsum) {
    EinsumSpace space;
    space.einsum = einsum;
    space.same = static_cast<std::size_t>(einsum);
    const model::Problem& p = *context.problem;
    std::string computes;
    for (const std::string& compute : p.architecture->compute_names()) {
        auto path = std::make_unique<arch::Path>(
            p.architecture->path(*p.workload, einsum, compute, p.compat));
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

}  // namespace tessera::ffm
