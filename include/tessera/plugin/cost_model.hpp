// All that the author of a cost model includes.
#pragma once

#include "tessera/model/cost_model.hpp"
#include "tessera/plugin/component.hpp"

namespace tessera::plugin {

template <>
struct Contract<model::CostModel> : ContractOf<TESSERA_COST_MODEL, 2, 1> {
    static constexpr const char* id = "cost-model";
    static constexpr const char* name = "cost model";
    static constexpr const auto& headers = cost_model_headers;
    static constexpr TypeSize sizes[] = {
        TESSERA_SIZE(std::string),          TESSERA_SIZE(std::vector<int>),
        TESSERA_SIZE(workload::EinsumView), TESSERA_SIZE(arch::Path),
        TESSERA_SIZE(mapping::Mapping),     TESSERA_SIZE(mapping::PmappingNode),
        TESSERA_SIZE(mapping::Template),    TESSERA_SIZE(model::Problem),
        TESSERA_SIZE(model::Report),        TESSERA_SIZE(model::TemplateFormulas)};
};

}  // namespace tessera::plugin
