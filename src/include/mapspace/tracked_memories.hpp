// Which memories couple Einsums.
#pragma once

#include <vector>

#include "tessera/arch/path.hpp"
#include "tessera/mapspace/pmapping_table.hpp"
#include "tessera/mapspace/template.hpp"

namespace tessera::mapspace {

struct TemplateOnPath {
    const arch::Path* path = nullptr;
    const Template* tmpl = nullptr;
};

/// The templates of one Einsum, on one path for each compute that may run it.
struct EinsumTemplates {
    std::vector<const arch::Path*> paths;
    std::vector<TemplateOnPath> templates;
};

/// Memories whose capacity couples Einsums: finite, smaller than all that could ever be in them,
/// and holding something above a fused loop or backing a fusable tensor in some template. Of
/// Einsums that are equal, the templates of one are enough.
std::vector<TrackedMemory> tracked_memories(const std::vector<EinsumTemplates>& einsums);

}  // namespace tessera::mapspace
