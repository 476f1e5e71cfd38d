// Points: drawn at random, moved, evaluated, written as LoopTrees. Map:
//   drawing.hpp     templates and tile shapes of a whole mapping, Einsum after Einsum
//   repair.hpp      Einsums that do not fit any more: the nearest that do
//   moves.hpp       what is changed
//   evaluation.hpp  follows the joins, adds up what is known of each Einsum
//   encoding.hpp    LoopTrees as points
//   Worker::mapping the branches of the LoopTree, as the join orders their loops
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/leave.hpp"
#include "mapspace/tabulate.hpp"
#include "search/encoding.hpp"
#include "search/moves.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/mapping/assemble.hpp"
#include "tessera/search/open_space.hpp"

namespace tessera::search {

namespace {

// Attempts to make a legal point.
constexpr int draw_attempts = 4096, move_attempts = 16, repair_attempts = 16;

}  // namespace

struct Worker::Impl {
    explicit Impl(const OpenSpace& open)
        : space(open.data()),
          joiner(space),
          drawing(space, joiner),
          evaluation(space, joiner),
          moves(space, joiner, drawing, evaluation),
          encoding(space, joiner, drawing, evaluation) {}

    const OpenSpace::Data& space;
    Joiner joiner;
    Drawing drawing;
    Evaluation evaluation;
    Moves moves;
    Encoding encoding;

    void fail(Verdict verdict) {
        ++drawing.failures[static_cast<std::size_t>(verdict)];
    }

    /// One choice per Einsum with a template that there is, one tile shape per symbol.
    bool has_shape(const Point& point) const {
        std::size_t n = 0;
        if (point.choices.size() != space.einsums.size()) {
            return false;
        }
        for (std::size_t e = 0; e < space.einsums.size(); ++e) {
            const std::vector<TemplateData>& templates = space.einsums[e].templates;
            if (point.choices[e].tmpl >= templates.size()) {
                return false;
            }
            n += templates[point.choices[e].tmpl].symbols.size();
        }
        return n == point.tiles.size();
    }

    /// The first legal point that `attempt` gives goes into `point`.
    template <class Attempt>
    Outcome make(int attempts, Point& point, const Attempt& attempt) {
        for (int i = 0; i < attempts; ++i) {
            base::poll_stop();
            if (!attempt()) {
                fail(Verdict::incompatible);
                continue;
            }
            const Outcome outcome = evaluation.evaluate(moves.built());
            if (outcome.legal()) {
                point = moves.built();
                return outcome;
            }
            fail(outcome.verdict);
        }
        Outcome none;
        none.verdict = Verdict::no_point;
        return none;
    }
};

Worker::Worker(const OpenSpace& space) : impl_(std::make_unique<Impl>(space)) {}
Worker::~Worker() {
    base::leave(std::move(impl_));
}

Worker::Failures Worker::take_failures() {
    return std::exchange(impl_->drawing.failures, {});
}

std::uint64_t Worker::take_work() {
    return std::exchange(impl_->drawing.work, 0) + impl_->evaluation.take_work();
}

Outcome Worker::evaluate(const Point& point) {
    return impl_->evaluation.evaluate(point);
}

Outcome Worker::draw(std::uint64_t seed, Point& point) {
    Rng rng(seed);
    for (int i = 0; i < draw_attempts; ++i) {
        if (!impl_->drawing.draw(rng, point)) {
            impl_->fail(Verdict::incompatible);
            continue;
        }
        const Outcome outcome = impl_->evaluation.evaluate(point);
        if (outcome.legal()) {
            return outcome;
        }
        impl_->fail(outcome.verdict);
    }
    Outcome none;
    none.verdict = Verdict::no_point;
    return none;
}

Outcome Worker::move(Move move, std::uint64_t seed, std::uint32_t einsum, Point& point) {
    const Outcome before = impl_->moves.begin(point);
    if (!before.legal()) {
        return before;
    }
    Rng rng(seed);
    const std::size_t e = std::min<std::size_t>(einsum, point.choices.size() - 1);
    return impl_->make(move_attempts, point, [&] {
        return impl_->moves.attempt(rng, move, e) && !(impl_->moves.built() == point);
    });
}

Outcome Worker::cross(std::uint64_t seed, const Point& mate, std::uint32_t einsum,
                      std::uint32_t end, Point& point) {
    if (!impl_->has_shape(point) || !impl_->has_shape(mate)) {
        Outcome none;
        none.verdict = Verdict::tile_shape;
        return none;
    }
    Rng rng(seed);
    return impl_->make(repair_attempts, point,
                       [&] { return impl_->moves.cross(rng, point, mate, einsum, end); });
}

Outcome Worker::repair(std::uint64_t seed, Point& point) {
    return cross(seed, point, 0, 0, point);
}

bool Worker::encode(const mapping::Mapping& mapping, double energy_j, double latency_s,
                    Point& point) {
    // Formulas and the model's evaluation differ by rounding.
    const auto close = [](double a, double b) {
        return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
    };
    return impl_->encoding.encode(mapping, [&](const Point& built) {
        const Outcome outcome = impl_->evaluation.evaluate(built);
        const bool same = outcome.legal() && close(outcome.energy_j, energy_j) &&
                          close(outcome.latency_s, latency_s);
        if (same) {
            point = built;
        }
        return same;
    });
}

mapping::Mapping Worker::mapping(const Point& point) {
    std::vector<mapping::Branch> branches;
    std::vector<int> shared;
    std::vector<std::vector<int>> orders;
    std::vector<const mapspace::detail::JoinPlan*> plans;
    if (impl_->evaluation.follow(point) != Verdict::legal) {
        throw Bug("a point that is not legal cannot be written as a mapping");
    }
    for (const Link& link : impl_->evaluation.links()) {
        plans.push_back(&link.way->plan);
        orders.push_back(link.way->plan.order);
    }
    for (std::size_t e = 1; e < plans.size(); ++e) {
        const mapspace::detail::JoinPlan& plan = *plans[e];
        shared.push_back(plan.n_left);
        // The join may have permuted the open loops: so they are for everybody inside them.
        int common = plan.n_left;
        for (std::size_t i = e; i-- > 0 && common > 0;) {
            common = std::min(common, shared[i]);
            const std::vector<int> old = orders[i];
            for (int j = 0; j < common; ++j) {
                orders[i][plan.position_of_left[j]] = old[j];
            }
        }
    }
    std::size_t at = 0;
    for (std::size_t e = 0; e < plans.size(); ++e) {
        const TemplateData& t = impl_->space.einsums[e].templates[point.choices[e].tmpl];
        branches.push_back(
            {t.path, mapspace::fill(*t.path, t.tmpl, point.tiles.data() + at, orders[e])});
        at += t.symbols.size();
    }
    return mapping::assemble(branches, shared);
}

}  // namespace tessera::search
