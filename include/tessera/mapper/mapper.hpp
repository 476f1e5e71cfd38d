// Role contract Mapper: problem in, result out.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/budget.hpp"
#include "tessera/mapper/metric.hpp"
#include "tessera/mapping/mapping.hpp"
#include "tessera/mapspace/template.hpp"
#include "tessera/model/cost_model.hpp"

namespace tessera::telemetry {
class Recorder;
}

namespace tessera::mapper {

/// In J, s, J s or words; NaN where the model does not count them.
inline double metric_value(Metric metric, const model::Report& report) {
    switch (metric) {
        case Metric::traffic:
            return report.traffic_words().value_or(std::numeric_limits<double>::quiet_NaN());
        case Metric::dynamic_energy:
            return report.dynamic_energy_j();
        case Metric::leak_energy:
            return report.leak_energy_j();
        case Metric::energy:
        case Metric::latency:
        case Metric::edp:
            break;
    }
    return metric_value(metric, report.energy_j(), report.latency_s());
}

struct Solution {
    mapping::Mapping mapping;
    model::Report report;  ///< evaluation of `mapping` by the problem's model
};

struct Options {
    std::vector<Metric> metrics{Metric::edp};
    mapspace::MapSpaceOptions mapspace;
    int threads = 0;  ///< 0: one per core
    std::uint64_t seed = 0;
    base::Budget budget;
    const std::atomic<bool>* stop = nullptr;  ///< set by Ctrl-C; polled every 50 ms of work or less
    std::function<void(const std::string&)>
        progress;  ///< one line, called from one thread at a time
    /// What the search tells about itself goes here; null: to nobody. See telemetry/recorder.hpp.
    telemetry::Recorder* recorder = nullptr;
    /// Ideas of the mapper to do without, by name. They cost time and change no result: for tests
    /// and benchmarks.
    std::vector<std::string> without;
    /// A state that an earlier run of the same search gave to Recorder::checkpoint(): go on from
    /// there, to the same result. Empty: from the start.
    std::string resume;
    /// Known mappings, legal in `mapspace`, to begin with: what is found is as good as the best of
    /// them or better. A search may take them as cutoffs, or go on from them.
    std::vector<Solution> start;
    /// Knob settings by component name, for components that a mapper makes itself (strategies).
    std::map<std::string, std::map<std::string, std::string>> knobs;
};

/// What is known of the later metric (metric.hpp) of a mapping that is proven optimal by the one
/// that was asked for.
struct LaterMetric {
    Metric metric = Metric::energy;
    /// No mapping that is as good by the first metric is better by this one.
    bool proven = false;
    /// Of all mappings that are as good by the first metric, a proven lower bound of this one.
    double bound = 0;
};

enum class Status : std::uint8_t { optimal, feasible, infeasible };

struct Statistics {
    double wall_s = 0;
    std::string mapspace_size;  ///< exact decimal integer, or "" if unknown
    bool all_orders = true;     ///< false: too many Einsum orders, the file's alone was searched
    bool loop_orders = true;    ///< false: too many orders of loops below a network, see Template
    std::uint64_t templates = 0, evaluated = 0, pareto = 0;
    int threads = 1;
    /// Preparation of a search strategy (search/strategy.hpp); seconds of the search until it had
    /// set itself.
    std::uint64_t trained_on = 0, tuned_by = 0;
    double tuned_s = 0;
    /// Where pmapping tables were searched (tessera/search/tables.hpp): their rows, and what was
    /// asked of them, as a share of the work that it was to make them.
    std::uint64_t table_rows = 0;
    double charged = 0;
    std::vector<std::pair<std::string, double>> phases;  ///< name, wall seconds
};

struct Result {
    Status status = Status::infeasible;
    std::vector<Solution>
        solutions;  ///< best first for one metric; the Pareto set sorted by the first metric
    /// Proven lower bound of the metric over the mapspace (one metric only); equals the best when
    /// optimal.
    std::optional<double> bound;
    /// One metric, proven optimal: what else is proven. None: the mapper says nothing of it.
    std::optional<LaterMetric> later;
    /// Infeasible: the constraint that no mapping meets, with both sides. Else: why the mapping is
    /// as it is, where the mapper can tell. A line each.
    std::vector<std::string> reasons;
    /// The limit that ended the search: "max-time", "stop" for Options::stop; empty: it ended by
    /// itself.
    std::string stopped_by;
    Statistics statistics;
};

/// Thread rule: map() is called from one thread; it may start its own.
class Mapper {
public:
    virtual ~Mapper() = default;
    virtual std::string name() const = 0;
    /// The mapspace that a user of this mapper means who has not said which partial tiles it has.
    /// `tessera map` asks for it; a comparison gives all its mappers the same space.
    virtual mapspace::MapSpaceOptions preferred(mapspace::MapSpaceOptions given) const {
        return given;
    }
    /// Options::start may have !Pipeline nodes: it searches, or keeps, branches that run at once.
    virtual bool overlaps() const {
        return false;
    }
    /// \throws UserError for options it does not support, and if the model lacks what it needs.
    virtual Result map(const model::Problem& problem, const model::CostModel& model,
                       const Options& options) = 0;
};

}  // namespace tessera::mapper
