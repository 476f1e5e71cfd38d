#include "workload/customary_renames.hpp"

#include <algorithm>

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

std::string listed(const Workload& workload, const std::vector<int>& tensors) {
    std::string text;
    for (const int tensor : tensors) {
        text += " " + workload.tensors[static_cast<std::size_t>(tensor)].name;
    }
    return text;
}

}  // namespace

const std::vector<std::string>& customary_names() {
    static const std::vector<std::string> names = {"input", "output", "weight"};
    return names;
}

std::vector<std::string> add_customary_renames(Workload& workload) {
    for (const std::string& name : customary_names()) {
        if (taken(workload, name)) {
            return {};
        }
    }
    std::vector<std::string> given;
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
        given.push_back(einsum.name + ": input" + listed(workload, input) +
                        (weight.empty() ? "" : ", weight" + listed(workload, weight)) + ", output" +
                        listed(workload, output));
        einsum.renames.push_back({"input", input, false, {}});
        einsum.renames.push_back({"output", output, false, {}});
        einsum.renames.push_back({"weight", weight, false, {}});
    }
    return given;
}

}  // namespace tessera::workload
