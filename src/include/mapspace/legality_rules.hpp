// The names that docs/mapspace.md has for the rules that tessera::mapspace::check() tells.
#pragma once

#include <string>

namespace tessera::mapspace {

/// "L1" for a Violation::code; the code itself if the page has no such rule.
std::string rule_of(const std::string& code);

}  // namespace tessera::mapspace
