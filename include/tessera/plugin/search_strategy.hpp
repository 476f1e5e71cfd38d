// All that the author of a search strategy includes.
#pragma once

#include "tessera/plugin/component.hpp"
#include "tessera/plugin/layouts_mapspace.hpp"
#include "tessera/search/strategy.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

TESSERA_LAYOUT(search::Choice)
TESSERA_FIELD(tmpl, std::uint32_t)
TESSERA_FIELD(join, std::uint32_t)
TESSERA_END

TESSERA_LAYOUT(search::Point)
TESSERA_FIELD(choices, std::vector<search::Choice>)
TESSERA_FIELD(tiles, std::vector<std::int64_t>)
TESSERA_END

TESSERA_LAYOUT(search::Outcome)
TESSERA_FIELD(verdict, search::Verdict)
TESSERA_FIELD(energy_j, double)
TESSERA_FIELD(latency_s, double)
TESSERA_FIELD(value, double)
TESSERA_END

TESSERA_LAYOUT(search::Candidate)
TESSERA_FIELD(how, search::Candidate::How)
TESSERA_FIELD(einsum, std::uint32_t)
TESSERA_FIELD(seed, std::uint64_t)
TESSERA_FIELD(point, search::Point)
TESSERA_FIELD(outcome, search::Outcome)
TESSERA_END

TESSERA_LAYOUT(search::Enumerator)
TESSERA_VIRTUAL(next, bool(search::Point&))
TESSERA_END

TESSERA_LAYOUT(search::Space)
TESSERA_VIRTUAL(n_einsums, std::uint32_t() const)
TESSERA_VIRTUAL(n_templates, std::uint32_t(std::uint32_t) const)
TESSERA_VIRTUAL(tmpl, const mapspace::Template&(std::uint32_t, std::uint32_t) const)
TESSERA_VIRTUAL(enumerate, std::unique_ptr<search::Enumerator>() const)
TESSERA_END

TESSERA_LAYOUT(search::SearchStrategy)
TESSERA_VIRTUAL(name, std::string() const)
TESSERA_VIRTUAL(start, void(const search::Space&, std::uint64_t))
TESSERA_VIRTUAL(ask, std::size_t(std::span<search::Candidate>))
TESSERA_VIRTUAL(tell, void(std::span<const search::Candidate>))
TESSERA_VIRTUAL(exhausted, bool() const)
TESSERA_VIRTUAL(ends, bool() const)
TESSERA_VIRTUAL(save, std::string() const)
TESSERA_VIRTUAL(restore, bool(const std::string&))
TESSERA_END

namespace tessera::plugin {

template <>
struct Contract<search::SearchStrategy> : ContractOf<TESSERA_SEARCH_STRATEGY, 1, 0> {
    static constexpr const char* id = "search-strategy";
    static constexpr const char* name = "search strategy";
    using Types = Joined<MapspaceTypes,
                         TypeList<search::Choice, search::Point, search::Outcome, search::Candidate,
                                  search::Enumerator, search::Space, search::SearchStrategy>>::type;
};

}  // namespace tessera::plugin

#pragma GCC diagnostic pop
