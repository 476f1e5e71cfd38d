#include "workload/customary_renames.hpp"

#include <algorithm>

#include "tessera/workload/workload.hpp"

namespace tessera::workload {

namespace {

bool has_rename(const Einsum& einsum) {
    return std::any_of(einsum.renames.begin(), einsum.renames.end(), [](const Rename& rename) {
        const std::vector<std::string>& names = customary_names();
        return std::find(names.begin(), names.end(), rename.name) != names.end();
    });
}

bool taken(const Workload& workload, const std::string& name) {
    return workload.find_tensor(name) >= 0 || workload.find_rank_variable(name) >= 0;
}

void give(const Workload& workload, Einsum& einsum, const std::string& role,
          const std::vector<int>& tensors, std::vector<GuessedRole>& given) {
    einsum.renames.push_back({role, tensors, false, {}});
    GuessedRole guess{einsum.name, role, {}};
    for (const int tensor : tensors) {
        guess.tensors.push_back(workload.tensors[static_cast<std::size_t>(tensor)].name);
    }
    if (!tensors.empty()) {
        given.push_back(std::move(guess));
    }
}

}  // namespace

const std::vector<std::string>& customary_names() {
    static const std::vector<std::string> names = {"input", "output", "weight"};
    return names;
}

std::string to_text(const GuessedRole& role) {
    std::string text = role.einsum + ": " + role.role + " is";
    for (const std::string& tensor : role.tensors) {
        text += " " + tensor;
    }
    return text;
}

std::vector<GuessedRole> add_customary_renames(Workload& workload) {
    for (const std::string& name : customary_names()) {
        if (taken(workload, name)) {
            return {};
        }
    }
    std::vector<GuessedRole> given;
    for (Einsum& einsum : workload.einsums) {
        if (has_rename(einsum)) {
            continue;
        }
        std::vector<int> input, output, weight;
        for (const TensorAccess& access : einsum.accesses) {
            std::vector<int>& place = access.output ? output : weight;
            if (std::find(place.begin(), place.end(), access.tensor) == place.end()) {
                place.push_back(access.tensor);
            }
        }
        const auto made = std::find_if(weight.begin(), weight.end(), [&](int tensor) {
            return !workload.tensors[static_cast<std::size_t>(tensor)].producers.empty();
        });
        if (!weight.empty()) {
            const auto chosen = made == weight.end() ? weight.begin() : made;
            input.push_back(*chosen);
            weight.erase(chosen);
        }
        give(workload, einsum, "input", input, given);
        give(workload, einsum, "weight", weight, given);
        give(workload, einsum, "output", output, given);
    }
    return given;
}

}  // namespace tessera::workload
