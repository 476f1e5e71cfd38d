// timeloop-model: the cost of a given mapping.
#include <ostream>

#include "cli/cli.hpp"
#include "tessera/base/error.hpp"
#include "timeloop.hpp"

namespace tessera::cli {

namespace {

using timeloop::Dialect;

/// \throws IllegalMapping naming the level
timeloop::Evaluation evaluate_fitting(const timeloop::Input& input, timeloop::Mapping& mapping,
                                      const timeloop::ModelSettings& settings, std::ostream& err) {
    for (;;) {
        timeloop::Evaluation result =
            timeloop::evaluate(input.problem, input.architecture, mapping, input.model);
        if (result.fit.ok()) {
            return result;
        }
        const std::string why = timeloop::describe(result.fit, input.problem, input.architecture);
        const bool at_level = result.fit.kind != timeloop::Fit::Kind::kept_nowhere;
        const auto level = static_cast<std::size_t>(result.fit.level);
        if (!settings.auto_bypass_on_failure || !at_level || mapping.levels[level].keep == 0) {
            throw IllegalMapping("couldn't map level " + why);
        }
        if (settings.verbose) {
            err << "WARNING: couldn't map level " << why << ", auto-bypassing.\n";
        }
        mapping.levels[level].keep = 0;
    }
}

}  // namespace

int timeloop_model(const TimeloopArguments& arguments, std::ostream& out, std::ostream& err) {
    timeloop::Document document = timeloop::read_document(arguments.files);
    timeloop::Warnings warnings;
    const timeloop::ModelSettings settings = timeloop::read_model_settings(document, warnings);
    const bool master = document.dialect == Dialect::master;
    TimeloopFiles files(arguments.folder + "/" + (master ? "timeloop-model" : settings.out_prefix));
    timeloop::Input input = timeloop::load_input(std::move(document), files.prefix());
    std::optional<timeloop::Mapping> mapping =
        timeloop::read_mapping(input.document, input.problem, input.architecture, input.warnings);
    std::vector<std::string> broken;
    if (mapping) {
        broken = timeloop::broken_constraints(input, *mapping, input.warnings);
    }
    print_warnings(err, input.warnings);
    if (!mapping) {
        throw UserError(input.document.root.position,
                        "the input lacks the key 'mapping'; give the file with the mapping, too");
    }
    if (settings.verbose) {
        report_progress(out, input);
    }
    const std::string fault =
        timeloop::structural_fault(input.problem, input.architecture, *mapping);
    if (!fault.empty()) {
        throw IllegalMapping(fault);
    }
    if (!broken.empty()) {
        std::string text = "mapping violates architecture constraints.";
        for (const std::string& one : broken) {
            text += "\n  " + one;
        }
        throw IllegalMapping(text);
    }
    const timeloop::Evaluation result = evaluate_fitting(input, *mapping, settings, err);
    const std::vector<std::string> doubts = evaluation_warnings(result.stats);
    print_warnings(err, doubts);
    input.warnings.insert(input.warnings.end(), doubts.begin(), doubts.end());
    files.add_evaluation(input, {input.problem, input.architecture, *mapping, result.stats});
    files.add(".json", timeloop::result_json({input, &*mapping, &result.stats, nullptr, {}}));
    files.write();
    out << timeloop::summary_line(result.stats, input.document.dialect) << "\n";
    return ExitCode::ok;
}

}  // namespace tessera::cli
