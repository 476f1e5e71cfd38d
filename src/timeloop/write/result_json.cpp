#include "timeloop/write.hpp"

#include <cmath>

#include "tessera/base/json.hpp"

namespace tessera::timeloop {

namespace {

using base::Json;

constexpr int schema_version = 1;
constexpr double j_per_pj = 1e-12, m2_per_um2 = 1e-12;

void put(Json& object, const char* key, double value) {
    if (std::isfinite(value)) {
        object[key] = value;
    }
}

Json space_json(const DataSpaceStats& s) {
    Json result;
    result["kept"] = s.kept;
    if (!s.kept) {
        return result;
    }
    result["partition_size"] = s.partition_size;
    result["utilized_capacity"] = s.utilized_capacity;
    put(result, "utilized_instances", s.utilized_instances);
    result["utilized_clusters"] = s.utilized_clusters;
    result["reads_per_instance"] = s.reads;
    result["fills_per_instance"] = s.fills;
    result["updates_per_instance"] = s.updates;
    result["temporal_reductions_per_instance"] = s.temporal_reductions;
    result["address_generations_per_cluster"] = s.address_generations;
    put(result, "energy_j", s.total_energy_pj() * j_per_pj);
    put(result, "read_bandwidth_words_per_cycle", s.read_bandwidth);
    put(result, "write_bandwidth_words_per_cycle", s.write_bandwidth);
    return result;
}

/// What a sparse design does beside, per instance.
void put_sparse(Json& result, const SparseSpaceStats& s) {
    using Op = StorageOperation;
    const auto count = [&](const char* key, Op op) { result[key] = s.accesses[at(op)]; };
    result["format"] = s.format;
    result["density"] = s.density;
    result["tile_points"] = s.tile_points;
    result["format_capacity_bits"] = s.capacity_bits;
    count("actual_reads_per_instance", Op::random_read);
    count("gated_reads_per_instance", Op::gated_read);
    count("skipped_reads_per_instance", Op::skipped_read);
    count("actual_fills_per_instance", Op::random_fill);
    count("actual_updates_per_instance", Op::random_update);
    count("gated_updates_per_instance", Op::gated_update);
    count("skipped_updates_per_instance", Op::skipped_update);
    count("decompressions_per_instance", Op::decompression);
    count("compressions_per_instance", Op::compression);
}

Json levels_json(const RunResult& run) {
    const Architecture& arch = run.input.architecture;
    Json result = Json::array();
    Json arithmetic;
    arithmetic["name"] = arch.arithmetic.name;
    arithmetic["kind"] = "arithmetic";
    arithmetic["instances"] = arch.arithmetic.instances;
    arithmetic["utilized_instances"] = run.stats->arithmetic.utilized_instances;
    arithmetic["computes"] = run.stats->arithmetic.computes;
    if (run.stats->sparse) {
        arithmetic["algorithmic_computes"] = run.stats->arithmetic.algorithmic_computes;
        arithmetic["gated_computes"] = run.stats->arithmetic.gated_computes;
        arithmetic["skipped_computes"] = run.stats->arithmetic.skipped_computes;
    }
    arithmetic["cycles"] = run.stats->arithmetic.cycles;
    put(arithmetic, "energy_j", run.stats->arithmetic.energy_pj * j_per_pj);
    put(arithmetic, "energy_per_compute_j", arch.arithmetic.energy_pj * j_per_pj);
    arithmetic["energy_source"] = arch.arithmetic.energy_source;
    put(arithmetic, "area_m2", run.stats->arithmetic.area_um2 * m2_per_um2);
    result.push_back(std::move(arithmetic));
    for (std::size_t i = 0; i < arch.storage.size(); ++i) {
        const StorageLevel& level = arch.storage[i];
        const LevelStats& stats = run.stats->levels[i];
        Json one;
        one["name"] = level.name;
        one["kind"] = "storage";
        one["instances"] = level.instances;
        one["cycles"] = stats.cycles;
        put(one, "bandwidth_throttling", stats.slowdown);
        put(one, "energy_j", stats.energy_pj * j_per_pj);
        put(one, "leakage_j", stats.leakage_energy_pj * j_per_pj);
        put(one, "read_energy_j", level.energy.read_pj * j_per_pj);
        put(one, "fill_energy_j", level.energy.fill_pj * j_per_pj);
        put(one, "update_energy_j", level.energy.update_pj * j_per_pj);
        one["energy_source"] = level.energy.source;
        put(one, "area_m2", stats.area_um2 * m2_per_um2);
        one["accesses"] = stats.accesses;
        Json& spaces = one["data_spaces"] = Json::object();
        for (std::size_t d = 0; d < stats.data_spaces.size(); ++d) {
            Json& space = spaces[run.input.problem.data_spaces[d].name] =
                space_json(stats.data_spaces[d]);
            if (!stats.sparse.empty() && stats.data_spaces[d].kept) {
                put_sparse(space, stats.sparse[d]);
            }
        }
        result.push_back(std::move(one));
    }
    return result;
}

Json networks_json(const RunResult& run) {
    Json result = Json::array();
    for (const NetworkStats& network : run.stats->networks) {
        Json one;
        one["name"] = network.name;
        put(one, "energy_j", network.energy_pj * j_per_pj);
        Json& spaces = one["data_spaces"] = Json::object();
        for (std::size_t d = 0; d < network.data_spaces.size(); ++d) {
            const NetworkDataSpaceStats& s = network.data_spaces[d];
            Json& space = spaces[run.input.problem.data_spaces[d].name];
            space["fanout"] = s.fanout;
            space["multicast_factor"] = s.multicast_factor;
            put(space, "ingresses", s.total_ingresses);
            put(space, "link_transfers", s.link_transfers);
            space["spatial_reductions"] = s.spatial_reductions;
            put(space, "hops", s.num_hops);
        }
        result.push_back(std::move(one));
    }
    return result;
}

Json mapping_json(const RunResult& run) {
    Json result = Json::array();
    const auto loops = printed_loops(run.input.problem, *run.mapping);
    for (std::size_t i = loops.size(); i-- > 0;) {
        Json level;
        level["level"] = run.input.architecture.storage[i].name;
        Json& keep = level["keep"] = Json::array();
        for (std::size_t d = 0; d < run.input.problem.data_spaces.size(); ++d) {
            if (run.mapping->levels[i].keeps(static_cast<int>(d))) {
                keep.push_back(run.input.problem.data_spaces[d].name);
            }
        }
        Json& list = level["loops"] = Json::array();
        for (auto loop = loops[i].rbegin(); loop != loops[i].rend(); ++loop) {
            if (loop->end > 1) {
                const auto dimension = static_cast<std::size_t>(loop->dimension);
                Json one;
                one["dimension"] = run.input.problem.dimensions[dimension].name;
                one["end"] = loop->end;
                one["residual"] = loop->residual;
                one["kind"] = loop->kind == LoopKind::temporal    ? "temporal"
                              : loop->kind == LoopKind::spatial_x ? "spatial_x"
                                                                  : "spatial_y";
                list.push_back(std::move(one));
            }
        }
        result.push_back(std::move(level));
    }
    return result;
}

Json search_json(const RunResult& run) {
    const MapperResult& search = *run.search;
    Json result;
    result["proof"] = search.proof == Proof::optimal      ? "optimal"
                      : search.proof == Proof::infeasible ? "infeasible"
                                                          : "none";
    if (search.bound) {
        put(result, "bound", *search.bound);
    }
    result["proven_metrics"] = search.proven;
    if (search.next_bound) {
        put(result, "next_bound", *search.next_bound);
    }
    result["left_out"] = search.left_out;
    result["limits"] = search.limits;
    if (run.gap) {
        put(result, "gap", *run.gap);
    }
    result["mapspace_size"] = search.mapspace_size;
    result["mappings_tried"] = search.total;
    result["mappings_valid"] = search.valid;
    put(result, "wall_s", search.wall_s);
    put(result, "time_to_best_s", search.best_s);
    result["threads"] = search.threads;
    result["reasons"] = search.reasons;
    return result;
}

}  // namespace

std::string bottleneck(const Architecture& architecture, const Stats& stats) {
    std::string name = architecture.arithmetic.name;
    std::uint64_t cycles = stats.arithmetic.cycles;
    for (std::size_t i = 0; i < stats.levels.size(); ++i) {
        if (stats.levels[i].cycles > cycles) {
            cycles = stats.levels[i].cycles;
            name = architecture.storage[i].name;
        }
    }
    return name;
}

std::string result_json(const RunResult& run) {
    Json root;
    root["schema_version"] = schema_version;
    root["dialect"] = run.input.document.dialect == Dialect::master ? "master" : "3.0.3";
    root["inputs"] = run.input.document.files;
    root["status"] = run.stats != nullptr ? "evaluated" : "no valid mapping";
    root["energies"] = run.input.energies == EnergyOrigin::input       ? "ERT of the input"
                       : run.input.energies == EnergyOrigin::accelergy ? "accelergy"
                                                                       : "built-in tables";
    if (run.stats != nullptr) {
        const Stats& stats = *run.stats;
        put(root, "energy_j", stats.energy_pj * j_per_pj);
        root["cycles"] = stats.cycles;
        put(root, "edp_j_cycles", stats.edp());
        put(root, "utilization", stats.utilization);
        put(root, "area_m2", stats.area_um2 * m2_per_um2);
        root["computes"] = stats.arithmetic.computes;
        put(root, "problem_computes", stats.problem_computes);
        root["total_ops"] = stats.total_ops;
        put(root, "energy_per_compute_j",
            stats.energy_pj * j_per_pj / static_cast<double>(stats.arithmetic.computes));
        root["bottleneck"] = bottleneck(run.input.architecture, stats);
        root["levels"] = levels_json(run);
        root["networks"] = networks_json(run);
        root["mapping"] = mapping_json(run);
        root["meaningless_counters"] = stats.wrapped;
        root["forgotten"] = stats.forgotten;
    }
    if (run.search != nullptr) {
        root["search"] = search_json(run);
    }
    root["warnings"] = run.input.warnings;
    return root.dump(2) + "\n";
}

}  // namespace tessera::timeloop
