// All that the author of a mapper includes.
#pragma once

#include "tessera/mapper/mapper.hpp"
#include "tessera/plugin/component.hpp"
#include "tessera/plugin/cost_model.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

TESSERA_LAYOUT(mapspace::MapSpaceOptions)
TESSERA_FIELD(preset, mapspace::MapSpaceOptions::Preset)
TESSERA_FIELD(max_fused_loops, int)
TESSERA_FIELD(max_fused_loops_per_rank_variable, int)
TESSERA_FIELD(max_loops_per_spatial_dimension, int)
TESSERA_FIELD(imperfect_temporal, bool)
TESSERA_FIELD(imperfect_spatial, bool)
TESSERA_FIELD(partial_inner_tiles, bool)
TESSERA_FIELD(force_memory_hierarchy_order, bool)
TESSERA_FIELD(explore_loop_orders, bool)
TESSERA_FIELD(open_loop_orders, bool)
TESSERA_FIELD(unfused, bool)
TESSERA_FIELD(out_of_order_removes_spatials, bool)
TESSERA_FIELD(all_einsum_orders, bool)
TESSERA_FIELD(loops_below_holders, bool)
TESSERA_FIELD(copies_in_distributed_memories, bool)
TESSERA_FIELD(sliding_holders, bool)
TESSERA_END

TESSERA_LAYOUT(base::Budget)
TESSERA_FIELD(max_evals, std::uint64_t)
TESSERA_FIELD(max_time_s, double)
TESSERA_FIELD(max_cpu_s, double)
TESSERA_FIELD(stall_evals, std::uint64_t)
TESSERA_FIELD(max_memory_bytes, std::uint64_t)
TESSERA_FIELD(gap, double)
TESSERA_FIELD(target, std::optional<double>)
TESSERA_END

TESSERA_LAYOUT(mapper::Options)
TESSERA_FIELD(metrics, std::vector<mapper::Metric>)
TESSERA_FIELD(mapspace, mapspace::MapSpaceOptions)
TESSERA_FIELD(threads, int)
TESSERA_FIELD(seed, std::uint64_t)
TESSERA_FIELD(budget, base::Budget)
TESSERA_FIELD(stop, const std::atomic<bool>*)
TESSERA_FIELD(progress, std::function<void(const std::string&)>)
TESSERA_FIELD(recorder, telemetry::Recorder*)
TESSERA_FIELD(without, std::vector<std::string>)
TESSERA_FIELD(resume, std::string)
TESSERA_FIELD(knobs, std::map<std::string, std::map<std::string, std::string>>)
TESSERA_END

TESSERA_LAYOUT(mapper::Solution)
TESSERA_FIELD(mapping, mapping::Mapping)
TESSERA_FIELD(report, model::Report)
TESSERA_END

TESSERA_LAYOUT(mapper::Statistics)
TESSERA_FIELD(wall_s, double)
TESSERA_FIELD(mapspace_size, std::string)
TESSERA_FIELD(all_orders, bool)
TESSERA_FIELD(templates, std::uint64_t)
TESSERA_FIELD(evaluated, std::uint64_t)
TESSERA_FIELD(pareto, std::uint64_t)
TESSERA_FIELD(threads, int)
TESSERA_FIELD(phases, std::vector<std::pair<std::string, double>>)
TESSERA_END

TESSERA_LAYOUT(mapper::Result)
TESSERA_FIELD(status, mapper::Status)
TESSERA_FIELD(solutions, std::vector<mapper::Solution>)
TESSERA_FIELD(bound, std::optional<double>)
TESSERA_FIELD(reasons, std::vector<std::string>)
TESSERA_FIELD(stopped_by, std::string)
TESSERA_FIELD(statistics, mapper::Statistics)
TESSERA_END

TESSERA_LAYOUT(mapper::Mapper)
TESSERA_VIRTUAL(name, std::string() const)
TESSERA_VIRTUAL(map, mapper::Result(const model::Problem&, const model::CostModel&,
                                    const mapper::Options&))
TESSERA_END

namespace tessera::plugin {

template <>
struct Contract<mapper::Mapper> : ContractOf<TESSERA_MAPPER, 1, 0> {
    static constexpr const char* id = "mapper";
    static constexpr const char* name = "mapper";
    using Types =
        Joined<Contract<model::CostModel>::Types,
               TypeList<mapspace::MapSpaceOptions, base::Budget, mapper::Options, mapper::Solution,
                        mapper::Statistics, mapper::Result, mapper::Mapper>>::type;
};

}  // namespace tessera::plugin

#pragma GCC diagnostic pop
