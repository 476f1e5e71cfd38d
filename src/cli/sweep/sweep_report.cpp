// Map:
//   csv_text(), result_csv(), times_csv()
//   sweep_json()
//   print_sweep()
//   sweep_files()
#include "sweep_report.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>

#include "base/printable.hpp"
#include "base/units.hpp"
#include "cli/cli.hpp"
#include "cli/output.hpp"
#include "sweep_plots.hpp"
#include "tessera/spec/value.hpp"

namespace tessera::cli {

namespace {

/// As RFC 4180 has it.
std::string csv_text(const std::string& text) {
    if (text.find_first_of(",\"\n\r") == std::string::npos) {
        return text;
    }
    std::string quoted = "\"";
    for (const char c : text) {
        quoted += c == '"' ? "\"\"" : std::string(1, c);
    }
    return quoted + "\"";
}

std::string csv_number(const std::optional<double>& value) {
    return value && std::isfinite(*value) ? spec::number_text(*value) : "";
}

std::string status_of(const SweepOutcome& outcome) {
    return outcome.status.empty() ? "not run" : outcome.status;
}

std::string result_csv(const SweepResult& result, const std::set<std::size_t>& front) {
    const SweepPlan& plan = result.plan;
    std::string text = "point";
    for (const SweepAxis& axis : plan.space.axes) {
        text += "," + csv_text(axis.name);
    }
    text += ",status";
    for (const SweepFigure& figure : sweep_figures) {
        text += std::string(",") + figure.key;
    }
    text += ",bound,gap,fused_groups,pareto,same_as,stopped_by,message\n";
    for (std::size_t i = 0; i < result.outcomes.size(); ++i) {
        const SweepOutcome& outcome = result.outcomes[i];
        text += std::to_string(i);
        for (const std::string& value : plan.space.points[i]) {
            text += "," + csv_text(value);
        }
        text += "," + status_of(outcome);
        for (const SweepFigure& figure : sweep_figures) {
            text += "," + csv_number(outcome.*figure.value);
        }
        text += "," + csv_number(outcome.bound) + "," + csv_number(outcome.gap);
        text += "," + csv_text(outcome.fused_groups) + "," + (front.count(i) > 0 ? "1" : "0") +
                "," + (plan.same_as[i] == i ? "" : std::to_string(plan.same_as[i])) + "," +
                outcome.stopped_by + "," + csv_text(outcome.message) + "\n";
    }
    return text;
}

std::string times_csv(const SweepResult& result) {
    std::string text = "point,wall_s,cpu_s,memory_bytes,evaluated\n";
    for (std::size_t i = 0; i < result.outcomes.size(); ++i) {
        const SweepOutcome& outcome = result.outcomes[i];
        if (result.plan.same_as[i] == i && !outcome.status.empty()) {
            text += std::to_string(i) + "," + spec::number_text(outcome.wall_s) + "," +
                    spec::number_text(outcome.cpu_s) + "," + std::to_string(outcome.memory_bytes) +
                    "," + std::to_string(outcome.evaluated) + "\n";
        }
    }
    return text;
}

std::string point_text(const SweepPlan& plan, std::size_t point) {
    std::string text;
    for (std::size_t a = 0; a < plan.space.axes.size(); ++a) {
        text += (a > 0 ? " " : "") + plan.space.axes[a].name + "=" + plan.space.points[point][a];
    }
    return base::one_line(text);
}

std::string mapping_name(std::size_t point) {
    std::string digits = std::to_string(point);
    return "point-" + std::string(digits.size() < 6 ? 6 - digits.size() : 0, '0') + digits +
           ".mapping.yaml";
}

std::string statuses(const SweepResult& result) {
    std::string text;
    for (const char* status : {"optimal", "feasible", "infeasible", "unknown", "failed", ""}) {
        const std::size_t n = count(result, status);
        const std::string name = status[0] == '\0'                  ? "not run"
                                 : status == std::string("optimal") ? "proven optimal"
                                                                    : status;
        text += n > 0 ? (text.empty() ? "" : ", ") + std::to_string(n) + " " + name : "";
    }
    return text;
}

void print_front(std::ostream& out, const SweepResult& result,
                 const std::vector<std::size_t>& front) {
    constexpr std::size_t most = 40;
    std::vector<std::vector<std::string>> rows = {{"  point", "values"}};
    rows.front().insert(rows.front().end(), {"energy", "latency", "EDP"});
    for (std::size_t i = 0; i < std::min(front.size(), most); ++i) {
        const SweepOutcome& outcome = result.outcomes[front[i]];
        rows.push_back({"  " + std::to_string(front[i]), point_text(result.plan, front[i]),
                        base::number(*outcome.energy_j), base::number(*outcome.latency_s),
                        base::number(*outcome.edp_js)});
    }
    print_table(out, rows, 2);
    if (front.size() > most) {
        out << "  ... and " << front.size() - most << " more\n";
    }
}

}  // namespace

void share(const SweepPlan& plan, std::vector<SweepOutcome>& outcomes) {
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        if (plan.same_as[i] != i) {
            outcomes[i] = outcomes[plan.same_as[i]];
        }
    }
}

std::size_t count(const SweepResult& result, const std::string& status) {
    return static_cast<std::size_t>(
        std::count_if(result.outcomes.begin(), result.outcomes.end(),
                      [&](const SweepOutcome& outcome) { return outcome.status == status; }));
}

io::Json sweep_json(const SweepResult& result) {
    const SweepPlan& plan = result.plan;
    const std::vector<std::size_t> front = pareto_of(plan, result.outcomes);
    io::Json root;
    root["schema_version"] = io::schema_version;
    root["status"] = count(result, "") > 0 ? "unfinished" : "swept";
    root["workload"] = plan.workload;
    root["architecture"] = plan.architecture;
    root["mapper"] = plan.mapper;
    root["model"] = plan.model;
    root["metric"] = plan.metric;
    root["order"] = plan.space.order;
    root["axes"] = io::Json::array();
    for (const SweepAxis& axis : plan.space.axes) {
        io::Json one;
        one["name"] = axis.name;
        one["kind"] = axis.setting ? "set" : "define";
        one["values"] = axis.values;
        root["axes"].push_back(std::move(one));
    }
    root["fixed"] = io::Json::object();
    for (const SweepAxis& axis : plan.space.fixed) {
        root["fixed"][axis.name] = axis.values.front();
    }
    root["pareto"] = {{"x", plan.x}, {"y", plan.y}};
    root["pareto"]["points"] = front;
    root["points"] = io::Json::array();
    for (std::size_t i = 0; i < result.outcomes.size(); ++i) {
        const SweepOutcome& outcome = result.outcomes[i];
        io::Json one;
        one["point"] = i;
        one["values"] = io::Json::object();
        for (std::size_t a = 0; a < plan.space.axes.size(); ++a) {
            one["values"][plan.space.axes[a].name] = plan.space.points[i][a];
        }
        one["status"] = status_of(outcome);
        const io::Json all = outcome_json(outcome);
        std::vector<const char*> keys;
        for (const SweepFigure& figure : sweep_figures) {
            keys.push_back(figure.key);
        }
        keys.insert(keys.end(), {"bound", "gap", "stopped_by", "message", "fused_groups"});
        for (const char* key : keys) {
            for (const auto& [name, value] : all.members()) {
                if (name == key) {
                    one[key] = value;
                }
            }
        }
        one["same_as"] = plan.same_as[i] == i ? io::Json(nullptr) : io::Json(plan.same_as[i]);
        root["points"].push_back(std::move(one));
    }
    return root;
}

void print_sweep(std::ostream& out, const SweepResult& result) {
    const SweepPlan& plan = result.plan;
    const std::size_t n = result.outcomes.size();
    std::size_t shared = 0;
    for (std::size_t i = 0; i < n; ++i) {
        shared += plan.same_as[i] != i;
    }
    out << "Sweep of " << base::one_line(plan.workload + " on " + plan.architecture) << " (mapper "
        << plan.mapper << ", model " << plan.model << ", metric " << plan.metric
        << "): " << base::counted(n, "point");
    if (shared > 0) {
        out << ", " << shared << " of them with the problem of another";
    }
    out << "\n  " << statuses(result) << "\n";
    const std::vector<std::size_t> front = pareto_of(plan, result.outcomes);
    if (!front.empty()) {
        out << "Pareto front of " << base::one_line(plan.x + " and " + plan.y) << ":\n";
        print_front(out, result, front);
    }
    constexpr int most_messages = 5;
    int told = 0;
    for (std::size_t i = 0; i < n && told < most_messages; ++i) {
        if (result.outcomes[i].status == "failed" && plan.same_as[i] == i) {
            out << "point " << i << " (" << point_text(plan, i)
                << "): " << result.outcomes[i].message << "\n";
            ++told;
        }
    }
}

std::map<std::string, std::string> sweep_files(const SweepResult& result, bool all_mappings) {
    const std::vector<std::size_t> front = pareto_of(result.plan, result.outcomes);
    const std::set<std::size_t> on_front(front.begin(), front.end());
    std::map<std::string, std::string> files = sweep_plots(result, front);
    files["result.json"] = io::dumped(sweep_json(result));
    files["result.csv"] = result_csv(result, on_front);
    files["times.csv"] = times_csv(result);
    for (std::size_t i = 0; i < result.outcomes.size(); ++i) {
        const bool wanted = on_front.count(i) > 0 || (all_mappings && result.plan.same_as[i] == i);
        if (wanted && !result.outcomes[i].mapping.empty()) {
            files[mapping_name(i)] = result.outcomes[i].mapping;
        }
    }
    return files;
}

int sweep_exit_code(const SweepResult& result, const std::vector<std::size_t>& searched) {
    const auto n = [&](const char* status) {
        return static_cast<std::size_t>(std::count_if(
            searched.begin(), searched.end(),
            [&](std::size_t point) { return result.outcomes[point].status == status; }));
    };
    const std::size_t found = n("optimal") + n("feasible");
    if (n("failed") == searched.size() && !searched.empty()) {
        return ExitCode::user_error;
    }
    if (found + n("infeasible") == searched.size()) {
        return found > 0 || searched.empty() ? ExitCode::ok : ExitCode::no_legal_mapping;
    }
    return n("unknown") == searched.size() ? ExitCode::limit_before_result : ExitCode::partial;
}

}  // namespace tessera::cli
