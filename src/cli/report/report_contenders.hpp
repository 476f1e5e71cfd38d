// The report of a comparison: who found what, and when.
#pragma once

#include <optional>
#include <string>

#include "io/page.hpp"

namespace tessera::cli {

/// The page of a folder that `tessera compare -o` wrote; nothing if it holds something else.
/// \throws UserError if its result.json is not what that command writes
std::optional<io::Page> contenders_page(const std::string& folder);

}  // namespace tessera::cli
