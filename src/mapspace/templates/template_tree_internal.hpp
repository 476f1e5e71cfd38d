// What template_tree.cpp and template_crossing.cpp share.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "mapspace/template_tree.hpp"
#include "template_internal.hpp"

namespace tessera::mapspace {

using namespace detail;

struct TemplateTree::Impl {
    Impl(const arch::Path& path, const MapSpaceOptions& options)
        : path(path), options(options), space(path, options), first(space.first_memory) {}

    bool plain_levels() const;
    bool plain_tensors() const;
    bool persistent_outermost() const;
    void read_sets();
    void relax_paths();
    /// That a value costs in the cheapest memory down to `top` that may keep the tensor.
    double least_energy(int top, const char* action, int tensor) const;
    double dearer_outside(int level, int tensor) const;
    bool has_crossings() const;
    arch::Path crossing_path(int level, const std::vector<double>& energies, TensorMask kept) const;
    arch::PathLevel room_inside(int level, TensorMask kept) const;
    double least_values(int tensor) const;
    arch::Path relaxed(int top) const;
    bool applies = false;
    bool fixed = false;  ///< no level's sets depend on the levels above
    Items items_of(const Space& on, const Node& node) const;
    std::optional<Choice> choice_of(const Node& node) const;
    /// Without prologues.
    void templates(const Space& on, const Items& holders,
                   const std::function<void(const Items&)>& sink) const;

    const arch::Path& path;
    MapSpaceOptions options;
    Space space;
    int first;
    std::vector<StoredSets> sets;           ///< per level; what may be, whatever stands above
    std::vector<arch::Path> relaxed_paths;  ///< per level, and that without holders
    std::vector<Space> relaxed_spaces;
};

}  // namespace tessera::mapspace
