// tessera explain: is this mapping legal, and if not, what does it break?
#include <ostream>

#include "cli/cli.hpp"
#include "cli/components.hpp"
#include "cli/inputs.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapspace/legality.hpp"

namespace tessera::cli {

namespace {

constexpr const char* examples =
    R"(  tessera explain -a tpu-v4i -w gpt3-6.7b -m mapping.yaml
  tessera explain -a spec.yaml -w spec.yaml -m spec.yaml
)";

options::options_description description() {
    options::options_description result("Options", 100);
    add_inputs(result, "awmD");
    result.add_options()("compat",
                         options::value<std::string>()->default_value("none")->value_name("MODEL"),
                         "none or accelforge: whose rules decide");
    add_components(result, false);
    return result;
}

const char* severity_name(mapspace::Severity severity) {
    return severity == mapspace::Severity::physical     ? "impossible"
           : severity == mapspace::Severity::constraint ? "forbidden"
                                                        : "warning";
}

}  // namespace

int explain_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
    const options::options_description known = description();
    const Arguments arguments("explain", args, known);
    if (arguments.flag("help")) {
        print_help(out, examples, known);
        return ExitCode::ok;
    }
    arguments.required("arch", "the architecture");
    arguments.required("workload", "the workload");
    arguments.required("mapping", "the mapping");
    const Inputs inputs(arguments, arguments.compat());
    const auto model = Components(arguments, false).make_model();
    const model::Problem problem = inputs.problem();
    const std::vector<mapspace::Violation> violations = mapspace::check(problem, *inputs.mapping);
    std::size_t severe = 0;
    for (const mapspace::Violation& violation : violations) {
        const bool counts = violation.severity != mapspace::Severity::warning;
        severe += counts ? 1 : 0;
        (counts ? out : err) << severity_name(violation.severity) << ": "
                             << mapspace::to_text(violation) << "\n";
    }
    if (severe == 0) {
        // The model has the last word: it may lack something that the rules allow.
        try {
            model->evaluate(problem, *inputs.mapping);
        } catch (const IllegalMapping& error) {
            out << arguments.text("model") << ": " << error.what() << "\n";
            ++severe;
        }
    }
    out << (severe == 0 ? "legal\n" : "illegal\n");
    return severe == 0 ? ExitCode::ok : ExitCode::no_legal_mapping;
}

}  // namespace tessera::cli
