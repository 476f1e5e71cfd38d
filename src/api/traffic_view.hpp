// Metric `traffic` for mappers, which minimise energy and latency: a view of the model in which one
// of the two is the traffic. Any mapper that finds the least energy finds the least traffic.
#pragma once

#include <string>
#include <vector>

#include "tessera/mapper/mapper.hpp"

namespace tessera::api {

/// The costs of a model, with words in place of J or s. Thread rule: pure, like the model.
class TrafficView : public model::CostModel {
public:
    /// `place`: energy or latency, whichever the words take. Keeps a reference to `model`.
    TrafficView(const model::CostModel& model, mapper::Metric place)
        : model_(model), place_(place) {}

    std::string name() const override {
        return model_.name();
    }
    /// \throws UserError if the model does not count traffic
    model::Report evaluate(const model::Problem& problem,
                           const mapping::Mapping& mapping) const override;
    model::EinsumReport evaluate(const model::Problem& problem, const arch::Path& path,
                                 std::span<const mapping::PmappingNode> nodes) const override;
    bool has_formulas() const override {
        return model_.has_formulas();
    }
    model::TemplateFormulas formulate(const model::Problem& problem, const arch::Path& path,
                                      const mapping::Template& tmpl) const override;

private:
    model::EinsumReport viewed(model::EinsumReport report) const;
    [[noreturn]] void refuse() const;

    const model::CostModel& model_;
    mapper::Metric place_;
};

/// What the words stand in for: energy, but latency beside the metric energy. Nothing if traffic is
/// not asked for. \throws UserError for traffic beside both
std::optional<mapper::Metric> place_of_traffic(const std::vector<mapper::Metric>& metrics);

/// The metrics as the mapper is asked for them.
std::vector<mapper::Metric> viewed(std::vector<mapper::Metric> metrics, mapper::Metric place);

}  // namespace tessera::api
