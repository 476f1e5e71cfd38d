// A mapping file that was read: what is wrong with its sections is said before what is in them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tessera/mapping/mapping.hpp"
#include "tessera/spec/directives.hpp"
#include "tessera/spec/node.hpp"

namespace tessera::mapping {

/// Of a tree with its includes merged. \throws UserError
Mapping mapping_of(spec::Node tree, const spec::Defines& defines);

/// The keys of every kind of node, by its tag without "!".
std::map<std::string, std::vector<std::string>> node_keys();

}  // namespace tessera::mapping
