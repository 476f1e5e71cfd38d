// Map:
//   outcome_json(), read_outcome(), journal: one point
//   to_json(), read_plan(): the whole
//   column(), pareto_of(): what the points come to
#include "sweep_plan.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "tessera/base/error.hpp"

namespace tessera::cli {

namespace {

using io::ParsedJson;

io::Json number_or_null(const std::optional<double>& value) {
    return value && std::isfinite(*value) ? io::Json(*value) : io::Json(nullptr);
}

std::optional<double> read_number(const ParsedJson& json, const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_number() ? std::optional(found->get<double>())
                                                     : std::nullopt;
}

std::string read_string(const ParsedJson& json, const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

io::Json axes_json(const std::vector<SweepAxis>& axes) {
    io::Json result = io::Json::array();
    for (const SweepAxis& axis : axes) {
        io::Json one;
        one["name"] = axis.name;
        one["kind"] = axis.setting ? "set" : "define";
        one["values"] = axis.values;
        result.push_back(std::move(one));
    }
    return result;
}

std::vector<SweepAxis> read_axes(const ParsedJson& json) {
    std::vector<SweepAxis> axes;
    for (const ParsedJson& one : json) {
        axes.push_back({one.at("name").get<std::string>(), one.at("kind") == "set",
                        one.at("values").get<std::vector<std::string>>()});
    }
    return axes;
}

}  // namespace

io::Json outcome_json(const SweepOutcome& outcome) {
    io::Json json;
    json["status"] = outcome.status;
    for (const SweepFigure& figure : sweep_figures) {
        json[figure.key] = number_or_null(outcome.*figure.value);
    }
    json["bound"] = number_or_null(outcome.bound);
    json["gap"] = number_or_null(outcome.gap);
    json["stopped_by"] = outcome.stopped_by;
    json["message"] = outcome.message;
    json["fused_groups"] = outcome.fused_groups;
    json["mapping"] = outcome.mapping;
    json["wall_s"] = outcome.wall_s;
    json["cpu_s"] = outcome.cpu_s;
    json["memory_bytes"] = outcome.memory_bytes;
    json["evaluated"] = outcome.evaluated;
    return json;
}

std::optional<SweepOutcome> read_outcome(const ParsedJson& json) {
    if (!json.is_object() || read_string(json, "status").empty()) {
        return std::nullopt;
    }
    SweepOutcome outcome;
    outcome.status = read_string(json, "status");
    for (const SweepFigure& figure : sweep_figures) {
        outcome.*figure.value = read_number(json, figure.key);
    }
    outcome.bound = read_number(json, "bound");
    outcome.gap = read_number(json, "gap");
    outcome.stopped_by = read_string(json, "stopped_by");
    outcome.message = read_string(json, "message");
    outcome.fused_groups = read_string(json, "fused_groups");
    outcome.mapping = read_string(json, "mapping");
    outcome.wall_s = read_number(json, "wall_s").value_or(0);
    outcome.cpu_s = read_number(json, "cpu_s").value_or(0);
    outcome.memory_bytes =
        static_cast<std::uint64_t>(std::max(0.0, read_number(json, "memory_bytes").value_or(0)));
    outcome.evaluated =
        static_cast<std::uint64_t>(std::max(0.0, read_number(json, "evaluated").value_or(0)));
    return outcome;
}

std::string journal_line(std::size_t point, const SweepOutcome& outcome) {
    io::Json line;
    line["point"] = point;
    const io::Json rest = outcome_json(outcome);
    for (const auto& [key, value] : rest.members()) {
        line[key] = value;
    }
    return line.dump() + "\n";
}

std::size_t read_journal(const std::string& text, std::vector<SweepOutcome>& outcomes) {
    std::size_t begin = 0;
    for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
        const ParsedJson json =
            base::parsed_json(std::string_view(text).substr(begin, end - begin));
        const std::optional<SweepOutcome> outcome = read_outcome(json);
        const bool known = outcome && json.contains("point") && json["point"].is_number_unsigned();
        if (known && json["point"].get<std::size_t>() < outcomes.size()) {
            outcomes[json["point"].get<std::size_t>()] = *outcome;
        }
    }
    return begin;
}

std::vector<std::size_t> SweepPlan::searched(std::size_t shard, std::size_t shards) const {
    std::vector<std::size_t> own;
    std::size_t problems = 0;
    for (std::size_t i = 0; i < same_as.size(); ++i) {
        if (same_as[i] == i && problems++ % shards == shard - 1) {
            own.push_back(i);
        }
    }
    return own;
}

std::optional<double> column(const SweepPlan& plan, const SweepOutcome& outcome, std::size_t point,
                             const std::string& name) {
    for (const SweepFigure& figure : sweep_figures) {
        if (name == figure.key) {
            return outcome.*figure.value;
        }
    }
    for (std::size_t a = 0; a < plan.space.axes.size(); ++a) {
        if (plan.space.axes[a].name == name) {
            const std::string& text = plan.space.points[point][a];
            double value = 0;
            const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
            const bool whole = code == std::errc() && end == text.data() + text.size();
            return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
        }
    }
    return std::nullopt;
}

std::vector<std::size_t> pareto_of(const SweepPlan& plan,
                                   const std::vector<SweepOutcome>& outcomes) {
    struct Place {
        double x, y;
        std::size_t point;
    };
    std::vector<Place> places;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        const auto x = column(plan, outcomes[i], i, plan.x);
        const auto y = column(plan, outcomes[i], i, plan.y);
        if (outcomes[i].edp_js && x && y) {
            places.push_back({*x, *y, i});
        }
    }
    std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
        return a.x != b.x ? a.x < b.x : a.y != b.y ? a.y < b.y : a.point < b.point;
    });
    std::vector<std::size_t> front;
    double best = std::numeric_limits<double>::infinity();
    for (const Place& place : places) {
        if (place.y < best) {
            best = place.y;
            front.push_back(place.point);
        }
    }
    return front;
}

io::Json to_json(const SweepPlan& plan) {
    io::Json json;
    json["workload"] = plan.workload;
    json["architecture"] = plan.architecture;
    json["mapper"] = plan.mapper;
    json["model"] = plan.model;
    json["metric"] = plan.metric;
    json["x"] = plan.x;
    json["y"] = plan.y;
    json["order"] = plan.space.order;
    json["axes"] = axes_json(plan.space.axes);
    json["fixed"] = axes_json(plan.space.fixed);
    json["points"] = plan.space.points;
    json["same_as"] = plan.same_as;
    json["command"] = plan.command;
    return json;
}

SweepPlan read_plan(const ParsedJson& json, const std::string& file) {
    try {
        SweepPlan plan;
        plan.workload = json.at("workload").get<std::string>();
        plan.architecture = json.at("architecture").get<std::string>();
        plan.mapper = json.at("mapper").get<std::string>();
        plan.model = json.at("model").get<std::string>();
        plan.metric = json.at("metric").get<std::string>();
        plan.x = json.at("x").get<std::string>();
        plan.y = json.at("y").get<std::string>();
        plan.space.order = json.at("order").get<std::string>();
        plan.space.axes = read_axes(json.at("axes"));
        plan.space.fixed = read_axes(json.at("fixed"));
        plan.space.points = json.at("points").get<std::vector<std::vector<std::string>>>();
        plan.same_as = json.at("same_as").get<std::vector<std::size_t>>();
        plan.command = base::written(json.at("command"));
        bool whole = plan.same_as.size() == plan.space.points.size();
        for (std::size_t i = 0; whole && i < plan.same_as.size(); ++i) {
            whole = plan.same_as[i] <= i && plan.space.points[i].size() == plan.space.axes.size();
        }
        if (whole) {
            return plan;
        }
    } catch (const ParsedJson::exception&) {
        // told below
    }
    throw UserError(file +
                    ": is no description of a sweep; begin the sweep anew in another folder");
}

}  // namespace tessera::cli
