#include "telemetry/snapshot_builder.hpp"

#include <algorithm>
#include <cmath>
#include <new>

#include "telemetry/process.hpp"
#include "telemetry/rest.hpp"

namespace tessera::telemetry {

namespace {

constexpr std::size_t most_incumbents = 500, most_log_lines = 200, most_rates = 120;
constexpr double rate_window_s = 3;
/// A search that improves all the time is not slowed down by being shown: the best mapping is
/// described once a second at most, and for at most this share of the time.
constexpr double describe_every_s = 1, describe_share = 0.01;

/// Every second one of the older half goes; first and last stay.
template <class T>
void thin(std::vector<T>& items) {
    if (items.size() <= most_incumbents) {
        return;
    }
    std::vector<T> kept;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (i == 0 || i >= items.size() / 2 || i % 2 == 0) {
            kept.push_back(std::move(items[i]));
        }
    }
    items = std::move(kept);
}

double share(double used, double limit) {
    return limit > 0 ? std::clamp(used / limit, 0.0, 1.0) : 1.0;
}

}  // namespace

double Sampler::Builder::Rate::of(double now_s, std::uint64_t count) {
    if (samples.empty() || samples.back().second != count) {
        moved_s = now_s;
    }
    samples.emplace_back(now_s, count);
    while (samples.size() > 2 && samples[1].first < now_s - rate_window_s) {
        samples.pop_front();
    }
    const auto& [then_s, then] = samples.front();
    return now_s > then_s && count > then ? static_cast<double>(count - then) / (now_s - then_s)
                                          : 0.0;
}

Snapshot Sampler::Builder::build(const std::vector<Event>& events, RunState state,
                                 const std::string& stop_reason, bool shown) {
    take(events);
    Snapshot s;
    s.serial = ++serial_;
    s.run = settings_.run;
    s.state = state;
    s.stop_reason = stop_reason;
    s.elapsed_s = recorder_.now_s();
    s.cpu_s = cpu_seconds();
    s.memory_bytes = resident_bytes();
    s.peak_memory_bytes = std::max(peak_resident_bytes(), s.memory_bytes);
    s.plugins = settings_.plugins;
    s.incumbents = incumbents_;
    s.bounds = bounds_;
    s.log.assign(log_.begin(), log_.end());
    s.checkpoint_s = checkpoint_s_;
    add_phases(s);
    add_workers(s);
    add_values(s);
    add_budgets(s);
    add_rates(s);
    if (shown) {
        add_mapping(s, state != RunState::running && state != RunState::stopping);
    }
    estimate_rest(s);
    if (settings_.amend) {
        settings_.amend(s);
    }
    return s;
}

void Sampler::Builder::take(const std::vector<Event>& events) {
    for (const Event& event : events) {
        switch (event.kind) {
            case Event::Kind::incumbent:
                take_incumbent(*event.incumbent);
                break;
            case Event::Kind::bound:
                bounds_.push_back({event.time_s, event.value});
                thin(bounds_);
                break;
            case Event::Kind::log:
                log_.push_back({event.time_s, event.level, event.text});
                break;
            case Event::Kind::checkpoint:
                checkpoint_s_ = event.time_s;
                break;
            case Event::Kind::phase:
                break;
        }
    }
    while (log_.size() > most_log_lines) {
        log_.pop_front();
    }
}

void Sampler::Builder::take_incumbent(const Incumbent& found) {
    const IncumbentView view{found.time_s,   found.value,  found.energy_j, found.latency_s,
                             found.found_by, found.detail, found.worker,   found.evaluated};
    ++improved_;
    incumbents_.push_back(view);
    thin(incumbents_);
    Source& source = sources_[found.found_by];
    ++source.improved;
    source.history.push_back({found.time_s, found.value});
    thin(source.history);
    if (found.worker >= 0) {
        worker_incumbents_[found.worker].push_back(view);
    }
    // Of one metric, the recorder tells none that is not better than those before.
    const bool one = settings_.run.metrics.size() < 2;
    if (found.mapping && (!best_ || one || found.value < best_->value)) {
        best_ = found;
        described_ = false;
    }
}

void Sampler::Builder::add_mapping(Snapshot& s, bool at_once) {
    if (settings_.describe && describes_ && !described_ &&
        (at_once || s.elapsed_s >= next_description_s_)) {
        described_ = true;
        try {
            mapping_ = settings_.describe(best_->mapping());
        } catch (const std::bad_alloc&) {  // the one before is shown for longer
        } catch (const std::exception& error) {
            describes_ = false;
            recorder_.log(std::string("the best mapping is not shown: ") + error.what(),
                          LogLevel::warning);
        }
        const double took_s = recorder_.now_s() - s.elapsed_s;
        next_description_s_ = s.elapsed_s + std::max(describe_every_s, took_s / describe_share);
    }
    s.mapping = mapping_;
}

void Sampler::Builder::add_phases(Snapshot& s) const {
    for (const Phase* phase : recorder_.phases()) {
        const double since = phase->since_s;
        const bool active = since >= 0;
        s.phases.push_back({phase->name, phase->unit, phase->done, phase->total,
                            phase->spent_s + (active ? s.elapsed_s - since : 0), phase->passes,
                            active});
    }
    for (const EinsumProgress* einsum : recorder_.einsums()) {
        s.einsums.push_back({einsum->name, einsum->templates_done, einsum->templates_total,
                             einsum->pareto, einsum->joined});
    }
    for (const Field* field : recorder_.fields()) {
        s.fields.push_back({field->name, field->unit, field->value});
    }
}

void Sampler::Builder::add_workers(Snapshot& s) {
    std::map<std::string, std::uint64_t> evaluated;
    int id = 0;
    for (const Recorder::Counted& counted : recorder_.workers()) {
        const Worker& worker = *counted.worker;
        WorkerView view;
        view.id = id++;
        view.source = counted.source;
        view.state = worker.state();
        const int einsum = worker.einsum();
        if (einsum >= 0 && einsum < static_cast<int>(s.einsums.size())) {
            view.einsum = s.einsums[static_cast<std::size_t>(einsum)].name;
        }
        view.item = worker.item();
        view.generated = worker.generated_count();
        view.evaluated = worker.evaluated_count();
        Rate& rate = worker_rates_[view.id];
        view.rate_per_s = rate.of(s.elapsed_s, view.evaluated);
        view.quiet_s = s.elapsed_s - rate.moved_s;
        const auto& found = worker_incumbents_[view.id];
        view.improved = found.size();
        if (!found.empty()) {
            view.best = found.back().value;
            view.age_s = s.elapsed_s - found.back().time_s;
        }
        evaluated[view.source] += view.evaluated;
        s.funnel.generated += view.generated;
        s.funnel.evaluated += view.evaluated;
        for (std::size_t r = 0; r < n_reasons; ++r) {
            s.funnel.rejected[r] += worker.rejected_count(static_cast<Reason>(r));
        }
        s.workers.push_back(std::move(view));
    }
    s.funnel.improved = improved_;
    add_comparison(s, evaluated);
}

void Sampler::Builder::add_comparison(Snapshot& s,
                                      const std::map<std::string, std::uint64_t>& evaluated) {
    s.comparison = settings_.before;
    std::optional<double> best;
    for (const ContenderView& before : s.comparison) {
        best = before.best && (!best || *before.best < *best) ? before.best : best;
    }
    for (const auto& [name, count] : evaluated) {
        if (!name.empty()) {
            sources_[name];
        }
    }
    for (auto& [name, source] : sources_) {
        ContenderView contender;
        contender.name = name;
        contender.improved = source.improved;
        contender.history = source.history;
        const auto count = evaluated.find(name);
        contender.evaluated = count == evaluated.end() ? 0 : count->second;
        contender.rate_per_s = source.rate.of(s.elapsed_s, contender.evaluated);
        for (const Step& step : source.history) {
            if (!contender.best || step.value < *contender.best) {
                contender.best = step.value;
                contender.time_to_best_s = step.time_s;
            }
        }
        best = contender.best && (!best || *contender.best < *best) ? contender.best : best;
        s.comparison.push_back(std::move(contender));
    }
    for (ContenderView& contender : s.comparison) {
        if (contender.best) {
            contender.gap = *contender.best > 0 ? (*contender.best - *best) / *contender.best : 0.0;
        }
    }
}

void Sampler::Builder::add_values(Snapshot& s) const {
    if (const double best = recorder_.best(); std::isfinite(best)) {
        s.best = best;
    }
    if (const double bound = recorder_.bound(); std::isfinite(bound)) {
        s.bound = bound;
    }
    if (s.best && s.bound) {
        s.gap = *s.best > 0 ? std::max(0.0, (*s.best - *s.bound) / *s.best) : 0.0;
    }
    if (!incumbents_.empty()) {
        s.incumbent_age_s = s.elapsed_s - incumbents_.back().time_s;
    }
    for (const FrontPoint& point : recorder_.front()) {
        s.front.push_back({point.energy_j, point.latency_s});
    }
    std::sort(s.front.begin(), s.front.end(), [](const PointView& a, const PointView& b) {
        return a.energy_j != b.energy_j ? a.energy_j < b.energy_j : a.latency_s < b.latency_s;
    });
}

void Sampler::Builder::add_budgets(Snapshot& s) const {
    const base::Budget& b = settings_.budget;
    const auto add = [&](const char* name, const char* unit, double used, double limit) {
        if (limit > 0) {
            s.budgets.push_back({name, unit, used, limit, share(used, limit)});
        }
    };
    add("max-evals", "evaluations", static_cast<double>(s.funnel.evaluated),
        static_cast<double>(b.max_evals));
    add("max-time", "s", s.elapsed_s, b.max_time_s);
    add("max-cpu-time", "s", s.cpu_s, b.max_cpu_s);
    add("max-stall", "evaluations", static_cast<double>(recorder_.stalled()),
        static_cast<double>(b.stall_evals));
    add("max-memory", "B", static_cast<double>(s.memory_bytes),
        static_cast<double>(b.max_memory_bytes));
    if (b.gap > 0) {
        const double gap = s.gap.value_or(1.0);
        s.budgets.push_back({"gap", "", gap, b.gap, gap > 0 ? share(b.gap, gap) : 1.0});
    }
    if (b.target) {
        const double best = s.best.value_or(0.0);
        s.budgets.push_back({"target", settings_.run.unit, best, *b.target,
                             s.best && best > 0 ? share(*b.target, best) : 0.0});
    }
}

void Sampler::Builder::add_rates(Snapshot& s) {
    s.rate_per_s = rate_.of(s.elapsed_s, s.funnel.evaluated);
    if (s.elapsed_s - last_rate_s_ >= 1 || rate_history_.empty()) {
        last_rate_s_ = s.elapsed_s;
        rate_history_.push_back(s.rate_per_s);
        if (rate_history_.size() > most_rates) {
            rate_history_.erase(rate_history_.begin());
        }
    }
    s.rate_history = rate_history_;
}

}  // namespace tessera::telemetry
