#include "einsum_analysis.hpp"

#include <cmath>

namespace tessera::model {

EinsumAnalysis::EinsumAnalysis(const arch::Path& path, std::span<const mapping::PmappingNode> nodes,
                               arch::Compat compat)
    : tables(path, compat), nodes(nodes) {
    plan.build(tables, nodes);
    update();
}

void EinsumAnalysis::update() {
    analysis.run(tables, nodes, plan);
    costs.run(tables, analysis);
    node_trips.clear();
    std::vector<double> shape = tables.bounds;
    for (const mapping::PmappingNode& node : nodes) {
        node_trips.push_back(1);
        if (node.rank_variable >= 0) {
            const double tile = static_cast<double>(node.tile);
            const double enclosing = node.base > 0 ? node.base : shape[node.rank_variable];
            node_trips.back() = std::ceil(enclosing / tile);
            shape[node.rank_variable] = static_cast<double>(node.largest_tile());
        }
    }
}

}  // namespace tessera::model
