// tessera report: what runs found, as one page, or as its drawings and tables.
#include <filesystem>
#include <ostream>
#include <set>

#include "base/directory.hpp"
#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "report_contenders.hpp"
#include "report_sections.hpp"
#include "tessera/base/error.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* examples =
    R"(  tessera report runs/gpt3 -o gpt3.html
  tessera report runs/fused runs/unfused -o both.html
  tessera report runs/gpt3 --format csv -o tables
  tessera report runs/comparison -o comparison.html    (of tessera compare -o)
)";

/// Words that are no options and no values of options.
std::vector<std::string> take_folders(std::vector<std::string>& args,
                                      const options::Description& known) {
    std::vector<std::string> folders, rest;
    for (std::size_t i = 0; i < args.size(); ++i) {
        const std::string& word = args[i];
        if (word.empty() || word[0] != '-') {
            folders.push_back(word);
            continue;
        }
        rest.push_back(word);
        for (const options::Option& option : known.options()) {
            const std::string own_short = option.letter.empty() ? "--" : option.letter;
            const bool named = word == "--" + option.name || word == own_short;
            if (named && option.takes_value() && i + 1 < args.size()) {
                rest.push_back(args[++i]);
                break;
            }
        }
    }
    args = rest;
    return folders;
}

/// The last part of each folder's name, or all of it where two would be the same.
void label(std::vector<ReportRun>& runs) {
    std::set<std::string> seen;
    bool unique = true;
    for (ReportRun& run : runs) {
        const fs::path path = fs::absolute(run.name).lexically_normal();
        run.label = (path.has_filename() ? path : path.parent_path()).filename().string();
        unique = seen.insert(run.label).second && unique;
    }
    for (ReportRun& run : runs) {
        run.label = unique ? run.label : run.name;
    }
}

io::Page made(const std::vector<std::string>& folders,
              const std::vector<std::string>& plugin_args) {
    std::vector<ReportRun> runs;
    for (const std::string& folder : folders) {
        if (std::optional<io::Page> ranked = contenders_page(folder)) {
            if (folders.size() > 1) {
                throw UserError(folder +
                                ": holds a comparison, whose report is one of its own; "
                                "give it alone");
            }
            return *std::move(ranked);
        }
        runs.push_back(read_report_run(folder, plugin_args));
    }
    label(runs);
    io::Page page;
    const bool several = runs.size() > 1;
    const ReportRun& first = runs.front();
    page.title = several
                     ? "Comparison of " + std::to_string(runs.size()) + " mappings"
                     : first.inputs->workload->name + " on " + first.inputs->architecture->name();
    if (several) {
        add_comparison(page, runs);
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
        add_run(page, runs[i], several, several ? std::to_string(i + 1) + "-" : "");
    }
    return page;
}

void write_file(const fs::path& path, const std::string& text, std::ostream& err) {
    const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    std::error_code failed;
    fs::create_directories(folder, failed);
    base::Directory(folder).write(path.filename().string(), text);
    err << "Written to " << path.string() << "\n";
}

void write_files(const std::string& folder, const std::map<std::string, std::string>& files,
                 std::ostream& err) {
    std::error_code failed;
    fs::create_directories(folder, failed);
    const base::Directory into(folder);
    for (const auto& [name, text] : files) {
        into.write(name, text);
    }
    err << "Written to " << folder << ": " << files.size() << " files\n";
}

}  // namespace

CommandText report_text() {
    options::Description result("Options", 100);
    result.add_options()  //
        ("format", options::text().by_default("html").named("FORMAT"),
         "html: one page that needs nothing else; md: Markdown without drawings; svg, csv: a file "
         "for each drawing, each table")  //
        ("output,o", options::text().named("PATH"),
         "where to write: a file (html, md; default: stdout) or a folder (svg, csv)")  //
        ("plugin", options::list().named("FILE"),
         "load this plugin, which the run used; may be repeated");
    add_inputs(result, "");
    return {"DIR... [options]", examples, result};
}

int report_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
    const CommandText text = report_text();
    std::vector<std::string> rest = args;
    const std::vector<std::string> folders = take_folders(rest, text.options);
    const Arguments arguments("report", rest, text.options);
    if (arguments.flag("help")) {
        print_help(out, text.examples, text.options);
        return ExitCode::ok;
    }
    const std::size_t format = arguments.choice("format", {"html", "md", "svg", "csv"});
    if (folders.empty()) {
        throw UserError(
            "tessera report takes the folders of runs (those of tessera map -o DIR, or one of "
            "tessera compare -o DIR); see tessera report --help");
    }
    if (format >= 2 && !arguments.has("output")) {
        throw UserError("--format " + arguments.text("format") +
                        " writes several files; give a folder with -o DIR");
    }
    std::vector<std::string> plugin_args;
    for (const std::string& plugin : arguments.list("plugin")) {
        plugin_args.insert(plugin_args.end(), {"--plugin", fs::absolute(plugin).string()});
    }
    const io::Page page = made(folders, plugin_args);
    if (format >= 2) {
        write_files(arguments.text("output"),
                    format == 2 ? io::page_svg_files(page) : io::page_csv_files(page), err);
        return ExitCode::ok;
    }
    const std::string all = format == 0 ? io::page_html(page) : io::page_markdown(page);
    if (arguments.has("output")) {
        write_file(arguments.text("output"), all, err);
    } else {
        out << all;
    }
    return ExitCode::ok;
}

}  // namespace tessera::cli
