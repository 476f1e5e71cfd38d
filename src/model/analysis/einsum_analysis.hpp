// One Einsum of a LoopTree, analysed with numbers.
#pragma once

#include <memory>
#include <span>

#include "costs.hpp"
#include "tessera/mapping/pmapping.hpp"
#include "tessera/model/report.hpp"

namespace tessera::model {

struct EinsumAnalysis {
    /// Keeps references to `path` and `nodes`.
    /// \throws IllegalMapping, see NestPlan::build.
    EinsumAnalysis(const arch::Path& path, std::span<const mapping::PmappingNode> nodes,
                   arch::Compat compat);

    /// Anew for other tile shapes in the same nodes.
    void update();

    const workload::EinsumView& einsum() const {
        return tables.path().einsum;
    }
    double trips(int node) const {
        return node_trips[node];
    }

    PathTables tables;
    std::span<const mapping::PmappingNode> nodes;
    NestPlan plan;
    Analysis<double> analysis;
    Costs<double> costs;
    std::vector<double> node_trips;  ///< per node; whole iterations of a loop, 1 for other nodes
};

/// A template analysed with formulas. Keeps references to `path` and `nodes`; needs a current
/// FormulaPool.
struct TemplateAnalysis {
    TemplateAnalysis(const arch::Path& path, std::span<const mapping::PmappingNode> nodes,
                     arch::Compat compat)
        : tables(path, compat) {
        NestPlan plan;
        plan.build(tables, nodes);
        analysis.run(tables, nodes, plan);
        costs.run(tables, analysis);
    }

    PathTables tables;
    Analysis<Formula> analysis;
    Costs<Formula> costs;
};

/// The figures of one analysed Einsum with names. Components stand in path order; those that are
/// not on the path but leak follow.
EinsumReport build_report(const EinsumAnalysis& einsum);

}  // namespace tessera::model
