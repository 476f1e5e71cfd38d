// Points: drawn at random, moved, evaluated, written as LoopTrees. Map:
//   drawing.hpp     templates and tile shapes of a whole mapping, Einsum after Einsum
//   repair.hpp      Einsums that do not fit any more: the nearest that do
//   moves.hpp       what is changed
//   evaluation.hpp  follows the joins, adds up what is known of each Einsum
//   encoding.hpp    LoopTrees as points
//   InOrder         all of these, for one order of the Einsums
//   einsum_orders.hpp points as the workload lists its Einsums, and as they run
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "base/leave.hpp"
#include "mapspace/tabulate.hpp"
#include "moves.hpp"
#include "search/encoding/encoding.hpp"
#include "search/space/einsum_orders.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/mapping/assemble.hpp"
#include "tessera/search/open_space.hpp"

namespace tessera::search {

namespace {

// Of one order of the Einsums much is remembered, of all much more: one draw in so many is of
// another than that of the workload, one change of several Einsums is that of the order.
constexpr std::uint64_t draws_in_order = 4, changes_of_einsums = 8;
// Attempts to make a legal point.
constexpr int draw_attempts = 4096, move_attempts = 16, repair_attempts = 16;

/// What makes and evaluates points whose Einsums run in one order; points as they run.
struct InOrder {
    InOrder(const OpenSpace::Data& data, JoinStates& states, TileStore& tiles)
        : space(data),
          joiner(space, states),
          drawing(space, joiner, tiles),
          evaluation(space, joiner),
          moves(space, joiner, drawing, evaluation),
          encoding(space, joiner, drawing, evaluation) {}

    const OpenSpace::Data& space;
    Joiner joiner;
    Drawing drawing;
    Evaluation evaluation;
    Moves moves;
    Encoding encoding;

    /// The first legal point that `attempt` gives goes into `point`.
    template <class Attempt>
    Outcome make(int attempts, Point& point, const Attempt& attempt) {
        const Outcome outcome = first_legal(attempts, drawing.failures, attempt,
                                            [&] { return evaluation.evaluate(moves.built()); });
        if (outcome.legal()) {
            point = moves.built();
        }
        return outcome;
    }

    Outcome draw(Rng& rng, Point& point) {
        return first_legal(
            draw_attempts, drawing.failures, [&] { return drawing.draw(rng, point); },
            [&] { return evaluation.evaluate(point); });
    }

    Outcome move(Rng& rng, Move move, std::size_t einsum, Point& point) {
        const Outcome before = moves.begin(point);
        if (!before.legal()) {
            return before;
        }
        return make(move_attempts, point,
                    [&] { return moves.attempt(rng, move, einsum) && !(moves.built() == point); });
    }

    Outcome cross(Rng& rng, const Point& mate, std::size_t einsum, std::size_t end, Point& point) {
        return make(repair_attempts, point,
                    [&] { return moves.cross(rng, point, mate, einsum, end); });
    }

    mapping::Mapping mapping(const Point& point);
};

/// The branches of the LoopTree, as the join orders their loops.
mapping::Mapping InOrder::mapping(const Point& point) {
    std::vector<mapping::Branch> branches;
    std::vector<int> shared;
    std::vector<std::vector<int>> orders;
    std::vector<const mapspace::detail::JoinPlan*> plans;
    if (evaluation.follow(point) != Verdict::legal) {
        throw Bug("a point that is not legal cannot be written as a mapping");
    }
    for (const Link& link : evaluation.links()) {
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
        const TemplateData& t = space.einsums[e].templates[point.choices[e].tmpl];
        branches.push_back({t.path, mapspace::fill(*t.path, t.tmpl, point.tiles.data() + at,
                                                   orders[e], space.problem.convention())});
        at += t.symbols.size();
    }
    return mapping::assemble(branches, shared);
}

}  // namespace

struct Worker::Impl {
    explicit Impl(const OpenSpace& open)
        : space(open), states(open.data()), tiles(open.data()), by_order(open) {
        in(0);
    }

    const OpenSpace& space;
    JoinStates states;
    TileStore tiles;
    ByOrder<InOrder> by_order;
    std::map<const OpenSpace*, std::unique_ptr<Worker>> others;  // for spaces of other bounds
    Point inside, mate;

    InOrder& in(std::uint32_t order) {
        return by_order.of(order, states, tiles);
    }

    /// `make(in, point as it runs)`; what it has made of a legal one is the point then.
    template <class Make>
    Outcome as_it_runs(Point& point, const Make& make) {
        if (point.order == 0) {
            return make(in(0), point);
        }
        InOrder& own = in(point.order);
        as_run(own.space, point, inside);
        const Outcome outcome = make(own, inside);
        if (outcome.legal()) {
            as_listed(own.space, inside, point);
        }
        return outcome;
    }

    std::uint32_t other_order(Rng& rng, std::uint32_t order) const {
        const auto other = static_cast<std::uint32_t>(rng.below(space.n_orders() - 1));
        return other < order ? other : other + 1;
    }

    /// The Einsums [einsum, end) of `mate`, the others of `point`, in the order of `point`.
    Outcome mix(Rng& rng, const Point& mate, std::size_t einsum, std::size_t end, Point& point) {
        if (point.order == 0 && mate.order == 0) {
            return in(0).cross(rng, mate, einsum, end, point);
        }
        Point mixed;
        mixed.order = point.order;
        std::size_t own = 0, others = 0;
        for (std::size_t e = 0; e < point.choices.size(); ++e) {
            const bool taken = e >= einsum && e < end;
            const std::vector<TemplateData>& templates = space.data().einsums[e].templates;
            const Choice& choice = taken ? mate.choices[e] : point.choices[e];
            const auto begin = taken ? mate.tiles.begin() + static_cast<std::ptrdiff_t>(others)
                                     : point.tiles.begin() + static_cast<std::ptrdiff_t>(own);
            mixed.choices.push_back(choice);
            mixed.tiles.insert(
                mixed.tiles.end(), begin,
                begin + static_cast<std::ptrdiff_t>(templates[choice.tmpl].symbols.size()));
            own += templates[point.choices[e].tmpl].symbols.size();
            others += templates[mate.choices[e].tmpl].symbols.size();
        }
        const Outcome outcome = as_it_runs(mixed, [&](InOrder& in, Point& p) {
            return in.make(repair_attempts, p, [&] { return in.moves.repair(rng, p); });
        });
        if (outcome.legal()) {
            point = mixed;
        }
        return outcome;
    }
};

Worker::Worker(const OpenSpace& space) : impl_(std::make_unique<Impl>(space)) {}
Worker::~Worker() {
    base::leave(std::move(impl_));
}

Worker::Failures Worker::take_failures() {
    Failures all{};
    for (const std::unique_ptr<InOrder>& in : impl_->by_order.made()) {
        for (std::size_t i = 0; in && i < all.size(); ++i) {
            all[i] += std::exchange(in->drawing.failures[i], 0);
        }
    }
    for (const auto& [space, other] : impl_->others) {
        const Failures failures = other->take_failures();
        std::transform(all.begin(), all.end(), failures.begin(), all.begin(), std::plus<>());
    }
    return all;
}

std::uint64_t Worker::take_work() {
    std::uint64_t all = 0;
    for (const std::unique_ptr<InOrder>& in : impl_->by_order.made()) {
        if (in) {
            all += std::exchange(in->drawing.work, 0) + in->evaluation.take_work();
        }
    }
    for (const auto& [space, other] : impl_->others) {
        all += other->take_work();
    }
    return all;
}

SpaceWorker* Worker::worker_of(const Space& other) {
    const auto* const space = dynamic_cast<const OpenSpace*>(&other);
    if (space == nullptr || space == &impl_->space) {
        return space == nullptr ? nullptr : this;
    }
    std::unique_ptr<Worker>& worker = impl_->others[space];
    if (!worker) {
        worker = std::make_unique<Worker>(*space);
    }
    return worker.get();
}

Outcome Worker::evaluate(const Point& point) {
    if (point.order == 0) {
        return impl_->in(0).evaluation.evaluate(point);
    }
    if (!impl_->by_order.has_shape(point)) {
        return {Verdict::incompatible};
    }
    InOrder& own = impl_->in(point.order);
    as_run(own.space, point, impl_->inside);
    return own.evaluation.evaluate(impl_->inside);
}

Outcome Worker::draw(std::uint64_t seed, Point& point) {
    Rng rng(seed);
    const std::uint32_t order =
        impl_->space.n_orders() > 1 && rng.below(2) == 0 ? impl_->other_order(rng, 0) : 0;
    InOrder& own = impl_->in(order);
    const Outcome outcome = own.draw(rng, order == 0 ? point : impl_->inside);
    if (outcome.legal() && order > 0) {
        as_listed(own.space, impl_->inside, point);
    }
    point.order = outcome.legal() ? order : point.order;
    return outcome;
}

Outcome Worker::move(Move move, std::uint64_t seed, std::uint32_t einsum, Point& point) {
    Rng rng(seed);
    if (!impl_->by_order.has_shape(point)) {
        return evaluate(point);
    }
    if (move == Move::einsums && impl_->space.n_orders() > 1 &&
        rng.below(changes_of_einsums) == 0) {
        const Outcome before = evaluate(point);
        if (!before.legal()) {
            return before;
        }
        Point other = point;
        other.order = impl_->other_order(rng, point.order);
        const Outcome outcome = impl_->mix(rng, other, 0, 0, other);
        if (outcome.legal()) {
            point = other;
        }
        return outcome;
    }
    const std::size_t listed = std::min<std::size_t>(einsum, point.choices.size() - 1);
    return impl_->as_it_runs(point, [&](InOrder& in, Point& p) {
        const std::vector<int>& order = in.space.order;
        const auto at = std::find(order.begin(), order.end(), static_cast<int>(listed));
        return in.move(rng, move, static_cast<std::size_t>(at - order.begin()), p);
    });
}

Outcome Worker::cross(std::uint64_t seed, const Point& mate, std::uint32_t einsum,
                      std::uint32_t end, Point& point) {
    if (!impl_->by_order.has_shape(point) || !impl_->by_order.has_shape(mate)) {
        return {Verdict::tile_shape};
    }
    Rng rng(seed);
    return impl_->mix(rng, mate, einsum, end, point);
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
    for (std::uint32_t order = 0; order < impl_->space.n_orders(); ++order) {
        InOrder& own = impl_->in(order);
        const bool found = own.encoding.encode(mapping, [&](const Point& built) {
            const Outcome outcome = own.evaluation.evaluate(built);
            const bool same = outcome.legal() && close(outcome.energy_j, energy_j) &&
                              close(outcome.latency_s, latency_s);
            if (same) {
                as_listed(own.space, built, point);
                point.order = order;
            }
            return same;
        });
        if (found) {
            return true;
        }
    }
    return false;
}

mapping::Mapping Worker::mapping(const Point& point) {
    if (!impl_->by_order.has_shape(point)) {
        throw Bug("a point that is not legal cannot be written as a mapping");
    }
    InOrder& own = impl_->in(point.order);
    as_run(own.space, point, impl_->inside);
    return own.mapping(impl_->inside);
}

}  // namespace tessera::search
