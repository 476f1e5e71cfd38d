#include "model/looptree.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "model/analysis/einsum_analysis.hpp"
#include "model/legality.hpp"
#include "tessera/base/error.hpp"
#include "tessera/model/pipelines.hpp"

namespace tessera::model {

namespace {

std::unique_ptr<EinsumAnalysis> analysed(const arch::Path& path,
                                         std::span<const mapping::PmappingNode> nodes,
                                         arch::Compat compat) {
    if (arch::Convention::of(compat).check_physical) {
        check_tile_shapes(path, nodes);
    }
    auto result = std::make_unique<EinsumAnalysis>(path, nodes, compat);
    check_alone(*result);
    return result;
}

/// Holders of a copy that share the bits of an earlier entry are marked, so that sums count them
/// once.
void add_occupancies(const PathTables& tables, const Analysis<Formula>& analysis,
                     std::span<const mapping::PmappingNode> nodes, TemplateFormulas& result) {
    const auto add = [&](int node, const HolderCounts<Formula>& holder, bool shared) {
        if (tables.levels[holder.level].kind != arch::LevelKind::memory) {
            return;
        }
        OccupancyFormula occupancy;
        occupancy.level = holder.level;
        occupancy.tensor = nodes[node].tensor;
        occupancy.node = node;
        occupancy.loops_above = holder.loops_above;
        occupancy.backing = nodes[node].backing;
        occupancy.shared = shared;
        const Formula copies(holder.persistent ? tables.n_instances : 1.0);
        occupancy.bits = holder.bits * copies;
        occupancy.least_bits = holder.least_bits * copies;
        result.occupancies.push_back(occupancy);
    };
    if (!tables.copy) {
        for (const HolderCounts<Formula>& holder : analysis.holders) {
            add(holder.node, holder, false);
        }
        return;
    }
    for (const auto& [node, entry] : analysis.merged) {
        add(node, analysis.holders[entry], analysis.holders[entry].node != node);
    }
}

/// Words that leave and enter the outermost memory.
template <class Num>
Num traffic_words(const PathTables& tables, const Analysis<Num>& analysis, OutputTraffic rule) {
    Num words(0);
    for (const HolderCounts<Num>& holder : analysis.holders) {
        if (holder.level != tables.outermost_memory) {
            continue;
        }
        const bool reads =
            rule == OutputTraffic::read_modify_write || !tables.tensors[holder.tensor].output;
        words = words + (reads ? holder.down + holder.up : holder.up);
    }
    return words * Num(tables.n_instances);
}

EinsumReport reported(const EinsumAnalysis& einsum, OutputTraffic rule) {
    EinsumReport report = build_report(einsum);
    const double words = traffic_words(einsum.tables, einsum.analysis, rule);
    // Words are whole; those of partial tiles come from averages, which round.
    const double whole = std::nearbyint(words);
    report.traffic_words = std::abs(words - whole) <= 1e-9 * words ? whole : words;
    return report;
}

/// The pipelines of a mapping that is legal in turn, and how full the memories get meanwhile.
void add_pipelines(const Problem& problem, const std::vector<mapping::EinsumMapping>& chains,
                   const std::vector<Range>& ranges, Report& report) {
    const std::vector<Part> parts = parts_of(chains, report);
    const std::vector<int> shared = shared_loops(parts);
    for (const Range& range : ranges) {
        PipelineRun run = run_pipeline(*problem.workload, parts, shared, range);
        for (const auto& [memory, share] : run.shares) {
            double& peak = report.peak_occupancy[memory];
            peak = std::max(peak, share);
        }
        report.pipelines.push_back(std::move(run.pipeline));
    }
}

}  // namespace

Report LoopTree::evaluate(const Problem& problem, const mapping::Mapping& mapping) const {
    const Unpipelined plain(mapping);
    if (!plain.ranges().empty() && problem.compat != arch::Compat::none) {
        throw UserError("--compat accelforge knows no !Pipeline; use !Sequential, or leave it out");
    }
    const std::vector<mapping::EinsumMapping> parts =
        mapping::split(mapping, *problem.paths_or_new());
    std::vector<std::unique_ptr<EinsumAnalysis>> owned;
    std::vector<const EinsumAnalysis*> einsums;
    Report report;
    for (const mapping::EinsumMapping& part : parts) {
        owned.push_back(analysed(part.path, part.nodes, problem.compat));
        einsums.push_back(owned.back().get());
        report.einsums.push_back(reported(*owned.back(), output_traffic_));
        for (std::string& warning : constraint_warnings(*owned.back())) {
            report.warnings.push_back(std::move(warning));
        }
    }
    const JoinedOccupancy occupancy = check_together(problem, einsums);
    for (const auto& [name, memory] : occupancy.memories) {
        report.peak_occupancy[name] =
            std::isinf(memory.size_bits) ? 0 : memory.peak_bits / memory.size_bits;
    }
    if (!plain.ranges().empty()) {
        add_pipelines(problem, parts, plain.ranges(), report);
    }
    return report;
}

EinsumReport LoopTree::evaluate(const Problem& problem, const arch::Path& path,
                                std::span<const mapping::PmappingNode> nodes) const {
    const std::unique_ptr<EinsumAnalysis> einsum = analysed(path, nodes, problem.compat);
    check_capacity(*einsum);
    return reported(*einsum, output_traffic_);
}

Formula LoopTree::latency_s(const PathTables& /*tables*/, const Costs<Formula>& costs) const {
    return costs.latency_s;
}

TemplateFormulas LoopTree::formulate(const Problem& problem, const arch::Path& path,
                                     const mapping::Template& tmpl) const {
    const TemplateAnalysis analysed(path, tmpl.nodes, problem.compat);
    const auto& [tables, analysis, costs] = analysed;
    TemplateFormulas result;
    result.dynamic_energy_j = costs.dynamic_energy_j;
    result.leak_energy_j = costs.leak_energy_j;
    result.latency_s = latency_s(tables, costs);
    result.traffic_words = traffic_words(tables, analysis, output_traffic_);
    add_occupancies(tables, analysis, tmpl.nodes, result);
    for (std::size_t d = 0; d < tables.dims.size(); ++d) {
        if (analysis.looped[d]) {
            result.fanouts.push_back({tables.dims[d].level, tables.dims[d].dim, analysis.used[d]});
        }
    }
    return result;
}

}  // namespace tessera::model
