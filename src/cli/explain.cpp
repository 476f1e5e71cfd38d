// tessera explain: is this mapping legal, and if not, what does it break?
#include <ostream>

#include "api/search.hpp"
#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/components.hpp"
#include "cli/inputs.hpp"
#include "cli/output.hpp"
#include "io/json_text.hpp"
#include "tessera/mapspace/legality.hpp"

namespace tessera::cli {

namespace {

constexpr const char* examples =
    R"(  tessera explain -a tpu-v4i -w gpt3-6.7b -m mapping.yaml
  tessera explain -a spec.yaml -w spec.yaml -m spec.yaml
)";

}  // namespace

CommandText explain_text() {
    options::options_description result("Options", 100);
    add_inputs(result, "awemD");
    result.add_options()("compat",
                         options::value<std::string>()->default_value("none")->value_name("MODEL"),
                         "none or accelforge: whose rules decide")("json", options::bool_switch(),
                                                                   "print one JSON document");
    add_components(result, false);
    return {"-a ARCH -w WORKLOAD -m FILE [options]", examples, result};
}

namespace {

const char* severity_name(mapspace::Severity severity) {
    return severity == mapspace::Severity::physical     ? "impossible"
           : severity == mapspace::Severity::constraint ? "forbidden"
                                                        : "warning";
}

io::Json to_json(const mapspace::Violation& violation) {
    const auto text = [](const std::string& name) {
        return name.empty() ? io::Json(nullptr) : io::Json(name);
    };
    const bool by_model = violation.code == api::refused_by_model;
    return {{"severity", severity_name(violation.severity)},
            {"rule", by_model ? io::Json(nullptr) : io::Json(violation.code)},
            {"text", by_model ? violation.message : mapspace::to_text(violation)},
            {"einsum", text(violation.einsum)},
            {"tensor", text(violation.tensor)},
            {"component", text(violation.level)}};
}

}  // namespace

std::string verdict_document(bool legal, io::Json violations) {
    io::Json document;
    document["schema_version"] = io::schema_version;
    document["status"] = legal ? "legal" : "illegal";
    document["violations"] = std::move(violations);
    return io::dumped(document);
}

int explain_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
    const options::options_description known = explain_text().options;
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
    const std::vector<mapspace::Violation> violations =
        api::explain(inputs.problem(), *inputs.mapping, arguments.text("model"), *model);
    const bool as_json = arguments.flag("json");
    io::Json found = io::Json::array();
    std::size_t severe = 0;
    for (const mapspace::Violation& violation : violations) {
        const bool counts = violation.severity != mapspace::Severity::warning;
        severe += counts ? 1 : 0;
        found.push_back(to_json(violation));
        if (as_json) {
            continue;
        }
        if (violation.code == api::refused_by_model) {
            out << violation.message << "\n";
        } else {
            (counts ? out : err) << severity_name(violation.severity) << ": "
                                 << mapspace::to_text(violation) << "\n";
        }
    }
    if (as_json) {
        out << verdict_document(severe == 0, std::move(found));
    } else {
        out << (severe == 0 ? "legal\n" : "illegal\n");
    }
    return severe == 0 ? ExitCode::ok : ExitCode::no_legal_mapping;
}

}  // namespace tessera::cli
