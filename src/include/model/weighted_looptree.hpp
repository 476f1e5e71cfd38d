// Model looptree with another latency: a weighted sum of how long components are busy, in place of
// how long the slowest one is. With weights that add up to 1 it is at most the latency, of one
// Einsum as of any that run at once (docs/pipelines.md, section 6).
#pragma once

#include <map>
#include <string>

#include "model/looptree.hpp"

namespace tessera::model {

/// Thread rule: pure, like every cost model.
class WeightedLoopTree : public LoopTree {
public:
    /// `weights`: by component; others count nothing; none at all: the latency as it is. `room`:
    /// templates need so many times the space, so that what is found leaves some to pipelines.
    explicit WeightedLoopTree(std::map<std::string, double> weights, double room = 1)
        : weights_(std::move(weights)), room_(room) {}

    Report evaluate(const Problem& problem, const mapping::Mapping& mapping) const override;
    EinsumReport evaluate(const Problem& problem, const arch::Path& path,
                          std::span<const mapping::PmappingNode> nodes) const override;
    TemplateFormulas formulate(const Problem& problem, const arch::Path& path,
                               const mapping::Template& tmpl) const override;

    /// By level of the path: seconds that it is busy, n_instances included. \pre a current
    /// FormulaPool
    static std::vector<Formula> busy_s(const Problem& problem, const arch::Path& path,
                                       const mapping::Template& tmpl);

private:
    EinsumReport weighted(EinsumReport report) const;
    Formula latency_s(const PathTables& tables, const Costs<Formula>& costs) const override;

    std::map<std::string, double> weights_;
    double room_;
};

}  // namespace tessera::model
