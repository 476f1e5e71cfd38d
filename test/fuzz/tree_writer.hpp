// Trees back to text, for the mutator: what it makes need not be valid.
#pragma once

#include <string>

#include "tessera/spec/node.hpp"

namespace tessera::fuzz {

enum class Format { yaml, libconfig, json };

/// Texts that are not quoted are written as they are, and so are tags: `&a` in a tag makes an
/// anchor, the text `*a` an alias.
std::string written(const spec::Node& root, Format format);

}  // namespace tessera::fuzz
