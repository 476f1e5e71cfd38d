// The templates of a mapspace, and the switches that say which it has.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "tessera/mapping/template.hpp"

namespace tessera::mapspace {

using mapping::max_fused_loops_of_template;
using mapping::Template;
using mapping::TemplateConstraint;
using mapping::TileSymbol;

/// Switches of the mapspace. A preset is a set of values for them: `{}` is `full`, accelforge() is
/// `accelforge`.
struct MapSpaceOptions {
    static constexpr int unlimited = -1;
    enum class Preset : std::uint8_t { full, accelforge };

    static MapSpaceOptions accelforge() {
        MapSpaceOptions o;
        o.preset = Preset::accelforge;
        o.copies_in_distributed_memories = false;
        o.all_einsum_orders = false;
        o.line_buffers = false;
        return o;
    }

    /// Whether any loop may leave a partial last tile.
    bool partial_tiles() const {
        return imperfect_temporal || imperfect_spatial;
    }

    Preset preset = Preset::full;
    int max_fused_loops = unlimited;
    int max_fused_loops_per_rank_variable = 1;
    int max_loops_per_spatial_dimension = unlimited;
    bool imperfect_temporal = false;
    bool imperfect_spatial = false;
    /// Partial tiles in inner loops, too, as the reference explores them (with fractional trip
    /// counts; `check()` goes by the problem's `compat`). Off: only the outermost loop over a
    /// variable with more than one trip may leave one.
    bool partial_inner_tiles = false;
    bool force_memory_hierarchy_order = true;
    /// Loop orders that differ in what one reservation sinks through alone are one template
    /// (PmappingNode::open_order). Off: a template each; the best of them is the same.
    bool open_loop_orders = true;
    bool unfused = false;           ///< the outermost memory keeps every tensor
    bool all_einsum_orders = true;  ///< every order in which producers come before consumers
    /// Below a memory inside an array, spatial loops that do not index its tensor.
    bool copies_in_distributed_memories = true;
    /// A backing holder may keep what one iteration of the loop below it reaches, from one to the
    /// next: Einsums share loops inside a sum (`p + r`).
    bool line_buffers = true;
};

/// Calls `sink` for every template of the Einsum on the path, deterministic order, duplicates
/// removed. Returns the number of templates. \throws NoLegalMapping naming the constraint if none
/// can exist (a tensor that no memory may keep), base::Stopped.
std::size_t enumerate_templates(const arch::Path& path, const MapSpaceOptions& options,
                                const std::function<void(Template&&)>& sink);
/// The same if there are at most `most`; else nullopt, and `sink` is not called.
std::optional<std::size_t> enumerate_templates(const arch::Path& path,
                                               const MapSpaceOptions& options, std::size_t most,
                                               const std::function<void(Template&&)>& sink);

}  // namespace tessera::mapspace
