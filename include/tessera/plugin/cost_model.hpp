// All that the author of a cost model includes.
#pragma once

#include "tessera/model/cost_model.hpp"
#include "tessera/plugin/component.hpp"
#include "tessera/plugin/layouts_mapspace.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

TESSERA_LAYOUT(mapping::LoopUse)
TESSERA_FIELD(einsum, std::string)
TESSERA_FIELD(rank_variable, std::string)
TESSERA_FIELD(tile_shape, std::int64_t)
TESSERA_FIELD(initial_tile_shape, std::int64_t)
TESSERA_END

TESSERA_LAYOUT(mapping::TreeNode)
TESSERA_FIELD(kind, mapping::TreeKind)
TESSERA_FIELD(tensors, std::vector<std::string>)
TESSERA_FIELD(component, std::string)
TESSERA_FIELD(rank_variables, std::vector<std::string>)
TESSERA_FIELD(tile_shape, std::int64_t)
TESSERA_FIELD(uses, std::vector<mapping::LoopUse>)
TESSERA_FIELD(n_iterations, std::int64_t)
TESSERA_FIELD(dim, std::string)
TESSERA_FIELD(einsum, std::string)
TESSERA_FIELD(persistent, bool)
TESSERA_FIELD(lower, bool)
TESSERA_FIELD(sliding, bool)
TESSERA_FIELD(einsums, std::vector<std::string>)
TESSERA_FIELD(children, std::vector<mapping::TreeNode>)
TESSERA_FIELD(where, Position)
TESSERA_END

TESSERA_LAYOUT(mapping::Mapping)
TESSERA_FIELD(root, mapping::TreeNode)
TESSERA_END

TESSERA_LAYOUT(workload::AffineTerm)
TESSERA_FIELD(coefficient, std::int64_t)
TESSERA_FIELD(rank_variable, int)
TESSERA_END

TESSERA_LAYOUT(workload::RankAccess)
TESSERA_FIELD(rank, std::string)
TESSERA_FIELD(terms, std::vector<workload::AffineTerm>)
TESSERA_FIELD(constant, std::int64_t)
TESSERA_END

TESSERA_LAYOUT(workload::Tensor)
TESSERA_FIELD(name, std::string)
TESSERA_FIELD(ranks, std::vector<std::string>)
TESSERA_FIELD(bits_per_value, double)
TESSERA_FIELD(persistent, bool)
TESSERA_FIELD(producers, std::vector<int>)
TESSERA_FIELD(consumers, std::vector<int>)
TESSERA_FIELD(size_values, double)
TESSERA_FIELD(where, Position)
TESSERA_END

TESSERA_LAYOUT(workload::TensorAccess)
TESSERA_FIELD(tensor, int)
TESSERA_FIELD(output, bool)
TESSERA_FIELD(ranks, std::vector<workload::RankAccess>)
TESSERA_FIELD(where, Position)
TESSERA_END

TESSERA_LAYOUT(workload::Rename)
TESSERA_FIELD(name, std::string)
TESSERA_FIELD(tensors, std::vector<int>)
TESSERA_FIELD(is_rank_variables, bool)
TESSERA_FIELD(rank_variables, std::vector<int>)
TESSERA_END

TESSERA_LAYOUT(workload::Einsum)
TESSERA_FIELD(name, std::string)
TESSERA_FIELD(accesses, std::vector<workload::TensorAccess>)
TESSERA_FIELD(rank_variables, std::vector<int>)
TESSERA_FIELD(is_copy_operation, bool)
TESSERA_FIELD(n_instances, double)
TESSERA_FIELD(renames, std::vector<workload::Rename>)
TESSERA_FIELD(where, Position)
TESSERA_END

TESSERA_LAYOUT(workload::RankVariable)
TESSERA_FIELD(name, std::string)
TESSERA_FIELD(bound, std::int64_t)
TESSERA_END

TESSERA_LAYOUT(workload::Workload)
TESSERA_FIELD(name, std::string)
TESSERA_FIELD(rank_variables, std::vector<workload::RankVariable>)
TESSERA_FIELD(tensors, std::vector<workload::Tensor>)
TESSERA_FIELD(einsums, std::vector<workload::Einsum>)
TESSERA_FIELD(n_instances, double)
TESSERA_FIELD(index, workload::NameIndex)
TESSERA_END

TESSERA_LAYOUT(workload::Slide)
TESSERA_FIELD(variable, int)
TESSERA_FIELD(rank, int)
TESSERA_FIELD(factor, std::int64_t)
TESSERA_FIELD(base, std::int64_t)
TESSERA_FIELD(need, std::int64_t)
TESSERA_END

TESSERA_LAYOUT(workload::Lead)
TESSERA_FIELD(base, std::int64_t)
TESSERA_FIELD(lead, std::int64_t)
TESSERA_END

TESSERA_LAYOUT(workload::LocalTensor)
TESSERA_FIELD(name, std::string)
TESSERA_FIELD(tensor, int)
TESSERA_FIELD(output, bool)
TESSERA_FIELD(persistent, bool)
TESSERA_FIELD(intermediate, bool)
TESSERA_FIELD(fusable, bool)
TESSERA_FIELD(bits_per_value, double)
TESSERA_FIELD(ranks, std::vector<workload::RankAccess>)
TESSERA_FIELD(relevancy, std::vector<workload::Relevancy>)
TESSERA_FIELD(relevant, workload::RankVariableMask)
TESSERA_FIELD(partially_relevant, workload::RankVariableMask)
TESSERA_FIELD(directly_indexing, workload::RankVariableMask)
TESSERA_FIELD(expression_indexing, workload::RankVariableMask)
TESSERA_FIELD(rank_of_variable, std::vector<int>)
TESSERA_FIELD(size_values, double)
TESSERA_FIELD(slides, std::vector<workload::Slide>)
TESSERA_END

TESSERA_LAYOUT(workload::LocalRankVariable)
TESSERA_FIELD(name, std::string)
TESSERA_FIELD(rank_variable, int)
TESSERA_FIELD(bound, std::int64_t)
TESSERA_FIELD(simple, bool)
TESSERA_FIELD(leads, std::vector<workload::Lead>)
TESSERA_END

TESSERA_LAYOUT(workload::EinsumView)
TESSERA_FIELD(einsum, int)
TESSERA_FIELD(name, std::string)
TESSERA_FIELD(is_copy_operation, bool)
TESSERA_FIELD(n_instances, double)
TESSERA_FIELD(tensors, std::vector<workload::LocalTensor>)
TESSERA_FIELD(rank_variables, std::vector<workload::LocalRankVariable>)
TESSERA_END

TESSERA_LAYOUT(arch::LoopBound)
TESSERA_FIELD(variables, workload::RankVariableMask)
TESSERA_FIELD(product, bool)
TESSERA_FIELD(op, arch::LoopBound::Op)
TESSERA_FIELD(value, double)
TESSERA_FIELD(where, Position)
TESSERA_END

TESSERA_LAYOUT(arch::PathDim)
TESSERA_FIELD(name, std::string)
TESSERA_FIELD(fanout, std::int64_t)
TESSERA_FIELD(may_reuse, workload::TensorMask)
TESSERA_FIELD(reuse, workload::TensorMask)
TESSERA_FIELD(loop_bounds, std::vector<arch::LoopBound>)
TESSERA_FIELD(min_usage, double)
TESSERA_FIELD(usage_scale, double)
TESSERA_FIELD(power_gateable, bool)
TESSERA_FIELD(where, Position)
TESSERA_END

TESSERA_LAYOUT(arch::PhysicalDim)
TESSERA_FIELD(name, std::string)
TESSERA_FIELD(fanout, std::int64_t)
TESSERA_FIELD(stride, double)
TESSERA_END

TESSERA_LAYOUT(arch::PathAction)
TESSERA_FIELD(name, std::string)
TESSERA_FIELD(energy_j, double)
TESSERA_FIELD(throughput_per_s, double)
TESSERA_FIELD(latency_s, double)
TESSERA_FIELD(values_per_action, std::vector<double>)
TESSERA_END

TESSERA_LAYOUT(arch::LatencyProgram::Step)
TESSERA_FIELD(op, arch::LatencyProgram::Op)
TESSERA_FIELD(value, double)
TESSERA_FIELD(action, int)
TESSERA_END

TESSERA_LAYOUT(arch::LatencyProgram)
TESSERA_FIELD(steps, std::vector<arch::LatencyProgram::Step>)
TESSERA_END

TESSERA_LAYOUT(arch::PathLevel)
TESSERA_FIELD(kind, arch::LevelKind)
TESSERA_FIELD(name, std::string)
TESSERA_FIELD(enabled, bool)
TESSERA_FIELD(spatial, std::vector<arch::PathDim>)
TESSERA_FIELD(cumulative_fanout, double)
TESSERA_FIELD(actions, std::vector<arch::PathAction>)
TESSERA_FIELD(actions_scale, double)
TESSERA_FIELD(latency, arch::LatencyProgram)
TESSERA_FIELD(has_latency, bool)
TESSERA_FIELD(size_bits, double)
TESSERA_FIELD(skip_initial_output_write, bool)
TESSERA_FIELD(bits_per_value, std::vector<double>)
TESSERA_FIELD(direction, std::vector<arch::Direction>)
TESSERA_FIELD(physical, std::vector<arch::PhysicalDim>)
TESSERA_FIELD(topology, arch::Topology)
TESSERA_FIELD(actions_per_value, std::vector<double>)
TESSERA_FIELD(keep, spec::Expression)
TESSERA_FIELD(may_keep, spec::Expression)
TESSERA_FIELD(back, spec::Expression)
TESSERA_FIELD(has_may_keep, bool)
TESSERA_FIELD(has_keep, bool)
TESSERA_FIELD(no_refetch_from_above, workload::TensorMask)
TESSERA_FIELD(no_resend_to_below, workload::TensorMask)
TESSERA_FIELD(tensor_order_options, std::vector<std::vector<spec::Expression>>)
TESSERA_FIELD(force_memory_hierarchy_order, bool)
TESSERA_FIELD(where, Position)
TESSERA_END

TESSERA_LAYOUT(arch::Leak::Gate)
TESSERA_FIELD(level, int)
TESSERA_FIELD(dim, int)
TESSERA_FIELD(fanout, double)
TESSERA_END

TESSERA_LAYOUT(arch::Leak)
TESSERA_FIELD(component, std::string)
TESSERA_FIELD(leak_power_w, double)
TESSERA_FIELD(gates, std::vector<arch::Leak::Gate>)
TESSERA_FIELD(off, bool)
TESSERA_END

TESSERA_LAYOUT(arch::Path)
TESSERA_FIELD(einsum, workload::EinsumView)
TESSERA_FIELD(levels, std::vector<arch::PathLevel>)
TESSERA_FIELD(leaks, std::vector<arch::Leak>)
TESSERA_FIELD(symbols, spec::Symbols)
TESSERA_END

TESSERA_LAYOUT(model::TensorReport)
TESSERA_FIELD(tensor, std::string)
TESSERA_FIELD(actions, std::map<std::string, double>)
TESSERA_FIELD(energy_j, std::map<std::string, double>)
TESSERA_FIELD(occupancy, double)
TESSERA_FIELD(has_occupancy, bool)
TESSERA_END

TESSERA_LAYOUT(model::ComponentReport)
TESSERA_FIELD(component, std::string)
TESSERA_FIELD(latency_s, double)
TESSERA_FIELD(has_latency, bool)
TESSERA_FIELD(leak_j, double)
TESSERA_FIELD(compute_actions, std::map<std::string, double>)
TESSERA_FIELD(compute_energy_j, std::map<std::string, double>)
TESSERA_FIELD(spatial_usage, std::map<std::string, double>)
TESSERA_FIELD(tensors, std::vector<model::TensorReport>)
TESSERA_END

TESSERA_LAYOUT(model::EinsumReport)
TESSERA_FIELD(einsum, std::string)
TESSERA_FIELD(components, std::vector<model::ComponentReport>)
TESSERA_FIELD(dynamic_energy_j, double)
TESSERA_FIELD(leak_energy_j, double)
TESSERA_FIELD(latency_s, double)
TESSERA_END

TESSERA_LAYOUT(model::Report)
TESSERA_FIELD(einsums, std::vector<model::EinsumReport>)
TESSERA_FIELD(peak_occupancy, std::map<std::string, double>)
TESSERA_FIELD(warnings, std::vector<std::string>)
TESSERA_END

TESSERA_LAYOUT(model::Problem)
TESSERA_FIELD(workload, const workload::Workload*)
TESSERA_FIELD(architecture, const arch::Architecture*)
TESSERA_FIELD(compat, arch::Compat)
TESSERA_END

TESSERA_LAYOUT(model::OccupancyFormula)
TESSERA_FIELD(level, int)
TESSERA_FIELD(tensor, int)
TESSERA_FIELD(node, int)
TESSERA_FIELD(loops_above, int)
TESSERA_FIELD(backing, bool)
TESSERA_FIELD(shared, bool)
TESSERA_FIELD(bits, model::Formula)
TESSERA_FIELD(least_bits, model::Formula)
TESSERA_END

TESSERA_LAYOUT(model::FanoutFormula)
TESSERA_FIELD(level, int)
TESSERA_FIELD(dim, int)
TESSERA_FIELD(used, model::Formula)
TESSERA_END

TESSERA_LAYOUT(model::TemplateFormulas)
TESSERA_FIELD(dynamic_energy_j, model::Formula)
TESSERA_FIELD(leak_energy_j, model::Formula)
TESSERA_FIELD(latency_s, model::Formula)
TESSERA_FIELD(occupancies, std::vector<model::OccupancyFormula>)
TESSERA_FIELD(fanouts, std::vector<model::FanoutFormula>)
TESSERA_END

// Their members are their own business; only their size is relied upon.
TESSERA_LAYOUT(model::Formula)
TESSERA_END
TESSERA_LAYOUT(spec::Expression)
TESSERA_END
TESSERA_LAYOUT(arch::Architecture)
TESSERA_END

TESSERA_LAYOUT(model::CostModel)
TESSERA_VIRTUAL(name, std::string() const)
TESSERA_VIRTUAL(evaluate, model::Report(const model::Problem&, const mapping::Mapping&) const)
TESSERA_VIRTUAL(evaluate, model::EinsumReport(const model::Problem&, const arch::Path&,
                                              std::span<const mapping::PmappingNode>) const)
TESSERA_VIRTUAL(has_formulas, bool() const)
TESSERA_VIRTUAL(formulate, model::TemplateFormulas(const model::Problem&, const arch::Path&,
                                                   const mapspace::Template&) const)
TESSERA_END

namespace tessera::plugin {

template <>
struct Contract<model::CostModel> : ContractOf<TESSERA_COST_MODEL, 1, 0> {
    static constexpr const char* id = "cost-model";
    static constexpr const char* name = "cost model";
    using Types = Joined<
        MapspaceTypes,
        TypeList<mapping::LoopUse, mapping::TreeNode, mapping::Mapping, workload::AffineTerm,
                 workload::RankAccess, workload::Tensor, workload::TensorAccess, workload::Rename,
                 workload::Einsum, workload::RankVariable, workload::Workload, workload::Slide,
                 workload::Lead, workload::LocalTensor, workload::LocalRankVariable,
                 workload::EinsumView, arch::LoopBound, arch::PathDim, arch::PhysicalDim,
                 arch::PathAction, arch::LatencyProgram::Step, arch::LatencyProgram,
                 arch::PathLevel, arch::Leak::Gate, arch::Leak, arch::Path, model::TensorReport,
                 model::ComponentReport, model::EinsumReport, model::Report, model::Problem,
                 model::OccupancyFormula, model::FanoutFormula, model::TemplateFormulas,
                 model::Formula, spec::Expression, arch::Architecture, model::CostModel>>::type;
};

}  // namespace tessera::plugin

#pragma GCC diagnostic pop
