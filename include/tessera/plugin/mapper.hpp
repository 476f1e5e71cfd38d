// All that the author of a mapper includes.
#pragma once

#include "tessera/mapper/mapper.hpp"
#include "tessera/plugin/component.hpp"
#include "tessera/plugin/cost_model.hpp"
#include "tessera/telemetry/recorder.hpp"

namespace tessera::plugin {

template <>
struct Contract<mapper::Mapper> : ContractOf<TESSERA_MAPPER, 3, 3> {
    static constexpr const char* id = "mapper";
    static constexpr const char* name = "mapper";
    static constexpr const auto& headers = mapper_headers;
    static constexpr TypeSize sizes[] = {
        TESSERA_SIZE(std::string),           TESSERA_SIZE(std::vector<int>),
        TESSERA_SIZE(std::optional<double>), TESSERA_SIZE(std::function<void()>),
        TESSERA_SIZE(mapping::Mapping),      TESSERA_SIZE(mapspace::MapSpaceOptions),
        TESSERA_SIZE(model::Problem),        TESSERA_SIZE(model::Report),
        TESSERA_SIZE(mapper::Options),       TESSERA_SIZE(mapper::Result)};
};

}  // namespace tessera::plugin
