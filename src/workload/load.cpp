// Loading in order: text to raw Einsums, names to indices, bounds, renames, widths.

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/data_path.hpp"
#include "base/reading_stop.hpp"
#include "spec/fields.hpp"
#include "tessera/workload/workload.hpp"
#include "workload/raw.hpp"
#include "workload/windows.hpp"

namespace tessera::workload {

namespace {

int rank_variable_index(Workload& workload, const std::string& name) {
    const int found = workload.find_rank_variable(name);
    if (found >= 0) {
        return found;
    }
    workload.index.rank_variables.emplace(name, static_cast<int>(workload.rank_variables.size()));
    workload.rank_variables.push_back({name, 1});
    return static_cast<int>(workload.rank_variables.size()) - 1;
}

std::vector<std::string> rank_names(const RawAccess& access) {
    std::vector<std::string> names;
    for (const RawRank& rank : access.ranks) {
        names.push_back(rank.rank);
    }
    return names;
}

int tensor_index(Workload& workload, const RawAccess& access, const std::string& einsum) {
    const std::vector<std::string> ranks = rank_names(access);
    const int found = workload.find_tensor(access.tensor);
    if (found < 0) {
        Tensor tensor;
        tensor.bits_per_value = -1;  // not known yet
        tensor.name = access.tensor;
        tensor.ranks = ranks;
        tensor.where = access.place.position;
        workload.index.tensors.emplace(tensor.name, static_cast<int>(workload.tensors.size()));
        workload.tensors.push_back(std::move(tensor));
        return static_cast<int>(workload.tensors.size()) - 1;
    }
    const Tensor& tensor = workload.tensors[static_cast<std::size_t>(found)];
    if (std::set<std::string>(ranks.begin(), ranks.end()) !=
        std::set<std::string>(tensor.ranks.begin(), tensor.ranks.end())) {
        spec::fail(access.place.position, access.place.path,
                   {"tensor '" + access.tensor + "' has the ranks " + spec::name_list(ranks) +
                        " in Einsum '" + einsum + "' but " + spec::name_list(tensor.ranks) +
                        " at " + tensor.where.text(),
                    "", "the same ranks everywhere", "name the ranks in a map, e.g. {M: p}"});
    }
    return found;
}

/// Ranks stand in the tensor's order, whatever the order they are written in: a rank has one index
/// in all Einsums.
TensorAccess resolve_access(Workload& workload, const RawAccess& raw, int tensor) {
    TensorAccess access;
    access.tensor = tensor;
    access.output = raw.output;
    access.state = raw.state;
    access.where = raw.place.position;
    for (const RawRank& rank : raw.ranks) {
        RankAccess resolved;
        resolved.rank = rank.rank;
        resolved.constant = rank.affine.constant;
        for (const auto& [variable, coefficient] : rank.affine.terms) {
            resolved.terms.push_back({coefficient, rank_variable_index(workload, variable)});
        }
        access.ranks.push_back(std::move(resolved));
    }
    const std::vector<std::string>& order =
        workload.tensors[static_cast<std::size_t>(tensor)].ranks;
    const auto place = [&](const RankAccess& rank) {
        return std::find(order.begin(), order.end(), rank.rank);
    };
    std::sort(access.ranks.begin(), access.ranks.end(),
              [&](const RankAccess& a, const RankAccess& b) { return place(a) < place(b); });
    if (access.state != StateAccess::none) {
        const auto rank = std::find(order.begin(), order.end(), raw.state_rank);
        workload.tensors[static_cast<std::size_t>(tensor)].state_rank =
            static_cast<int>(rank - order.begin());
    }
    return access;
}

void add_einsum(Workload& workload, const RawEinsum& raw) {
    const int index = static_cast<int>(workload.einsums.size());
    Einsum einsum;
    einsum.name = raw.name;
    einsum.is_copy_operation = raw.is_copy_operation;
    einsum.n_instances = raw.n_instances;
    einsum.equation = raw.equation;
    einsum.operations = raw.operations;
    einsum.where = raw.place.position;
    for (const RawAccess& access : raw.accesses) {
        const int number = tensor_index(workload, access, raw.name);
        Tensor& tensor = workload.tensors[static_cast<std::size_t>(number)];
        if (access.output && !tensor.producers.empty()) {
            const auto first = static_cast<std::size_t>(tensor.producers[0]);
            spec::fail(access.place.position, access.place.path,
                       {"tensor '" + access.tensor + "' is an output of Einsum '" +
                            workload.einsums[first].name + "' already",
                        "", "one producer for a tensor", "rename one of the two tensors"});
        }
        if (access.output && !tensor.consumers.empty()) {
            const auto reader = static_cast<std::size_t>(tensor.consumers[0]);
            spec::fail(access.place.position, access.place.path,
                       {"Einsum '" + workload.einsums[reader].name + "' reads tensor '" +
                            access.tensor + "' before Einsum '" + raw.name + "' produces it",
                        "", "producers before consumers",
                        "move '" + raw.name + "' before '" + workload.einsums[reader].name + "'"});
        }
        (access.output                           ? tensor.producers
         : access.state == StateAccess::previous ? tensor.previous_readers
                                                 : tensor.consumers)
            .push_back(index);
        einsum.accesses.push_back(resolve_access(workload, access, number));
    }
    for (const std::string& name : raw.rank_variables()) {
        einsum.rank_variables.push_back(workload.find_rank_variable(name));
    }
    for (const std::string& name : raw.only_last) {
        einsum.only_last.push_back(workload.find_rank_variable(name));
    }
    workload.index.einsums.emplace(einsum.name, index);
    workload.einsums.push_back(std::move(einsum));
}

}  // namespace

Workload read_workload(const spec::Document& document) {
    const RawWorkload raw = read_raw(document);
    Workload workload;
    workload.n_instances = raw.n_instances;
    for (const RawEinsum& einsum : raw.einsums) {
        base::poll_reading();
        add_einsum(workload, einsum);
    }
    workload.index.nothing_overlaps = !reads_overlap(workload);
    resolve_bounds(workload, raw, document.variables);
    resolve_renames(workload, raw, document.variables);
    resolve_tensors(workload, raw, document.variables);
    return workload;
}

Workload load_workload(const std::string& name_or_path,
                       const std::map<std::string, std::string>& defines) {
    const std::filesystem::path path = find_data("problem-shapes", name_or_path);
    spec::Node tree = spec::load_tree(path.string());
    spec::check_sections(tree);
    Workload workload = read_workload(spec::expand_document(std::move(tree), defines));
    workload.name = path.stem().string();
    return workload;
}

}  // namespace tessera::workload
