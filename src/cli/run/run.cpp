// Dispatch to the sub-commands, and the one place where errors become exit codes.
#include <algorithm>
#include <exception>
#include <new>
#include <ostream>
#include <system_error>

#include "base/memory_reserve.hpp"
#include "base/printable.hpp"
#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/help/help.hpp"
#include "cli/plugins/components.hpp"
#include "cli/ranks/ranked.hpp"
#include "cli/timeloop/timeloop.hpp"
#include "io/json_text.hpp"
#include "io/report_json.hpp"
#include "tessera/base/error.hpp"
#include "tessera/spec/position.hpp"

namespace tessera::cli {

namespace {

constexpr const char* help_head =
    R"(Examples:
  tessera map -a tpu-v4i -w gpt3-6.7b -D BATCH=1 -D TOKENS=2048 --metric edp -o runs/gpt3
  tessera model -a tpu-v4i -w gpt3-6.7b -m runs/gpt3/mapping.yaml

tessera finds the best fused mapping of a tensor workload on an accelerator.

Commands:
)";

constexpr const char* help_tail = R"(
  tessera COMMAND --help    common options of a command; also: tessera help COMMAND
  tessera COMMAND --help-all
                            all of them
  tessera --version         version, commit and compiler

)";

void print_commands(std::ostream& out) {
    out << help_head;
    for (const Command& command : command_table()) {
        std::string name = command.name;
        name.resize(10, ' ');
        out << "  " << name << " " << command.summary << "\n";
    }
    out << help_tail << "Exit codes: " << exit_codes_text << "\n";
}

std::string commit;  // of the source; empty: not known

#ifdef __clang__
constexpr const char* compiler = "clang++ " __clang_version__;
#else
constexpr const char* compiler = "g++ " __VERSION__;
#endif

int dispatch(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
    if (args.empty()) {
        print_commands(err);
        return ExitCode::user_error;
    }
    const std::string& first = args.front();
    if (first == "help" && args.size() == 2) {
        return dispatch({args[1], "--help"}, out, err);
    }
    if (first == "--help" || first == "-h" || first == "help") {
        print_commands(out);
        return ExitCode::ok;
    }
    if (first == "--version") {
        out << "tessera " << version << " (" << (commit.empty() ? "" : "commit " + commit + ", ")
            << compiler << ")\n";
        return ExitCode::ok;
    }
    std::vector<std::string> names;
    for (const Command& command : command_table()) {
        if (first == command.name) {
            const std::vector<std::string> rest(args.begin() + 1, args.end());
            const Ranked ranked(first, rest);
            if (const std::optional<int> code = ranked.work()) {
                return *code;
            }
            if (command.components) {
                load_plugins(rest, err);
            }
            const std::optional<int> code = timeloop_inputs(first, rest, out, err);
            const HelpAsked help = help_asked(rest);
            if (!code && help != HelpAsked::none) {
                print_command_help(out, command, help == HelpAsked::all);
                return ExitCode::ok;
            }
            return code ? *code : command.function(rest, out, err);
        }
        names.push_back(command.name);
    }
    std::string message = "unknown command '" + first + "' (expected " + spec::name_list(names) +
                          "); see tessera --help";
    const std::string near = spec::did_you_mean(first, names);
    throw UserError(message + (near.empty() ? "" : "; " + near));
}

/// Later lines are indented: a line end in a name cannot begin a message of its own.
std::string indented(const std::string& message) {
    std::string result;
    for (const char c : message) {
        result += c;
        result += c == '\n' ? "  " : "";
    }
    return result;
}

}  // namespace

namespace {

/// What ended a command, for programs that read its document.
io::Json error_json(const Error& error) {
    io::Json document, one;
    one["message"] = error.what();
    const auto* const input = dynamic_cast<const UserError*>(&error);
    if (input != nullptr && input->position()) {
        one["file"] = input->position()->file;
        one["line"] = input->position()->line;
        one["column"] = input->position()->column;
    }
    document["schema_version"] = io::schema_version;
    document["status"] = "error";
    document["exit_code"] = error.exit_code();
    document["error"] = std::move(one);
    return document;
}

/// `told`: what `out` was given, so that a document stays the only one.
/// \throws std::bad_alloc, as no text can be made
int run_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err,
                const base::PrintableOutput& told) {
    try {
        const int code = dispatch(args, out, err);
        out.flush();
        if (!out) {
            err << "tessera: the output could not be written\n";
            return ExitCode::user_error;
        }
        return code;
    } catch (const Error& error) {
        err << "tessera: " << indented(error.what()) << "\n";
        if (!told.used() && std::find(args.begin(), args.end(), "--json") != args.end()) {
            out << io::dumped(error_json(error)) << std::flush;
        }
        return error.exit_code();
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::system_error& error) {
        if (error.code() == std::errc::resource_unavailable_try_again) {
            err << "tessera: the system starts no more threads (" << error.what()
                << "); ulimit -u and ulimit -v limit them\n";
            return ExitCode::limit_before_result;
        }
        err << "tessera: " << Bug(error.what()).what() << "\n";
    } catch (const std::exception& error) {
        err << "tessera: " << Bug(error.what()).what() << "\n";
    } catch (...) {
        err << "tessera: " << Bug("an exception of unknown type").what() << "\n";
    }
    return ExitCode::bug;
}

}  // namespace

const char* const exit_codes_text =
    "0 done, 1 no legal mapping, 2 wrong input, 3 plugin refused, 4 some of those compared or\n"
    "swept failed, 5 limit hit before any result or no more memory, 70 internal error,\n"
    "130 interrupted (with results if there were any).";

const std::vector<Command>& command_table() {
    static const std::vector<Command> table = {
        {"map", "find the optimal mapping of a workload", map_command, map_text, true},
        {"compare", "mappers, strategies and mappings on one problem under one budget",
         compare_command, compare_text, true},
        {"sweep", "one search for each of many values of the specs; Pareto set, tables",
         sweep_command, sweep_text, true},
        {"top", "watch a search that runs, or look at one that ran", top_command, top_text, false},
        {"report", "what runs found, as one page (HTML), or as Markdown, SVG, CSV", report_command,
         report_text, true},
        {"model", "energy, latency and access counts of a given mapping", model_command, model_text,
         true},
        {"show", "list the shipped architectures and workloads; what is in one", show_command,
         show_text, false},
        {"init", "a commented architecture or workload file to begin with", init_command, init_text,
         false},
        {"schema", "JSON Schema of the input files, for editors", schema_command, schema_text,
         false},
        {"check", "validate architecture, workload and mapping files", check_command, check_text,
         false},
        {"explain", "say why a mapping is illegal: constraint, both sides, line", explain_command,
         explain_text, true},
        {"train", "train a surrogate of a family of problems, for gradient search", train_command,
         train_text, true},
        {"plugins", "list mappers, strategies and cost models; their knobs", plugins_command,
         plugins_text, true},
        {"rerun", "run the command of a run directory again, with the inputs it keeps, and compare",
         rerun_command, rerun_text, true},
        {"completion", "completion of words for bash, zsh or fish", completion_command,
         completion_text, true},
        {"man", "the manual pages", man_command, man_text, false},
    };
    return table;
}

void set_commit(const std::string& of_source) {
    commit = of_source;
}

std::string own_program() {
    return std::string("tessera ") + version + (commit.empty() ? "" : " (commit " + commit + ")");
}

int run(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
    const base::MemoryReserve reserve;
    const base::PrintableOutput printable_out(out), printable_err(err);
    try {
        return run_command(args, out, err, printable_out);
    } catch (...) {
        err << "tessera: " << out_of_memory_text;
        return ExitCode::limit_before_result;
    }
}

}  // namespace tessera::cli
