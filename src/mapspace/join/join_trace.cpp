#include "join_trace.hpp"

#include <algorithm>

namespace tessera::mapspace::detail {

std::vector<JoinedEinsum> traced(const std::vector<TracedStep>& steps) {
    std::vector<JoinedEinsum> out;
    for (std::size_t e = 0; e < steps.size(); ++e) {
        const JoinPlan& plan = *steps[e].plan;
        out.push_back({plan.einsum, static_cast<int>(steps[e].group), steps[e].row, plan.order, 0});
        if (e == 0) {
            continue;
        }
        out[e - 1].shared_with_next = plan.n_left;
        // The step may have permuted the open loops: so they are for everybody who runs inside
        // them.
        int shared = plan.n_left;
        for (std::size_t i = e; i-- > 0 && shared > 0;) {
            shared = std::min(shared, out[i].shared_with_next);
            std::vector<int>& order = out[i].order;
            const std::vector<int> old = order;
            for (int j = 0; j < shared; ++j) {
                order[static_cast<std::size_t>(
                    plan.position_of_left[static_cast<std::size_t>(j)])] =
                    old[static_cast<std::size_t>(j)];
            }
        }
    }
    return out;
}

}  // namespace tessera::mapspace::detail
