// What each sub-command says of itself: one source for --help, completion and manual pages.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/arguments.hpp"

namespace tessera::cli {

struct CommandText {
    const char* usage;     ///< what follows the name: "[options] DIR..."
    const char* examples;  ///< lines that begin with two blanks
    options::Description options;
};

struct Command {
    const char* name;
    const char* summary;  ///< a line of `tessera --help`
    int (*function)(const std::vector<std::string>&, std::ostream&, std::ostream&);
    CommandText (*text)();
    bool components;  ///< works with mappers, strategies or models: plugins are loaded before
};

/// In the order of `tessera --help`.
const std::vector<Command>& command_table();

/// Exit codes, as `tessera --help` ends with them.
extern const char* const exit_codes_text;

CommandText map_text();
CommandText compare_text();
CommandText sweep_text();
CommandText top_text();
CommandText model_text();
CommandText check_text();
CommandText explain_text();
CommandText train_text();
CommandText plugins_text();
CommandText rerun_text();
CommandText report_text();
CommandText show_text();
CommandText init_text();
CommandText schema_text();
CommandText completion_text();
CommandText man_text();

}  // namespace tessera::cli
