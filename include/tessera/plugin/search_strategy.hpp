// All that the author of a search strategy includes.
#pragma once

#include "tessera/plugin/component.hpp"
#include "tessera/search/strategy.hpp"

namespace tessera::plugin {

template <>
struct Contract<search::SearchStrategy> : ContractOf<TESSERA_SEARCH_STRATEGY, 2, 5> {
    static constexpr const char* id = "search-strategy";
    static constexpr const char* name = "search strategy";
    static constexpr const auto& headers = search_strategy_headers;
    static constexpr TypeSize sizes[] = {
        TESSERA_SIZE(std::string),           TESSERA_SIZE(std::vector<int>),
        TESSERA_SIZE(mapping::PmappingNode), TESSERA_SIZE(mapping::Template),
        TESSERA_SIZE(search::Choice),        TESSERA_SIZE(search::Point),
        TESSERA_SIZE(search::Outcome),       TESSERA_SIZE(search::Candidate)};
};

}  // namespace tessera::plugin
