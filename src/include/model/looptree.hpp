// The default cost model: fused mappings as LoopTrees. The rules are in docs/model.md.
#pragma once

#include <cstdint>

#include "tessera/model/cost_model.hpp"

namespace tessera::model {

class PathTables;
template <class Num>
class Costs;

/// What an output of n passes moves at the outermost memory, in EinsumReport::traffic_words: each
/// pass but the first reads what it adds to (2n - 1), or it is written only (n).
enum class OutputTraffic : std::uint8_t { read_modify_write, once_per_pass };

/// Thread rule: pure, like every cost model.
class LoopTree : public CostModel {
public:
    explicit LoopTree(OutputTraffic output_traffic = OutputTraffic::read_modify_write)
        : output_traffic_(output_traffic) {}

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

protected:
    /// What formulas have as the latency of an Einsum: how long its slowest component takes.
    virtual Formula latency_s(const PathTables& tables, const Costs<Formula>& costs) const;

private:
    OutputTraffic output_traffic_;
};

}  // namespace tessera::model
