// tessera model: evaluate a given mapping.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <ostream>

#include "base/units.hpp"
#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/inputs.hpp"
#include "cli/output.hpp"
#include "cli/plugins/components.hpp"
#include "cli/run/stored_run.hpp"
#include "cli/summary.hpp"
#include "io/json_text.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::cli {

namespace {

constexpr const char* examples =
    R"(  tessera model -a tpu-v4i -w gpt3-6.7b -D BATCH=1 -D TOKENS=2048 -m runs/gpt3/mapping.yaml
  tessera model -a spec.yaml -w spec.yaml -m spec.yaml --compat accelforge --json
)";

}  // namespace

CommandText model_text() {
    options::Description result("Options", 100);
    add_inputs(result, "awemDS");
    result.add_options()  //
        ("compat", options::text().by_default("none").named("MODEL"),
         "none or accelforge: cost conventions of that tool, defects included")  //
        ("json", options::flag(), "print one JSON document")                     //
        ("quiet,q", options::flag(), "no warnings on stderr");
    add_summary_options(result);
    add_components(result, false);
    return {"-a ARCH -w WORKLOAD -m FILE [options]", examples, result};
}

namespace {

io::Json document(const mapping::Mapping& mapping, const model::Report& report,
                  const io::Description& description, double wall_s) {
    io::Json root;
    root["schema_version"] = io::schema_version;
    root["status"] = "evaluated";
    root["metric"] = nullptr;
    root["mappings"] = io::Json::array({io::solution_json(mapping, report, description)});
    root["bound"] = io::Json::object();
    root["gap"] = nullptr;
    root["warnings"] = report.warnings;
    const Usage used = usage();
    io::Json& search = root["search"];
    search["wall_s"] = wall_s;
    search["cpu_s"] = used.cpu_s;
    search["peak_rss_bytes"] = static_cast<std::uint64_t>(used.peak_rss_bytes);
    search["mapspace_size"] = "1";
    search["evaluated"] = 1;
    search["pareto"] = 1;
    search["threads"] = 1;
    search["seed"] = 0;
    return root;
}

double sum(const std::map<std::string, double>& values) {
    double result = 0;
    for (const auto& [name, value] : values) {
        result += value;
    }
    return result;
}

std::vector<std::string> row(const model::EinsumReport& einsum,
                             const model::ComponentReport& component,
                             const arch::Architecture& architecture) {
    double dynamic = sum(component.compute_energy_j), actions = sum(component.compute_actions);
    double occupancy = 0;
    bool occupied = false;
    for (const model::TensorReport& tensor : component.tensors) {
        dynamic += sum(tensor.energy_j);
        actions += sum(tensor.actions);
        occupancy += tensor.has_occupancy ? tensor.occupancy : 0;
        occupied = occupied || tensor.has_occupancy;
    }
    return {
        "  " + einsum.einsum,
        component.component,
        base::quantity(dynamic, unit(architecture, "J")),
        base::quantity(component.leak_j, unit(architecture, "J")),
        component.has_latency ? base::quantity(component.latency_s, unit(architecture, "s")) : "-",
        base::amount(actions),
        occupied ? base::percent(occupancy) : "-"};
}

/// What each Einsum costs in each component, then how full memories are.
void print_einsums(std::ostream& out, const arch::Architecture& architecture,
                   const model::Report& report) {
    std::vector<std::vector<std::string>> rows = {
        {"  Einsum", "component", "energy", "leakage", "latency", "actions", "occupancy"}};
    for (const model::EinsumReport& einsum : report.einsums) {
        for (const model::ComponentReport& component : einsum.components) {
            rows.push_back(row(einsum, component, architecture));
        }
        rows.push_back({"  " + einsum.einsum, "(all)",
                        base::quantity(einsum.dynamic_energy_j, unit(architecture, "J")),
                        base::quantity(einsum.leak_energy_j, unit(architecture, "J")),
                        base::quantity(einsum.latency_s, unit(architecture, "s")), "", ""});
    }
    print_table(out, rows, 2);
    out << "Peak occupancy:\n";
    rows.clear();
    for (const auto& [memory, fraction] : report.peak_occupancy) {
        rows.push_back({"  " + memory, base::percent(fraction)});
    }
    print_table(out, rows, 1);
}

void print(std::ostream& out, const model::Problem& problem, const mapping::Mapping& mapping,
           const model::Report& report, const io::Description& description,
           const SummaryTables& tables, bool tree) {
    const arch::Architecture& architecture = *problem.architecture;
    if (tree) {
        print_tree(out, mapping, description.notes);
    }
    if (!tables.any()) {
        print_einsums(out, architecture, report);
    }
    print_pipelines(out, report);
    print_fused_groups(out, description.fused_groups);
    out << "Evaluation of " << problem.workload->name << " on " << architecture.name() << "\n";
    print_totals(out, architecture, report);
    print_summary(out, architecture, description);
    print_summary_tables(out, architecture, description.summary, tables);
}

}  // namespace

int model_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
    const auto start = std::chrono::steady_clock::now();
    const options::Description known = model_text().options;
    const Arguments arguments("model", args, known);
    if (arguments.flag("help")) {
        print_help(out, examples, known);
        return ExitCode::ok;
    }
    arguments.required("arch", "the architecture");
    arguments.required("workload", "the workload");
    arguments.required("mapping", "the mapping");
    const SummaryTables tables = summary_tables(arguments);
    Inputs inputs(arguments, arguments.compat());
    inputs.settle_mapping();
    const model::Problem problem = inputs.problem();
    const Components components(arguments, false);
    const auto model = components.make_model();
    const model::Report report = model->evaluate(problem, *inputs.mapping);
    if (!arguments.flag("quiet")) {
        print_file_warnings(err, inputs.warnings);
        print_guessed(err, inputs.guessed_roles);
        print_left_out(err, inputs.left_out);
        for (const std::string& warning : report.warnings) {
            err << "warning: " << warning << "\n";
        }
    }
    const io::Description description = io::describe(problem, *inputs.mapping, report);
    if (arguments.flag("json")) {
        const double wall_s =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        io::Json json = document(*inputs.mapping, report, description, wall_s);
        json["guessed_roles"] = guessed_lines(inputs.guessed_roles);
        json["workload"] = problem.workload->name;
        json["architecture"] = problem.architecture->name();
        put_given(json, arguments);
        json["model"] = components.model;
        json["tessera_version"] = version;
        out << io::dumped(json);
    } else {
        print(out, problem, *inputs.mapping, report, description, tables, arguments.flag("tree"));
    }
    return ExitCode::ok;
}

}  // namespace tessera::cli
