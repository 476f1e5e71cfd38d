#pragma once

#include <cstddef>

#include "tessera/spec/node.hpp"

// How large a spec may be. Far above what a design needs; a short file that asks for more (aliases
// of aliases, includes of includes, nested repeats) is refused before it takes time and memory.

namespace tessera::spec {

constexpr std::size_t max_nodes = 250'000;  ///< values of one tree, all included files together
constexpr std::size_t max_keys = 10'000;    ///< of one map
constexpr std::size_t max_includes = 10'000;
constexpr std::size_t max_include_depth = 100;
constexpr std::size_t max_path = 256;   ///< characters of a path in messages
constexpr std::size_t max_quote = 200;  ///< characters of a value in messages

constexpr int max_depth = 1'000;              ///< of an expression with the names in it
constexpr std::size_t max_steps = 1'000'000;  ///< of the evaluation of one expression
constexpr std::size_t max_text = 1'000'000;   ///< characters that '+' puts together
constexpr std::size_t max_formula = 10'000;   ///< operations on action counts

/// Values of a tree.
std::size_t size_of(const Node& node);

}  // namespace tessera::spec
