// The best mappings of a search, each held against model and legality checker before it counts.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "tessera/mapper/mapper.hpp"
#include "tessera/search/driver.hpp"
#include "tessera/search/open_space.hpp"
#include "tessera/telemetry/recorder.hpp"

namespace tessera::search {

/// The value that is minimised: the metric's, of several EDP.
void set_value(Outcome& outcome, const mapper::Options& options);

/// Whether `a` is the better one: of one metric, its later metric decides between equal values.
bool better(const Outcome& a, const Outcome& b, const mapper::Options& options);

/// Points of the searched space as mappings. For one thread.
class PointWriter {
public:
    virtual ~PointWriter() = default;
    virtual mapping::Mapping mapping(const Point& point) = 0;
    /// See Worker::encode(); false, too, if the searched space lacks that point.
    virtual bool encode(const mapping::Mapping& mapping, double energy_j, double latency_s,
                        Point& point) = 0;
    virtual Outcome evaluate(const Point& point) = 0;
};

/// The best mapping, or the Pareto set of several metrics. For one thread.
class Best : public Findings {
public:
    Best(const model::Problem& problem, const model::CostModel& model,
         const mapper::Options& options, telemetry::Recorder& recorder, std::string found_by)
        : problem_(problem),
          model_(model),
          options_(options),
          recorder_(recorder),
          found_by_(std::move(found_by)) {}

    /// Who writes points as mappings from now on. Null: nothing is offered any more.
    void work_with(PointWriter* writer) {
        writer_ = writer;
    }

    /// One per metric; of one metric, the second is the later metric's.
    using Values = std::array<double, 2>;
    struct Kept {
        Point point;
        Values values{};
        std::shared_ptr<const mapping::Mapping> mapping;
        model::Report report;
    };

    /// Keeps the candidate if none known is as good, or if one costs the same and its point, as
    /// text, comes after this one's. A candidate that does not stand the test is refused.
    /// \throws Bug if the model's evaluation differs from the candidate's costs.
    void offer(Candidate& c) override;
    std::vector<Point> points() const override;

    /// Of a known mapping: the point it is, or, if the space has none, its costs alone. It counts
    /// as found. \returns whether it is a point, which is in `c`
    bool begin_with(const mapper::Solution& known, Candidate& c);

    const std::vector<Kept>& kept() const {
        return kept_;
    }

private:
    Values values_of(double energy_j, double latency_s) const;
    bool as_good(const Values& a, const Values& b) const;
    bool stands(const Candidate& c, Kept& out) const;
    void keep(Kept now);

    const model::Problem& problem_;
    const model::CostModel& model_;
    const mapper::Options& options_;
    telemetry::Recorder& recorder_;
    std::string found_by_;
    PointWriter* writer_ = nullptr;
    std::vector<Kept> kept_;
};

}  // namespace tessera::search
