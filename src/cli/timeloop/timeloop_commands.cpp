// model, check and explain for Timeloop's input files, and the way to map and compare.
//
//   given_files        what -a, -w and -m name on the command line
//   timeloop_inputs    decides whether this is a case for here, and dispatches
#include <algorithm>
#include <optional>
#include <ostream>

#include "cli/arguments.hpp"
#include "cli/cli.hpp"
#include "cli/output.hpp"
#include "io/json_text.hpp"
#include "tessera/base/error.hpp"
#include "timeloop.hpp"
#include "timeloop_search.hpp"

namespace tessera::cli {

namespace {

using Args = std::vector<std::string>;

struct GivenFile {
    char option = ' ';  ///< a, w or m
    std::string path;
};

Args given_values(const Args& args, const std::string& letter, const std::string& name) {
    Args result;
    for (std::size_t i = 0; i < args.size(); ++i) {
        const bool alone = args[i] == "-" + letter || args[i] == "--" + name;
        if (alone && i + 1 < args.size()) {
            result.push_back(args[i + 1]);
        } else if (args[i].rfind("--" + name + "=", 0) == 0) {
            result.push_back(args[i].substr(name.size() + 3));
        } else if (args[i].rfind("-" + letter, 0) == 0 && args[i].size() > 2 && args[i][1] != '-') {
            result.push_back(args[i].substr(2));
        }
    }
    return result;
}

/// The mapping first: of equal keys the first one counts.
std::vector<GivenFile> given_files(const Args& args) {
    std::vector<GivenFile> result;
    for (const auto& [letter, name] :
         {std::pair{"m", "mapping"}, std::pair{"w", "workload"}, std::pair{"a", "arch"}}) {
        for (const std::string& path : given_values(args, letter, name)) {
            const bool known = std::any_of(result.begin(), result.end(),
                                           [&](const GivenFile& f) { return f.path == path; });
            if (!known) {
                result.push_back({letter[0], path});
            }
        }
    }
    return result;
}

options::Description description(const std::string& command) {
    options::Description result("Options for Timeloop's input files", 100);
    add_inputs(result, command == "map" ? "awD" : "awmD");
    auto add = result.add_options();
    add("model", options::text().by_default("timeloop").named("NAME"), "cost model: only timeloop");
    if (command != "compare") {
        add("json", options::flag(), "print one JSON document");
    }
    if (command == "model") {
        add("quiet,q", options::flag(), "no warnings on stderr");
    }
    if (command == "map") {
        add("mapper", options::text().by_default("timeloop").named("NAME"),
            "timeloop, or a search strategy; see tessera plugins list");
        add("algorithm", options::text().named("NAME"),
            "optimal, random, random-pruned, linear-pruned, hybrid or exhaustive; default: as the "
            "input says, else optimal");
        add("strategy", options::text().named("NAME"),
            "a search strategy in place of an algorithm");
        add_knobs(result);
        add("start", options::list().named("FILE"),
            "a strategy begins with this mapping; may be repeated");
        add("output,o", options::text().named("DIR"),
            "an existing folder for Timeloop's output files");
        add_timeloop_search(result);
    }
    return result;
}

class Command {
public:
    Command(std::string name, const Args& args, std::vector<std::string> files, std::ostream& out,
            std::ostream& err)
        : name_(std::move(name)),
          known_(description(name_)),
          args_(args),
          arguments_(name_, args, known_),
          files_(std::move(files)),
          out_(out),
          err_(err) {}

    int run() {
        if (arguments_.flag("help")) {
            print_help(out_, "  tessera " + name_ + " -a arch.yaml -w problem.yaml\n", known_);
            return ExitCode::ok;
        }
        if (arguments_.text("model") != "timeloop") {
            arguments_.refuse("model", "timeloop, for Timeloop's input files");
        }
        if (name_ == "check") {
            return check();
        }
        if (name_ == "map") {
            return timeloop_map(args_, arguments_, files_, out_, err_);
        }
        input_ = timeloop::load_input(timeloop::read_document(files_, arguments_.defines()));
        return name_ == "explain" ? explain() : model();
    }

private:
    void warn(const std::vector<std::string>& warnings) {
        if (name_ != "explain" && name_ != "check" && arguments_.flag("quiet")) {
            return;
        }
        for (const std::string& warning : warnings) {
            err_ << "tessera: warning: " << warning << "\n";
        }
    }

    int check() {
        timeloop::Warnings warnings;
        const timeloop::Document document = timeloop::read_document(files_, arguments_.defines());
        const std::vector<std::string> sections = timeloop::check_document(document, warnings);
        warn(document.warnings);
        warn(warnings);
        if (arguments_.flag("json")) {
            io::Json json;
            json["schema_version"] = io::schema_version;
            json["status"] = "ok";
            json["sections"] = sections;
            out_ << io::dumped(json);
            return ExitCode::ok;
        }
        for (const std::string& section : sections) {
            out_ << section << ": ok\n";
        }
        out_ << "ok\n";
        return ExitCode::ok;
    }

    std::vector<std::string> faults(const timeloop::Mapping& mapping) {
        const std::string fault =
            timeloop::structural_fault(input_.problem, input_.architecture, mapping);
        std::vector<std::string> result =
            timeloop::broken_constraints(input_, mapping, input_.warnings);
        if (!fault.empty()) {
            result.insert(result.begin(), fault);
            return result;
        }
        evaluation_ =
            timeloop::evaluate(input_.problem, input_.architecture, mapping, input_.model);
        if (!evaluation_.fit.ok()) {
            result.push_back(
                timeloop::describe(evaluation_.fit, input_.problem, input_.architecture));
        }
        return result;
    }

    int explain() {
        const timeloop::Mapping given = timeloop_mapping(input_);
        const std::vector<std::string> found = faults(given);
        warn(input_.warnings);
        if (found.empty()) {
            warn(evaluation_warnings(evaluation_.stats));
        }
        if (arguments_.flag("json")) {
            io::Json faults = io::Json::array();
            for (const std::string& fault : found) {
                faults.push_back({{"severity", "impossible"}, {"rule", nullptr}, {"text", fault}});
            }
            out_ << verdict_document(found.empty(), std::move(faults));
            return found.empty() ? ExitCode::ok : ExitCode::no_legal_mapping;
        }
        for (const std::string& fault : found) {
            out_ << "impossible: " << fault << "\n";
        }
        out_ << (found.empty() ? "legal\n" : "illegal\n");
        return found.empty() ? ExitCode::ok : ExitCode::no_legal_mapping;
    }

    int model() {
        const timeloop::Mapping given = timeloop_mapping(input_);
        const std::vector<std::string> found = faults(given);
        if (!found.empty()) {
            throw IllegalMapping(found.front());
        }
        const std::vector<std::string> doubts = evaluation_warnings(evaluation_.stats);
        input_.warnings.insert(input_.warnings.end(), doubts.begin(), doubts.end());
        warn(input_.warnings);
        if (arguments_.flag("json")) {
            out_ << timeloop::result_json({input_, &given, &evaluation_.stats, nullptr, {}});
            return ExitCode::ok;
        }
        out_ << "Evaluation of " << files_.front() << " (model timeloop)\n";
        print_timeloop_stats(out_, input_, evaluation_.stats);
        return ExitCode::ok;
    }

    std::string name_;
    options::Description known_;
    const Args& args_;
    Arguments arguments_;
    std::vector<std::string> files_;
    std::ostream& out_;
    std::ostream& err_;
    timeloop::Input input_;
    timeloop::Evaluation evaluation_;
};

}  // namespace

std::optional<int> timeloop_inputs(const std::string& command, const Args& args, std::ostream& out,
                                   std::ostream& err) {
    if (command != "map" && command != "model" && command != "check" && command != "explain" &&
        command != "compare") {
        return std::nullopt;
    }
    std::vector<std::string> files, others;
    for (const GivenFile& file : given_files(args)) {
        (timeloop::is_timeloop_file(file.path) ? files : others).push_back(file.path);
    }
    if (files.empty()) {
        return std::nullopt;
    }
    const bool beside = std::all_of(others.begin(), others.end(), timeloop::fits_beside_timeloop);
    if (beside) {
        files.insert(files.end(), others.begin(), others.end());
        others.clear();
    }
    if (!others.empty()) {
        throw UserError("Timeloop's input files and Tessera's own cannot be mixed: " +
                        files.front() + " and " + others.front());
    }
    if (command == "compare") {
        // Given mappings are read one by one.
        const Args mappings = given_values(args, "m", "mapping");
        std::erase_if(files, [&](const std::string& file) {
            return std::find(mappings.begin(), mappings.end(), file) != mappings.end();
        });
        return timeloop_compare(args, files, out, err);
    }
    return Command(command, args, files, out, err).run();
}

}  // namespace tessera::cli
