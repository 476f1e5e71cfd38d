// Texts that readers stumble over.
#pragma once

#include <string>
#include <vector>

#include "fuzz/input.hpp"

namespace tessera::fuzz {

/// A number at or beyond the end of some type, or hardly one.
std::string hostile_number(Random& random);

/// Control characters, invalid UTF-8, format strings, paths, long texts.
std::string hostile_text(Random& random);

/// An expression over `names`; mostly well formed.
std::string expression(Random& random, const std::vector<std::string>& names, int depth = 3);

/// YAML that is deep, long, or larger than it looks.
std::string bomb(Random& random);

}  // namespace tessera::fuzz
