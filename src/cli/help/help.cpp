// Most people need few options: those come first, and --help-all has the rest.
#include "cli/help/help.hpp"

#include <algorithm>
#include <cctype>
#include <ostream>
#include <set>

#include "cli/table.hpp"

namespace tessera::cli {

namespace {

using Options = std::vector<boost::shared_ptr<options::option_description>>;

constexpr std::size_t widest = 100;
constexpr std::size_t few = 3;  ///< a group of so few is not worth a command of its own

bool is_common(const options::option_description& option) {
    static const std::set<std::string> names = {
        "arch",    "workload", "mapping",  "define",    "set",     "metric", "mapper",  "strategy",
        "unfused", "start",    "max-time", "max-evals", "threads", "output", "resume",  "force",
        "json",    "quiet",    "tree",     "by",        "ui",      "help",   "help-all"};
    return names.count(option.long_name()) > 0;
}

void print_group(std::ostream& out, const char* title, const Options& group) {
    const std::size_t columns = terminal_columns(out);
    const std::size_t width = columns == 0 ? widest : std::clamp<std::size_t>(columns, 60, widest);
    options::options_description part(title, static_cast<unsigned>(width));
    for (const auto& option : group) {
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
    for (const auto& option : text.options.options()) {
        (is_common(*option) ? common : more).push_back(option);
    }
    out << "Usage: tessera " << command.name << " " << text.usage << "\n\n"
        << sentence(command.summary) << "\n\nExamples:\n"
        << text.examples;
    if (common.size() <= few || more.size() <= few) {
        const auto& options = text.options.options();
        print_group(out, "Options", {options.begin(), options.end()});
        return;
    }
    print_group(out, "Common options", common);
    if (all) {
        print_group(out, "More options", more);
    } else {
        out << "\n" << more.size() << " more options: tessera " << command.name << " --help-all\n";
    }
}

std::string letter_of(const options::option_description& option) {
    const std::string shown =
        option.canonical_display_name(options::command_line_style::allow_dash_for_short);
    // Without a letter that is the long name, which may have two characters, too.
    return shown.size() == 2 && shown.front() == '-' ? shown : "";
}

}  // namespace tessera::cli
