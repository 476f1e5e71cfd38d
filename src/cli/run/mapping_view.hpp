// What the dashboard shows of the best mapping.
#pragma once

#include <functional>
#include <string>

#include "telemetry/snapshot.hpp"
#include "tessera/model/cost_model.hpp"

namespace tessera::cli {

/// The mapping of a mapping.yaml. `file` stands for it in messages. \throws UserError
mapping::Mapping mapping_in(const std::string& yaml, const std::string& file);

/// For telemetry::Sampler::Settings::describe. `problem` and `model` must outlive it; both are used
/// on the sampler's thread while the search uses them on others.
std::function<telemetry::MappingView(const std::string&)> mapping_view(
    const model::Problem& problem, const model::CostModel& model);

/// A mapping that is shown as it is written, without costs.
telemetry::MappingView text_view(const std::string& text);

}  // namespace tessera::cli
