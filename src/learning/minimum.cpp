#include "tessera/learning/minimum.hpp"

#include <algorithm>

#include "tessera/base/error.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::learning {

namespace {

/// The way to the first compute that may run the Einsum.
arch::Path path_of(const model::Problem& problem, int einsum) {
    for (const std::string& compute : problem.architecture->compute_names()) {
        arch::Path path =
            problem.architecture->path(*problem.workload, einsum, compute, problem.compat);
        if (path.compute().enabled) {
            return path;
        }
    }
    throw NoLegalMapping("Einsum " +
                         problem.workload->einsums[static_cast<std::size_t>(einsum)].name +
                         ": no compute may run it (`enabled` is false)");
}

double words_of(const workload::LocalTensor& tensor, const workload::EinsumView& einsum) {
    double words = 1;
    for (const workload::RankAccess& rank : tensor.ranks) {
        double furthest = 1;
        for (const workload::AffineTerm& term : rank.terms) {
            const workload::LocalRankVariable& v =
                einsum.rank_variables[static_cast<std::size_t>(term.rank_variable)];
            const auto reach = static_cast<double>(std::abs(term.coefficient) * v.bound);
            furthest = std::max(furthest, reach);
        }
        words *= furthest;
    }
    return words;
}

double energy_of_word(const arch::PathLevel& memory, std::size_t tensor, bool output) {
    for (const arch::PathAction& action : memory.actions) {
        if (action.name == (output ? "write" : "read")) {
            return action.energy_j * memory.actions_scale / action.values_per_action[tensor];
        }
    }
    return 0;
}

}  // namespace

Minimum algorithmic_minimum(const model::Problem& problem) {
    Minimum minimum;
    for (int e = 0; e < static_cast<int>(problem.workload->einsums.size()); ++e) {
        const arch::Path path = path_of(problem, e);
        const workload::EinsumView& einsum = path.einsum;
        double computes = einsum.n_instances;
        for (const workload::LocalRankVariable& v : einsum.rank_variables) {
            computes *= static_cast<double>(v.bound);
        }
        for (std::size_t t = 0; t < einsum.tensors.size(); ++t) {
            const workload::LocalTensor& tensor = einsum.tensors[t];
            const double words = words_of(tensor, einsum) * einsum.n_instances;
            for (const arch::PathLevel& level : path.levels) {
                if (level.kind == arch::LevelKind::memory) {
                    const double energy_j = words * energy_of_word(level, t, tensor.output);
                    minimum.energy_j += energy_j;
                    minimum.by_tensor_j[einsum.name + " " + level.name + " " + tensor.name] =
                        energy_j;
                }
            }
        }
        for (const arch::PathAction& action : path.compute().actions) {
            minimum.energy_j += computes * action.energy_j * path.compute().actions_scale;
            minimum.latency_s +=
                computes / (path.compute().cumulative_fanout * action.throughput_per_s);
        }
    }
    return minimum;
}

}  // namespace tessera::learning
