// Independent judgement of a finished LoopTree: every condition that it violates, with both sides.
//
// Shares no code with template generation, tile-shape exploration or the cost models: it walks the
// tree as written, so that it can hold them to account.
//
//   physical     the hardware cannot run it, or a value is read before it is finished
//   constraint   the hardware could, but the architecture's mapper constraints or the limits of the
//                mapspace forbid it
//   warning      a best-effort condition that is not met
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tessera/mapping/mapping.hpp"
#include "tessera/mapspace/template.hpp"
#include "tessera/model/cost_model.hpp"

namespace tessera::mapspace {

enum class Severity : std::uint8_t { physical, constraint, warning };

/// One violated condition. Fields that do not apply are empty.
struct Violation {
    /// Stable name of the rule:
    ///   physical    einsum_missing einsum_twice foreign_loop tensor_nowhere tensor_twice
    ///               toll_outermost holder_order tile_shape unit_loop fanout capacity split_tile
    ///               partial_sums producer_late backing_mismatch unfinished_read recomputation
    ///   constraint  disabled keep may_keep back hierarchy reuse loop_bounds no_refetch no_resend
    ///               tensor_order outermost imperfect max_fused_loops
    ///               max_fused_loops_per_rank_variable max_loops_per_spatial_dimension
    ///               line_buffers copies einsum_order
    ///   warning     min_usage tensor_order
    std::string code;
    Severity severity = Severity::physical;
    std::string message;  ///< a whole sentence with both sides and their units
    std::string einsum, tensor, level;
    double found = 0, limit = 0;  ///< both sides where they are numbers
    Position where;               ///< the constraint in the architecture, if there is one
    Position mapping_where;       ///< the node of the mapping, if it came from a file
};

/// All violations, in a fixed order: tree, then per Einsum, then across Einsums. Empty: legal.
/// `options`: the mapspace whose limits count too; nullptr: none (partial last tiles are then
/// allowed where the cost model knows them). Thread rule: pure. \throws UserError for names that do
/// not exist.
std::vector<Violation> check(const model::Problem& problem, const mapping::Mapping& mapping,
                             const MapSpaceOptions* options = nullptr);

/// Highest number of bits that each memory (one instance of it) holds at any time, by name.
/// Violations are not reported; nodes that cannot be read are left out.
std::map<std::string, double> peak_bits(const model::Problem& problem,
                                        const mapping::Mapping& mapping);

/// The message, the rule and the positions, for people.
std::string to_text(const Violation& violation);

}  // namespace tessera::mapspace
