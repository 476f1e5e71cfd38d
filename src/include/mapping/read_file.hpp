// A mapping file that was read: what is wrong with its sections is said before what is in them.
#pragma once

#include "tessera/mapping/mapping.hpp"
#include "tessera/spec/directives.hpp"
#include "tessera/spec/node.hpp"

namespace tessera::mapping {

/// Of a tree with its includes merged. \throws UserError
Mapping mapping_of(spec::Node tree, const spec::Defines& defines);

}  // namespace tessera::mapping
