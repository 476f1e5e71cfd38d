// The default cost model: fused mappings as LoopTrees. The rules are in docs/model.md.
#pragma once

#include "tessera/model/cost_model.hpp"

namespace tessera::model {

/// Thread rule: pure, like every cost model.
class LoopTree : public CostModel {
public:
    std::string name() const override {
        return "looptree";
    }
    Report evaluate(const Problem& problem, const mapping::Mapping& mapping) const override;
    /// Checks tile shapes, fan-outs and capacities of this Einsum alone.
    EinsumReport evaluate(const Problem& problem, const arch::Path& path,
                          std::span<const mapping::PmappingNode> nodes) const override;
    bool has_formulas() const override {
        return true;
    }
    TemplateFormulas formulate(const Problem& problem, const arch::Path& path,
                               const mapping::Template& tmpl) const override;
};

}  // namespace tessera::model
