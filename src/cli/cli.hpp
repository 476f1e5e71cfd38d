// The command line as a function: tests call it without a process.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "tessera/base/version.hpp"

namespace tessera::cli {

using ::tessera::version;

/// Exit codes. Errors carry their own (Error::exit_code).
enum ExitCode : int {
    ok = 0,
    no_legal_mapping = 1,
    user_error = 2,
    plugin_refused = 3,
    partial = 4,  ///< compare, sweep: some of those compared or some points failed
    limit_before_result = 5,
    bug = 70,
    interrupted = 130,
};

/// After what was lost or saved.
inline constexpr const char* out_of_memory_text =
    "the system has no more memory; --max-memory SIZE ends a search in time, fewer --threads and "
    "narrower limits of the mapspace need less\n";

/// What --version says the program was built from; empty: not known.
void set_commit(const std::string& of_source);

/// `args`: without the program's name. Results go to `out`, everything else to `err`. Never throws.
int run(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);

// One function per sub-command. `args`: what follows its name. They throw tessera::Error.
int map_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
int compare_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
int sweep_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
int model_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
int top_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
int check_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
int report_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
int show_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
int schema_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
int init_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
int completion_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
int man_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
int rerun_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
int train_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
int explain_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);
int plugins_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);

}  // namespace tessera::cli
