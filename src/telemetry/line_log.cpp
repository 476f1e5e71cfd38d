#include "telemetry/line_log.hpp"

#include <cmath>
#include <cstdio>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "base/printable.hpp"
#include "base/units.hpp"
#include "order.hpp"
#include "telemetry/events.hpp"

namespace tessera::telemetry {

namespace {

constexpr int header_every = 20;
constexpr std::size_t columns = 80;
constexpr double between_found_s = 0.2;  ///< lines of new mappings

template <class... Values>
std::string format(const char* pattern, Values... values) {
    char text[256];
    std::snprintf(text, sizeof text, pattern, values...);
    return text;
}

/// "950", "12.3k", "1.23M"
std::string count(double n) {
    static constexpr const char* suffixes[] = {"", "k", "M", "G", "T", "P", "E"};
    std::size_t suffix = 0;
    while (n >= 999.5 && suffix + 1 < std::size(suffixes)) {
        n /= 1000;
        ++suffix;
    }
    return suffix == 0 ? format("%.0f", n)
                       : format("%.*f%s",
                                n < 9.995   ? 2
                                : n < 99.95 ? 1
                                            : 0,
                                n, suffixes[suffix]);
}

std::string duration(double s) {
    if (s < 60) {
        return format("%.2fs", s);
    }
    const auto whole = static_cast<long long>(s);
    return s < 3600 ? format("%lldm%02llds", whole / 60, whole % 60)
                    : format("%lldh%02lldm", whole / 3600, whole / 60 % 60);
}

std::string value(const std::optional<double>& v, const Snapshot& s) {
    return v ? base::quantity(*v, s.run.unit) : "-";
}

std::string percent(const std::optional<double>& v) {
    return v ? format("%.1f%%", 100 * *v) : "-";
}

std::string memory(std::uint64_t bytes) {
    return format("%.0f MiB", static_cast<double>(bytes) / 1048576);
}

std::string metric(const Snapshot& s) {
    return s.run.metrics.empty() ? "value" : s.run.metrics.front();
}

std::optional<double> valid(const Snapshot& s) {
    if (s.funnel.generated == 0) {
        return {};
    }
    return 1 - static_cast<double>(s.funnel.invalid()) / static_cast<double>(s.funnel.generated);
}

/// Cut between characters where it is longer.
std::string shortened(const std::string& utf8, std::size_t columns) {
    std::size_t seen = 0;
    for (std::size_t i = 0; i < utf8.size(); ++i) {
        const bool begins = (static_cast<unsigned char>(utf8[i]) & 0xC0u) != 0x80u;
        seen += begins ? 1 : 0;
        if (seen > columns) {
            return utf8.substr(0, i);
        }
    }
    return utf8;
}

/// "join 3/10"
std::string doing(const Snapshot& s) {
    for (const PhaseView& phase : s.phases) {
        if (phase.active) {
            const auto done = (unsigned long long)phase.done, all = (unsigned long long)phase.total;
            // More may have come up than were known.
            return phase.name + (phase.total == 0 || phase.done > phase.total
                                     ? phase.done > 0 ? format(" %llu", done) : ""
                                     : format(" %llu/%llu", done, all));
        }
    }
    return "";
}

std::string ended(const Snapshot& s) {
    return name(s.state) + (s.stop_reason.empty() ? "" : " (" + s.stop_reason + ")");
}

std::string sentence(const Snapshot& s, char mark, const Incumbent* found) {
    std::string text = "After " + duration(s.elapsed_s) + ": ";
    if (found != nullptr) {
        text += "new best " + metric(s) + " " + value(found->value, s) + ", found by " +
                found->found_by + ". ";
    } else if (mark == '.') {
        text += ended(s) + ". ";
    } else if (!doing(s).empty()) {
        text += doing(s) + ". ";
    }
    text += count(static_cast<double>(s.funnel.evaluated)) + " evaluated";
    if (s.best && found == nullptr) {
        text += ", best " + metric(s) + " " + value(s.best, s);
    }
    if (s.gap) {
        text += ", gap " + percent(s.gap);
    }
    return text + ".";
}

}  // namespace

void LineLog::header(const Snapshot& s) {
    if (lines_ == 0) {
        out_ << "tessera " << s.run.version << ": " << base::one_line(s.run.workload) << " on "
             << base::one_line(s.run.architecture) << ", " << metric(s)
             << (s.run.unit.empty() ? "" : " in " + s.run.unit) << ", seed " << s.run.seed << "\n";
        if (!settings_.plain) {
            out_ << "* better mapping"
                 << (s.run.metrics.size() > 1 ? ", + another of the Pareto set" : "")
                 << ", . end\n";
        }
    }
    if (!settings_.plain && lines_ % header_every == 0) {
        out_ << format("  %7s %6s %6s %11s %10s %6s %6s  %s\n", "time", "evals", "valid",
                       ("best " + metric(s)).substr(0, 11).c_str(), "bound", "gap", "rate/s",
                       "doing");
    }
}

void LineLog::line(const Snapshot& s, char mark, const Incumbent* found) {
    header(s);
    ++lines_;
    last_s_ = s.elapsed_s;
    if (settings_.plain) {
        out_ << base::one_line(sentence(s, mark, found)) << "\n";
        return;
    }
    const double time = found != nullptr ? found->time_s : s.elapsed_s;
    const std::optional<double> best = found != nullptr ? found->value : s.best;
    const std::uint64_t evaluated = found != nullptr ? found->evaluated : s.funnel.evaluated;
    std::string what = mark == '.' ? ended(s) : doing(s);
    if (found != nullptr) {
        what = found->found_by + (found->detail.empty() ? "" : ": " + found->detail);
    }
    const std::string figures =
        format("%c %7s %6s %6s %11s %10s %6s %6s", mark, duration(time).c_str(),
               count(static_cast<double>(evaluated)).c_str(), percent(valid(s)).c_str(),
               value(best, s).c_str(), value(s.bound, s).c_str(), percent(s.gap).c_str(),
               count(s.rate_per_s).c_str());
    what = base::one_line(what);
    if (mark == '.' && figures.size() + what.size() + 2 > columns) {
        out_ << figures << "\n  " << what << "\n";  // why it ended is said in full
        return;
    }
    out_ << shortened(figures + "  " + what, columns) << "\n";
}

/// A better one takes the place of one that waits; of a Pareto set, the newest does.
void LineLog::take(const Snapshot& s, const Incumbent& found) {
    const bool better = !best_ || is_better(s.run.metrics, found, *best_);
    if (!better && s.run.metrics.size() < 2) {
        return;
    }
    best_ = better ? found : *best_;
    if (better || !waiting_ || waiting_mark_ != '*') {
        waiting_ = found;
        waiting_mark_ = better ? '*' : '+';
    }
}

void LineLog::tell(const Snapshot& s, bool now) {
    if (waiting_ && (now || s.elapsed_s - found_s_ >= between_found_s)) {
        const Incumbent found = *std::exchange(waiting_, std::nullopt);
        found_s_ = s.elapsed_s;
        line(s, waiting_mark_, &found);
    }
}

void LineLog::update(const SnapshotPtr& snapshot, const std::vector<Event>& events) {
    for (const Event& event : events) {
        if (event.kind == Event::Kind::incumbent) {
            take(*snapshot, *event.incumbent);
        }
        if (event.kind == Event::Kind::log && (settings_.notes || event.level != LogLevel::info)) {
            out_ << "tessera: " << base::one_line(event.text) << "\n";
        }
    }
    tell(*snapshot, false);
    if (snapshot->elapsed_s >= settings_.quiet_s &&
        snapshot->elapsed_s - last_s_ >=
            (lines_ == 0 ? settings_.quiet_s : settings_.heartbeat_s)) {
        line(*snapshot, ' ', nullptr);
    }
    out_.flush();
    if (!out_) {
        throw std::runtime_error("it cannot be written");
    }
}

void LineLog::finish(const SnapshotPtr& snapshot, const std::vector<Event>& events) {
    update(snapshot, events);
    tell(*snapshot, true);
    if (lines_ > 0 || snapshot->state != RunState::failed) {
        line(*snapshot, '.', nullptr);
    }
    out_.flush();
}

void JsonLog::update(const SnapshotPtr& snapshot, const std::vector<Event>& events) {
    if (!begun_) {
        begun_ = true;
        out_ << state_line("start", *snapshot);
    }
    for (const Event& event : events) {
        out_ << event_line(event);
    }
    if (snapshot->elapsed_s - last_s_ >= 1) {
        last_s_ = snapshot->elapsed_s;
        out_ << status_line(*snapshot);
    }
    check();
}

void JsonLog::finish(const SnapshotPtr& snapshot, const std::vector<Event>& events) {
    update(snapshot, events);
    out_ << state_line("end", *snapshot);
    check();
}

void SnapshotLog::update(const SnapshotPtr& snapshot, const std::vector<Event>& /*events*/) {
    out_ << to_json(*snapshot) + "\n" << std::flush;
    if (!out_) {
        throw std::runtime_error("it cannot be written");
    }
}

void JsonLog::check() const {
    out_.flush();
    if (!out_) {
        throw std::runtime_error("it cannot be written");
    }
}

std::string summary(const Snapshot& s) {
    std::string text = std::string(name(s.state)) + " " + duration(s.elapsed_s);
    if (!doing(s).empty()) {
        text += ", " + doing(s);
    }
    text += ", " + count(static_cast<double>(s.funnel.evaluated)) + " evaluated, " +
            count(s.rate_per_s) + "/s";
    text += ", best " + metric(s) + " " + value(s.best, s);
    if (s.bound) {
        text += ", bound " + value(s.bound, s) + ", gap " + percent(s.gap);
    }
    return text + ", " + memory(s.memory_bytes);
}

}  // namespace tessera::telemetry
