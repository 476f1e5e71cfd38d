#include "model/weighted_looptree.hpp"

#include "model/analysis/einsum_analysis.hpp"

namespace tessera::model {

EinsumReport WeightedLoopTree::weighted(EinsumReport report) const {
    if (weights_.empty()) {
        return report;
    }
    report.latency_s = 0;
    for (const ComponentReport& one : report.components) {
        const auto weight = weights_.find(one.component);
        if (one.has_latency && weight != weights_.end()) {
            report.latency_s += weight->second * one.latency_s;
        }
    }
    return report;
}

Report WeightedLoopTree::evaluate(const Problem& problem, const mapping::Mapping& mapping) const {
    Report report = LoopTree::evaluate(problem, mapping);
    for (EinsumReport& einsum : report.einsums) {
        einsum = weighted(std::move(einsum));
    }
    return report;
}

EinsumReport WeightedLoopTree::evaluate(const Problem& problem, const arch::Path& path,
                                        std::span<const mapping::PmappingNode> nodes) const {
    return weighted(LoopTree::evaluate(problem, path, nodes));
}

Formula WeightedLoopTree::latency_s(const PathTables& tables, const Costs<Formula>& costs) const {
    if (weights_.empty()) {
        return LoopTree::latency_s(tables, costs);
    }
    Formula sum(0);
    for (int l = 0; l < tables.n_levels; ++l) {
        const auto weight = weights_.find(tables.path().levels[static_cast<std::size_t>(l)].name);
        if (costs.has_latency[l] && weight != weights_.end()) {
            sum = sum + costs.level_latency_s[l] *
                            Formula(weight->second * static_cast<double>(tables.n_instances));
        }
    }
    return sum;
}

std::vector<Formula> WeightedLoopTree::busy_s(const Problem& problem, const arch::Path& path,
                                              const mapping::Template& tmpl) {
    const TemplateAnalysis analysed(path, tmpl.nodes, problem.compat);
    const auto& [tables, analysis, costs] = analysed;
    std::vector<Formula> out;
    for (int l = 0; l < tables.n_levels; ++l) {
        out.push_back(costs.has_latency[l] ? costs.level_latency_s[l] *
                                                 Formula(static_cast<double>(tables.n_instances))
                                           : Formula(0));
    }
    return out;
}

TemplateFormulas WeightedLoopTree::formulate(const Problem& problem, const arch::Path& path,
                                             const mapping::Template& tmpl) const {
    TemplateFormulas result = LoopTree::formulate(problem, path, tmpl);
    for (OccupancyFormula& one : result.occupancies) {
        one.bits = one.bits * Formula(room_);
        one.least_bits = one.least_bits * Formula(room_);
    }
    return result;
}

}  // namespace tessera::model
