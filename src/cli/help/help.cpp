// Most people need few options: those come first, and --help-all has the rest.
#include "cli/help/help.hpp"

#include <algorithm>
#include <cctype>
#include <ostream>
#include <set>

#include "cli/table.hpp"

namespace tessera::cli {

namespace {

using Options = std::vector<options::Option>;

constexpr std::size_t widest = 100;
constexpr std::size_t few = 3;  ///< a group of so few is not worth a command of its own

bool is_common(const options::Option& option) {
    static const std::set<std::string> names = {
        "arch",    "workload", "mapping",  "define",    "set",     "metric", "mapper",  "strategy",
        "unfused", "start",    "max-time", "max-evals", "threads", "output", "resume",  "force",
        "json",    "quiet",    "tree",     "by",        "ui",      "help",   "help-all"};
    return names.count(option.name) > 0;
}

void print_group(std::ostream& out, const char* title, const Options& group) {
    const std::size_t columns = terminal_columns(out);
    const std::size_t width = columns == 0 ? widest : std::clamp<std::size_t>(columns, 60, widest);
    options::Description part(title, static_cast<unsigned>(width));
    for (const options::Option& option : group) {
        part.add(option);
    }
    out << "\n" << part;
}

std::string sentence(std::string text) {
    text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
    return text + ".";
}

}  // namespace

HelpAsked help_asked(const std::vector<std::string>& args) {
    const auto has = [&](const char* word) {
        return std::find(args.begin(), args.end(), word) != args.end();
    };
    return has("--help-all")            ? HelpAsked::all
           : has("--help") || has("-h") ? HelpAsked::common
                                        : HelpAsked::none;
}

void print_command_help(std::ostream& out, const Command& command, bool all) {
    const CommandText text = command.text();
    Options common, more;
    for (const options::Option& option : text.options.options()) {
        (is_common(option) ? common : more).push_back(option);
    }
    out << "Usage: tessera " << command.name << " " << text.usage << "\n\n"
        << sentence(command.summary) << "\n\nExamples:\n"
        << text.examples;
    if (common.size() <= few || more.size() <= few) {
        print_group(out, "Options", text.options.options());
        return;
    }
    print_group(out, "Common options", common);
    if (all) {
        print_group(out, "More options", more);
    } else {
        out << "\n" << more.size() << " more options: tessera " << command.name << " --help-all\n";
    }
}

}  // namespace tessera::cli
