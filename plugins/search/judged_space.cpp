// The space of templates for a cost model without formulas: each legal point becomes a mapping,
// which the model evaluates.
#include "searched_space.hpp"
#include "tessera/base/error.hpp"

namespace tessera::search {
namespace {

/// What is judged, and by whom.
struct Judges {
    const OpenSpace& open;
    const model::Problem& problem;
    const model::CostModel& formulas;
    const model::CostModel& judge;
};

/// The outcome of a legal point by the model. What it refuses is no mapping.
void judge(const Judges& by, Worker& worker, const Point& point, Outcome& outcome) {
    if (!outcome.legal()) {
        return;
    }
    try {
        const model::Report report = by.judge.evaluate(by.problem, worker.mapping(point));
        outcome.energy_j = report.energy_j();
        outcome.latency_s = report.latency_s();
    } catch (const IllegalMapping&) {
        outcome = {};
        outcome.verdict = Verdict::refused;
    }
}

class JudgedWorker : public SpaceWorker {
public:
    explicit JudgedWorker(const Judges& by) : by_(by), worker_(by.open) {}

    Outcome draw(std::uint64_t seed, Point& point) override {
        return judged(worker_.draw(seed, point), point);
    }
    Outcome move(Move move, std::uint64_t seed, std::uint32_t einsum, Point& point) override {
        return judged(worker_.move(move, seed, einsum, point), point);
    }
    Outcome cross(std::uint64_t seed, const Point& mate, std::uint32_t einsum, std::uint32_t end,
                  Point& point) override {
        return judged(worker_.cross(seed, mate, einsum, end, point), point);
    }
    Outcome repair(std::uint64_t seed, Point& point) override {
        return judged(worker_.repair(seed, point), point);
    }
    Outcome evaluate(const Point& point) override {
        return judged(worker_.evaluate(point), point);
    }
    Failures take_failures() override {
        return worker_.take_failures();
    }
    std::uint64_t take_work() override {
        return worker_.take_work();
    }

private:
    Outcome judged(Outcome outcome, const Point& point) {
        judge(by_, worker_, point, outcome);
        return outcome;
    }

    const Judges by_;
    Worker worker_;
};

class JudgedWriter : public PointWriter {
public:
    explicit JudgedWriter(const Judges& by) : by_(by), worker_(by.open) {}

    mapping::Mapping mapping(const Point& point) override {
        return worker_.mapping(point);
    }
    /// The point is the one that the formulas give these costs.
    bool encode(const mapping::Mapping& mapping, double, double, Point& point) override {
        const model::Report report = by_.formulas.evaluate(by_.problem, mapping);
        return worker_.encode(mapping, report.energy_j(), report.latency_s(), point);
    }
    Outcome evaluate(const Point& point) override {
        Outcome outcome = worker_.evaluate(point);
        judge(by_, worker_, point, outcome);
        return outcome;
    }

private:
    const Judges by_;
    Worker worker_;
};

class Judged : public SearchedSpace {
public:
    explicit Judged(const Judges& by) : by_(by) {}

    const Space& space() const override {
        return by_.open;
    }
    std::unique_ptr<SpaceWorker> make_worker() const override {
        return std::make_unique<JudgedWorker>(by_);
    }
    std::unique_ptr<PointWriter> make_writer() const override {
        return std::make_unique<JudgedWriter>(by_);
    }

private:
    const Judges by_;
};

}  // namespace

std::unique_ptr<SearchedSpace> space_judged(const OpenSpace& open, const model::Problem& problem,
                                            const model::CostModel& formulas,
                                            const model::CostModel& judge) {
    return std::make_unique<Judged>(Judges{open, problem, formulas, judge});
}

}  // namespace tessera::search
