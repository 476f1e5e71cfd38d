#pragma once

#include "tessera/model/compiled_formulas.hpp"

namespace tessera::model {

/// Operations of a compiled program; `c` is the instruction's constant.
enum class CompiledFormulas::Op : std::uint16_t {
    constant,         ///< c
    multiply,         ///< a * b
    scale,            ///< c * a
    add_scaled,       ///< b + c * a
    add_constant,     ///< a + c
    add,              ///< a + b
    divide,           ///< a / b
    divide_constant,  ///< c / a
    max,
    max_constant,
    min,
    min_constant,
    ceil,
};

}  // namespace tessera::model
