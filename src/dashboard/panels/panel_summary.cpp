// Summary: what one asks first, most important first, so that a small panel keeps the best lines.
#include <algorithm>

#include "dashboard/numbers.hpp"
#include "dashboard/panels.hpp"

namespace tessera::dashboard {

namespace {

constexpr int label_width = 7;

Line labelled(const std::string& label, const std::string& text, Style style = style::text) {
    return {{pad_right(label, label_width), style::label}, {text, style}};
}

// How much better than five minutes ago (or than the first incumbent, if that is younger).
std::string recent_gain(const Snapshot& snapshot) {
    constexpr double window_s = 300;
    if (snapshot.incumbents.size() < 2 || !snapshot.best) {
        return "";
    }
    const double since = std::max(0.0, snapshot.elapsed_s - window_s);
    double before = snapshot.incumbents.front().value;
    for (const telemetry::IncumbentView& found : snapshot.incumbents) {
        if (found.time_s <= since) {
            before = found.value;
        }
    }
    if (!(before > *snapshot.best)) {
        return "";
    }
    const double span = snapshot.elapsed_s - std::max(since, snapshot.incumbents.front().time_s);
    return "-" + percent((before - *snapshot.best) / before) + " in " + age(span);
}

Line objective(const Snapshot& snapshot) {
    Line line = {{pad_right(snapshot.run.metrics.size() == 1 ? objective_name(snapshot)
                            : snapshot.run.metrics.empty()   ? "best"
                                                             : snapshot.run.metrics.front(),
                            label_width),
                  style::label},
                 {best_text(snapshot), style::best}};
    const std::string gain = recent_gain(snapshot);
    if (!gain.empty()) {
        line.push_back({"  " + gain, style::good});
    }
    return line;
}

Line bound(const Snapshot& snapshot) {
    if (!snapshot.bound) {
        // Strategies prove nothing; other mappers may have a bound later.
        const bool heuristic = snapshot.run.mapper.compare(0, 7, "search:") == 0;
        return labelled("gap", heuristic ? "no bound: heuristic" : "no bound yet", style::label);
    }
    Line line = labelled("gap", snapshot.gap ? percent(*snapshot.gap) : "-", style::value);
    line.push_back({"  bound ", style::label});
    line.push_back({quantity(*snapshot.bound, snapshot.run.unit), style::bound});
    return line;
}

Line found(const Snapshot& snapshot) {
    if (snapshot.incumbents.empty()) {
        return labelled("found", "nothing so far", style::label);
    }
    const telemetry::IncumbentView& last = snapshot.incumbents.back();
    const double old = snapshot.incumbent_age_s.value_or(snapshot.elapsed_s - last.time_s);
    std::string by =
        short_name(last.found_by) + (last.worker >= 0 ? "#" + std::to_string(last.worker) : "");
    by += last.detail.empty() ? "" : ", " + last.detail;
    return labelled("found", age(old) + " ago by " + by);
}

Line rate(const Snapshot& snapshot) {
    Line line =
        labelled("eval", count(static_cast<double>(snapshot.funnel.evaluated)), style::value);
    line.push_back({"  " + count(snapshot.rate_per_s) + "/s  ", style::text});
    return line;
}

Line energy_latency(const Snapshot& snapshot) {
    if (snapshot.incumbents.empty() || snapshot.compares || trains(snapshot)) {
        return {};
    }
    const telemetry::IncumbentView& last = snapshot.incumbents.back();
    const CostNames names = cost_names(snapshot);
    Line line = labelled(names.first == "traffic" ? "words" : names.first,
                         quantity(last.energy_j, names.first_unit));
    line.push_back({"  " + names.second + " ", style::label});
    line.push_back({quantity(last.latency_s, names.second_unit), style::text});
    return line;
}

/// "5s to 1m".
Line rest(const Snapshot& snapshot) {
    const auto& [least_s, most_s] = snapshot.rest;
    if (!least_s || !most_s) {
        return {};
    }
    const std::string least = age(*least_s), most = age(*most_s);
    return labelled("left", least == most ? most : least + " to " + most);
}

Line progress(const Snapshot& snapshot) {
    const telemetry::PhaseView* phase = active_phase(snapshot);
    if (!phase) {
        return {};
    }
    std::string text = phase->name;
    if (phase->total > 0 && phase->done <= phase->total) {
        const double part = static_cast<double>(phase->done) / static_cast<double>(phase->total);
        text += " " + std::to_string(phase->done) + "/" + std::to_string(phase->total) + ", " +
                percent(part);
    } else if (phase->done > 0) {  // there are more than were known, or nobody knows
        text += " " + std::to_string(phase->done) + " " + phase->unit;
    }
    text += phase->passes > 1 ? ", pass " + std::to_string(phase->passes) : "";
    return labelled("phase", text);
}

/// Of a phase that goes through templates: the Einsum with most of them before it.
Line waits(const Snapshot& snapshot) {
    const telemetry::PhaseView* phase = active_phase(snapshot);
    const telemetry::EinsumView* last = nullptr;
    std::uint64_t most = 0;
    for (const telemetry::EinsumView& einsum : snapshot.einsums) {
        const std::uint64_t open = einsum.templates_total > einsum.templates_done
                                       ? einsum.templates_total - einsum.templates_done
                                       : 0;
        if (open > most) {
            most = open;
            last = &einsum;
        }
    }
    if (!phase || phase->unit != "templates" || !last) {
        return {};
    }
    return labelled("waits", "for " + last->name + ", " + std::to_string(most) + " of " +
                                 std::to_string(last->templates_total) + " templates");
}

Line stop(const Snapshot& snapshot) {
    if (!snapshot.stop_reason.empty()) {
        return labelled("stop", snapshot.stop_reason, style::warning);
    }
    const telemetry::BudgetView* limit = next_limit(snapshot);
    return limit ? labelled("stop", limit_text(*limit)) : Line{};
}

/// Nothing of a comparison, whose searches are processes of their own.
Line resources(const Snapshot& snapshot) {
    if (snapshot.memory_bytes == 0 && snapshot.cpu_s == 0) {
        return {};
    }
    Line line = labelled("memory", memory(static_cast<double>(snapshot.memory_bytes)));
    line.push_back({"  CPU ", style::label});
    line.push_back({duration(snapshot.cpu_s), style::text});
    return line;
}

Line front(const Snapshot& snapshot) {
    if (snapshot.run.metrics.size() < 2) {
        return {};
    }
    return labelled("front", std::to_string(snapshot.front.size()) + " mappings (see 5)");
}

}  // namespace

int draw_summary(Canvas canvas, const Snapshot& snapshot, const View& view) {
    std::vector<Line> lines = {objective(snapshot), bound(snapshot), found(snapshot),
                               rate(snapshot)};
    if (trains(snapshot)) {  // nothing is proven, evaluated, or costs energy
        lines = {objective(snapshot), found(snapshot)};
    }
    const int failed = failures(snapshot);
    for (const std::string& trouble : health(snapshot)) {
        lines.push_back(labelled("HEALTH", trouble, style::bad));
    }
    if (failed > 0) {
        lines.push_back(labelled("failed", std::to_string(failed) + " (see 8)", style::bad));
    }
    for (Line line : {stop(snapshot), progress(snapshot), rest(snapshot), energy_latency(snapshot),
                      resources(snapshot), waits(snapshot), front(snapshot)}) {
        if (!line.empty()) {
            lines.push_back(std::move(line));
        }
    }
    for (const telemetry::FieldView& field : snapshot.fields) {
        lines.push_back(labelled(field.name, " " + quantity(field.value, field.unit)));
    }
    if (!snapshot.run.directory.empty()) {
        lines.push_back(labelled("run", snapshot.run.directory, style::label));
    }
    const int scroll = view.scroll_of(Panel::summary);
    const int limit = draw_lines(canvas, lines, scroll);
    const int row = 3 - std::clamp(scroll, 0, limit);
    if (row >= 0 && !trains(snapshot)) {
        canvas.sparkline(label_width + 16, row, canvas.width() - label_width - 17,
                         snapshot.rate_history, style::bar);
    }
    return limit;
}

}  // namespace tessera::dashboard
