// tessera explain: is this mapping legal, and if not, what does it break? If it is, what limits its
// latency?
#include <algorithm>
#include <optional>
#include <ostream>

#include "api/search.hpp"
#include "base/units.hpp"
#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/inputs.hpp"
#include "cli/output.hpp"
#include "cli/plugins/components.hpp"
#include "cli/run/map_options.hpp"
#include "io/json_text.hpp"
#include "io/report_json.hpp"
#include "mapspace/legality_rules.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/model/latency_parts.hpp"

namespace tessera::cli {

namespace {

constexpr const char* examples =
    R"(  tessera explain -a tpu-v4i -w gpt3-6.7b -m mapping.yaml
  tessera explain -a spec.yaml -w spec.yaml -m spec.yaml --imperfect-temporal
)";

}  // namespace

CommandText explain_text() {
    options::Description result("Options", 100);
    add_inputs(result, "awemDS");
    result.add_options()("compat", options::text().by_default("none").named("MODEL"),
                         "none or accelforge: whose rules decide")("json", options::flag(),
                                                                   "print one JSON document");
    add_mapspace_options(result);
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

io::Json verdict(bool legal, io::Json violations, io::Json latency) {
    io::Json document;
    document["schema_version"] = io::schema_version;
    document["status"] = legal ? "legal" : "illegal";
    document["violations"] = std::move(violations);
    if (!latency.is_null()) {
        document["latency"] = std::move(latency);
    }
    return document;
}

/// Rules of the mapspace that a legal mapping breaks: a search does not look at it, so that it may
/// be better than a proven optimum.
class Outside {
public:
    Outside(const Inputs& inputs, const mapspace::MapSpaceOptions& options)
        : found_(api::outside_mapspace(inputs.problem(), *inputs.mapping, options)) {}

    bool any() const {
        return std::ranges::any_of(found_, [](const mapspace::Violation& v) {
            return v.severity != mapspace::Severity::warning;
        });
    }
    void print(std::ostream& out, std::ostream& err) const {
        for (const mapspace::Violation& v : found_) {
            const bool warning = v.severity == mapspace::Severity::warning;
            (warning ? err : out) << (warning ? "warning: " : "outside the mapspace: ") << "rule "
                                  << mapspace::rule_of(v.code)
                                  << " of docs/mapspace.md: " << mapspace::to_text(v) << "\n";
        }
    }
    io::Json json() const {
        io::Json list = io::Json::array();
        for (const mapspace::Violation& v : found_) {
            io::Json one = to_json(v);
            one["mapspace_rule"] = mapspace::rule_of(v.code);
            list.push_back(std::move(one));
        }
        return list;
    }

private:
    std::vector<mapspace::Violation> found_;
};

}  // namespace

std::string verdict_document(bool legal, io::Json violations, io::Json latency) {
    return io::dumped(verdict(legal, std::move(violations), std::move(latency)));
}

namespace {

/// Parts of the latency with what is busy in each.
io::Json latency_json(const model::Report& report) {
    io::Json parts = io::Json::array();
    for (const model::LatencyPart& part : model::latency_parts(report)) {
        io::Json one;
        one["einsums"] = io::Json::array();
        for (const int einsum : part.einsums) {
            one["einsums"].push_back(report.einsums[static_cast<std::size_t>(einsum)].einsum);
        }
        io::put(one, "latency_s", part.latency_s);
        one["busy_s"] = io::Json::object();
        for (const auto& [component, seconds] : part.busy_s) {
            io::put(one["busy_s"], component, seconds);
        }
        parts.push_back(std::move(one));
    }
    return parts;
}

void print_latency(const model::Report& report, std::ostream& out) {
    out << "latency " << base::quantity(report.latency_s(), "s") << "\n";
    for (const model::LatencyPart& part : model::latency_parts(report)) {
        out << "  " << model::latency_text(report, part) << "\n";
    }
}

}  // namespace

int explain_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
    const options::Description known = explain_text().options;
    const Arguments arguments("explain", args, known);
    if (arguments.flag("help")) {
        print_help(out, examples, known);
        return ExitCode::ok;
    }
    arguments.required("arch", "the architecture");
    arguments.required("workload", "the workload");
    arguments.required("mapping", "the mapping");
    Inputs inputs(arguments, arguments.compat());
    print_file_warnings(err, inputs.warnings);
    inputs.settle_mapping();
    print_left_out(err, inputs.left_out);
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
    const bool legal = severe == 0;
    std::optional<model::Report> report;
    std::optional<Outside> outside;
    if (legal) {
        report = model->evaluate(inputs.problem(), *inputs.mapping);
        if (arguments.text("model") != timeloop_name) {
            outside.emplace(inputs, mapspace_options(arguments));
        }
    }
    if (as_json) {
        io::Json document =
            verdict(legal, std::move(found), report ? latency_json(*report) : io::Json(nullptr));
        if (outside) {
            document["outside_mapspace"] = outside->json();
        }
        out << io::dumped(document);
    } else {
        if (outside) {
            outside->print(out, err);
        }
        out << (!legal                      ? "illegal\n"
                : outside && outside->any() ? "legal, but outside the searched mapspace\n"
                                            : "legal\n");
        if (report) {
            print_latency(*report, out);
        }
    }
    return severe == 0 ? ExitCode::ok : ExitCode::no_legal_mapping;
}

}  // namespace tessera::cli
