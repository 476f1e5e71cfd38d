// What a latency is made of, and what limits each part.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tessera/model/report.hpp"

namespace tessera::model {

/// Einsums that run at once, or one that runs by itself.
struct LatencyPart {
    std::vector<int> einsums;  ///< indices into Report::einsums, ascending
    double latency_s = 0;
    /// How long each component would be busy by itself, the longest first; what is never busy is
    /// left out. The first one limits the part where its time is latency_s.
    std::vector<std::pair<std::string, double>> busy_s;
};

/// In execution order of their first Einsums. Their latencies add up to report.latency_s(). Thread
/// rule: pure.
std::vector<LatencyPart> latency_parts(const Report& report);

/// "QK to AV at once, 7.98 s: Array2D busy 99.2 %, MainMemory 12 %". \pre the part is of `report`
std::string latency_text(const Report& report, const LatencyPart& part);

}  // namespace tessera::model
