// tessera man: manual pages, made of the option tables that --help prints.
#include <algorithm>
#include <ostream>
#include <sstream>

#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/help/help.hpp"
#include "tessera/base/error.hpp"
#include "tessera/spec/position.hpp"

namespace tessera::cli {

namespace {

constexpr const char* examples =
    R"(  tessera man > tessera.1; man -l tessera.1
  tessera man map > tessera-map.1
)";

/// Text that roff does not read as requests or escapes.
std::string roff(const std::string& text) {
    std::string result;
    bool begins = true;
    for (const char c : text) {
        if (begins && (c == '.' || c == '\'')) {
            result += "\\&";
        }
        result += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
        begins = c == '\n';
    }
    return result;
}

std::string upper(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return text;
}

void head(std::ostream& out, const std::string& name, const std::string& summary) {
    out << ".TH " << upper(name) << " 1 \"\" \"tessera " << version << "\" \"User Commands\"\n"
        << ".SH NAME\n"
        << roff(name) << " \\- " << roff(summary) << "\n";
}

void print_examples(std::ostream& out, const std::string& text) {
    out << ".SH EXAMPLES\n.nf\n";
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        out << roff(line.substr(std::min<std::size_t>(2, line.size()))) << "\n";
    }
    out << ".fi\n";
}

void page_of(std::ostream& out, const Command& command) {
    const CommandText text = command.text();
    head(out, "tessera-" + std::string(command.name), command.summary);
    out << ".SH SYNOPSIS\n.B tessera " << command.name << "\n" << roff(text.usage) << "\n";
    out << ".SH OPTIONS\n";
    for (const options::Option& option : text.options.options()) {
        const std::string value = option.takes_value() ? option.value.name : "";
        const std::string standard = option.value.standard;
        out << ".TP\n\\fB" << roff(option.letter.empty() ? "" : option.letter + ", ") << "\\-\\-"
            << roff(option.name) << "\\fR" << (value.empty() ? "" : " \\fI" + roff(value) + "\\fR")
            << "\n"
            << roff(option.text) << (standard.empty() ? "" : " (default: " + roff(standard) + ")")
            << "\n";
    }
    print_examples(out, text.examples);
    out << ".SH SEE ALSO\n.BR tessera (1)\n";
}

void main_page(std::ostream& out) {
    head(out, "tessera", "optimal fused mappings of tensor workloads on accelerators");
    out << ".SH SYNOPSIS\n.B tessera\n.I COMMAND\n[options]\n.SH DESCRIPTION\n"
        << "Given a cascade of Einsums and a description of the hardware, tessera finds the "
           "mapping\n"
           "of least energy, latency or energy\\-delay product, and says whether it is proven\n"
           "optimal, or how far from the optimum it can be.\n"
        << ".SH COMMANDS\n";
    for (const Command& command : command_table()) {
        out << ".TP\n.BR tessera\\-" << roff(command.name) << " (1)\n"
            << roff(command.summary) << "\n";
    }
    out << ".SH EXIT STATUS\n"
        << roff(exit_codes_text) << "\n.SH ENVIRONMENT\n"
        << ".TP\nTESSERA_DATA_PATH\nFolders, with colons between, that hold arch\\-specs and\n"
           "problem\\-shapes.\n";
}

}  // namespace

CommandText man_text() {
    options::Description result("Options", 100);
    result.add_options()("list", options::flag(), "the commands that have a page");
    add_inputs(result, "");
    return {"[COMMAND]", examples, result};
}

int man_command(const std::vector<std::string>& args, std::ostream& out, std::ostream&) {
    const CommandText text = man_text();
    std::vector<std::string> words, rest;
    for (const std::string& word : args) {
        (word.rfind('-', 0) == 0 ? rest : words).push_back(word);
    }
    const Arguments arguments("man", rest, text.options);
    if (arguments.flag("list")) {
        for (const Command& command : command_table()) {
            out << command.name << "\n";
        }
        return ExitCode::ok;
    }
    if (words.empty()) {
        main_page(out);
        return ExitCode::ok;
    }
    std::vector<std::string> names;
    for (const Command& command : command_table()) {
        names.emplace_back(command.name);
        if (words.size() == 1 && words[0] == command.name) {
            page_of(out, command);
            return ExitCode::ok;
        }
    }
    throw UserError("tessera man takes one command at most (" + spec::name_list(names, 32) + ")");
}

}  // namespace tessera::cli
