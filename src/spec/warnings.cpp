#include "spec/warnings.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "base/printable.hpp"

namespace tessera::spec {

namespace {

thread_local HeardWarnings* hears = nullptr;

/// A key of a section that configures AccelForge.
struct Setting {
    const char* key;
    const char* standard;   ///< the value that is the same here; empty: none is
    const char* instead;    ///< "--option", whose value is that of the key; or a sentence
    const char* unit = "";  ///< that the option asks for
};

const std::vector<Setting>& mapper_settings() {
    static const std::vector<Setting> all = {
        {"metrics", "", "--metric"},
        {"max_fused_loops", "inf", "--max-fused-loops"},
        {"max_fused_loops_per_rank_variable", "1", "--max-fused-loops-per-rank-variable"},
        {"time_limit", "inf", "--max-time", "s"},
        {"time_limit_per_pmapping_template", "inf", "--max-time limits the whole search"},
        {"memory_limit", "inf", "--max-memory", "B"},
        {"memory_limit_per_process", "inf", "--max-memory", "B"},
        {"explore_imperfect_temporal_loops", "False", "--imperfect-temporal switches it on"},
        {"explore_imperfect_spatial_loops", "False", "--imperfect-spatial switches it on"},
        {"force_memory_hierarchy_order", "True",
         "'force_memory_hierarchy_order' in 'tensors' of a memory says it"},
        {"info_metrics", "", "reports have all metrics"},
        {"explore_loop_orders", "True", "all loop orders are searched"},
        {"max_pmapping_templates_per_einsum", "inf", "all templates are searched"},
        {"objective_tolerance", "0", "the optimum is searched; --gap ends a search before it"},
        {"resource_usage_tolerance", "0", "the optimum is searched"},
        {"tiling_coarseness", "1", "all tile shapes are searched"},
        {"max_loops_per_spatial_dimension", "inf", "'loop_bounds' of the dimension says it"},
        {"max_loops_minus_ranks", "inf", "the mapspace is not limited so"},
        {"prioritize_reuse_of_unfused_tensors", "False",
         "'tensor_order_options' of a memory says it"},
        {"out_of_order_hierarchy_explore_removing_spatials_for_more_temporals", "False",
         "the mapspace has all of them"},
    };
    return all;
}

const std::vector<Setting>& model_settings() {
    static const std::vector<Setting> all = {{"metrics", "", "reports have all metrics"}};
    return all;
}

const std::vector<Setting>& config_settings() {
    static const char* const numbers = "component models are not evaluated, give the numbers";
    static const std::vector<Setting> all = {
        {"component_models", "", numbers},
        {"use_installed_component_models", "", numbers},
        {"expression_custom_functions", "", "expressions have the functions of docs/formats.md"},
    };
    return all;
}

std::string lower_case(std::string text) {
    for (char& c : text) {
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return text;
}

/// The names in a text such as "Metrics.ENERGY | Metrics.LATENCY", in small letters.
std::set<std::string> names_in(const std::string& text) {
    std::set<std::string> names;
    std::string name;
    for (const char c : lower_case(text) + " ") {
        const bool part = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
        if (!part && !name.empty()) {
            names.insert(std::exchange(name, ""));
        }
        name += part ? std::string(1, c) : "";
    }
    return names;
}

/// `--metric energy,latency` for `ENERGY | LATENCY`, in the words of the option; else its name.
std::string metric_option(const Node& value) {
    static const std::pair<const char*, const char*> words[] = {
        {"energy_delay_product", "edp"},
        {"edp", "edp"},
        {"energy", "energy"},
        {"latency", "latency"},
        {"dynamic_energy", "dynamic_energy"},
        {"leak_energy", "leak_energy"},
        {"resource_usage", "resource_usage:MEMORY"}};
    std::string text = value.text;
    for (const Node& item : value.items) {
        text += " " + item.text;
    }
    const std::set<std::string> asked = names_in(text);
    std::string metrics;
    for (const auto& [theirs, ours] : words) {
        if (asked.contains(theirs)) {
            metrics += (metrics.empty() ? " " : ",") + std::string(ours);
        }
    }
    return "--metric" + metrics;
}

std::string remedy(const Setting& setting, const Node& value) {
    const std::string instead = setting.instead;
    if (instead == "--metric") {
        return "give " + metric_option(value);
    }
    if (instead.rfind("--", 0) == 0 && instead.find(' ') == std::string::npos) {
        const bool plain = value.is_scalar() && value.text.size() <= 20;
        const bool none = lower_case(value.text) == "inf";
        return "give " + instead +
               (plain ? " " + (none ? "unlimited" : value.text + setting.unit) : "");
    }
    return instead;
}

void warn_of_section(const Node& root, const char* name, const std::vector<Setting>& settings) {
    const Node* const section = root.find(name);
    if (section == nullptr || section->is_null()) {
        return;
    }
    if (!section->is_map()) {
        warn(section->position, section->path,
             {"this section has no effect", section->brief(), "", ""});
        return;
    }
    std::vector<std::string> known;
    for (const Setting& setting : settings) {
        known.push_back(setting.key);
    }
    for (const Node::Entry& entry : section->entries) {
        const auto setting = std::find_if(settings.begin(), settings.end(),
                                          [&](const Setting& s) { return entry.key == s.key; });
        const bool found = setting != settings.end();
        if (found && lower_case(entry.value.text) == lower_case(setting->standard) &&
            setting->standard[0] != '\0') {
            continue;
        }
        warn(entry.key_position, section->path,
             {"'" + entry.key + "' has no effect", entry.value.brief(), "",
              found ? remedy(*setting, entry.value) : did_you_mean(entry.key, known)});
    }
}

}  // namespace

HeardWarnings::HeardWarnings() : outer_(hears) {
    hears = this;
}

HeardWarnings::~HeardWarnings() {
    hears = outer_;
}

void warn(const Position& where, std::string_view path, const Complaint& complaint) {
    if (hears == nullptr) {
        return;
    }
    const std::string place = where.text();
    const std::string line =
        base::one_line((place.empty() ? "" : place + ": ") + complaint_text(path, complaint));
    std::vector<std::string>& lines = hears->lines_;
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) {
        lines.push_back(line);
    }
}

void warn_ignored(Fields& fields, const std::string& key, const std::string& why) {
    fields.ignore(key, why);
    const Node::Entry* const entry = fields.node().find_entry(key);
    if (entry != nullptr && !entry->value.is_null()) {
        warn(entry->key_position, fields.node().path,
             {"'" + key + "' has no effect", entry->value.brief(), "", why});
    }
}

void warn_of_settings(const Node& root) {
    warn_of_section(root, "mapper", mapper_settings());
    warn_of_section(root, "model", model_settings());
    warn_of_section(root, "config", config_settings());
}

}  // namespace tessera::spec
