#include "tessera/model/report.hpp"

#include "tessera/base/error.hpp"
#include "tessera/model/cost_model.hpp"

namespace tessera::model {

double Report::dynamic_energy_j() const {
    double total = 0;
    for (const EinsumReport& einsum : einsums) {
        total += einsum.dynamic_energy_j;
    }
    return total;
}

double Report::leak_energy_j() const {
    double total = 0;
    for (const EinsumReport& einsum : einsums) {
        total += einsum.leak_energy_j;
    }
    return total;
}

double Report::energy_j() const {
    return dynamic_energy_j() + leak_energy_j();
}

double Report::latency_s() const {
    double total = 0;
    std::vector<char> pipelined(einsums.size(), 0);
    for (const Pipeline& pipeline : pipelines) {
        total += pipeline.latency_s;
        for (const PipelineSlot& slot : pipeline.slots) {
            pipelined.at(static_cast<std::size_t>(slot.einsum)) = 1;
        }
    }
    for (std::size_t e = 0; e < einsums.size(); ++e) {
        total += pipelined[e] ? 0 : einsums[e].latency_s;
    }
    return total;
}

std::optional<double> Report::traffic_words() const {
    double total = 0;
    for (const EinsumReport& einsum : einsums) {
        if (!einsum.traffic_words) {
            return std::nullopt;
        }
        total += *einsum.traffic_words;
    }
    return total;
}

TemplateFormulas CostModel::formulate(const Problem&, const arch::Path&,
                                      const mapping::Template&) const {
    throw UserError("cost model '" + name() +
                    "' gives no formulas; choose a mapper that only evaluates mappings, or a cost "
                    "model with formulas (looptree)");
}

}  // namespace tessera::model
