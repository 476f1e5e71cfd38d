#include <algorithm>
#include <cctype>

#include "api/served_metrics.hpp"
#include "dashboard/numbers.hpp"
#include "dashboard/panels.hpp"

namespace tessera::dashboard {

using telemetry::RunState;
using telemetry::WorkerState;

namespace {

std::string amount(double value, const std::string& unit) {
    if (unit == "B") {
        return memory(value);
    }
    if (unit == "s") {
        return value < 10 ? quantity(value, "s") : value < 3600 ? age(value) : clock(value);
    }
    if (unit.empty()) {
        return percent(value);
    }
    const std::string digits = unit == "evaluations" ? count(value) : quantity(value, unit);
    return digits.substr(digits.find_first_not_of(' '));
}

}  // namespace

std::string key_of(Panel panel) {
    return std::to_string((static_cast<int>(panel) + 1) % panel_count);
}

std::string objective_name(const Snapshot& snapshot) {
    std::string result;
    for (const std::string& metric : snapshot.run.metrics) {
        result += (result.empty() ? "" : ",") + (metric == "edp" ? "EDP" : metric);
    }
    return result.empty() ? "objective" : result;
}

CostNames cost_names(const Snapshot& snapshot) {
    std::vector<mapper::Metric> metrics;
    for (const std::string& name : snapshot.run.metrics) {
        if (const mapper::MetricFacts* const known = mapper::find_metric(name)) {
            metrics.push_back(known->metric);
        }
    }
    const api::Places places = api::places_of(metrics);
    CostNames names;
    const auto show = [](mapper::Metric metric, std::string& name, std::string& unit) {
        name = mapper::facts(metric).name;
        name = name.substr(0, name.find('_'));  // "dynamic", "leak"
        unit = mapper::facts(metric).unit;
    };
    if (places.energy) {
        show(*places.energy, names.first, names.first_unit);
    }
    if (places.latency) {
        show(*places.latency, names.second, names.second_unit);
    }
    if (snapshot.run.unit.empty()) {  // arbitrary units
        names.first_unit = names.second_unit = "";
    }
    return names;
}

bool trains(const Snapshot& snapshot) {
    return snapshot.run.metrics == std::vector<std::string>{"loss"};
}

bool says_something(Panel panel, const Snapshot& snapshot) {
    switch (panel) {
        case Panel::incumbents:
        case Panel::workers:
        case Panel::funnel:
            return !snapshot.compares && !trains(snapshot);
        case Panel::pareto:
            return snapshot.run.metrics.size() > 1;
        case Panel::comparison:
            return snapshot.compares || snapshot.comparison.size() > 1;
        case Panel::plugins:
            return std::any_of(snapshot.plugins.begin(), snapshot.plugins.end(), [](const auto& p) {
                return !p.file.empty() || !p.knobs.empty() || p.state == "detached";
            });
        case Panel::log:
            return !snapshot.log.empty();
        case Panel::mapping:
            return !snapshot.mapping.lines.empty();
        case Panel::costs:
            return !snapshot.mapping.components.empty();
        default:
            return true;
    }
}

std::string short_name(const std::string& mapper) {
    return mapper.compare(0, 7, "search:") == 0 ? mapper.substr(7) : mapper;
}

std::string best_text(const Snapshot& snapshot) {
    return snapshot.best ? quantity(*snapshot.best, snapshot.run.unit) : "none yet";
}

std::string gap_text(const Snapshot& snapshot) {
    return snapshot.gap ? percent(*snapshot.gap) : "no bound";
}

std::string state_text(const Snapshot& snapshot) {
    std::string result = telemetry::name(snapshot.state);
    for (char& c : result) {
        c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    return result;
}

Span state_mark(RunState state, const Symbols& symbols) {
    const auto mark = [](char32_t glyph, Style style) {
        Span span{"", style};
        append_utf8(span.text, glyph);
        return span;
    };
    switch (state) {
        case RunState::running:
            return mark(symbols.running, style::good);
        case RunState::stopping:
            return mark(symbols.running, style::warning);
        case RunState::failed:
        case RunState::lost:
            return mark(symbols.failed, style::bad);
        default:
            return mark(symbols.done, style::bound);
    }
}

Span worker_mark(WorkerState state, const Symbols& symbols) {
    switch (state) {
        case WorkerState::idle: {
            Span span{"", style::label};
            append_utf8(span.text, symbols.waiting);
            return span;
        }
        case WorkerState::running:
            return state_mark(RunState::running, symbols);
        case WorkerState::failed:
            return state_mark(RunState::failed, symbols);
        default:
            return state_mark(RunState::finished, symbols);
    }
}

int failures(const Snapshot& snapshot) {
    const auto workers =
        std::count_if(snapshot.workers.begin(), snapshot.workers.end(),
                      [](const auto& worker) { return worker.state == WorkerState::failed; });
    const auto plugins =
        std::count_if(snapshot.plugins.begin(), snapshot.plugins.end(),
                      [](const auto& plugin) { return plugin.state == "detached"; });
    const auto lines =
        std::count_if(snapshot.log.begin(), snapshot.log.end(),
                      [](const auto& line) { return line.level == telemetry::LogLevel::error; });
    return static_cast<int>(workers + plugins + lines);
}

std::vector<std::string> health(const Snapshot& snapshot) {
    std::vector<std::string> result;
    if (snapshot.state == RunState::running || snapshot.state == RunState::stopping) {
        double quiet = -1;
        for (const telemetry::WorkerView& worker : snapshot.workers) {
            if (worker.state == WorkerState::running) {
                quiet = quiet < 0 ? worker.quiet_s : std::min(quiet, worker.quiet_s);
            }
        }
        if (quiet >= 10) {
            result.push_back("stalled: nothing evaluated for " + age(quiet));
        }
        for (const telemetry::WorkerView& worker : snapshot.workers) {
            if (snapshot.state == RunState::stopping && worker.state == WorkerState::running &&
                worker.quiet_s >= 1) {
                result.push_back("worker " + std::to_string(worker.id) + " is late to stop");
            }
        }
    }
    for (const telemetry::BudgetView& budget : snapshot.budgets) {
        if (budget.name == "max-memory" && budget.fraction >= 0.9) {
            result.push_back("memory near its limit: " + limit_text(budget));
        }
    }
    for (const telemetry::PluginView& plugin : snapshot.plugins) {
        if (plugin.state == "detached") {
            result.push_back("plugin " + plugin.name + " detached");
        }
    }
    return result;
}

const telemetry::PhaseView* active_phase(const Snapshot& snapshot) {
    for (const telemetry::PhaseView& phase : snapshot.phases) {
        if (phase.active) {
            return &phase;
        }
    }
    return nullptr;
}

const telemetry::BudgetView* next_limit(const Snapshot& snapshot) {
    const telemetry::BudgetView* result = nullptr;
    for (const telemetry::BudgetView& budget : snapshot.budgets) {
        if (!result || budget.fraction > result->fraction) {
            result = &budget;
        }
    }
    return result;
}

std::string limit_text(const telemetry::BudgetView& budget) {
    const std::string limit = amount(budget.limit, budget.unit);
    return budget.name + " " + amount(budget.used, budget.unit) + " of " + limit + ", " +
           percent(budget.fraction);
}

}  // namespace tessera::dashboard
