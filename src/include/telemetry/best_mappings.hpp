// The incumbents that nothing found later beats: one, or the Pareto set with several metrics.
#pragma once

#include <string>
#include <vector>

#include "tessera/telemetry/recorder.hpp"

namespace tessera::telemetry {

class BestMappings {
public:
    explicit BestMappings(std::vector<std::string> metrics) : metrics_(std::move(metrics)) {}
    /// Whether any of the events brought a new one that can be written.
    bool take(const std::vector<Event>& events);
    /// Best of the first metric first.
    const std::vector<Incumbent>& all() const {
        return all_;
    }

private:
    const std::vector<std::string> metrics_;
    std::vector<Incumbent> all_;
};

/// Whether `a` is as good as `b` in every metric.
bool covers(const std::vector<std::string>& metrics, const Incumbent& a, const Incumbent& b);

}  // namespace tessera::telemetry
