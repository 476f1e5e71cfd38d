#include "io/run_files.hpp"

#include <algorithm>
#include <regex>

#include "tessera/base/error.hpp"

namespace tessera::io {

namespace {

/// Names of those compared, whose mappings are files.
std::vector<std::string> contenders(const ParsedJson& description) {
    std::vector<std::string> result;
    if (description.is_object() && description.contains("contenders") &&
        description["contenders"].is_array()) {
        for (const ParsedJson& name : description["contenders"]) {
            if (name.is_string()) {
                result.push_back(name.get<std::string>());
            }
        }
    }
    return result;
}

}  // namespace

ParsedJson run_description(const base::Directory& folder) {
    std::string text;
    try {
        text = folder.read("run.json").value_or("");
    } catch (const UserError&) {
        return nullptr;
    }
    ParsedJson json = base::parsed_json(text);
    const bool ours = json.is_object() && json.contains("tessera_version") &&
                      json.contains("command") && json["command"].is_array() &&
                      json["command"].size() >= 2 && json["command"][0] == "tessera";
    return ours ? json : ParsedJson(nullptr);
}

bool is_comparison(const ParsedJson& description) {
    return description.is_object() && description["command"][1] == "compare" &&
           !description.contains("field");
}

bool is_scratch(const std::string& name) {
    static const std::regex form(R"(\..+\.\d+-\d+\.tmp)");
    return std::regex_match(name, form);
}

bool is_mapping(const std::string& name) {
    static const std::regex form(R"(mapping(-\d+)?\.yaml)");
    return std::regex_match(name, form);
}

std::vector<std::string> run_files(const base::Directory& folder, const ParsedJson& description) {
    static const std::regex fixed(
        R"((run|status|checkpoint|stopped|result)\.json|events\.jsonl|looptree\.(svg|txt)|pipeline-\d+\.svg|curves\.csv|)"
        R"(mapping(-\d+)?(\.accelforge)?\.yaml|result\.csv|trials\.csv|report\.html|times\.csv|points(-[\w.-]+)?\.jsonl|claims|pareto\.svg|)"
        R"(axis-\d+\.svg|input-\d+\.(yaml|cfg)|point-\d+\.mapping\.yaml)");
    const std::vector<std::string> compared = contenders(description);
    std::vector<std::string> result;
    for (const std::string& name : folder.names()) {
        const bool contenders_mapping =
            std::any_of(compared.begin(), compared.end(), [&](const std::string& contender) {
                return name == contender + ".mapping.yaml" || name == contender + ".map.yaml";
            });
        if (contenders_mapping || is_scratch(name) || std::regex_match(name, fixed)) {
            result.push_back(name);
        }
    }
    return result;
}

}  // namespace tessera::io
