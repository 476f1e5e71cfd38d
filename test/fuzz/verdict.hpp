// What an input must not do, whatever it is.
#pragma once

#include <string>

#include "fuzz/child.hpp"

namespace tessera::fuzz {

/// What a message must name besides the reason.
enum class Place {
    position,  ///< file, line and column; or the option of the command line
    word,      ///< the same, or a word of the command line
    file,      ///< the file
};

/// What is wrong with the outcome, in a few words; empty if nothing is.
std::string fault(const Input& input, const Outcome& outcome, Place place);

}  // namespace tessera::fuzz
