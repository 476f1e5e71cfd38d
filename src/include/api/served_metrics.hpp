// Metrics that no mapper knows, served as those that mappers minimise: a view of the model in which
// energy or latency is the traffic, the dynamic energy or the leakage. Any mapper that finds the
// least energy finds the least of these.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/mapper/mapper.hpp"

namespace tessera::api {

/// What stands in the place of energy and of latency; nothing: they do themselves.
struct Places {
    std::optional<mapper::Metric> energy, latency;

    bool any() const {
        return energy || latency;
    }
};

/// Energy is the first place, unless it is asked for itself. \throws UserError for more than two
/// metrics of which one needs a place
Places places_of(const std::vector<mapper::Metric>& metrics);

/// The metrics as the mapper is asked for them.
std::vector<mapper::Metric> viewed(std::vector<mapper::Metric> metrics, const Places& places);

/// The costs of a model, with others in place of J or s. Thread rule: pure, like the model.
class ServedView : public model::CostModel {
public:
    /// Keeps a reference to `model`.
    ServedView(const model::CostModel& model, Places places) : model_(model), places_(places) {}

    std::string name() const override {
        return model_.name();
    }
    /// \throws UserError if traffic is served and the model does not count it
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
    template <class Costs, class Number>
    Costs viewed(Costs costs, Number nothing) const;
    [[noreturn]] void refuse() const;

    const model::CostModel& model_;
    Places places_;
};

}  // namespace tessera::api
