// tessera explain: is this mapping legal, and if not, what does it break?
#include <ostream>

#include "cli/cli.hpp"
#include "cli/inputs.hpp"
#include "tessera/base/error.hpp"
#include "tessera/plugin/registry.hpp"

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
                         "none or accelforge: whose rules decide")(
        "model", options::value<std::string>()->default_value("looptree")->value_name("NAME"),
        "cost model");
    return result;
}

}  // namespace

int explain_command(const std::vector<std::string>& args, std::ostream& out, std::ostream&) {
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
    const auto model =
        plugin::Registry<model::CostModel>::instance().create(arguments.text("model"));
    std::vector<std::string> violations;
    try {
        violations = model->evaluate(inputs.problem(), *inputs.mapping).warnings;
    } catch (const IllegalMapping& error) {
        violations = {error.what()};
    }
    if (violations.empty()) {
        out << "legal\n";
        return ExitCode::ok;
    }
    out << "illegal:\n";
    for (const std::string& violation : violations) {
        out << "  " << violation << "\n";
    }
    return ExitCode::no_legal_mapping;
}

}  // namespace tessera::cli
