// Rows of templates without fused loops, for first mappings.
#pragma once

#include <chrono>

#include "../bounds/class_bounds.hpp"
#include "../explorer.hpp"

namespace tessera::ffm {

bool has_fused_loops(const mapspace::Template& tmpl);

/// Groups with any pmappings of every class: a mapping within milliseconds. A stop is obeyed only
/// from `until` on.
void first_rows(TemplateExplorer& explorer, std::chrono::steady_clock::time_point until);

/// Groups with some good pmappings of every class. Needs the class bounds.
void simple_rows(TemplateExplorer& explorer);

/// Of every class some rows of those templates whose costs are bounded by the least numbers.
void promising_rows(TemplateExplorer& explorer, const ClassBounds& bounds);

}  // namespace tessera::ffm
