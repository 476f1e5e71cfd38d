// Exploration of one Einsum: templates, formulas, tile shapes, pmapping groups.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tessera/mapper/mapper.hpp"
#include "tessera/mapspace/tabulate.hpp"
#include "tessera/telemetry/recorder.hpp"

namespace tessera::ffm {

/// One template of an Einsum on one of its computes.
struct TemplateEntry {
    const arch::Path* path = nullptr;
    int path_index = 0;
    mapspace::Template tmpl;
    mapspace::TemplateRows rows;  ///< filled by explore: the Pareto set of its tile shapes
};

/// The least a memory would need over all tile shapes of all templates; explains infeasibility.
struct CapacityNeed {
    std::string memory;
    double needed_bits = 0, size_bits = 0;
};

/// One Einsum while it is explored.
struct EinsumSpace {
    int einsum = 0;
    std::vector<std::unique_ptr<arch::Path>> paths;  ///< one per enabled compute
    std::vector<TemplateEntry> templates;
    std::vector<mapspace::PmappingGroup> groups;
    std::string size;                 ///< number of complete pmappings, exact decimal
    std::uint64_t evaluated = 0;      ///< tile-shape rows looked at
    std::vector<double> least;        ///< per objective: least over all legal pmappings
    std::vector<CapacityNeed> needs;  ///< filled when no template has a row
    std::string no_compute;           ///< reason when no compute may run the Einsum
};

/// Settings shared by all templates.
struct ExploreContext {
    const model::Problem* problem = nullptr;
    const model::CostModel* model = nullptr;
    const mapper::Options* options = nullptr;
    telemetry::Recorder* recorder = nullptr;  ///< a phase runs while it is explored
    std::vector<mapspace::TrackedMemory> tracked;
    bool want_energy = true, want_latency = true;

    int n_objectives() const {
        return (want_energy ? 1 : 0) + (want_latency ? 1 : 0);
    }
};

/// Paths and templates of one Einsum.
EinsumSpace open_einsum(const ExploreContext& context, int einsum);

/// Fills `least` of every Einsum, and `needs` of those that have no legal pmapping. The groups hold
/// the pmappings of templates without fused loops: enough for a first mapping. False if stopped.
bool find_least(const ExploreContext& context, std::vector<EinsumSpace>& spaces);

/// What a pmapping must be able to beat to be of use.
struct Incumbents {
    bool product = false;                     ///< compare products of the objectives (EDP)
    std::vector<std::vector<double>> points;  ///< objective vectors of known mappings
};

/// Explores all templates of all Einsums in parallel and fills groups with every row that can be
/// part of a mapping better than (or equal to) the incumbents. Needs `least`. Deterministic.
void explore(const ExploreContext& context, std::vector<EinsumSpace>& spaces,
             const Incumbents& incumbents);

/// Memories whose capacity couples Einsums: finite, smaller than all that could ever be in them,
/// and holding something above a fused loop or backing a fusable tensor in some template.
std::vector<mapspace::TrackedMemory> tracked_memories(const std::vector<EinsumSpace>& spaces);

}  // namespace tessera::ffm
