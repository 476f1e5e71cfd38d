#include "show_json.hpp"

#include <algorithm>
#include <cmath>

#include "base/data_path.hpp"
#include "base/directory.hpp"
#include "cli/inputs.hpp"
#include "io/equation.hpp"
#include "io/report_json.hpp"

namespace tessera::cli::show {

namespace {

io::Json finite(double value) {
    return std::isfinite(value) ? io::Json(value) : io::Json();
}

io::Json level_json(const arch::PathLevel& level) {
    io::Json one;
    one["name"] = level.name;
    one["kind"] = kind_name(level.kind);
    if (level.kind == arch::LevelKind::memory) {
        one["size_bits"] = finite(level.size_bits);
    }
    one["fanouts"] = io::Json::array();
    for (const arch::PathDim& dim : level.spatial) {
        one["fanouts"].push_back({{"name", dim.name}, {"instances", dim.fanout}});
    }
    one["actions"] = io::Json::array();
    for (const arch::PathAction& action : level.actions) {
        one["actions"].push_back({{"name", action.name},
                                  {"energy_j", action.energy_j},
                                  {"throughput_per_s", finite(action.throughput_per_s)}});
    }
    return one;
}

io::Json head_json(const std::string& name, const std::string& path) {
    return {{"name", name}, {"about", about(path)}, {"file", path}};
}

io::Json names_json(const char* kind) {
    io::Json all = io::Json::array();
    for (const std::string& name : list_data(kind)) {
        all.push_back(head_json(name, find_data(kind, name).string()));
    }
    return all;
}

}  // namespace

std::string about(const std::string& path) {
    const std::optional<std::string> text = base::read_regular_file(path);
    std::string line;
    for (std::size_t i = 0; text && i < text->size() && (*text)[i] == '#';) {
        const std::size_t end = std::min(text->find('\n', i), text->size());
        const std::string part = text->substr(i + 1, end - i - 1);
        line += (line.empty() ? "" : " ") +
                part.substr(std::min(part.size(), part.find_first_not_of(' ')));
        i = end + 1;
        if (const std::size_t stop = line.find(". "); stop != std::string::npos) {
            line.resize(stop + 1);
            break;
        }
        if (!line.empty() && line.back() == '.') {
            break;
        }
    }
    return line;
}

double computes_of(const workload::Workload& workload, const workload::Einsum& einsum) {
    double computes = einsum.is_copy_operation ? 0 : workload.n_instances * einsum.n_instances;
    for (const int v : einsum.rank_variables) {
        computes *= static_cast<double>(workload.rank_variables[static_cast<std::size_t>(v)].bound);
    }
    return computes;
}

const char* role(const workload::Tensor& tensor) {
    return tensor.intermediate() ? "intermediate" : tensor.producers.empty() ? "input" : "result";
}

std::optional<arch::Path> path_to(const std::string& compute,
                                  const arch::Architecture& architecture,
                                  const workload::Workload& workload) {
    for (std::size_t e = 0; e < workload.einsums.size(); ++e) {
        arch::Path path =
            architecture.path(workload, static_cast<int>(e), compute, arch::Compat::none);
        if (path.compute().enabled) {
            return path;
        }
    }
    return std::nullopt;
}

double leak_power_w(const arch::Architecture& architecture, const workload::Workload& workload) {
    double leak_w = 0;
    if (!workload.einsums.empty()) {
        for (const arch::Leak& leak :
             architecture
                 .path(workload, 0, architecture.compute_names().front(), arch::Compat::none)
                 .leaks) {
            leak_w += leak.leak_power_w;
        }
    }
    return leak_w;
}

const char* kind_name(arch::LevelKind kind) {
    static const char* const kinds[] = {"memory",    "toll",    "compute",
                                        "container", "network", "array"};
    return kinds[static_cast<std::size_t>(kind)];
}

io::Json names_json() {
    io::Json document = {{"schema_version", io::schema_version}};
    document["architectures"] = names_json("arch-specs");
    document["workloads"] = names_json("problem-shapes");
    return document;
}

io::Json spec_json(const std::string& name, const std::string& path) {
    io::Json document = {{"schema_version", io::schema_version}};
    for (const io::Json::Member& member : head_json(name, path).members()) {
        document[member.key] = member.value;
    }
    document["variables"] = spec::declared_variables(spec::load_tree(path));
    return document;
}

void add_workload(io::Json& to, const workload::Workload& workload) {
    to["instances"] = workload.n_instances;
    to["einsums"] = io::Json::array();
    for (std::size_t e = 0; e < workload.einsums.size(); ++e) {
        const workload::Einsum& einsum = workload.einsums[e];
        io::Json bounds = io::Json::object();
        for (const int v : einsum.rank_variables) {
            const auto& variable = workload.rank_variables[static_cast<std::size_t>(v)];
            bounds[variable.name] = variable.bound;
        }
        io::Json one;
        one["name"] = einsum.name;
        one["equation"] = io::equation(workload, static_cast<int>(e));
        one["bounds"] = std::move(bounds);
        one["computes"] = computes_of(workload, einsum);
        to["einsums"].push_back(std::move(one));
    }
    to["tensors"] = io::Json::array();
    for (const workload::Tensor& tensor : workload.tensors) {
        io::Json one;
        one["name"] = tensor.name;
        one["role"] = role(tensor);
        one["persistent"] = tensor.persistent;
        one["words"] = tensor.size_values;
        one["bits_per_word"] = tensor.bits_per_value;
        to["tensors"].push_back(std::move(one));
    }
}

void add_architecture(io::Json& to, const arch::Architecture& architecture,
                      const workload::Workload& workload) {
    to["arbitrary_units"] = architecture.arbitrary_units();
    to["leak_power_w"] = leak_power_w(architecture, workload);
    to["computes"] = io::Json::array();
    for (const std::string& compute : architecture.compute_names()) {
        const std::optional<arch::Path> path = path_to(compute, architecture, workload);
        io::Json one;
        one["name"] = compute;
        one["instances"] = path ? io::Json(path->compute().cumulative_fanout) : io::Json();
        one["levels"] = io::Json::array();
        for (std::size_t i = 0; path && i < path->levels.size(); ++i) {
            one["levels"].push_back(level_json(path->levels[i]));
        }
        to["computes"].push_back(std::move(one));
    }
}

}  // namespace tessera::cli::show
