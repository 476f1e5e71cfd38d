// The document of a comparison, its files, and two tables: the ranking, and the best values at
// equal times.
#include "comparison_report.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <sstream>

#include "base/printable.hpp"
#include "base/units.hpp"
#include "cli/cli.hpp"
#include "cli/output.hpp"
#include "cli/run/stored_run.hpp"
#include "io/json_text.hpp"

namespace tessera::cli {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double evidence = 0.05;

double value_or_infinity(const Trial& trial) {
    return trial.value.value_or(infinity);
}

double best_known(const Comparison& comparison) {
    double best = infinity;
    for (const auto& contender : comparison.contenders) {
        for (const Trial& trial : contender->trials) {
            best = std::min(best, value_or_infinity(trial));
        }
    }
    return best;
}

io::Json optional_json(const std::optional<double>& value) {
    return value && std::isfinite(*value) ? io::Json(*value) : io::Json(nullptr);
}

io::Json finite_json(double value) {
    return std::isfinite(value) ? io::Json(value) : io::Json(nullptr);
}

io::Json trial_json(const Trial& trial, const ComparisonSubject& subject, double best) {
    io::Json json;
    json["seed"] = trial.seed;
    json["status"] = name(trial.status);
    json["value"] = optional_json(trial.value);
    json["ratio"] = trial.value ? finite_json(*trial.value / best) : io::Json(nullptr);
    json["energy_j"] = optional_json(trial.energy_j);
    json[subject.latency_key] = optional_json(trial.latency);
    json["bound"] = optional_json(trial.bound);
    json["gap"] = optional_json(trial.gap());
    json["wall_s"] = trial.wall_s;
    json["cpu_s"] = trial.cpu_s;
    json["time_to_best_s"] =
        trial.curve.empty() ? io::Json(nullptr) : io::Json(trial.curve.back().time_s);
    json["time_to_within_s"] = io::Json::object();
    for (const auto& [key, factor] : {std::pair{"1%", 1.01}, {"5%", 1.05}, {"10%", 1.1}}) {
        json["time_to_within_s"][key] = optional_json(trial.time_to(best * factor));
    }
    json["evaluated"] = trial.evaluated;
    json["charged"] = trial.charged;
    json["valid_share"] =
        trial.generated > 0
            ? io::Json(static_cast<double>(trial.evaluated) /
                       static_cast<double>(std::max(trial.generated, trial.evaluated)))
            : io::Json(nullptr);
    json["memory_bytes"] = trial.memory_bytes;
    json["trained_on"] = trial.preparation.trained_on;
    json["tuned_by"] = trial.preparation.tuned_by;
    json["tuned_s"] = trial.preparation.tuned_s;
    json["stopped_by"] = trial.stopped_by.empty() ? io::Json(nullptr) : io::Json(trial.stopped_by);
    json["reasons"] = trial.reasons;
    json["error"] = trial.error.empty() ? io::Json(nullptr) : io::Json(trial.error);
    json["curve"] = io::Json::array();
    for (const ComparisonPoint& point : trial.curve) {
        json["curve"].push_back(
            {point.time_s, point.value, point.evaluated, point.cpu_s, point.charged});
    }
    return json;
}

io::Json standing_json(const Standing& s, const ComparisonSubject& subject, double best) {
    io::Json json;
    json["name"] = s.contender->name();
    json["rank"] = std::isfinite(s.median) ? io::Json(s.rank) : io::Json(nullptr);
    json["kind"] = s.contender->searches() ? "mapper" : "mapping";
    json["value"] = {{"median", finite_json(s.median)},
                     {"least", finite_json(s.least)},
                     {"most", finite_json(s.most)}};
    json["ratio"] = finite_json(s.median / best);
    json["found"] = s.found;
    json["proven"] = s.proven;
    json["failed"] = s.failed;
    json["wins"] = s.wins;
    json["p"] = optional_json(s.p);
    json["bound"] = optional_json(s.bound);
    json["gap"] = optional_json(s.gap);
    json["wall_s"] = s.wall_s;
    json["time_to_best_s"] = finite_json(s.best_s);
    json["evaluated"] = s.evaluated;
    json["trials"] = io::Json::array();
    for (const Trial& trial : s.contender->trials) {
        json["trials"].push_back(trial_json(trial, subject, best));
    }
    return json;
}

std::string times(double ratio) {
    std::ostringstream text;
    text.precision(4);
    text << ratio;
    return std::isfinite(ratio) ? text.str() : "-";
}

/// What is known about how good the result is.
std::string statement(const Standing& s) {
    if (s.ran == 0) {
        return "not run";
    }
    if (s.failed > 0) {
        return "failed";
    }
    if (s.best == nullptr) {
        for (const Trial& trial : s.contender->trials) {
            if (trial.status == Trial::Status::infeasible) {
                return "no legal mapping";
            }
        }
        return "nothing found";
    }
    if (!s.contender->searches()) {
        return "given";
    }
    if (s.proven == s.ran) {
        return "proven optimal";
    }
    return s.proven > 0 ? "proven " + std::to_string(s.proven) + " of " + std::to_string(s.ran)
           : s.gap && *s.gap < 1 ? "not proven"
                                 : "no bound";
}

/// "1", "1=" if shared
std::string rank_text(const Standing& s) {
    return std::isfinite(s.median) ? std::to_string(s.rank) + (s.tied ? "=" : "") : "-";
}

std::string against_first(const Standing& s) {
    return !s.p ? "-" : *s.p < evidence ? "worse" : "no evidence";
}

void print_ranking(std::ostream& out, const Comparison& comparison,
                   const ComparisonSubject& subject, const std::vector<Standing>& all,
                   double best) {
    const bool seeds = comparison.n_seeds > 1;
    const bool test = comparison.n_seeds >= fewest_seeds_for_test;
    std::vector<std::vector<std::string>> rows = {{"  rank", "mapper", "statement"}};
    std::vector<std::string>& head = rows.front();
    head.insert(head.end(), {subject.metric, "ratio"});
    if (seeds) {
        head.insert(head.end(), {"least", "most", "wins"});
    }
    if (test) {
        head.emplace_back("than first");
    }
    head.insert(head.end(), {"energy", "latency", "time", "best at", "evaluated", "bound", "gap"});
    for (const Standing& s : all) {
        std::vector<std::string> row = {"  " + rank_text(s), s.contender->name(), statement(s)};
        const auto value = [&](double v, const std::string& unit) {
            return std::isfinite(v) ? base::quantity(v, unit) : std::string("-");
        };
        row.insert(row.end(), {value(s.median, subject.value_unit), times(s.median / best)});
        if (seeds) {
            row.insert(row.end(), {value(s.least, subject.value_unit),
                                   value(s.most, subject.value_unit), times(s.wins)});
        }
        if (test) {
            row.push_back(against_first(s));
        }
        const auto latency = [&](double v) { return base::quantity(v, subject.latency_unit); };
        row.push_back(s.best && s.best->energy_j
                          ? base::quantity(*s.best->energy_j, subject.energy_unit)
                          : "-");
        row.push_back(s.best && s.best->latency ? latency(*s.best->latency) : "-");
        const bool searched = s.contender->searches() && s.ran > 0;
        row.push_back(searched ? base::quantity(s.wall_s, "s") : "-");
        row.push_back(searched && std::isfinite(s.best_s) ? base::quantity(s.best_s, "s") : "-");
        row.push_back(searched ? base::amount(s.evaluated) : "-");
        row.push_back(s.bound ? value(*s.bound, subject.value_unit) : "-");
        row.push_back(s.gap && *s.gap < 1 ? base::percent(*s.gap) : "-");
        rows.push_back(std::move(row));
    }
    print_table(out, rows, 3);
    for (const Standing& s : all) {
        if (s.best != nullptr && s.best->preparation.any()) {
            out << "  " << s.contender->name() << ", charged apart: " << text(s.best->preparation)
                << "\n";
        }
    }
}

void print_moments(std::ostream& out, const Comparison& comparison,
                   const ComparisonSubject& subject, const std::vector<Standing>& all) {
    const std::vector<double> at = moments(comparison);
    if (at.empty()) {
        return;
    }
    std::vector<std::vector<std::string>> rows = {{"  after"}};
    for (const double time_s : at) {
        rows.front().push_back(base::quantity(time_s, "s"));
    }
    for (const Standing& s : all) {
        if (!s.contender->searches() || s.found == 0) {
            continue;
        }
        rows.push_back({"  " + s.contender->name()});
        for (const double time_s : at) {
            std::vector<double> values;
            for (const Trial& trial : s.contender->trials) {
                values.push_back(trial.at(time_s));
            }
            const double value = median(values);
            rows.back().push_back(std::isfinite(value) ? base::quantity(value, subject.value_unit)
                                                       : "-");
        }
    }
    out << "Best " << subject.metric << " at equal times"
        << (comparison.n_seeds > 1 ? " (medians)" : "") << ":\n";
    print_table(out, rows, 1);
}

/// Why nothing is legal: contenders that say the same are named together.
void print_reasons(std::ostream& out, const std::vector<Standing>& all) {
    std::map<std::vector<std::string>, std::string> names;
    for (const Standing& s : all) {
        for (const Trial& trial : s.contender->trials) {
            if (!trial.reasons.empty()) {
                std::string& who = names[trial.reasons];
                who += (who.empty() ? "" : ", ") + s.contender->name();
                break;
            }
        }
    }
    for (const auto& [reasons, who] : names) {
        out << who << ": no legal mapping\n";
        for (const std::string& reason : reasons) {
            out << "  " << base::one_line(reason) << "\n";
        }
    }
}

std::string curves_csv(const Comparison& comparison) {
    std::ostringstream out;
    out.precision(17);
    out << "mapper,seed,time_s,evaluated,value,cpu_s,charged\n";
    for (const auto& contender : comparison.contenders) {
        for (const Trial& trial : contender->trials) {
            for (const ComparisonPoint& point : trial.curve) {
                out << contender->name() << "," << trial.seed << "," << point.time_s << ","
                    << point.evaluated << "," << point.value << "," << point.cpu_s << ","
                    << point.charged << "\n";
            }
        }
    }
    return out.str();
}

}  // namespace

io::Json comparison_json(const Comparison& comparison, const ComparisonSubject& subject) {
    const double best = best_known(comparison);
    io::Json root;
    root["schema_version"] = io::schema_version;
    root["status"] = "compared";
    root["workload"] = subject.workload;
    root["architecture"] = subject.architecture;
    root["model"] = subject.model;
    root["mapspace"] = subject.mapspace;
    root["metric"] = subject.metric;
    root["value_key"] = subject.value_key;
    root["limits"] = limits_json(comparison.budget);
    root["threads"] = subject.threads;
    root["first_seed"] = comparison.first_seed;
    root["seeds"] = comparison.n_seeds;
    root["best"] = finite_json(best);
    root["contenders"] = io::Json::array();
    for (const Standing& s : standings(comparison)) {
        root["contenders"].push_back(standing_json(s, subject, best));
    }
    return root;
}

void print_comparison(std::ostream& out, const Comparison& comparison,
                      const ComparisonSubject& subject) {
    const double best = best_known(comparison);
    const std::vector<Standing> all = standings(comparison);
    out << "Comparison on " << base::one_line(subject.workload + " on " + subject.architecture)
        << " (model " << subject.model << ", mapspace " << subject.mapspace << subject.switches
        << ", ";
    out << (comparison.n_seeds > 1 ? std::to_string(comparison.n_seeds) + " seeds, medians"
                                   : "one seed")
        << ")\n";
    print_ranking(out, comparison, subject, all, best);
    print_moments(out, comparison, subject, all);
    for (const Standing& s : all) {
        for (const Trial& trial : s.contender->trials) {
            if (!trial.error.empty()) {
                out << s.contender->name() << ": " << trial.error << "\n";
                break;
            }
        }
    }
    print_reasons(out, all);
}

std::map<std::string, std::string> comparison_files(const Comparison& comparison,
                                                    const ComparisonSubject& subject) {
    std::map<std::string, std::string> files;
    files["result.json"] = io::dumped(comparison_json(comparison, subject));
    files["curves.csv"] = curves_csv(comparison);
    for (const Standing& s : standings(comparison)) {
        if (s.best != nullptr) {
            for (const auto& [ending, content] : s.best->files) {
                files[plain_name(s.contender->name()) + ending] = content;
            }
        }
    }
    return files;
}

int comparison_exit_code(const Comparison& comparison, bool interrupted) {
    if (interrupted) {
        return ExitCode::interrupted;
    }
    bool found = false, failed = false, infeasible = false;
    for (const Standing& s : standings(comparison)) {
        found = found || s.found > 0;
        failed = failed || s.failed > 0;
        for (const Trial& trial : s.contender->trials) {
            infeasible = infeasible || trial.status == Trial::Status::infeasible;
        }
    }
    return failed       ? ExitCode::partial
           : found      ? ExitCode::ok
           : infeasible ? ExitCode::no_legal_mapping
                        : ExitCode::limit_before_result;
}

}  // namespace tessera::cli
