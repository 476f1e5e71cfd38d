// What the terminal's description says. Apart from terminal.cpp because <term.h> defines macros for
// ordinary words.
#pragma once

#include <string>

namespace tessera::dashboard {

/// Reads the description of TERM. \returns whether it is known and can address cells.
bool describe_terminal(int fd);

/// What ends keypad mode, colours, the hidden cursor and the alternate screen, as plain bytes.
/// After describe_terminal().
std::string leave_sequence();

}  // namespace tessera::dashboard
