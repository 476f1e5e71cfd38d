// A field of searches as one page: tables, the performance profile, curves of each instance.
#include <algorithm>
#include <cmath>

#include "base/units.hpp"
#include "field_results.hpp"
#include "io/page.hpp"
#include "io/plot_svg.hpp"

namespace tessera::cli {

namespace {

using Row = std::vector<std::string>;

// A page is sent by mail: it stays below 1 MiB. Of more mappers not all lines would differ.
constexpr std::size_t most_instances = 24, most_mappers = 24;
constexpr int moments = 40;

std::string finite(double value, const std::string& text) {
    return std::isfinite(value) ? text : "-";
}

std::string standings_table(const Field& field) {
    std::vector<Row> rows = {{"mapper", "ratio to best", "best", "proven", "failed", "gap",
                              field.time_label("to 1 %"), field.time_label("to 5 %"),
                              field.time_label("to 10 %"), "reached 1 %", "valid", "memory",
                              "preparation"}};
    for (const FieldStanding& s : field_standings(field)) {
        Row row = {field.mappers[s.mapper], finite(s.ratio, base::number(s.ratio))};
        for (const std::size_t n : {s.best, s.proven, s.failed}) {
            row.push_back(std::to_string(n) + "/" + std::to_string(s.ran));
        }
        row.push_back(finite(s.gap, base::percent(s.gap)));
        for (const double time_s : s.within_s) {
            row.push_back(finite(time_s, base::quantity(time_s, "s")));
        }
        row.push_back(base::percent(s.reached[0]));
        row.push_back(s.valid_share < 0 ? "-" : base::percent(s.valid_share));
        row.push_back(base::memory(s.memory_bytes));
        row.push_back(text(s.preparation));
        rows.push_back(std::move(row));
    }
    return io::html_table(rows);
}

/// Of an instance and a mapper the median over the seeds of value / best.
std::string ratios_table(const Field& field) {
    std::vector<Row> rows = {{"median ratio to best"}};
    for (const FieldInstance& instance : field.instances) {
        rows.front().push_back(instance.name);
    }
    for (const FieldStanding& s : field_standings(field)) {
        Row row = {field.mappers[s.mapper]};
        for (std::size_t i = 0; i < field.instances.size(); ++i) {
            std::vector<double> ratios;
            for (std::size_t seed = 0; seed < field.n_seeds; ++seed) {
                const Trial& trial = field.at(i, s.mapper, seed);
                ratios.push_back(trial.value ? *trial.value / field.best(i)
                                             : std::numeric_limits<double>::infinity());
            }
            const double median = base::quantile(ratios, 0.5);
            row.push_back(finite(median, base::number(median)));
        }
        rows.push_back(std::move(row));
    }
    return io::html_table(rows);
}

std::string pairs_list(const Field& field, const std::vector<FieldPair>& pairs) {
    std::vector<Row> rows = {{"pair"}};
    for (const std::string& what : {std::string("value"), field.time_label("time to 1 %")}) {
        rows.front().insert(rows.front().end(),
                            {what, "p", "effect", "over instances", "p", "effect"});
    }
    for (const FieldPair& pair : pairs) {
        Row row = {field.mappers[pair.a] + " than " + field.mappers[pair.b]};
        for (const bool of_values : {true, false}) {
            const FieldTests& tests = of_values ? pair.value : pair.time;
            for (const FieldTest* test : {&tests.searches, &tests.instances}) {
                row.insert(row.end(),
                           {of_values ? quality(*test) : speed(*test), base::number(test->p_holm),
                            base::number(test->ranks.effect)});
            }
        }
        rows.push_back(std::move(row));
    }
    return io::html_table(rows);
}

/// The row's mapper against the column's; empty: no evidence.
std::string pairs_matrix(const Field& field, const std::vector<FieldPair>& pairs, bool of_values) {
    const std::size_t n = field.mappers.size();
    std::vector<Row> rows(n + 1, Row(n + 1));
    rows[0][0] = of_values ? "value" : field.time_label("time to 1 %");
    for (std::size_t m = 0; m < n; ++m) {
        rows[0][m + 1] = rows[m + 1][0] = field.mappers[m];
    }
    for (const FieldPair& pair : pairs) {
        const FieldTests& tests = of_values ? pair.value : pair.time;
        const bool of_others = tests.instances.is_evidence();
        if (!of_others && !tests.searches.is_evidence()) {
            continue;
        }
        const bool ahead = (of_others ? tests.instances : tests.searches).ranks.effect < 0;
        const std::string only = of_others ? "" : " here";
        const std::string good = (of_values ? "better" : "faster") + only;
        const std::string bad = (of_values ? "worse" : "slower") + only;
        rows[pair.a + 1][pair.b + 1] = ahead ? good : bad;
        rows[pair.b + 1][pair.a + 1] = ahead ? bad : good;
    }
    return io::html_table(rows);
}

std::string pairs_table(const Field& field) {
    constexpr std::size_t most_listed = 6;  // mappers; 15 pairs
    const std::vector<FieldPair> pairs = field_pairs(field);
    if (field.mappers.size() <= most_listed) {
        return pairs_list(field, pairs);
    }
    return "<p>The row's mapper than the column's, where p over instances is below 0.05; with "
           "\"here\" where only p over all searches is. Else no evidence. result.json has all "
           "p.</p>\n" +
           pairs_matrix(field, pairs, true) + pairs_matrix(field, pairs, false);
}

std::string wins_table(const Field& field) {
    const std::vector<std::vector<double>> wins = win_matrix(field);
    std::vector<Row> rows = {{"better than"}};
    rows.front().insert(rows.front().end(), field.mappers.begin(), field.mappers.end());
    for (std::size_t a = 0; a < wins.size(); ++a) {
        Row row = {field.mappers[a]};
        for (std::size_t b = 0; b < wins.size(); ++b) {
            row.push_back(a == b ? "" : base::percent(wins[a][b]));
        }
        rows.push_back(std::move(row));
    }
    return io::html_table(rows);
}

std::size_t shown_mappers(const Field& field) {
    return std::min(most_mappers, field.mappers.size());
}

std::string profile(const Field& field) {
    std::vector<std::vector<double>> medians;
    for (std::size_t m = 0; m < field.mappers.size(); ++m) {
        medians.emplace_back();
        for (std::size_t i = 0; i < field.instances.size(); ++i) {
            std::vector<double> values;
            for (std::size_t s = 0; s < field.n_seeds; ++s) {
                values.push_back(
                    field.at(i, m, s).value.value_or(std::numeric_limits<double>::infinity()));
            }
            medians.back().push_back(base::quantile(values, 0.5));
        }
    }
    io::Plot plot{"Performance profile",
                  "factor to the best median of the instance",
                  "share of instances",
                  true,
                  false,
                  {}};
    for (std::size_t m = 0; m < shown_mappers(field); ++m) {
        plot.series.push_back({field.mappers[m], {}, true, false, true});
    }
    for (int step = 0; step <= 60; ++step) {
        const double factor = std::pow(10, step / 30.0);
        const std::vector<double> shares =
            base::performance_profile(medians, factor * (1 + same_value));
        for (std::size_t m = 0; m < shown_mappers(field); ++m) {
            plot.series[m].points.emplace_back(factor, shares[m]);
        }
    }
    return io::plot_svg(plot);
}

/// What curves go over: of a point of a curve, and of a whole search.
struct Axis {
    const char* label;
    double (*of_point)(const ComparisonPoint&);
    double (*of_trial)(const Trial&);
    double least;  ///< where a curve begins
};

const Axis axes[] = {
    {"CPU seconds", [](const ComparisonPoint& p) { return p.cpu_s; },
     [](const Trial& t) { return t.cpu_s; }, 1e-3},
    {"evaluations", [](const ComparisonPoint& p) { return static_cast<double>(p.evaluated); },
     [](const Trial& t) { return static_cast<double>(t.evaluated); }, 1},
    {"charged evaluations", [](const ComparisonPoint& p) { return p.charged; },
     [](const Trial& t) { return t.charged; }, 1e-6},
};

double most_of(const Field& field, const Axis& axis) {
    double most = 0;
    for (const Trial& trial : field.trials) {
        most = std::max(most, axis.of_trial(trial));
    }
    return most;
}

double best_until(const Trial& trial, const Axis& axis, double limit) {
    double best = std::numeric_limits<double>::infinity();
    for (const ComparisonPoint& point : trial.curve) {
        if (axis.of_point(point) <= limit) {
            best = std::min(best, point.value);
        }
    }
    return best;
}

/// Nothing changes at a point between two equal ones: the drawing is the same without it.
void drop_repeated(io::PlotSeries& series) {
    const auto same = [&](std::size_t a, std::size_t b) {
        return series.points[a].second == series.points[b].second &&
               series.band[a] == series.band[b];
    };
    const std::size_t n = series.points.size();
    std::size_t kept = 0;
    for (std::size_t k = 0; k < n; ++k) {
        if (k > 0 && k + 1 < n && same(kept - 1, k) && same(k, k + 1)) {
            continue;
        }
        series.points[kept] = series.points[k];
        series.band[kept++] = series.band[k];
    }
    series.points.resize(kept);
    series.band.resize(kept);
}

/// Medians over the seeds, between the tenth and the ninetieth of a hundred.
std::string curves(const Field& field, std::size_t instance, const Axis& axis, double most) {
    const double best = field.best(instance);
    io::Plot plot{field.instances[instance].name, axis.label, "factor to the best", true, true, {}};
    for (std::size_t m = 0; m < shown_mappers(field); ++m) {
        io::PlotSeries series{field.mappers[m], {}, true, false, true};
        for (int k = 0; k <= moments; ++k) {
            const double at = axis.least * std::pow(most / axis.least, k / double{moments});
            std::vector<double> ratios;
            for (std::size_t s = 0; s < field.n_seeds; ++s) {
                const Trial& trial = field.at(instance, m, s);
                ratios.push_back(best_until(trial, axis, at * (1 + same_value)) / best);
            }
            series.points.emplace_back(at, base::quantile(ratios, 0.5));
            series.band.emplace_back(base::quantile(ratios, 0.1), base::quantile(ratios, 0.9));
        }
        drop_repeated(series);
        plot.series.push_back(std::move(series));
    }
    return io::plot_svg(plot);
}

std::string all_curves(const Field& field) {
    std::string text;
    for (const Axis& axis : axes) {
        const double most = most_of(field, axis);
        if (most <= 0) {
            continue;  // nothing was charged
        }
        text += std::string("<h2>Curves over ") + axis.label +
                "</h2>\n<p>Medians over seeds; shaded: 10 % to 90 %.</p>\n";
        for (std::size_t i = 0; i < std::min(most_instances, field.instances.size()); ++i) {
            text += curves(field, i, axis, std::max(most, 2 * axis.least));
        }
    }
    return text;
}

}  // namespace

std::string field_html(const Field& field) {
    std::string text = io::html_head("Comparison of mappers");
    text += "<h1>Comparison of mappers</h1>\n<p>" +
            io::xml_text(base::counted(field.instances.size(), "instance") + ", " +
                         base::counted(field.n_seeds, "seed") + ", metric " + field.metric) +
            "</p>\n<h2>Standing</h2>\n" + standings_table(field) + ratios_table(field) +
            "<h2>Pairs</h2>\n<p>Wilcoxon's signed-rank test, p after Holm: over all searches, and "
            "over instances by the medians of their seeds.</p>\n" +
            pairs_table(field) + "<h2>Wins</h2>\n" + wins_table(field) + profile(field) +
            all_curves(field);
    if (field.instances.size() > most_instances) {
        text += "<p>Curves of " + std::to_string(field.instances.size() - most_instances) +
                " more instances are in curves.csv.</p>\n";
    }
    if (field.mappers.size() > most_mappers) {
        text += "<p>Drawn are the first " + std::to_string(most_mappers) + " of " +
                std::to_string(field.mappers.size()) +
                " mappers; the curves of all are in curves.csv.</p>\n";
    }
    return text + "</body></html>\n";
}

}  // namespace tessera::cli
