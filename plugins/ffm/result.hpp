#pragma once

// What a run says in words, and what it makes sure of before it hands mappings out.

#include <string>
#include <vector>

#include "explorer.hpp"
#include "tessera/mapper/mapper.hpp"
#include "tessera/mapspace/join.hpp"

namespace tessera::ffm {

/// The join's sums and the model's evaluation differ by rounding only.
inline constexpr double agreement = 1e-9;

std::string number(double v);

/// What the recorder is told of a mapping; `value`: by the first metric.
telemetry::Incumbent incumbent_of(const mapper::Solution& solution, double value,
                                  const std::string& step);

/// Why an Einsum has no pmapping at all.
std::vector<std::string> explain_empty(const workload::Workload& w, const EinsumSpace& space);

/// Why a join without bounds found nothing.
std::string explain_failed_join(const workload::Workload& w,
                                const std::vector<mapspace::TrackedMemory>& tracked,
                                const mapspace::JoinResult& join);

/// Number of combinations of one pmapping per Einsum, before any are pruned or fail to join; empty
/// if that of an Einsum is not known.
std::string mapspace_size(const std::vector<EinsumSpace>& spaces);

/// Why the independent checker does not take a mapping for a member; empty: it does.
std::string objection(const model::Problem& problem, const mapspace::MapSpaceOptions& limits,
                      const mapping::Mapping& mapping);
/// The independent checker has the last word on every result. \throws Bug
void check_legality(const model::Problem& problem, const mapspace::MapSpaceOptions& limits,
                    const mapping::Mapping& mapping);

/// \throws Bug if the model's evaluation is not what the join added up
void check_agreement(const ExploreContext& context, const mapspace::JoinedMapping& m,
                     const model::Report& report);

}  // namespace tessera::ffm
