// A field of searches as a table, one JSON document and CSV.
#include <algorithm>
#include <cmath>
#include <ostream>

#include "base/printable.hpp"
#include "base/units.hpp"
#include "cli/output.hpp"
#include "field_results.hpp"
#include "tessera/spec/value.hpp"

namespace tessera::cli {

namespace {

io::Json finite(double value) {
    return std::isfinite(value) ? io::Json(value) : io::Json(nullptr);
}

io::Json optional(const std::optional<double>& value) {
    return value ? finite(*value) : io::Json(nullptr);
}

std::string csv(const std::optional<double>& value) {
    return value && std::isfinite(*value) ? spec::number_text(*value) : "";
}

std::string csv(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) {
        return text;
    }
    std::string quoted = "\"";
    for (const char c : text) {
        quoted += c == '"' ? "\"\"" : std::string(1, c);
    }
    return quoted + "\"";
}

io::Json standing_json(const FieldStanding& s, const Field& field) {
    io::Json one;
    one["name"] = field.mappers[s.mapper];
    one["ran"] = s.ran;
    one["found"] = s.found;
    one["proven"] = s.proven;
    one["failed"] = s.failed;
    one["best"] = s.best;
    one["ratio"] = finite(s.ratio);
    one["gap"] = finite(s.gap);
    one["time_to_within_s"] = {{"1%", finite(s.within_s[0])},
                               {"5%", finite(s.within_s[1])},
                               {"10%", finite(s.within_s[2])}};
    one["reached"] = {{"1%", s.reached[0]}, {"5%", s.reached[1]}, {"10%", s.reached[2]}};
    one["valid_share"] = s.valid_share < 0 ? io::Json(nullptr) : io::Json(s.valid_share);
    one["memory_bytes"] = s.memory_bytes;
    one["trained_on"] = s.preparation.trained_on;
    one["tuned_by"] = s.preparation.tuned_by;
    one["tuned_s"] = s.preparation.tuned_s;
    return one;
}

io::Json pair_json(const FieldPair& pair, const Field& field) {
    io::Json one;
    one["a"] = field.mappers[pair.a];
    one["b"] = field.mappers[pair.b];
    const auto test = [](const FieldTest& result, const char* words) {
        io::Json json;
        json["n"] = result.ranks.n;
        json["p"] = result.ranks.p;
        json["p_holm"] = result.p_holm;
        json["effect"] = result.ranks.effect;
        json["a_than_b"] = words;
        return json;
    };
    const auto tests = [&](const FieldTests& both, const char* (*words)(const FieldTest&)) {
        io::Json json = test(both.searches, words(both.searches));
        json["over_instances"] = test(both.instances, words(both.instances));
        return json;
    };
    one["value"] = tests(pair.value, quality);
    one["time_to_1%"] = tests(pair.time, speed);
    return one;
}

/// "better (p 1e-05), over instances no evidence (p 0.5)"
std::string text(const FieldTests& tests, const char* (*words)(const FieldTest&)) {
    return words(tests.searches) + (" (p " + base::number(tests.searches.p_holm)) +
           "), over instances " + words(tests.instances) + " (p " +
           base::number(tests.instances.p_holm) + ")";
}

std::string or_dash(double value, const std::string& text) {
    return std::isfinite(value) ? text : "-";
}

}  // namespace

io::Json field_json(const Field& field) {
    io::Json root;
    root["schema_version"] = io::schema_version;
    root["status"] = "compared";
    root["metric"] = field.metric;
    root["first_seed"] = field.first_seed;
    root["seeds"] = field.n_seeds;
    root["time_of"] = field.cpu_time ? "cpu" : "wall";
    root["mappers"] = io::Json::array();
    for (const FieldStanding& s : field_standings(field)) {
        root["mappers"].push_back(standing_json(s, field));
    }
    root["pairs"] = io::Json::array();
    for (const FieldPair& pair : field_pairs(field)) {
        root["pairs"].push_back(pair_json(pair, field));
    }
    root["wins"] = win_matrix(field);
    root["instances"] = io::Json::array();
    for (std::size_t i = 0; i < field.instances.size(); ++i) {
        io::Json one;
        one["name"] = field.instances[i].name;
        one["architecture"] = field.instances[i].architecture;
        one["workload"] = field.instances[i].workload;
        one["best"] = finite(field.best(i));
        one["bound"] = optional(field.bound(i));
        root["instances"].push_back(std::move(one));
    }
    return root;
}

std::string trials_csv(const Field& field) {
    std::string text =
        "instance,mapper,seed,status,value,ratio,bound,wall_s,cpu_s,to_1pct_s,to_5pct_s,to_10pct_s,"
        "evaluated,memory_bytes,trained_on,tuned_by,tuned_s,stopped_by,error\n";
    for (std::size_t i = 0; i < field.instances.size(); ++i) {
        const double best = field.best(i);
        const auto goal = [&](double factor) { return best * factor * (1 + same_value); };
        for (std::size_t m = 0; m < field.mappers.size(); ++m) {
            for (std::size_t s = 0; s < field.n_seeds; ++s) {
                const Trial& trial = field.at(i, m, s);
                text +=
                    csv(field.instances[i].name) + "," + csv(field.mappers[m]) + "," +
                    std::to_string(trial.seed) + "," + name(trial.status) + "," + csv(trial.value) +
                    "," + csv(trial.value ? std::optional(*trial.value / best) : std::nullopt) +
                    "," + csv(trial.bound) + "," + csv(std::optional(trial.wall_s)) + "," +
                    csv(std::optional(trial.cpu_s)) + "," + csv(field.time_to(trial, goal(1.01))) +
                    "," + csv(field.time_to(trial, goal(1.05))) + "," +
                    csv(field.time_to(trial, goal(1.1))) + "," + std::to_string(trial.evaluated) +
                    "," + std::to_string(trial.memory_bytes) + "," +
                    std::to_string(trial.preparation.trained_on) + "," +
                    std::to_string(trial.preparation.tuned_by) + "," +
                    csv(std::optional(trial.preparation.tuned_s)) + "," + csv(trial.stopped_by) +
                    "," + csv(trial.error) + "\n";
            }
        }
    }
    return text;
}

void print_field(std::ostream& out, const Field& field) {
    out << "Comparison of " << base::counted(field.mappers.size(), "mapper") << " on "
        << base::counted(field.instances.size(), "instance") << " with "
        << base::counted(field.n_seeds, "seed") << " (" << field.metric << ")\n";
    std::vector<std::vector<std::string>> rows = {
        {"  mapper", "ratio", "best", "proven", "failed", "gap", field.time_label("to 1 %"),
         field.time_label("to 5 %"), field.time_label("to 10 %"), "reached 1 %", "memory"}};
    for (const FieldStanding& s : field_standings(field)) {
        const auto of = [&](std::size_t n) {
            return std::to_string(n) + "/" + std::to_string(s.ran);
        };
        std::vector<std::string> row = {"  " + base::one_line(field.mappers[s.mapper]),
                                        or_dash(s.ratio, base::number(s.ratio)),
                                        of(s.best),
                                        of(s.proven),
                                        of(s.failed),
                                        or_dash(s.gap, base::percent(s.gap))};
        for (const double time_s : s.within_s) {
            row.push_back(or_dash(time_s, base::quantity(time_s, "s")));
        }
        row.push_back(base::percent(s.reached[0]));
        row.push_back(base::memory(s.memory_bytes));
        rows.push_back(std::move(row));
    }
    print_table(out, rows, 1);
    for (const FieldStanding& s : field_standings(field)) {
        if (s.preparation.any()) {
            out << "  " << base::one_line(field.mappers[s.mapper])
                << ", charged apart: " << text(s.preparation) << "\n";
        }
    }
    for (const FieldPair& pair : field_pairs(field)) {
        out << "  " << base::one_line(field.mappers[pair.a] + " than " + field.mappers[pair.b])
            << ": value " << text(pair.value, quality) << "; " << field.time_label("time to 1 %")
            << " " << text(pair.time, speed) << "\n";
    }
    const auto by_hand = std::count_if(field.trials.begin(), field.trials.end(),
                                       [](const Trial& t) { return t.stopped_by == "stop"; });
    if (by_hand > 0) {
        out << base::counted(static_cast<std::uint64_t>(by_hand), "search", "searches")
            << " stopped by hand: they count with what they had found\n";
    }
    for (std::size_t i = 0; i < field.trials.size(); ++i) {
        if (!field.trials[i].error.empty()) {
            const std::size_t m = field.mapper_of(i);
            const std::size_t instance = field.instance_of(i);
            out << base::one_line(field.mappers[m] + " on " + field.instances[instance].name)
                << ": " << field.trials[i].error << "\n";
            break;
        }
    }
}

}  // namespace tessera::cli
