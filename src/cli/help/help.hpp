// The help of a command, made of its table of options.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/commands.hpp"

namespace tessera::cli {

enum class HelpAsked { none, common, all };

/// --help or -h: the common options; --help-all: all of them.
HelpAsked help_asked(const std::vector<std::string>& args);

/// Usage, one sentence, examples, options.
void print_command_help(std::ostream& out, const Command& command, bool all);

}  // namespace tessera::cli
