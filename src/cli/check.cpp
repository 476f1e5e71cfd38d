// tessera check: read the given files, evaluate every field, print what they contain.
#include <ostream>
#include <sstream>

#include "base/units.hpp"
#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/inputs.hpp"
#include "cli/output.hpp"
#include "io/json_text.hpp"
#include "io/report_json.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapping/pmapping.hpp"
#include "tessera/spec/position.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::cli {

namespace {

constexpr const char* examples =
    R"(  tessera check -a tpu-v4i -w gpt3-6.7b -D TOKENS=4096
  tessera check -a spec.yaml -w spec.yaml -m mapping.yaml
)";

}  // namespace

CommandText check_text() {
    options::Description result("Options", 100);
    add_inputs(result, "awemDS");
    result.add_options()("compat", options::text().by_default("none").named("MODEL"),
                         "none or accelforge: how unknown names in sets are treated")(
        "json", options::flag(), "print one JSON document");
    return {"[-a ARCH] [-w WORKLOAD] [-m FILE] [options]", examples, result};
}

namespace {

io::Json workload_json(const workload::Workload& workload) {
    io::Json json;
    json["name"] = workload.name;
    json["tensors"] = workload.tensors.size();
    json["rank_variables"] = workload.rank_variables.size();
    json["einsums"] = io::Json::array();
    for (const workload::Einsum& einsum : workload.einsums) {
        io::Json one;
        one["name"] = einsum.name;
        one["bounds"] = io::Json::object();
        for (const int variable : einsum.rank_variables) {
            one["bounds"][workload.rank_variables[variable].name] =
                workload.rank_variables[variable].bound;
        }
        one["inputs"] = one["outputs"] = io::Json::array();
        for (const workload::TensorAccess& access : einsum.accesses) {
            one[access.output ? "outputs" : "inputs"].push_back(
                workload.tensors[access.tensor].name);
        }
        json["einsums"].push_back(std::move(one));
    }
    return json;
}

void print_workload(std::ostream& out, const workload::Workload& workload) {
    out << "workload " << workload.name << ": " << base::counted(workload.einsums.size(), "Einsum")
        << ", " << base::counted(workload.tensors.size(), "tensor") << ", "
        << base::counted(workload.rank_variables.size(), "rank variable") << "\n";
    std::vector<std::vector<std::string>> rows;
    for (const workload::Einsum& einsum : workload.einsums) {
        std::string bounds, tensors;
        for (const int variable : einsum.rank_variables) {
            bounds += (bounds.empty() ? "" : " ") + workload.rank_variables[variable].name + "=" +
                      std::to_string(workload.rank_variables[variable].bound);
        }
        for (const workload::TensorAccess& access : einsum.accesses) {
            tensors += (tensors.empty() ? "" : " ") + workload.tensors[access.tensor].name +
                       (access.output ? " (out)" : "");
        }
        rows.push_back({"  " + einsum.name, bounds, tensors});
    }
    print_table(out, rows, 3);
}

void print_architecture(std::ostream& out, const arch::Architecture& architecture) {
    out << "architecture " << architecture.name() << ": "
        << spec::name_list(architecture.component_names(), 64) << "\n";
}

std::size_t count(const mapping::TreeNode& node, mapping::TreeKind kind) {
    std::size_t result = node.kind == kind ? 1 : 0;
    for (const mapping::TreeNode& child : node.children) {
        result += count(child, kind);
    }
    return result;
}

struct MappingCounts {
    std::size_t einsums = 0, temporal = 0, spatial = 0, holders = 0;

    explicit MappingCounts(const mapping::TreeNode& root) {
        using mapping::TreeKind;
        einsums = count(root, TreeKind::compute);
        temporal = count(root, TreeKind::temporal);
        spatial = count(root, TreeKind::spatial);
        holders = count(root, TreeKind::storage) + count(root, TreeKind::toll);
    }
};

void print_mapping(std::ostream& out, const mapping::Mapping& mapping) {
    const MappingCounts n(mapping.root);
    out << "mapping: " << base::counted(n.einsums, "Einsum") << ", "
        << base::counted(n.temporal, "temporal loop") << ", "
        << base::counted(n.spatial, "spatial loop") << ", " << base::counted(n.holders, "holder")
        << "\n";
}

io::Json mapping_json(const mapping::Mapping& mapping) {
    const MappingCounts n(mapping.root);
    return {{"einsums", n.einsums},
            {"temporal_loops", n.temporal},
            {"spatial_loops", n.spatial},
            {"holders", n.holders}};
}

/// Where an Einsum runs, and what it does there at every point.
struct Placed {
    std::vector<std::string> computes;
    std::vector<workload::OperationCount> operations;
};

/// Per Einsum the computes that are enabled for it. Evaluates every expression of the architecture
/// for every Einsum on every compute.
std::vector<Placed> places_of(const model::Problem& problem) {
    std::vector<Placed> result;
    for (std::size_t e = 0; e < problem.workload->einsums.size(); ++e) {
        Placed placed;
        std::string refusals;
        for (const std::string& compute : problem.architecture->compute_names()) {
            const arch::Path path = problem.architecture->path(
                *problem.workload, static_cast<int>(e), compute, problem.compat);
            placed.operations = path.einsum.operations;
            if (path.compute().enabled) {
                placed.computes.push_back(compute);
            } else {
                refusals += (refusals.empty() ? "" : ", ") + path.refusal();
            }
        }
        if (placed.computes.empty()) {
            const workload::Einsum& einsum = problem.workload->einsums[e];
            spec::fail(
                einsum.where, "Einsum",
                {"no compute of architecture " + problem.architecture->name() + " may run it",
                 einsum.name, "a compute that is enabled and has its operations",
                 "see 'enabled' and 'operations' of the computes: " + refusals +
                     (einsum.equation.gives_operations ? "; its text says the operations" : "")});
        }
        result.push_back(std::move(placed));
    }
    return result;
}

/// ": add, by its text"; empty if nothing is said that counts.
std::string operations_note(const workload::Einsum& einsum, const Placed& placed) {
    if (placed.operations.empty()) {
        return "";
    }
    return ": " + workload::operations_text(placed.operations) +
           (einsum.equation.gives_operations ? ", by its text" : "");
}

io::Json operations_json(const Placed& placed) {
    io::Json counts = io::Json::object();
    for (const workload::OperationCount& operation : placed.operations) {
        io::put(counts, operation.kind, operation.count);
    }
    return counts;
}

/// What was found in order, as text and as a document.
void report(std::ostream& out, io::Json& document, const Inputs& inputs) {
    if (inputs.architecture) {
        print_architecture(out, *inputs.architecture);
        document["architecture"] = {{"name", inputs.architecture->name()},
                                    {"components", inputs.architecture->component_names()}};
    }
    if (inputs.workload) {
        print_workload(out, *inputs.workload);
        document["workload"] = workload_json(*inputs.workload);
    }
    if (inputs.mapping) {
        print_mapping(out, *inputs.mapping);
        document["mapping"] = mapping_json(*inputs.mapping);
    }
    if (inputs.architecture && !inputs.workload) {
        inputs.architecture->check_values();
    }
    if (!inputs.architecture || !inputs.workload) {
        return;
    }
    const std::vector<Placed> places = places_of(inputs.problem());
    for (std::size_t e = 0; e < places.size(); ++e) {
        const workload::Einsum& einsum = inputs.workload->einsums[e];
        out << "  " << einsum.name << " runs on";
        for (const std::string& compute : places[e].computes) {
            out << " " << compute;
        }
        out << operations_note(einsum, places[e]) << "\n";
        io::Json& one = document["workload"]["einsums"].at(e);
        one["computes"] = places[e].computes;
        one["operations"] = operations_json(places[e]);
        one["operations_by_text"] =
            einsum.equation.gives_operations && !places[e].operations.empty();
    }
    if (inputs.mapping) {
        mapping::split(*inputs.mapping, *inputs.workload, *inputs.architecture, inputs.compat);
        out << "  the mapping fits the workload and the architecture (see tessera explain for its "
               "legality)\n";
    }
}

void print_guessed_roles(std::ostream& out, const Inputs& inputs) {
    if (inputs.guessed_roles.empty()) {
        return;
    }
    out << "roles that the architecture asks for and no file says, guessed:\n";
    for (const std::string& line : guessed_lines(inputs.guessed_roles)) {
        out << "  " << line << "\n";
    }
}

}  // namespace

int check_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
    const options::Description known = check_text().options;
    const Arguments arguments("check", args, known);
    if (arguments.flag("help")) {
        print_help(out, examples, known);
        return ExitCode::ok;
    }
    const Inputs inputs(arguments, arguments.compat());
    if (inputs.files.empty()) {
        throw UserError("nothing to check: give files with -a, -w or -m");
    }
    print_file_warnings(err, inputs.warnings);
    io::Json document;
    document["schema_version"] = io::schema_version;
    document["status"] = "ok";
    document["warnings"] = inputs.warnings;
    document["guessed_roles"] = guessed_lines(inputs.guessed_roles);
    std::ostringstream text;
    report(text, document, inputs);
    print_guessed_roles(text, inputs);
    out << (arguments.flag("json") ? io::dumped(document) : text.str() + "ok\n");
    return ExitCode::ok;
}

}  // namespace tessera::cli
