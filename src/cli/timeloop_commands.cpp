// map, model, check and explain for Timeloop's input files, under the cost model `timeloop`.
//
//   given_files        what -a, -w and -m name on the command line
//   timeloop_inputs    decides whether this is a case for here, and dispatches
#include <algorithm>
#include <optional>
#include <ostream>
#include <sstream>

#include "cli/arguments.hpp"
#include "cli/cli.hpp"
#include "cli/interrupt.hpp"
#include "cli/output.hpp"
#include "cli/timeloop.hpp"
#include "io/units.hpp"
#include "tessera/base/error.hpp"
#include "tessera/timeloop/mapper.hpp"
#include "tessera/timeloop/result_json.hpp"

namespace tessera::cli {

namespace {

using Args = std::vector<std::string>;

constexpr double j_per_pj = 1e-12;

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

options::options_description description(const std::string& command) {
    options::options_description result("Options for Timeloop's input files", 100);
    add_inputs(result, command == "map" ? "aw" : "awm");
    auto add = result.add_options();
    add("model", options::value<std::string>()->default_value("timeloop")->value_name("NAME"),
        "cost model: only timeloop");
    if (command == "map" || command == "model") {
        add("json", options::bool_switch(), "print one JSON document");
        add("quiet,q", options::bool_switch(), "no warnings on stderr");
    }
    if (command == "map") {
        add("metric", options::value<std::string>()->value_name("METRIC"),
            "energy, latency or edp; default: as the input says");
        add("max-time", options::value<std::string>()->value_name("TIME"), "limit: 500ms, 3s, 2m");
        add("threads", options::value<std::string>()->default_value("0")->value_name("N"),
            "0: as the input says");
        add("output,o", options::value<std::string>()->value_name("DIR"),
            "an existing folder for Timeloop's output files");
    }
    return result;
}

void print_stats(std::ostream& out, const timeloop::Input& input, const timeloop::Stats& stats) {
    out << "  energy       " << io::quantity(stats.energy_pj * j_per_pj, "J") << "\n"
        << "  latency      " << stats.cycles << " cycles\n"
        << "  EDP          " << stats.edp() << " J cycles\n"
        << "  utilization  " << io::percent(stats.utilization) << "\n"
        << "  bottleneck   " << timeloop::bottleneck(input.architecture, stats) << "\n";
    std::vector<std::vector<std::string>> rows = {
        {"  level", "energies from", "energy", "accesses", "cycles"}};
    const timeloop::ArithmeticLevel& arithmetic = input.architecture.arithmetic;
    rows.push_back({"  " + arithmetic.name, arithmetic.energy_source,
                    io::quantity(stats.arithmetic.energy_pj * j_per_pj, "J"),
                    std::to_string(stats.arithmetic.computes),
                    std::to_string(stats.arithmetic.cycles)});
    for (std::size_t i = 0; i < stats.levels.size(); ++i) {
        const timeloop::StorageLevel& level = input.architecture.storage[i];
        rows.push_back({"  " + level.name, level.energy.source,
                        io::quantity(stats.levels[i].energy_pj * j_per_pj, "J"),
                        std::to_string(stats.levels[i].accesses),
                        std::to_string(stats.levels[i].cycles)});
    }
    print_table(out, rows, 2);
}

class Command {
public:
    Command(std::string name, const Args& args, std::vector<std::string> files, std::ostream& out,
            std::ostream& err)
        : name_(std::move(name)),
          known_(description(name_)),
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
        input_ = timeloop::load_input(files_);
        return name_ == "map" ? map() : name_ == "explain" ? explain() : model();
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
        const timeloop::Document document = timeloop::read_document(files_);
        for (const std::string& section : timeloop::check_document(document, warnings)) {
            out_ << section << ": ok\n";
        }
        warn(document.warnings);
        warn(warnings);
        out_ << "ok\n";
        return ExitCode::ok;
    }

    timeloop::Mapping mapping() {
        std::optional<timeloop::Mapping> found = timeloop::read_mapping(
            input_.document, input_.problem, input_.architecture, input_.warnings);
        if (!found) {
            throw UserError(input_.document.root.position,
                            "no 'mapping' is given (expected a list of directives); give it with "
                            "-m");
        }
        return *found;
    }

    std::vector<std::string> faults(const timeloop::Mapping& mapping) {
        const std::string fault =
            timeloop::structural_fault(input_.problem, input_.architecture, mapping);
        std::vector<std::string> result = timeloop::broken_constraints(input_, mapping);
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
        const timeloop::Mapping given = mapping();
        const std::vector<std::string> found = faults(given);
        for (const std::string& fault : found) {
            out_ << "impossible: " << fault << "\n";
        }
        if (found.empty()) {
            warn(evaluation_warnings(evaluation_.stats));
        }
        out_ << (found.empty() ? "legal\n" : "illegal\n");
        return found.empty() ? ExitCode::ok : ExitCode::no_legal_mapping;
    }

    int model() {
        const timeloop::Mapping given = mapping();
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
        print_stats(out_, input_, evaluation_.stats);
        return ExitCode::ok;
    }

    timeloop::MapperSettings settings() {
        using Kind = timeloop::Objective::Kind;
        timeloop::MapperSettings result =
            timeloop::read_mapper_settings(input_.document, input_.architecture, input_.warnings);
        if (arguments_.has("metric")) {
            const std::size_t metric = arguments_.choice("metric", {"energy", "latency", "edp"});
            result.objectives = {{metric == 0   ? Kind::energy
                                  : metric == 1 ? Kind::delay
                                                : Kind::edp,
                                  0}};
        }
        if (arguments_.has("max-time")) {
            result.time_limit_s = arguments_.duration_s("max-time");
        }
        if (const auto threads = arguments_.whole("threads", 0, 4096); threads > 0) {
            result.threads = static_cast<int>(threads);
        }
        return result;
    }

    int map() {
        const timeloop::MapperSettings chosen = settings();
        const timeloop::Constraints constraints = timeloop::read_constraints(
            input_.document, input_.problem, input_.architecture, input_.warnings);
        const Interrupt interrupt;
        timeloop::MapperHooks hooks;
        hooks.stop = interrupt.stop();
        hooks.model = input_.model;
        const timeloop::MapperResult result = timeloop::search_mappings(
            input_.problem, input_.architecture, constraints, chosen, hooks);
        warn(input_.warnings);
        if (!result.best) {
            std::string text = result.proof == timeloop::Proof::infeasible
                                   ? "no mapping of the mapspace is valid"
                                   : "no valid mapping was found before a limit";
            for (const std::string& reason : result.reasons) {
                text += "\n  " + reason;
            }
            throw NoLegalMapping(text);
        }
        const double gap = result.gap(chosen.objectives);
        evaluation_ =
            timeloop::evaluate(input_.problem, input_.architecture, *result.best, input_.model);
        const timeloop::Evaluated evaluated{input_.problem, input_.architecture, *result.best,
                                            evaluation_.stats};
        write_files(evaluated, result, gap);
        if (arguments_.flag("json")) {
            out_ << timeloop::result_json(
                {input_, &*result.best, &evaluation_.stats, &result, gap});
        } else {
            out_ << "Best mapping of " << files_.front() << " (model timeloop)\n";
            print_stats(out_, input_, evaluation_.stats);
            timeloop::write_map_text(out_, evaluated, timeloop::Dialect::master, "  ");
            out_ << (result.proof == timeloop::Proof::optimal
                         ? std::string("Proven optimal")
                         : "At most " + io::percent(gap) + " above the optimum")
                 << " (mapspace timeloop, " << result.mapspace_size << " mappings).\n";
        }
        return interrupt.happened() ? ExitCode::interrupted : ExitCode::ok;
    }

    void write_files(const timeloop::Evaluated& evaluated, const timeloop::MapperResult& result,
                     double gap) {
        if (!arguments_.has("output")) {
            return;
        }
        TimeloopFiles files(arguments_.text("output") + "/timeloop-mapper");
        files.add_evaluation(input_, evaluated);
        std::ostringstream yaml;
        timeloop::write_map_yaml(yaml, input_.problem, input_.architecture, evaluated.mapping);
        files.add(".map.yaml", yaml.str());
        files.add(".json", timeloop::result_json(
                               {input_, &evaluated.mapping, &evaluated.stats, &result, gap}));
        files.write();
    }

    std::string name_;
    options::options_description known_;
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
    if (command != "map" && command != "model" && command != "check" && command != "explain") {
        return std::nullopt;
    }
    std::vector<std::string> files, others;
    for (const GivenFile& file : given_files(args)) {
        (timeloop::is_timeloop_file(file.path) ? files : others).push_back(file.path);
    }
    if (files.empty()) {
        return std::nullopt;
    }
    if (!others.empty()) {
        throw UserError("Timeloop's input files and Tessera's own cannot be mixed: " +
                        files.front() + " and " + others.front());
    }
    return Command(command, args, files, out, err).run();
}

}  // namespace tessera::cli
