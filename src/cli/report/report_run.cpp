#include "report_run.hpp"

#include <cmath>

#include "base/directory.hpp"
#include "cli/commands.hpp"
#include "cli/plugins/components.hpp"
#include "cli/run/mapping_view.hpp"
#include "cli/run/stored_run.hpp"
#include "io/fused_groups.hpp"
#include "io/json_text.hpp"
#include "spec/reader.hpp"
#include "tessera/base/error.hpp"

namespace tessera::cli {

namespace {

namespace fs = std::filesystem;

void describe(const io::ParsedJson& run, ReportRun& result) {
    result.directory = io::text_of(run, "directory");
    result.version = io::text_of(run, "tessera_version");
    result.started = io::text_of(run, "started");
    result.host = io::text_of(run, "host");
    const auto seed = run.find("seed");
    if (seed != run.end() && seed->is_number_unsigned()) {
        result.seed = seed->get<std::uint64_t>();
    }
    for (const io::ParsedJson& word : run["command"]) {
        result.command.push_back(io::exact_text(word).value_or(""));
    }
    const auto defines = run.find("defines");
    if (defines != run.end() && defines->is_object()) {
        for (const auto& [name, value] : defines->items()) {
            result.defines.emplace_back(name, io::exact_text(value).value_or(""));
        }
    }
    const auto options = run.find("options");
    if (options != run.end() && options->is_object()) {
        result.metric = io::text_of(*options, "metric");
        result.model_name = io::text_of(*options, "model");
    }
}

/// An input that changed makes another problem than that of the mapping.
void check_inputs(const io::ParsedJson& run, const std::vector<InputFile>& now,
                  const std::string& folder) {
    for (const io::ParsedJson& input : run["inputs"]) {
        bool found = false;
        for (const InputFile& file : now) {
            found = found || (file.role == io::text_of(input, "role") &&
                              file.sha256 == io::text_of(input, "sha256"));
        }
        if (!found) {
            throw UserError(folder + ": its " + io::text_of(input, "role") + " " +
                            io::text_of(input, "path") +
                            " has changed since; a report would mix two problems. Run it again: "
                            "tessera map --force -o " +
                            folder);
        }
    }
}

void read_solutions(const base::Directory& folder, const model::CostModel& model,
                    ReportRun& result) {
    for (int i = 1;; ++i) {
        const std::string name = i == 1 ? "mapping.yaml" : "mapping-" + std::to_string(i) + ".yaml";
        const std::optional<std::string> yaml = folder.read(name);
        if (!yaml) {
            break;
        }
        mapper::Solution solution{mapping_in(*yaml, (folder.path() / name).string()), {}};
        solution.report = model.evaluate(result.problem(), solution.mapping);
        result.solutions.push_back(std::move(solution));
    }
    if (result.solutions.empty()) {
        throw UserError(result.name +
                        ": has no mapping yet; give the folder of a run that found "
                        "one");
    }
}

std::optional<mapper::LaterMetric> read_later(const io::ParsedJson& json) {
    const auto later = json.find("later");
    const mapper::MetricFacts* metric = later == json.end() || !later->is_object()
                                            ? nullptr
                                            : mapper::find_metric(io::text_of(*later, "metric"));
    if (metric == nullptr) {
        return std::nullopt;
    }
    mapper::LaterMetric out;
    out.metric = metric->metric;
    out.proven = later->value("proven", io::ParsedJson()) == true;
    const io::ParsedJson bound = later->value("bound", io::ParsedJson::object());
    if (bound.is_object() && bound.contains(metric->key) && bound[metric->key].is_number()) {
        out.bound = bound[metric->key].get<double>();
    }
    return out;
}

void read_result(const base::Directory& folder, ReportRun& result) {
    const std::optional<std::string> text = folder.read("result.json");
    const io::ParsedJson json = text ? base::parsed_json(*text) : io::ParsedJson();
    if (!json.is_object()) {
        result.remarks.emplace_back(
            "The search has not ended: these are its best mappings so far.");
        return;
    }
    result.status = io::text_of(json, "status");
    const auto gap = json.find("gap");
    if (gap != json.end() && gap->is_number()) {
        result.gap = gap->get<double>();
    }
    result.later = read_later(json);
    const auto search = json.find("search");
    if (search != json.end() && search->is_object()) {
        result.stopped_by = io::text_of(*search, "stopped_by");
    }
    const auto mappings = json.find("mappings");
    const bool has = mappings != json.end() && mappings->is_array() && !mappings->empty() &&
                     mappings->front().is_object() && mappings->front().contains("energy_j") &&
                     mappings->front()["energy_j"].is_number();
    const double energy_j = result.report().energy_j();
    if (has && std::abs(mappings->front()["energy_j"].get<double>() - energy_j) >
                   1e-9 * std::abs(energy_j)) {
        result.remarks.emplace_back(
            "result.json tells other costs than this program finds for mapping.yaml: the mapping "
            "was changed, or another version of the program wrote it. The numbers here are those "
            "of mapping.yaml.");
    }
}

}  // namespace

ReportRun read_report_run(const std::string& name, const std::vector<std::string>& plugin_args) {
    const fs::path path = fs::absolute(name);
    const base::Directory folder(path);
    const StoredRun stored(folder);
    const io::ParsedJson run = base::parsed_json(folder.read("run.json").value_or(""));
    if (!run.is_object() || !run.contains("command") || !run.contains("inputs")) {
        throw UserError(stored.file() + ": was changed meanwhile");
    }
    ReportRun result;
    result.name = name;
    describe(run, result);
    const options::Description known = map_text().options;
    std::vector<std::string> full = stored.arguments(known, plugin_args, "tessera report " + name);
    full.insert(full.end(), plugin_args.begin(), plugin_args.end());
    std::vector<std::string> changed = stored.changed_inputs();
    const WorkingDirectory there(stored);
    const Arguments all("map", full, known);
    result.inputs = std::make_unique<Inputs>(all, all.compat());
    result.remarks = std::move(changed);
    check_inputs(run, result.inputs->files, name);
    const auto model = Components(all, true).make_model();
    read_solutions(folder, *model, result);
    read_result(folder, result);
    const model::Problem problem = result.problem();
    const mapping::Mapping& best = result.solutions.front().mapping;
    result.description = io::describe(problem, best, result.report());
    if (const std::optional<std::string> state = folder.read("status.json")) {
        try {
            result.snapshot = telemetry::from_json(*state);
        } catch (const UserError&) {
            result.remarks.emplace_back("status.json is not readable: the search is not drawn.");
        }
    }
    return result;
}

}  // namespace tessera::cli
