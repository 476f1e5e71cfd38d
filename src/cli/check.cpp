// tessera check: read the given files, evaluate every field, print what they contain.
#include <ostream>

#include "cli/cli.hpp"
#include "cli/inputs.hpp"
#include "cli/output.hpp"
#include "io/units.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapping/pmapping.hpp"
#include "tessera/spec/position.hpp"

namespace tessera::cli {

namespace {

constexpr const char* examples =
    R"(  tessera check -a tpu-v4i -w gpt3-6.7b -D TOKENS=4096
  tessera check -a spec.yaml -w spec.yaml -m mapping.yaml
)";

options::options_description description() {
    options::options_description result("Options", 100);
    add_inputs(result, "awmD");
    result.add_options()("compat",
                         options::value<std::string>()->default_value("none")->value_name("MODEL"),
                         "none or accelforge: how unknown names in sets are treated");
    return result;
}

void print_workload(std::ostream& out, const workload::Workload& workload) {
    out << "workload " << workload.name << ": " << workload.einsums.size() << " Einsums, "
        << workload.tensors.size() << " tensors, " << workload.rank_variables.size()
        << " rank variables\n";
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

void print_mapping(std::ostream& out, const mapping::Mapping& mapping) {
    using mapping::TreeKind;
    out << "mapping: " << count(mapping.root, TreeKind::compute) << " Einsums, "
        << count(mapping.root, TreeKind::temporal) << " temporal and "
        << count(mapping.root, TreeKind::spatial) << " spatial loops, "
        << count(mapping.root, TreeKind::storage) + count(mapping.root, TreeKind::toll)
        << " holders\n";
}

// Evaluates every expression of the architecture for every Einsum on every compute.
void print_paths(std::ostream& out, const model::Problem& problem) {
    for (std::size_t e = 0; e < problem.workload->einsums.size(); ++e) {
        std::string computes;
        for (const std::string& compute : problem.architecture->compute_names()) {
            const arch::Path path = problem.architecture->path(
                *problem.workload, static_cast<int>(e), compute, problem.compat);
            computes += path.compute().enabled ? " " + compute : "";
        }
        const std::string& einsum = problem.workload->einsums[e].name;
        if (computes.empty()) {
            throw UserError("no compute of architecture " + problem.architecture->name() +
                            " is enabled for Einsum '" + einsum + "'");
        }
        out << "  " << einsum << " runs on" << computes << "\n";
    }
}

}  // namespace

int check_command(const std::vector<std::string>& args, std::ostream& out, std::ostream&) {
    const options::options_description known = description();
    const Arguments arguments("check", args, known);
    if (arguments.flag("help")) {
        print_help(out, examples, known);
        return ExitCode::ok;
    }
    const Inputs inputs(arguments, arguments.compat());
    if (inputs.files.empty()) {
        throw UserError("nothing to check: give files with -a, -w or -m");
    }
    if (inputs.architecture) {
        print_architecture(out, *inputs.architecture);
    }
    if (inputs.workload) {
        print_workload(out, *inputs.workload);
    }
    if (inputs.mapping) {
        print_mapping(out, *inputs.mapping);
    }
    if (inputs.architecture && inputs.workload) {
        print_paths(out, inputs.problem());
        if (inputs.mapping) {
            mapping::split(*inputs.mapping, *inputs.workload, *inputs.architecture, inputs.compat);
            out << "  the mapping fits the workload and the architecture (see tessera explain for "
                   "its legality)\n";
        }
    }
    out << "ok\n";
    return ExitCode::ok;
}

}  // namespace tessera::cli
