// Rows of templates without fused loops, for first mappings.
#pragma once

#include <chrono>

#include "../explorer.hpp"

namespace tessera::ffm {

/// Groups with any pmappings of every class: a mapping within milliseconds. A stop is obeyed only
/// from `until` on.
void first_rows(TemplateExplorer& explorer, std::chrono::steady_clock::time_point until);

/// Groups with some good pmappings of every class. Needs the class bounds.
void simple_rows(TemplateExplorer& explorer);

}  // namespace tessera::ffm
