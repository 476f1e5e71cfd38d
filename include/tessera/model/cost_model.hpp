// Role contract CostModel: numbers for a mapping, and formulas for a template.
//
// A model that cannot give formulas says so through has_formulas(); mappers that need them (ffm)
// refuse it with a clear message instead of guessing.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/arch/paths.hpp"
#include "tessera/mapping/mapping.hpp"
#include "tessera/mapping/pmapping.hpp"
#include "tessera/mapping/template.hpp"
#include "tessera/model/formula.hpp"
#include "tessera/model/report.hpp"

namespace tessera::model {

/// Everything a model or mapper is asked about. Outlives every object made from it.
struct Problem {
    const workload::Workload* workload = nullptr;
    const arch::Architecture* architecture = nullptr;
    arch::Compat compat = arch::Compat::none;
    /// For evaluations of many mappings. Counts where it is of this workload and architecture.
    std::shared_ptr<arch::Paths> paths = nullptr;

    /// Those, or new ones.
    std::shared_ptr<arch::Paths> paths_or_new() const;

    arch::Convention convention() const {
        return arch::Convention::of(compat);
    }
};

/// Bits that one holder occupies in one instance of its memory.
struct OccupancyFormula {
    int level = 0;   ///< path level of the memory
    int tensor = 0;  ///< local tensor
    int node = 0;    ///< index of the holder in the template's nodes
    /// Number of template loops (null ones included) above the reservation; -1: persistent.
    int loops_above = 0;
    bool backing = false;
    /// Copy Einsums store one copy per memory: these are the bits of an earlier entry, do not add
    /// them again.
    bool shared = false;
    Formula bits;
    /// Nowhere above `bits`, and without a minimum: for bounds. The same if `bits` has none.
    Formula least_bits;
};

/// Instances used of one spatial dimension; must not exceed the fan-out.
struct FanoutFormula {
    int level = 0, dim = 0;
    Formula used;
};

/// A template's costs as functions of its unknown tile shapes, n_instances included in energy and
/// latency. The formulas live in the FormulaPool that was current when formulate() was called.
struct TemplateFormulas {
    Formula dynamic_energy_j;
    Formula leak_energy_j;
    Formula latency_s;  ///< maximum over components
    /// As EinsumReport::traffic_words.
    std::optional<Formula> traffic_words;
    std::vector<OccupancyFormula> occupancies;
    std::vector<FanoutFormula> fanouts;  ///< every dimension that has a loop
};

/// Thread rule: one instance may be called from several threads at once; calls are pure.
class CostModel {
public:
    virtual ~CostModel() = default;

    virtual std::string name() const = 0;

    /// Evaluates a complete LoopTree. \throws IllegalMapping naming the physical limit that it
    /// breaks (capacity, fan-out, tile shapes, a tensor stored nowhere, unfinished reads),
    /// UserError for unknown names. Violated mapper constraints become Report::warnings.
    virtual Report evaluate(const Problem& problem, const mapping::Mapping& mapping) const = 0;

    /// Evaluates one Einsum's pmapping alone, all tile shapes known. No capacity check across
    /// Einsums.
    virtual EinsumReport evaluate(const Problem& problem, const arch::Path& path,
                                  std::span<const mapping::PmappingNode> nodes) const = 0;

    /// True if formulate() is available.
    virtual bool has_formulas() const {
        return false;
    }

    /// Formulas of a template. \pre has_formulas() and a current FormulaPool.
    virtual TemplateFormulas formulate(const Problem& problem, const arch::Path& path,
                                       const mapping::Template& tmpl) const;
};

}  // namespace tessera::model
