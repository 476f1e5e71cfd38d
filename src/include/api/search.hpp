// Names of components, and what is said about a mapping or a result: shared by the library's front
// door and the commands. A search is set up and run by tessera/session.hpp alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/mapper/mapper.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/mapspace/template.hpp"

namespace tessera::api {

/// Mapper `search` runs strategies.
inline constexpr const char* strategy_runner = "search";
/// This mapper has a mapspace of its own, of the same name, which no MapSpaceOptions describe.
inline constexpr const char* timeloop_mapper = "timeloop";

struct MapperChoice {
    std::string mapper;
    std::string strategy;  ///< of mapper `search`; empty: its own choice, or another mapper
};

/// "ffm", "annealing" or "search:annealing". \throws UserError listing the names there are, with
/// `more` at its end
MapperChoice choose_mapper(const std::string& name, const std::string& more = "");

/// \throws UserError listing the names there are, with `more` at its end
void check_strategy(const std::string& name, const std::string& more = "");
void check_model(const std::string& name, const std::string& more = "");

/// "energy", "latency", "edp", "traffic".
const char* metric_name(mapper::Metric metric) noexcept;

/// Result::reasons in one line.
std::string one_text(const std::vector<std::string>& reasons);

/// Violation::code of what the model alone refuses.
inline constexpr const char* refused_by_model = "model";

/// What the independent checker finds, or else what the model refuses. `name`: of the model.
std::vector<mapspace::Violation> explain(const model::Problem& problem,
                                         const mapping::Mapping& mapping, const std::string& name,
                                         const model::CostModel& model);

/// What keeps a legal mapping out of a mapspace: a search does not look at it.
std::vector<mapspace::Violation> outside_mapspace(const model::Problem& problem,
                                                  const mapping::Mapping& mapping,
                                                  const mapspace::MapSpaceOptions& options);

/// (best - bound) / best of the only metric; 0 if optimal. Empty: unknown, or several metrics.
std::optional<double> gap(const mapper::Result& result, const std::vector<mapper::Metric>& metrics);

}  // namespace tessera::api
