#include "mapping/chain_step.hpp"

#include <algorithm>

#include "tessera/spec/node.hpp"
#include "tessera/spec/position.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::mapping {

void unknown(const TreeNode& node, const std::string& what, const std::string& name,
             const std::vector<std::string>& known) {
    spec::fail(node.where, "",
               {.what = "unknown " + what,
                .value = name,
                .expected = known.empty() ? "" : "one of " + spec::name_list(known),
                .remedy = spec::did_you_mean(name, known)});
}

Step resolve(const TreeNode& node, int origin, const workload::Workload& workload,
             arch::Compat compat) {
    Step step{&node, origin, {}, {}, {}, {}};
    const auto einsum = [&](const std::string& name) {
        const int index = workload.find_einsum(name);
        if (index < 0) {
            unknown(node, "Einsum", name, names(workload.einsums));
        }
        return index;
    };
    for (const std::string& name : node.einsums) {
        step.einsums.push_back(einsum(name));
    }
    std::sort(step.einsums.begin(), step.einsums.end());
    for (const std::string& name : node.tensors) {
        step.tensors.push_back(workload.find_tensor(name));
        if (step.tensors.back() < 0 && arch::Convention::of(compat).unknown_names_fail) {
            unknown(node, "tensor", name, names(workload.tensors));
        }
    }
    for (const std::string& name : node.rank_variables) {
        step.loop_names.push_back(workload.find_rank_variable(name));
        if (step.loop_names.back() < 0) {
            unknown(node, "rank variable", name, names(workload.rank_variables));
        }
    }
    for (const LoopUse& use : node.uses) {
        step.uses.push_back(einsum(use.einsum));
    }
    return step;
}

}  // namespace tessera::mapping
