#include "field_input.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "api/inputs.hpp"
#include "base/directory.hpp"
#include "spec/reader.hpp"
#include "tessera/base/error.hpp"
#include "timeloop/read.hpp"

namespace tessera::cli {

namespace {

using base::ParsedJson;

std::string text_of(const spec::Node& item, const char* key) {
    const spec::Node* const value = item.find(key);
    if (value == nullptr || !value->is_scalar() || value->text.empty()) {
        spec::fail(value != nullptr ? *value : item,
                   {std::string("an instance needs '") + key + "'", "",
                    "{name: ..., arch: ..., workload: ..., define: {NAME: VALUE}}", ""});
    }
    return value->text;
}

void refuse_key(const spec::Node::Entry& entry, const char* what,
                const std::vector<std::string>& keys) {
    if (std::find(keys.begin(), keys.end(), entry.key) == keys.end()) {
        spec::fail(entry.value, {std::string(what) + " has no key '" + entry.key + "'", "",
                                 spec::name_list(keys), spec::did_you_mean(entry.key, keys)});
    }
}

FieldMapping read_given(const spec::Node::Entry& entry) {
    FieldMapping given{entry.key, "", 0};
    if (entry.value.is_scalar()) {
        given.file = entry.value.text;
        return given;
    }
    if (!entry.value.is_map()) {
        spec::fail(entry.value, {"a given mapping", entry.value.describe(),
                                 "a file, or {file: FILE, time_s: SECONDS}", ""});
    }
    for (const spec::Node::Entry& one : entry.value.entries) {
        refuse_key(one, "a given mapping", {"file", "time_s"});
    }
    given.file = text_of(entry.value, "file");
    if (entry.value.find("time_s") != nullptr) {
        const std::string text = text_of(entry.value, "time_s");
        char* end = nullptr;
        given.time_s = std::strtod(text.c_str(), &end);
        if (*end != '\0' || !(given.time_s >= 0) || !std::isfinite(given.time_s)) {
            spec::fail(*entry.value.find("time_s"), {"time_s", text, "seconds, at least 0", ""});
        }
    }
    return given;
}

FieldInstance read_instance(const spec::Node& item) {
    if (!item.is_map()) {
        spec::fail(item, {"an instance", item.describe(), "a map with arch and workload", ""});
    }
    for (const spec::Node::Entry& entry : item.entries) {
        refuse_key(entry, "an instance", {"name", "arch", "workload", "define", "start", "given"});
    }
    FieldInstance instance;
    instance.architecture = text_of(item, "arch");
    instance.workload = text_of(item, "workload");
    instance.name = item.find("name") != nullptr
                        ? text_of(item, "name")
                        : instance.workload + " on " + instance.architecture;
    instance.timeloop = timeloop::is_timeloop_file(instance.architecture);
    if (instance.timeloop != timeloop::is_timeloop_file(instance.workload)) {
        spec::fail(item, {"Timeloop's files and Tessera's cannot be mixed",
                          instance.architecture + ", " + instance.workload, "", ""});
    }
    if (const spec::Node* const defines = item.find("define")) {
        if (!defines->is_map() && !defines->is_null()) {
            spec::fail(*defines, {"variables", defines->describe(), "{NAME: VALUE}", ""});
        }
        for (const spec::Node::Entry& entry : defines->entries) {
            if (!entry.value.is_scalar()) {
                spec::fail(entry.value, {"a variable", entry.value.describe(), "one value", ""});
            }
            instance.defines.emplace_back(entry.key, entry.value.text);
        }
    }
    if (const spec::Node* const start = item.find("start")) {
        if (start->is_map()) {
            spec::fail(*start, {"mappings to start with", start->describe(),
                                "a file, or a list of files", ""});
        }
        if (start->is_scalar()) {
            instance.start.push_back(start->text);
        }
        for (const spec::Node& file : start->items) {
            if (!file.is_scalar()) {
                spec::fail(file, {"a mapping to start with", file.describe(), "a file", ""});
            }
            instance.start.push_back(file.text);
        }
        if (instance.timeloop) {
            spec::fail(*start, {"searches of Timeloop's inputs start with no mapping", "", "", ""});
        }
    }
    if (const spec::Node* const given = item.find("given")) {
        if (!given->is_map()) {
            spec::fail(*given, {"given mappings", given->describe(), "{NAME: FILE}", ""});
        }
        for (const spec::Node::Entry& entry : given->entries) {
            instance.given.push_back(read_given(entry));
        }
    }
    return instance;
}

/// What is wrong with its files is told before anything runs.
void look_at_files(FieldInstance& instance) {
    const spec::Defines defines(instance.defines.begin(), instance.defines.end());
    if (instance.timeloop) {
        std::vector<std::string> files = {instance.architecture};
        if (instance.workload != instance.architecture) {
            files.push_back(instance.workload);
        }
        instance.warnings = timeloop::load_input(timeloop::read_document(files, defines)).warnings;
    } else {
        instance.warnings =
            api::load_inputs({instance.architecture, instance.workload, "", defines}).warnings;
    }
    for (const FieldMapping& given : instance.given) {
        if (!base::read_regular_file(given.file)) {
            throw UserError("'" + given.name + "': there is no file " + given.file);
        }
    }
}

double number(const ParsedJson& json, const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_number() ? found->get<double>() : 0;
}

std::optional<double> maybe(const ParsedJson& json, const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_number() ? std::optional(found->get<double>())
                                                     : std::nullopt;
}

std::string string_of(const ParsedJson& json, const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

std::vector<FieldInstance> read_instances(const std::string& file) {
    spec::Node root = spec::read_file(file);
    spec::assign_paths(root);
    if (!root.is_sequence() || root.items.empty()) {
        spec::fail(root, {"instances", root.describe(),
                          "a list of {arch: ..., workload: ..., define: {NAME: VALUE}}", ""});
    }
    std::vector<FieldInstance> instances;
    std::set<std::string> names;
    for (const spec::Node& item : root.items) {
        instances.push_back(read_instance(item));
        if (!names.insert(instances.back().name).second) {
            spec::fail(item, {"two instances have one name", instances.back().name, "",
                              "give each a name of its own"});
        }
        if (instances.back().timeloop != instances.front().timeloop) {
            spec::fail(item, {"Timeloop's inputs and Tessera's own have mappers of their own",
                              instances.back().name, "instances of one kind", ""});
        }
        try {
            look_at_files(instances.back());
        } catch (const UserError& error) {
            throw UserError(item.position,
                            "instance '" + instances.back().name + "': " + error.what());
        }
    }
    return instances;
}

std::optional<Trial> read_trial(const ParsedJson& json) {
    if (!json.is_object()) {
        return std::nullopt;
    }
    Trial trial;
    const std::string status = string_of(json, "status");
    using Status = Trial::Status;
    for (const Status one : {Status::optimal, Status::feasible, Status::infeasible, Status::nothing,
                             Status::evaluated, Status::failed}) {
        trial.status = status == name(one) ? one : trial.status;
    }
    if (trial.status == Status::not_run) {
        return std::nullopt;
    }
    trial.seed = static_cast<std::uint64_t>(number(json, "seed"));
    trial.value = maybe(json, "value");
    trial.energy_j = maybe(json, "energy_j");
    trial.latency = maybe(json, "latency_s");
    trial.bound = maybe(json, "bound");
    trial.wall_s = number(json, "wall_s");
    trial.cpu_s = number(json, "cpu_s");
    trial.evaluated = static_cast<std::uint64_t>(number(json, "evaluated"));
    if (const auto share = maybe(json, "valid_share"); share && *share > 0) {
        trial.generated = static_cast<std::uint64_t>(static_cast<double>(trial.evaluated) / *share);
    }
    trial.charged = number(json, "charged");
    trial.memory_bytes = static_cast<std::uint64_t>(number(json, "memory_bytes"));
    trial.preparation = {static_cast<std::uint64_t>(number(json, "trained_on")),
                         static_cast<std::uint64_t>(number(json, "tuned_by")),
                         number(json, "tuned_s")};
    trial.stopped_by = string_of(json, "stopped_by");
    trial.error = string_of(json, "error");
    if (json.contains("curve") && json["curve"].is_array()) {
        for (const ParsedJson& point : json["curve"]) {
            if (!point.is_array() || point.size() < 3 ||
                !std::all_of(point.begin(), point.end(),
                             [](const ParsedJson& number) { return number.is_number(); })) {
                continue;
            }
            const double time_s = point[0].get<double>();
            trial.curve.push_back({time_s, point[1].get<double>(), point[2].get<std::uint64_t>(),
                                   point.size() > 3 ? point[3].get<double>() : time_s,
                                   point.size() > 4 ? point[4].get<double>() : 0.0});
        }
    }
    return trial;
}

}  // namespace tessera::cli
