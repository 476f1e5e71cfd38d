#include "run_description.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "base/directory.hpp"
#include "cli/answer/proof.hpp"
#include "cli/answer/usage_goals.hpp"
#include "cli/cli.hpp"
#include "cli/output.hpp"
#include "io/json_text.hpp"
#include "io/sha256.hpp"
#include "live_run.hpp"
#include "map_options.hpp"
#include "spec/reader.hpp"
#include "stored_run.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::cli {

namespace {

template <class Role>
telemetry::PluginView plugin_view(const tessera::Components& components, const char* kind,
                                  const std::string& name) {
    telemetry::PluginView view{kind, name, version, "", "built in", {}};
    const auto* entry = plugin::Registry<Role>::instance().find(name);
    if (entry != nullptr && !entry->file.empty()) {
        view.file = entry->file;
        view.state = "loaded";
    }
    if (const auto knobs = components.knobs.find(name); knobs != components.knobs.end()) {
        for (const auto& [knob, value] : knobs->second) {
            view.knobs.emplace_back(knob, value);
        }
    }
    return view;
}

}  // namespace

std::vector<telemetry::PluginView> plugins_in_use(const tessera::Components& components) {
    std::vector<telemetry::PluginView> result = {
        plugin_view<mapper::Mapper>(components, "mapper", components.mapper)};
    if (!components.strategy.empty()) {
        result.push_back(
            plugin_view<search::SearchStrategy>(components, "strategy", components.strategy));
    }
    result.push_back(plugin_view<model::CostModel>(components, "model", components.model));
    return result;
}

io::Json plugins_json(const tessera::Components& components) {
    io::Json result = io::Json::array();
    for (const telemetry::PluginView& view : plugins_in_use(components)) {
        io::Json one = {{"kind", view.kind}, {"name", view.name}};
        if (!view.file.empty()) {
            one["file"] = io::exact(view.file);
            one["sha256"] = io::sha256(base::read_regular_file(view.file).value_or(""));
        }
        result.push_back(std::move(one));
    }
    return result;
}

io::Json options_json(const mapper::Options& settings, const Arguments& arguments,
                      const tessera::Components& components, arch::Compat compat) {
    const mapspace::MapSpaceOptions& space = settings.mapspace;
    io::Json result = {
        {"metric", metric_names(settings.metrics, usage_goals(arguments))},
        {"mapper", components.mapper},
        {"strategy",
         components.strategy.empty() ? io::Json(nullptr) : io::Json(components.strategy)},
        {"model", components.model},
        {"knobs", components.knobs},
        {"mapspace", components.mapper == timeloop_name ? timeloop_name : preset_name(space)},
        {"compat", compat == arch::Compat::accelforge ? "accelforge" : "none"},
        {"max_fused_loops", arguments.text("max-fused-loops")},
        {"max_fused_loops_per_rank_variable",
         space.max_fused_loops_per_rank_variable < 0
             ? io::Json("unlimited")
             : io::Json(std::to_string(space.max_fused_loops_per_rank_variable))},
        {"einsum_orders", space.all_einsum_orders ? "all" : "file"},
        {"imperfect_temporal", space.imperfect_temporal},
        {"imperfect_spatial", space.imperfect_spatial},
        {"unfused", space.unfused},
    };
    if (arguments.has("einsums")) {
        result["einsums"] = arguments.text("einsums");
    }
    return result;
}

std::string kept_name(std::size_t number, const std::string& path) {
    return "input-" + std::to_string(number) + (path.ends_with(".cfg") ? ".cfg" : ".yaml");
}

namespace {

/// The text that is kept of a file, if one is.
std::optional<std::string> kept_of(const InputFile& file) {
    std::string text = spec::read_bytes(file.path);
    const bool good = text.size() <= largest_kept_bytes && io::sha256(text) == file.sha256;
    return good ? std::optional(std::move(text)) : std::nullopt;
}

}  // namespace

std::map<std::string, std::string> kept_inputs(const Inputs& inputs) {
    std::map<std::string, std::string> files;
    std::size_t number = 0;
    for (const InputFile& file : inputs.files) {
        ++number;
        if (std::optional<std::string> text = kept_of(file)) {
            files[kept_name(number, file.path)] = std::move(*text);
        }
    }
    return files;
}

io::Json run_json(const std::vector<std::string>& args, const Inputs& inputs,
                  const mapper::Options& settings, const Arguments& arguments,
                  const tessera::Components& components) {
    io::Json root;
    root["schema_version"] = io::schema_version;
    root["tessera_version"] = version;
    root["command"] = io::Json::array({"tessera", "map"});
    for (const std::string& arg : args) {
        root["command"].push_back(io::exact(arg));
    }
    std::error_code ignored;
    root["directory"] = io::exact(std::filesystem::current_path(ignored).string());
    root["host"] = host_name();
    root["started"] = utc_now();
    root["inputs"] = io::Json::array();
    std::size_t number = 0;
    for (const InputFile& file : inputs.files) {
        io::Json one = {
            {"role", file.role}, {"path", io::exact(file.path)}, {"sha256", file.sha256}};
        ++number;
        if (kept_of(file)) {
            one["kept"] = kept_name(number, file.path);
        }
        root["inputs"].push_back(std::move(one));
    }
    put_given(root, arguments);
    root["options"] = options_json(settings, arguments, components, inputs.compat);
    root["plugins"] = plugins_json(components);
    root["limits"] = limits_json(settings.budget);
    root["threads"] = settings.threads;
    root["seed"] = settings.seed;
    return root;
}

void put_names(io::Json& document, const Inputs& inputs, const Arguments& arguments,
               const tessera::Components& components) {
    document["workload"] = inputs.workload->name;
    document["architecture"] = inputs.architecture->name();
    put_given(document, arguments);
    document["mapper"] = components.mapper;
    document["strategy"] =
        components.strategy.empty() ? io::Json(nullptr) : io::Json(components.strategy);
    document["model"] = components.model;
    document["tessera_version"] = version;
}

telemetry::RunIdentity identity(const std::vector<std::string>& args, const Inputs& inputs,
                                const mapper::Options& settings, const Arguments& arguments,
                                const tessera::Components& components) {
    telemetry::RunIdentity run =
        process_identity("map", args, arguments.has("output") ? arguments.text("output") : "",
                         inputs.workload->name);
    run.workload = inputs.workload->name;
    run.architecture = inputs.architecture->name();
    run.mapper = components.strategy.empty() ? components.mapper
                                             : components.mapper + ":" + components.strategy;
    run.model = components.model;
    for (const mapper::Metric metric : settings.metrics) {
        run.metrics.push_back(metric_name(metric));
    }
    run.unit = metric_unit(*inputs.architecture, settings.metrics.front());
    run.threads = settings.threads > 0
                      ? settings.threads
                      : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    run.seed = settings.seed;
    return run;
}

}  // namespace tessera::cli
