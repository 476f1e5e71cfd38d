// Searches, and the names of what takes part in them.
#include <pybind11/stl.h>

#include "bindings.hpp"
#include "interruptible.hpp"
#include "options.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/session.hpp"

namespace tessera::python {

mapspace::MapSpaceOptions mapspace_of(const py::dict& given) {
    mapspace::MapSpaceOptions space;
    if (given["preset"].cast<std::string>() != "full") {
        space = mapspace::MapSpaceOptions::accelforge();
    }
    const auto limit = [&](const char* key, int& value) {
        if (!given[key].is_none()) {
            value = given[key].cast<int>();
        }
    };
    limit("max_fused_loops", space.max_fused_loops);
    limit("max_fused_loops_per_rank_variable", space.max_fused_loops_per_rank_variable);
    limit("max_loops_per_spatial_dimension", space.max_loops_per_spatial_dimension);
    if (!given["einsum_orders"].is_none()) {
        space.all_einsum_orders = given["einsum_orders"].cast<std::string>() == "all";
    }
    space.imperfect_temporal = given["imperfect_temporal"].cast<bool>();
    space.imperfect_spatial = given["imperfect_spatial"].cast<bool>();
    space.unfused = given["unfused"].cast<bool>();
    space.force_memory_hierarchy_order = given["force_memory_hierarchy_order"].cast<bool>();
    return space;
}

namespace {

using Texts = std::map<std::string, std::string>;

base::Budget budget_of(const py::dict& given) {
    base::Budget budget;
    budget.max_evals = given["max_evals"].cast<std::uint64_t>();
    budget.max_time_s = given["max_time"].cast<double>();
    budget.max_cpu_s = given["max_cpu_time"].cast<double>();
    budget.stall_evals = given["max_stall"].cast<std::uint64_t>();
    budget.max_memory_bytes = given["max_memory"].cast<std::uint64_t>();
    budget.gap = given["gap"].cast<double>();
    budget.target = given["target"].cast<std::optional<double>>();
    return budget;
}

void ask_for(const std::vector<std::string>& names, Options& options) {
    options.metrics.clear();
    for (const std::string& name : names) {
        if (const std::optional<std::string> memory = memory_of_usage(name)) {
            options.usage.memories.push_back(*memory);
            continue;
        }
        const mapper::MetricFacts* const known = mapper::find_metric(name);
        if (known == nullptr) {
            std::string all;
            for (const mapper::MetricFacts& one : mapper::all_metrics) {
                all += (all.empty() ? "" : ", ") + std::string(one.name);
            }
            throw UserError("unknown metric '" + name + "' (there are: " + all + ", " +
                            usage_metric("MEMORY") + ")");
        }
        options.metrics.push_back(known->metric);
    }
    if (options.metrics.empty() && !options.usage.memories.empty()) {
        options.usage.alone = true;
        options.metrics.push_back(mapper::Metric::energy);
    }
}

Options options_of(const py::dict& given) {
    Options options;
    ask_for(given["metrics"].cast<std::vector<std::string>>(), options);
    options.mapspace = mapspace_of(given["mapspace"]);
    options.exact_mapspace = given["exact_mapspace"].cast<bool>();
    options.limits = budget_of(given["limits"]);
    options.mapper = given["mapper"].cast<std::string>();
    options.model = given["model"].cast<std::string>();
    options.knobs = given["knobs"].cast<std::map<std::string, Texts>>();
    options.start = given["start"].cast<std::vector<mapping::Mapping>>();
    options.threads = given["threads"].cast<int>();
    options.seed = given["seed"].cast<std::uint64_t>();
    return options;
}

py::dict statistics_of(const mapper::Statistics& s) {
    using namespace py::literals;
    py::dict result("wall_s"_a = s.wall_s, "mapspace_size"_a = s.mapspace_size,
                    "all_einsum_orders"_a = s.all_orders, "all_loop_orders"_a = s.loop_orders,
                    "templates"_a = s.templates, "evaluated"_a = s.evaluated, "pareto"_a = s.pareto,
                    "threads"_a = s.threads, "trained_on"_a = s.trained_on,
                    "tuned_by"_a = s.tuned_by, "tuned_s"_a = s.tuned_s,
                    "table_rows"_a = s.table_rows, "charged"_a = s.charged);
    py::dict phases;
    for (const auto& [name, seconds] : s.phases) {
        phases[py::str(name)] = seconds;
    }
    result["phases"] = phases;
    return result;
}

py::object later_of(const mapper::Result& result) {
    if (!result.later) {
        return py::none();
    }
    using namespace py::literals;
    return py::dict("metric"_a = mapper::facts(result.later->metric).name,
                    "proven"_a = result.later->proven, "bound"_a = result.later->bound);
}

const char* status_of(const mapper::Result& result) {
    switch (result.status) {
        case mapper::Status::optimal:
            return "optimal";
        case mapper::Status::infeasible:
            return "infeasible";
        case mapper::Status::feasible:
            break;
    }
    return result.solutions.empty() ? "unknown" : "feasible";
}

/// All of a result as values of Python; the solutions as they are.
py::dict search(const Problem& problem, const py::dict& given, const py::object& progress) {
    Options options = options_of(given);
    Interruptible call(progress);
    options.stop = call.stop();
    if (!progress.is_none()) {
        options.progress = [&](const Progress& now) { call.tell(now); };
    }
    Result result;
    call.run([&] { result = Session(problem, options).search(); });
    using namespace py::literals;
    return py::dict("status"_a = status_of(result), "bound"_a = result.bound,
                    "gap"_a = result.solutions.empty() ? std::nullopt : result.gap(),
                    "later"_a = later_of(result), "reasons"_a = result.reasons,
                    "stopped_by"_a = result.stopped_by, "interrupted"_a = call.interrupted(),
                    "statistics"_a = statistics_of(result.statistics),
                    "solutions"_a = std::move(result.solutions));
}

template <class Role>
Texts summaries() {
    Texts result;
    for (const plugin::Entry<Role>& entry : plugin::Registry<Role>::instance().entries()) {
        result[entry.name] = entry.summary;
    }
    return result;
}

}  // namespace

void bind_search(py::module_& module) {
    module.def("search", &search);
    module.def("mappers", &summaries<mapper::Mapper>);
    module.def("strategies", &summaries<search::SearchStrategy>);
    module.def("models", &summaries<model::CostModel>);
    module.def("load_plugin", &load_plugin);
}

}  // namespace tessera::python
