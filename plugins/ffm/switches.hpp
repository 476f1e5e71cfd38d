// Ideas that can be switched off one by one, to measure what each gains and to test that none
// changes the result. See docs/ffm-proofs.md, section 2.
#pragma once

#include <string>
#include <vector>

#include "tessera/mapspace/tile_shapes.hpp"

namespace tessera::ffm {

struct Switches {
    bool cutoffs = true;               ///< search close to the bound before the incumbent's cost
    bool local_search = true;          ///< first mappings from local searches
    bool improvement = true;           ///< partial tiles for the mapping found without
    bool scalarised_bounds = true;     ///< energy and latency bounded together, with partial tiles
    bool best_first = true;            ///< of one Einsum: templates by ascending bound
    bool templates_by_need = true;     ///< not all of them, where there are too many
    bool all_templates = true;         ///< at once, unless there are too many
    bool drop_templates = true;        ///< that lead nowhere below the incumbent
    bool early_search = true;          ///< mappings of few templates, where class bounds take long
    bool parts = true;                 ///< first mapping of a long cascade from those of its parts
    bool restricted_mapspaces = true;  ///< first mappings from smaller mapspaces
    bool beam_search = true;           ///< first mapping from the classes that the bound comes from
    bool exploration_bound = true;     ///< bounds while tile shapes are enumerated
    bool class_bounds = true;          ///< bounds by class of templates, not by Einsum alone
    bool exact_class_bounds = true;    ///< at once, unless they take long
    bool sequential = true;            ///< Einsums that are explored bound the next ones
    bool shape_semijoin = true;        ///< fused tile shapes that explored Einsums have
    bool join_bound = true;            ///< bounds in the join
    bool lookahead = true;             ///< what live tensors ask of later Einsums
    bool completion_bounds = true;     ///< least costs of completions in the join
    bool redundant_capacity = true;    ///< peaks that can overflow no more are forgotten
    bool row_semijoin = true;          ///< rows without compatible rows go before the join
    bool template_semijoin = true;     ///< templates without compatible rows are not explored
    bool equal_einsums = true;         ///< equal Einsums are explored once
    mapspace::TileShapeOptions tiles;  ///< its switches
};

/// \throws UserError for a name that it does not know.
Switches switches_without(const std::vector<std::string>& names);

/// Every name that switches_without knows.
const std::vector<std::string>& switch_names();

}  // namespace tessera::ffm
