#include "tessera/model/latency_parts.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/printable.hpp"
#include "tessera/spec/value.hpp"

namespace tessera::model {

namespace {

LatencyPart part_of(const Report& report, std::vector<int> einsums, double latency_s) {
    std::sort(einsums.begin(), einsums.end());
    std::map<std::string, double> busy_s;
    for (const int einsum : einsums) {
        for (const ComponentReport& one :
             report.einsums[static_cast<std::size_t>(einsum)].components) {
            busy_s[one.component] += one.has_latency ? one.latency_s : 0;
        }
    }
    LatencyPart part{std::move(einsums), latency_s, {}};
    for (const auto& [component, seconds] : busy_s) {
        if (seconds > 0) {
            part.busy_s.emplace_back(component, seconds);
        }
    }
    std::stable_sort(part.busy_s.begin(), part.busy_s.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    return part;
}

const std::string& name(const Report& report, int einsum) {
    return report.einsums[static_cast<std::size_t>(einsum)].einsum;
}

std::string percent(double share) {
    return spec::number_text(std::round(1000 * share) / 10) + " %";
}

/// Four digits of it.
std::string rounded(double value) {
    const double unit = value > 0 ? std::pow(10.0, std::floor(std::log10(value)) - 3) : 1;
    return spec::number_text(unit < 1 ? std::round(value / unit) / std::round(1 / unit)
                                      : std::round(value / unit) * unit);
}

}  // namespace

std::vector<LatencyPart> latency_parts(const Report& report) {
    std::vector<LatencyPart> parts;
    std::vector<char> pipelined(report.einsums.size(), 0);
    for (const Pipeline& pipeline : report.pipelines) {
        std::vector<int> einsums;
        for (const PipelineSlot& slot : pipeline.slots) {
            einsums.push_back(slot.einsum);
            pipelined.at(static_cast<std::size_t>(slot.einsum)) = 1;
        }
        if (!einsums.empty()) {
            parts.push_back(part_of(report, std::move(einsums), pipeline.latency_s));
        }
    }
    for (std::size_t e = 0; e < report.einsums.size(); ++e) {
        if (!pipelined[e]) {
            parts.push_back(part_of(report, {static_cast<int>(e)}, report.einsums[e].latency_s));
        }
    }
    std::stable_sort(parts.begin(), parts.end(), [](const LatencyPart& a, const LatencyPart& b) {
        return a.einsums.front() < b.einsums.front();
    });
    return parts;
}

std::string latency_text(const Report& report, const LatencyPart& part) {
    std::string text = base::one_line(name(report, part.einsums.front()));
    if (part.einsums.size() > 1) {
        text += " to " + base::one_line(name(report, part.einsums.back())) + " at once";
    }
    text += ", " + rounded(part.latency_s) + " s:";
    for (const auto& [component, seconds] : part.busy_s) {
        text += " " + base::one_line(component) +
                (&component == &part.busy_s.front().first ? " busy " : " ") +
                percent(part.latency_s > 0 ? seconds / part.latency_s : 0) + ",";
    }
    text.pop_back();
    return text;
}

}  // namespace tessera::model
