// Timeloop's accounting for single layers: the numbers of timeloop-model. The rules are in
// src/timeloop; this plugin brings native problems to them.
#pragma once

#include "tessera/model/cost_model.hpp"

namespace tessera::model {

class TimeloopModel : public CostModel {
public:
    std::string name() const override {
        return "timeloop";
    }
    /// Einsums one after the other. \throws IllegalMapping also where a memory forgets data.
    Report evaluate(const Problem& problem, const mapping::Mapping& mapping) const override;
    EinsumReport evaluate(const Problem& problem, const arch::Path& path,
                          std::span<const mapping::PmappingNode> nodes) const override;
};

}  // namespace tessera::model
