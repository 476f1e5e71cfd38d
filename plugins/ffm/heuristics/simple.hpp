// Rows of simple templates, for first mappings: those in which no tensor stands below a fused loop,
// but running states, which Einsums that make one together cannot exchange otherwise.
#pragma once

#include <chrono>

#include "../bounds/class_bounds.hpp"
#include "../explorer.hpp"

namespace tessera::ffm {

/// Only running states stand below fused loops.
bool is_simple(const TemplateEntry& entry);

/// Groups with any pmappings of every class: a mapping within milliseconds. A stop is obeyed only
/// from `until` on.
void first_rows(TemplateExplorer& explorer, std::chrono::steady_clock::time_point until);

/// Groups with some good pmappings of every class. Needs the class bounds.
void simple_rows(TemplateExplorer& explorer);

/// Of every class some rows of those templates whose costs are bounded by the least numbers.
void promising_rows(TemplateExplorer& explorer, const ClassBounds& bounds);

}  // namespace tessera::ffm
