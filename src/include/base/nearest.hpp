#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// The candidate closest to `name` by edits (insert, delete, replace, swap of neighbours), for
/// "did you mean". Case counts half an edit. Empty if none is near enough to be meant; the first of
/// equals.
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace tessera
