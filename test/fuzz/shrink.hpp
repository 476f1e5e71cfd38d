#pragma once

#include <functional>

#include "fuzz/input.hpp"

namespace tessera::fuzz {

/// Leaves out lines of the input's text files while `fails` holds, in at most `tries` trials.
Input shrunk(Input input, const std::function<bool(const Input&)>& fails, int tries);

}  // namespace tessera::fuzz
