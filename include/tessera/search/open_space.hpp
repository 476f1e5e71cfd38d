// The space of a problem, opened for searching: templates with their formulas compiled, and the
// means to draw, move, evaluate and write down points.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "tessera/mapping/mapping.hpp"
#include "tessera/model/cost_model.hpp"
#include "tessera/search/space_worker.hpp"

namespace tessera::search {

struct OpenOptions {
    mapspace::MapSpaceOptions mapspace;
    int threads = 1;
    const std::atomic<bool>* stop = nullptr;  ///< polled while the space is opened
};

class OpenSpace : public Space {
public:
    struct Data;

    /// Enumerates and compiles the templates of all Einsums. `model` must give formulas.
    /// \throws NoLegalMapping if an Einsum has no template, UserError without formulas,
    /// LimitReached if stopped. `problem` and `model` outlive the space.
    OpenSpace(const model::Problem& problem, const model::CostModel& model,
              const OpenOptions& options);
    ~OpenSpace() override;

    std::uint32_t n_einsums() const override;
    std::uint32_t n_templates(std::uint32_t einsum) const override;
    const mapspace::Template& tmpl(std::uint32_t einsum, std::uint32_t index) const override;
    std::unique_ptr<Enumerator> enumerate() const override;
    std::uint32_t n_orders() const override;
    std::vector<std::int64_t> bounds() const override;
    const Space* with_bounds(const std::vector<std::int64_t>& bounds) const override;
    /// Whether there are no others in the mapspace: of many that of the workload alone is here.
    bool has_all_orders() const {
        return has_all_orders_;
    }

    /// What is known of it if the Einsums run in this order.
    const Data& data(std::uint32_t order = 0) const {
        return *data_[order];
    }

private:
    struct Family;
    void open(const model::CostModel& model, int threads);
    void add_orders();

    std::vector<std::unique_ptr<Data>> data_;  ///< by order
    bool has_all_orders_ = true;
    std::unique_ptr<Family> family_;  ///< spaces of other bounds, which this one keeps
};

/// Points of an opened space.
class Worker final : public SpaceWorker {
public:
    explicit Worker(const OpenSpace& space);
    ~Worker() override;

    /// A random legal point, Einsum after Einsum. Of the structures (a template, which of its fused
    /// loops run, a way to join) that can follow, each comes equally often. So does each of its
    /// tile shapes where a few dozen are legal; of more, they are chosen symbol after symbol, each
    /// uniformly among what can still be legal.
    Outcome draw(std::uint64_t seed, Point& point) override;
    Outcome move(Move move, std::uint64_t seed, std::uint32_t einsum, Point& point) override;
    Outcome cross(std::uint64_t seed, const Point& mate, std::uint32_t einsum, std::uint32_t end,
                  Point& point) override;
    Outcome repair(std::uint64_t seed, Point& point) override;

    /// By the templates' formulas. `value` is left alone.
    Outcome evaluate(const Point& point) override;
    Failures take_failures() override;
    std::uint64_t take_work() override;

    /// The LoopTree of a legal point.
    mapping::Mapping mapping(const Point& point);

    /// The point of a LoopTree; one with the costs `energy_j` and `latency_s` that the model gives
    /// for it. False: the space has none (its Einsums run in another order, its loops or holders
    /// are none of a template). \throws UserError, IllegalMapping as mapping::split()
    bool encode(const mapping::Mapping& mapping, double energy_j, double latency_s, Point& point);

protected:
    SpaceWorker* worker_of(const Space& other) override;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::search
