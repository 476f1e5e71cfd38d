#include "workload/windows.hpp"

#include <algorithm>

#include "workload/prologues/prologues.hpp"

namespace tessera::workload {

bool reads_overlap(const Workload& w) {
    for (const Einsum& einsum : w.einsums) {
        for (const TensorAccess& access : einsum.accesses) {
            for (const RankAccess& rank : access.ranks) {
                if (!plain(rank) &&
                    !w.tensors[static_cast<std::size_t>(access.tensor)].producers.empty()) {
                    return true;
                }
            }
        }
    }
    return false;
}

void find_windows(const Workload& w, EinsumView& view) {
    if (w.index.nothing_overlaps || !reads_overlap(w)) {
        return;
    }
    const std::shared_ptr<const Prologues> all = prologues_of(w);
    const Prologues& prologues = *all;
    if (!prologues.any()) {
        return;
    }
    const Einsum& einsum = w.einsums[static_cast<std::size_t>(view.einsum)];
    const auto local = [&](int variable) {
        return static_cast<int>(
            std::find(einsum.rank_variables.begin(), einsum.rank_variables.end(), variable) -
            einsum.rank_variables.begin());
    };
    for (LocalTensor& tensor : view.tensors) {
        const TensorAccess& access = *access_of(einsum, tensor.tensor);
        for (std::size_t r = 0; r < tensor.ranks.size(); ++r) {
            if (!prologues.windows(tensor.tensor, static_cast<int>(r))) {
                continue;
            }
            for (Window s : windows_along(w, access, static_cast<int>(r))) {
                s.variable = local(s.variable);
                s.need =
                    tensor.output ? prologues.needed(tensor.tensor, static_cast<int>(r)) : s.need;
                tensor.windows.push_back(s);
            }
        }
    }
    for (LocalRankVariable& v : view.rank_variables) {
        v.prologues = prologues.of({view.einsum, v.rank_variable});
    }
}

}  // namespace tessera::workload
