// tessera show: what the shipped (or any) specs contain: equations and sizes.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <ostream>

#include "base/data_path.hpp"
#include "base/directory.hpp"
#include "base/printable.hpp"
#include "base/units.hpp"
#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/inputs.hpp"
#include "cli/output.hpp"
#include "io/equation.hpp"
#include "io/json_text.hpp"
#include "show_json.hpp"
#include "tessera/base/error.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::cli {

namespace {

constexpr const char* examples =
    R"(  tessera show                             all names, with a line about each
  tessera show gpt3-6.7b -D TOKENS=4096    its Einsums, equations and sizes
  tessera show eyeriss                     its memories, fan-outs, energies
)";

void print_names(std::ostream& out, const char* kind, const char* title) {
    out << title << ":\n";
    const std::vector<std::string> names = list_data(kind);
    std::size_t widest = 0;
    for (const std::string& name : names) {
        widest = std::max(widest, name.size());
    }
    for (const std::string& name : names) {
        std::string line = "  " + name + std::string(widest - name.size() + 2, ' ') +
                           base::one_line(show::about(find_data(kind, name).string()));
        if (line.size() > 80) {
            line.resize(line.rfind(' ', 76));
            line += " ...";
        }
        out << line << "\n";
    }
}

void print_head(std::ostream& out, const std::string& name, const std::string& path) {
    out << name << ": " << base::one_line(show::about(path)) << "\n  " << path << "\n";
}

void print_variables(std::ostream& out, const std::string& path) {
    const std::vector<std::string> names = spec::declared_variables(spec::load_tree(path));
    if (names.empty()) {
        return;
    }
    out << "Variables (-D NAME=VALUE):";
    std::size_t column = 81;
    for (const std::string& name : names) {
        column += name.size() + 1;
        if (column > 80) {
            out << "\n ";
            column = 2 + name.size();
        }
        out << " " << name;
    }
    out << "\n";
}

void print_workload(std::ostream& out, const workload::Workload& workload) {
    out << "Einsums:\n";
    double computes = 0;
    for (std::size_t e = 0; e < workload.einsums.size(); ++e) {
        const workload::Einsum& einsum = workload.einsums[e];
        const double own = show::computes_of(workload, einsum);
        std::string bounds;
        for (const int v : einsum.rank_variables) {
            const auto& variable = workload.rank_variables[static_cast<std::size_t>(v)];
            bounds += " " + variable.name + "=" + std::to_string(variable.bound);
        }
        computes += own;
        out << "  "
            << base::one_line(einsum.name + ": " + io::equation(workload, static_cast<int>(e)))
            << "\n     " << base::one_line(bounds) << "; " << base::amount(own, "computes") << "\n";
    }
    std::vector<std::vector<std::string>> rows = {
        {"  tensor", "role", "words", "size", "bits per word"}};
    double bits = 0;
    for (const workload::Tensor& tensor : workload.tensors) {
        const double size = tensor.size_values * tensor.bits_per_value;
        bits += size;
        rows.push_back({"  " + tensor.name,
                        std::string(show::role(tensor)) + (tensor.persistent ? ", persistent" : ""),
                        base::amount(tensor.size_values), base::size(size),
                        base::number(tensor.bits_per_value)});
    }
    out << "Tensors:\n";
    print_table(out, rows, 2);
    out << "In all: " << base::counted(workload.einsums.size(), "Einsum") << ", "
        << base::amount(computes, "computes") << ", tensors of " << base::size(bits);
    out << (workload.n_instances == 1
                ? "\n"
                : "; computes count " + base::amount(workload.n_instances, "instances") + "\n");
}

std::string actions_text(const arch::PathLevel& level, const std::string& joule) {
    std::string text;
    for (const arch::PathAction& action : level.actions) {
        text +=
            (text.empty() ? "" : ", ") + action.name + " " + base::quantity(action.energy_j, joule);
        if (std::isfinite(action.throughput_per_s)) {
            text += " at " + base::quantity(action.throughput_per_s, joule.empty() ? "" : "/s");
        }
    }
    return text;
}

void print_architecture(std::ostream& out, const arch::Architecture& architecture,
                        const workload::Workload& workload) {
    for (const std::string& compute : architecture.compute_names()) {
        const std::optional<arch::Path> path = show::path_to(compute, architecture, workload);
        if (!path) {
            out << "Down to " << base::one_line(compute) << ": no Einsum of "
                << base::one_line(workload.name) << " runs there\n";
            continue;
        }
        out << "Down to " << base::one_line(compute) << ":\n";
        std::vector<std::vector<std::string>> rows = {
            {"  component", "kind", "size of one", "fan-out below it", "actions"}};
        for (const arch::PathLevel& level : path->levels) {
            std::string fans;
            for (const arch::PathDim& dim : level.spatial) {
                fans += (fans.empty() ? "" : " x ") + std::to_string(dim.fanout) + " " + dim.name;
            }
            const bool memory = level.kind == arch::LevelKind::memory;
            rows.push_back({"  " + level.name, show::kind_name(level.kind),
                            memory ? base::size(level.size_bits) : "-", fans.empty() ? "-" : fans,
                            actions_text(level, unit(architecture, "J"))});
        }
        print_table(out, rows, 5);
        out << "  " << base::amount(path->compute().cumulative_fanout) << " of "
            << base::one_line(compute) << " in all\n";
    }
    const double leak_w = show::leak_power_w(architecture, workload);
    if (leak_w > 0) {
        out << "Leakage: " << base::quantity(leak_w, unit(architecture, "W")) << "\n";
    }
}

bool is_architecture(const std::string& name) {
    const std::vector<std::string> shapes = list_data("problem-shapes");
    if (std::find(shapes.begin(), shapes.end(), name) != shapes.end()) {
        return false;
    }
    std::error_code ignored;
    if (!std::filesystem::exists(name, ignored)) {
        const std::vector<std::string> archs = list_data("arch-specs");
        if (std::find(archs.begin(), archs.end(), name) != archs.end()) {
            return true;
        }
        std::vector<std::string> all = archs;
        all.insert(all.end(), shapes.begin(), shapes.end());
        const std::string near = spec::did_you_mean(name, all);
        throw UserError("'" + name + "' is neither a file nor a shipped name" +
                        (near.empty() ? "; tessera show lists them" : "; " + near));
    }
    return spec::load_tree(name).find("arch") != nullptr;
}

}  // namespace

CommandText show_text() {
    options::Description result("Options", 100);
    result.add_options()  //
        ("name", options::text().named("NAME"),
         "an architecture or a workload: a shipped name, or a file; also without --name")  //
        ("workload,w", options::text().by_default("").named("WORKLOAD"),
         "of an architecture: whose tensors its fields are evaluated for; default: matmul")  //
        ("einsums", options::text().named("LIST"),
         "only these Einsums of the workload, as in conv1,conv2")  //
        ("json", options::flag(), "print one JSON document");
    add_inputs(result, "D");
    return {"[NAME] [options]", examples, result};
}

int show_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
    const CommandText text = show_text();
    std::vector<std::string> words = args;
    if (!words.empty() && !words.front().empty() && words.front()[0] != '-') {
        words.insert(words.begin(), "--name");
    }
    const Arguments arguments("show", words, text.options);
    if (arguments.flag("help")) {
        print_help(out, text.examples, text.options);
        return ExitCode::ok;
    }
    const bool json = arguments.flag("json");
    if (!arguments.has("name") && json) {
        out << io::dumped(show::names_json());
        return ExitCode::ok;
    }
    if (!arguments.has("name")) {
        print_names(out, "arch-specs", "Architectures");
        print_names(out, "problem-shapes", "Workloads");
        return ExitCode::ok;
    }
    const std::string name = arguments.text("name");
    const bool architecture = is_architecture(name);
    const std::string of = arguments.text("workload");
    api::InputNames names;
    names.workload = architecture ? (of.empty() ? "matmul" : of) : name;
    names.architecture = architecture ? name : "";
    names.defines = arguments.defines();
    names.einsums = words_at_commas(arguments.text("einsums"));
    const api::Inputs inputs = api::load_inputs(names);
    const std::string path =
        find_data(architecture ? "arch-specs" : "problem-shapes", name).string();
    print_file_warnings(err, inputs.warnings);
    if (architecture && !of.empty()) {
        print_guessed(err, inputs.guessed_roles);
    }
    if (json) {
        io::Json document = show::spec_json(name, path);
        architecture ? show::add_architecture(document, *inputs.architecture, *inputs.workload)
                     : show::add_workload(document, *inputs.workload);
        out << io::dumped(document);
        return ExitCode::ok;
    }
    print_head(out, name, path);
    print_variables(out, path);
    if (architecture) {
        print_architecture(out, *inputs.architecture, *inputs.workload);
    } else {
        print_workload(out, *inputs.workload);
    }
    return ExitCode::ok;
}

}  // namespace tessera::cli
