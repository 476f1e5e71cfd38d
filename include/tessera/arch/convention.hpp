// What `--compat` changes: one flag for every rule in which the reference differs (docs/model.md,
// sections 5 and 6; docs/mapspace.md). Whoever has such a rule asks for its flag, not for the
// reference.
#pragma once

#include <cstdint>

namespace tessera::arch {

/// Whose conventions hold: ours, or the reference's.
enum class Compat : std::uint8_t { none, accelforge };

/// Ours by default. Thread rule: any.
struct Convention {
    // Costs
    bool round_up_partial_tiles = true;  ///< latency and fan-outs count whole iterations, instances
    bool network_traffic_in_time = true;  ///< link traffic of all dimensions, over the whole run
    bool network_halo = true;             ///< networks below partially relevant spatial loops
    bool null_loops_spread = false;       ///< given mappings: loops with one trip count in routes
    bool gate_once = true;                ///< power gating: used / fan-out instances stay on
    bool copy_knows_backing = true;     ///< copy Einsums: data leaves the backing holder downwards
    bool extent_ignores_offset = true;  ///< constants and signs in projections: no larger tiles

    // Legality
    bool check_physical = true;    ///< refuse what cannot run, not only what the reference does
    bool exchange_by_tree = true;  ///< Einsums fit together on the tree itself, not by live tensors
    bool tolls_back_unshared = false;  ///< a toll may be the outermost holder of such a tensor

    // Mapspace
    bool partial_inner_tiles = false;  ///< every loop over a variable may leave a partial tile
    bool least_partial_tiles = true;   ///< of tile shapes with as many trips only the least one

    // Names
    bool unknown_names_fail = true;  ///< in sets and bounds, and tensors of a Storage
    bool customary_renames = true;   ///< Einsums that name no input, output or weight get them

    static constexpr Convention of(Compat compat) {
        Convention result;
        if (compat == Compat::accelforge) {
            result.round_up_partial_tiles = false;
            result.network_traffic_in_time = false;
            result.network_halo = false;
            result.null_loops_spread = true;
            result.gate_once = false;
            result.copy_knows_backing = false;
            result.extent_ignores_offset = false;
            result.check_physical = false;
            result.exchange_by_tree = false;
            result.tolls_back_unshared = true;
            result.partial_inner_tiles = true;
            result.least_partial_tiles = false;
            result.unknown_names_fail = false;
            result.customary_renames = false;
        }
        return result;
    }
};

}  // namespace tessera::arch
