// Rows whose reduced cost, the least of a whole mapping with them in the relaxed join, is above
// what is known (docs/ffm-proofs.md, 2.29).
#include "completion_bounds.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::mapspace {

double fix_by_reduced_costs(const workload::Workload& workload,
                            std::vector<std::vector<PmappingGroup>>& groups, JoinGoal goal,
                            const std::vector<std::vector<double>>& incumbents,
                            std::size_t most_sums) {
    using namespace detail;
    const int objectives = goal == JoinGoal::single ? 1 : 2;
    const Orders orders = orders_of(workload, least_costs(groups, objectives), EinsumOrder::file);
    CompletionBounds bounds(groups, orders, workload.tensors.size(), goal, incumbents, most_sums);
    std::vector<std::vector<std::vector<std::uint32_t>>> kept(groups.size());
    for (std::size_t e = 0; e < groups.size(); ++e) {
        kept[e].resize(groups[e].size());
    }
    bounds.tell_reduced_costs([&](std::size_t e, std::size_t g, std::size_t r, const double* sums) {
        if (!bounds.sums().pruned(sums)) {
            kept[e][g].push_back(static_cast<std::uint32_t>(r));
        }
    });
    const double least = bounds.least_value();
    for (std::size_t e = 0; e < groups.size(); ++e) {
        for (std::size_t g = 0; g < groups[e].size(); ++g) {
            if (kept[e][g].size() < groups[e][g].rows()) {
                groups[e][g].keep(kept[e][g]);
            }
        }
        std::erase_if(groups[e], [](const PmappingGroup& g) { return g.rows() == 0; });
    }
    return least;
}

}  // namespace tessera::mapspace
