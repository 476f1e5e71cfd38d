#include "best.hpp"

#include <algorithm>
#include <cmath>

#include "tessera/base/error.hpp"
#include "tessera/mapper/order.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/search/point_text.hpp"

namespace tessera::search {
namespace {

// The templates' formulas and the model's evaluation differ by rounding only.
constexpr double agreement = 1e-9;

bool close(double a, double b) {
    return std::abs(a - b) <= agreement * std::max(std::abs(a), std::abs(b));
}

}  // namespace

bool better(const Outcome& a, const Outcome& b, const mapper::Options& options) {
    if (options.metrics.size() > 1) {
        return a.value < b.value;
    }
    const mapper::Metric metric = options.metrics.front();
    return base::better(mapper::cost_of(metric, a.energy_j, a.latency_s),
                        mapper::cost_of(metric, b.energy_j, b.latency_s));
}

/// By every metric; by one, none is better.
bool Best::as_good(const Values& a, const Values& b) const {
    if (options_.metrics.size() == 1) {
        return !base::better({b[0], b[1]}, {a[0], a[1]});
    }
    return a[0] <= b[0] && a[1] <= b[1];
}

void set_value(Outcome& outcome, const mapper::Options& options) {
    outcome.value = mapper::metric_value(
        options.metrics.size() == 1 ? options.metrics.front() : mapper::Metric::edp,
        outcome.energy_j, outcome.latency_s);
}

std::vector<Point> Best::points() const {
    std::vector<Point> all;
    for (const Kept& kept : kept_) {
        all.push_back(kept.point);
    }
    return all;
}

Best::Values Best::values_of(double energy_j, double latency_s) const {
    const mapper::Metric first = options_.metrics.front();
    const mapper::Metric second =
        options_.metrics.size() > 1 ? options_.metrics[1] : mapper::later_metric(first);
    return {mapper::metric_value(first, energy_j, latency_s),
            mapper::metric_value(second, energy_j, latency_s)};
}

/// Model and independent checker have the last word.
bool Best::stands(const Candidate& c, Kept& out) const {
    out.mapping = std::make_shared<const mapping::Mapping>(writer_->mapping(c.point));
    try {
        out.report = model_.evaluate(problem_, *out.mapping);
    } catch (const IllegalMapping& refused) {
        recorder_.log(std::string("refused by the cost model: ") + refused.what(),
                      telemetry::LogLevel::warning);
        return false;
    }
    for (const mapspace::Violation& v :
         mapspace::check(problem_, *out.mapping, &options_.mapspace)) {
        if (v.severity != mapspace::Severity::warning) {
            recorder_.log("refused by the legality checker: " + mapspace::to_text(v),
                          telemetry::LogLevel::warning);
            return false;
        }
    }
    if (!close(out.report.energy_j(), c.outcome.energy_j) ||
        !close(out.report.latency_s(), c.outcome.latency_s)) {
        throw Bug("the costs of a mapping differ from those of its templates");
    }
    return true;
}

void Best::offer(Candidate& c) {
    const Values values = values_of(c.outcome.energy_j, c.outcome.latency_s);
    Kept* equal = nullptr;
    for (Kept& kept : kept_) {
        if (as_good(kept.values, values)) {
            // Which of several islands comes first is a matter of time.
            if (!as_good(values, kept.values) || to_text(c.point) >= to_text(kept.point)) {
                return;
            }
            equal = &kept;
        }
    }
    Kept now;
    now.point = c.point;
    now.values = values;
    if (!stands(c, now)) {
        c.outcome.verdict = Verdict::refused;
        return;
    }
    if (equal != nullptr) {
        *equal = std::move(now);
        return;
    }
    keep(std::move(now));
}

bool Best::begin_with(const mapper::Solution& known, Candidate& c) {
    const double energy_j = known.report.energy_j(), latency_s = known.report.latency_s();
    Kept now;
    const bool point = writer_->encode(known.mapping, energy_j, latency_s, now.point);
    now.values = values_of(energy_j, latency_s);
    now.mapping = std::make_shared<const mapping::Mapping>(known.mapping);
    now.report = known.report;
    if (point) {
        c.point = now.point;
        c.outcome = writer_->evaluate(c.point);
        set_value(c.outcome, options_);
    }
    const bool better = std::none_of(kept_.begin(), kept_.end(), [&](const Kept& kept) {
        return as_good(kept.values, now.values);
    });
    if (better) {
        keep(std::move(now));
    }
    return point;
}

void Best::keep(Kept now) {
    const Values values = now.values;
    telemetry::Incumbent found;
    found.value = values.front();
    found.energy_j = now.report.energy_j();
    found.latency_s = now.report.latency_s();
    found.found_by = found_by_;
    found.mapping = [mapping = now.mapping] { return mapping::to_yaml(*mapping); };
    // From here on nothing fails but the report of it: what is known is not lost for lack of
    // memory.
    kept_.reserve(kept_.size() + 1);
    std::erase_if(kept_, [&](const Kept& kept) { return as_good(values, kept.values); });
    kept_.push_back(std::move(now));
    recorder_.incumbent(std::move(found));
}

}  // namespace tessera::search
