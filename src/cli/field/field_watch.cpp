#include "field_watch.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::cli {

namespace {

constexpr std::size_t most_log_lines = 200;
/// Searches that ended and can still be inspected.
constexpr std::size_t most_ended = 64;

std::optional<double> share(double value, double of) {
    return value > 0 ? std::max(0.0, (value - of) / value) : 0.0;
}

void add_state(telemetry::ContenderView& view, const telemetry::Snapshot& now) {
    view.elapsed_s = now.elapsed_s;
    view.best = now.best;
    view.evaluated = now.funnel.evaluated;
    view.improved = now.funnel.improved;
    view.rate_per_s = now.rate_per_s;
    for (const telemetry::IncumbentView& found : now.incumbents) {
        view.history.push_back({found.time_s, found.value});
        view.time_to_best_s = found.time_s;
    }
}

}  // namespace

FieldWatch::FieldWatch(const Field& field, telemetry::RunIdentity run,
                       const std::vector<std::size_t>& left)
    : field_(field), run_(std::move(run)), wanted_(left.begin(), left.end()) {
    for (std::size_t i = 0; i < field_.trials.size(); ++i) {
        if (field_.trials[i].status != Trial::Status::not_run) {
            wanted_.insert(i);
            ++done_;
        }
    }
    if (!left.empty()) {
        page_ = newest_page_ = number_of(page_of(left.front()));
    }
}

FieldWatch::Page FieldWatch::page_of(std::size_t search) const {
    return {field_.seed_of(search), field_.instance_of(search)};
}

void FieldWatch::started(std::size_t search) {
    running_.insert(search);
    const bool follows = page_ == newest_page_;
    newest_page_ = std::max(newest_page_, number_of(page_of(search)));
    page_ = follows ? newest_page_ : page_;
}

void FieldWatch::heard(std::size_t search, telemetry::Snapshot snapshot) {
    heard_[search] = std::move(snapshot);
}

void FieldWatch::ended(std::size_t search, const std::string& line) {
    running_.erase(search);
    ++done_;
    if (heard_.contains(search)) {
        heard_ended_.push_back(search);
    }
    if (heard_ended_.size() > most_ended) {
        const auto oldest = std::find_if(heard_ended_.begin(), heard_ended_.end(),
                                         [&](std::size_t ended) { return ended != inspected_; });
        heard_.erase(*oldest);
        heard_ended_.erase(oldest);
    }
    const bool failed = field_.trials[search].status == Trial::Status::failed;
    const double now_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    log_.push_back({now_s, failed ? telemetry::LogLevel::error : telemetry::LogLevel::info, line});
    if (log_.size() > most_log_lines) {
        log_.erase(log_.begin());
    }
}

void FieldWatch::stopping(const std::string& why) {
    state_ = telemetry::RunState::stopping;
    stop_reason_ = why;
}

void FieldWatch::turn_page(int by) {
    if (by < 0 && page_ > 0) {
        --page_;
    } else if (by > 0 && page_ < newest_page_) {
        ++page_;
    }
}

bool FieldWatch::inspect(std::optional<std::size_t> search) {
    inspected_ = search && heard_.contains(*search) ? search : std::nullopt;
    return !search || inspected_;
}

telemetry::ContenderView FieldWatch::contender(std::size_t search) const {
    telemetry::ContenderView view;
    view.name = field_.mappers[field_.mapper_of(search)];
    view.search = search;
    if (running_.contains(search)) {
        view.state = telemetry::WorkerState::running;
        if (const auto now = heard_.find(search); now != heard_.end()) {
            add_state(view, now->second);
        }
    } else if (field_.trials[search].status != Trial::Status::not_run) {
        show_trial(view, field_.trials[search]);
    }
    return view;
}

void FieldWatch::add_contenders(telemetry::Snapshot& s, const Page& page) const {
    std::optional<double> bound = field_.bound(page.instance);
    const telemetry::ContenderView* leader = nullptr;
    for (std::size_t m = 0; m < field_.mappers.size(); ++m) {
        const std::size_t search = field_.index(page.instance, m, page.seed);
        if (!wanted_.contains(search)) {
            continue;
        }
        s.comparison.push_back(contender(search));
        if (const auto now = heard_.find(search); now != heard_.end()) {
            s.run.unit = now->second.run.unit;
            bound = !now->second.bound ? bound
                    : bound            ? std::max(*bound, *now->second.bound)
                                       : now->second.bound;
        }
    }
    for (const telemetry::ContenderView& view : s.comparison) {
        if (view.best && (leader == nullptr || *view.best < *leader->best)) {
            leader = &view;
        }
    }
    s.bound = bound;
    if (leader == nullptr) {
        return;
    }
    s.best = leader->best;
    s.gap = bound ? share(*s.best, *bound) : std::nullopt;
    telemetry::IncumbentView found;
    found.time_s = leader->time_to_best_s.value_or(0);
    found.value = *leader->best;
    found.found_by = leader->name;
    s.incumbents.push_back(std::move(found));
    s.incumbent_age_s = std::max(0.0, leader->elapsed_s - s.incumbents.back().time_s);
    for (telemetry::ContenderView& view : s.comparison) {
        if (view.best) {
            view.gap = share(*view.best, *s.best);
            view.bound_gap = bound ? share(*view.best, *bound) : std::nullopt;
        }
    }
}

void FieldWatch::add_totals(telemetry::Snapshot& s) const {
    for (const std::size_t search : running_) {
        if (const auto now = heard_.find(search); now != heard_.end()) {
            s.rate_per_s += now->second.rate_per_s;
            s.memory_bytes += now->second.memory_bytes;
            s.cpu_s += now->second.cpu_s;
        }
    }
    s.peak_memory_bytes = s.memory_bytes;
    for (const telemetry::ContenderView& view : s.comparison) {
        s.funnel.evaluated += view.evaluated;
        s.funnel.improved += view.improved;
    }
    telemetry::PhaseView searches;
    searches.name = searches.unit = "searches";
    searches.done = done_;
    searches.total = wanted_.size();
    searches.seconds = s.elapsed_s;
    searches.passes = 1;
    searches.active = done_ < wanted_.size();
    s.phases.push_back(std::move(searches));
    s.log = log_;
}

telemetry::Snapshot FieldWatch::shown() {
    if (!inspected_) {
        return page();
    }
    telemetry::Snapshot one = heard_.at(*inspected_);
    one.serial = ++serial_;
    return one;
}

telemetry::Snapshot FieldWatch::page() {
    telemetry::Snapshot s;
    s.serial = ++serial_;
    s.compares = true;
    s.run = run_;
    s.elapsed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    s.state = state_;
    s.stop_reason = stop_reason_;
    const Page page{page_ / field_.instances.size(), page_ % field_.instances.size()};
    s.run.workload = field_.instances[page.instance].name;
    s.run.seed = field_.first_seed + page.seed;
    add_contenders(s, page);
    add_totals(s);
    return s;
}

}  // namespace tessera::cli
