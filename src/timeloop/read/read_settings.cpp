// The `mapper` and `model` sections.

#include <algorithm>
#include <charconv>

#include "tessera/spec/position.hpp"
#include "timeloop/read.hpp"
#include "values.hpp"

namespace tessera::timeloop {

namespace {

using spec::Node;
using spec::Range;

constexpr std::pair<const char*, Algorithm> algorithms[] = {
    {"optimal", Algorithm::optimal},
    {"exhaustive", Algorithm::exhaustive},
    {"linear-pruned", Algorithm::linear_pruned},
    {"hybrid", Algorithm::hybrid},
    {"random", Algorithm::random},
    {"random-pruned", Algorithm::random_pruned}};

class SettingsReader {
public:
    SettingsReader(const Section& from, const Architecture& architecture)
        : from_(from), values_(from.values()), architecture_(architecture) {}

    MapperSettings run() {
        MapperSettings& s = settings_;
        s.where = from_.node().position;
        algorithm();
        objectives();
        s.threads =
            static_cast<int>(from_.integer({"num_threads"}, Range::between(0, 4096)).value_or(0));
        limit({"timeout", "heartbeat"}, s.timeout);
        limit({"victory_condition"}, s.victory);
        limit({"search_size"}, s.search_size);
        limit({"sync_interval"}, s.sync_interval);
        limit({"log_interval"}, s.log_interval);
        limit({"max_permutations_per_if_visit"}, s.permutations);
        flag({"log_suboptimal", "log_all", "log_all_mappings"}, s.log_suboptimal);
        flag({"log_stats"}, s.log_stats);
        flag({"log_oaves", "log_orojenesis"}, s.log_oaves);
        flag({"log_oaves_mappings", "log_orojenesis_mappings"}, s.log_oaves_mappings);
        from_.boolean({"live_status"});  // checked; it has no effect
        from_.allow({"version", "log_mappings_yaml", "log_mappings_verbose"});
        flag({"diagnostics"}, s.diagnostics);
        flag({"penalize_consecutive_bypass_fails"}, s.penalize_bypass_fails);
        flag({"filter_revisits"}, s.filter_revisits);
        flag({"emit_whoop_nest"}, s.emit_whoop_nest);
        s.out_prefix = from_.text({"out_prefix"}).value_or(s.out_prefix);
        s.time_limit_s = from_.number({"time_limit"}, Range::at_least(0)).value_or(0);
        limit({"seed"}, s.seed);
        s.target = from_.number({"target"}, Range::at_least(0));
        from_.allow({"max_temporal_loops_in_a_mapping"});  // one of the constraints
        return std::move(settings_);
    }

private:
    /// 0 and -1 both mean no limit.
    void limit(Keys keys, std::uint64_t& into) const {
        if (const std::optional<std::int64_t> value =
                from_.integer(keys, Range::between(-1, 9e15))) {
            into = static_cast<std::uint64_t>(std::max<std::int64_t>(*value, 0));
        }
    }

    void flag(Keys keys, bool& into) const {
        into = from_.boolean(keys).value_or(into);
    }

    void algorithm() {
        const Node* node = from_.find({"algorithm"});
        if (node == nullptr) {
            return;
        }
        const std::string name = values_.text(*node);
        settings_.algorithm = algorithm_named(name == "exhaustive_search" ? "exhaustive" : name);
        if (!settings_.algorithm) {
            const std::vector<std::string> known = algorithm_names();
            spec::fail(*node, {"unknown algorithm", name, spec::name_list(known),
                               spec::did_you_mean(name, known)});
        }
    }

    void objectives() {
        for (const char* key : {"optimization_metric", "optimization_metrics"}) {
            const Node* node = from_.find({key});
            if (node != nullptr && !settings_.objectives.empty()) {
                values_.warn(*node, "'optimization_metric' is given, too; only that one counts");
            }
            if (node == nullptr || !settings_.objectives.empty()) {
                continue;
            }
            for (const std::string& name : values_.texts(*node)) {
                objective(*node, name);
            }
        }
        if (settings_.objectives.empty()) {
            values_.warn(from_.node(), "no optimization metric is given; edp is taken");
        }
    }

    void objective(const Node& node, const std::string& name) {
        using Kind = Objective::Kind;
        const auto starts = [&](const std::string& with) {
            return name.size() > with.size() && same_key(name.substr(0, with.size()), with);
        };
        std::vector<Objective>& into = settings_.objectives;
        int level = -1;
        if (starts("accesses-")) {
            const std::string digits = name.substr(9);
            const auto [end, code] =
                std::from_chars(digits.data(), digits.data() + digits.size(), level);
            level = code == std::errc() && end == digits.data() + digits.size() ? level : -1;
            if (level >= architecture_.levels()) {
                level = -1;
            }
        }
        for (const auto& [plain, kind] : {std::pair{"edp", Kind::edp},
                                          {"energy", Kind::energy},
                                          {"delay", Kind::delay},
                                          {"last-level-accesses", Kind::last_level_accesses}}) {
            if (same_key(name, plain)) {
                into.push_back({kind, 0});
                return;
            }
        }
        if (same_key(name, "ordered-accesses")) {
            for (int i = architecture_.levels() - 1; i >= 0; --i) {
                into.push_back({Kind::accesses, i});
            }
        } else if (level >= 0) {
            into.push_back({Kind::accesses, level});
        } else {
            const std::vector<std::string> known = {
                "edp",
                "energy",
                "delay",
                "last-level-accesses",
                "ordered-accesses",
                "accesses-0 to accesses-" + std::to_string(architecture_.levels() - 1)};
            spec::fail(node, {"unknown optimization metric", name, spec::name_list(known),
                              spec::did_you_mean(name, known)});
        }
    }

    const Section& from_;
    const Values& values_;
    const Architecture& architecture_;
    MapperSettings settings_;
};

MapperSettings mapper_settings_of(const Document& document, const Architecture& architecture,
                                  const Values& values) {
    static const Node empty;  // as long as what it was asked
    const Node* node = find_key(document.root, "mapper");
    MapperSettings settings =
        SettingsReader(Section(node == nullptr ? empty : *node, values, "the mapper"), architecture)
            .run();
    const Node* mapspace = find_key(document.root, "mapspace");
    const Node* kind =
        mapspace == nullptr || !mapspace->is_map() ? nullptr : find_key(*mapspace, "template");
    if (kind != nullptr && !kind->is_null()) {
        const std::string name = values.text(*kind);
        if (name != "uber" && name != "ruby") {
            spec::fail(*kind, {"unknown template of mapspaces", name, "uber or ruby",
                               spec::did_you_mean(name, {"uber", "ruby"})});
        }
        settings.factors = name == "ruby" ? FactorTemplate::ruby : FactorTemplate::uber;
    }
    return settings;
}

}  // namespace

std::vector<std::string> algorithm_names() {
    std::vector<std::string> names;
    for (const auto& [name, algorithm] : algorithms) {
        names.emplace_back(name);
    }
    return names;
}

std::optional<Algorithm> algorithm_named(const std::string& name) {
    for (const auto& [known, algorithm] : algorithms) {
        if (same_key(known, name)) {
            return algorithm;
        }
    }
    return std::nullopt;
}

MapperSettings read_mapper_settings(const Document& document, const Architecture& architecture,
                                    Warnings& warnings) {
    const Values values(document, warnings);
    return values.watched([&] { return mapper_settings_of(document, architecture, values); });
}

ModelSettings read_model_settings(const Document& document, Warnings& warnings) {
    const Values values(document, warnings);
    ModelSettings settings;
    const Node* node = find_key(document.root, "model");
    if (node == nullptr || !node->is_map()) {
        return settings;
    }
    return values.watched([&] {
        const Section from(*node, values, "the model");
        from.allow({"version"});
        settings.verbose = from.boolean({"verbose"}).value_or(false);
        settings.auto_bypass_on_failure = from.boolean({"auto_bypass_on_failure"}).value_or(false);
        settings.out_prefix = from.text({"out_prefix"}).value_or(settings.out_prefix);
        return settings;
    });
}

}  // namespace tessera::timeloop
