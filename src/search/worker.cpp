// Points: drawn at random, varied, evaluated, written as LoopTrees. Map:
//   Worker::Impl::draw_once   templates and tile shapes of a whole mapping, Einsum after Einsum
//   Worker::Impl::fill_tiles  random tile shapes of one template
//   Worker::Impl::evaluate    follows the joins, checks every limit, adds up the costs
//   Worker::mapping           the branches of the LoopTree, as the join orders their loops
#include <algorithm>
#include <bit>
#include <utility>

#include "base/leave.hpp"
#include "mapspace/tabulate.hpp"
#include "search/joiner.hpp"
#include "search/joint_capacity.hpp"
#include "search/tile_chooser.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/mapping/assemble.hpp"

namespace tessera::search {

namespace {

// After these many failures the level above decides anew: tile shapes, templates, the mapping.
constexpr int tile_attempts = 16;
constexpr int template_attempts = 8;
constexpr int mapping_attempts = 4096;
// A template is first looked for at random; a state that few can follow gets a list.
constexpr int blind_attempts = 64;

int find_pattern(const TemplateData& t, std::uint32_t running) {
    const auto at = std::lower_bound(
        t.patterns.begin(), t.patterns.end(), running,
        [](const Pattern& pattern, std::uint32_t loops) { return pattern.loops < loops; });
    return at != t.patterns.end() && at->loops == running
               ? static_cast<int>(at - t.patterns.begin())
               : -1;
}

}  // namespace

struct Worker::Impl {
    explicit Impl(const OpenSpace& open)
        : space(open.data()), joiner(space), capacity(space), choosers(space.einsums.size()) {
        for (std::size_t e = 0; e < choosers.size(); ++e) {
            choosers[e].resize(space.einsums[e].templates.size());
        }
    }

    const OpenSpace::Data& space;
    Joiner joiner;
    JointCapacity capacity;
    mapspace::DivisorCache divisors;
    model::FormulaWorkspace workspace;
    std::vector<std::vector<std::unique_ptr<TileChooser>>> choosers;
    std::vector<double> candidates, values, outputs;
    std::vector<Joiner::Option> options;
    std::vector<std::int64_t> open_trips, new_trips, wanted;
    Failures failures{};
    std::uint64_t work = 0;

    void fail(Verdict verdict) {
        ++failures[static_cast<std::size_t>(verdict)];
    }

    TileChooser& chooser(std::size_t e, std::uint32_t t) {
        std::unique_ptr<TileChooser>& slot = choosers[e][t];
        if (!slot) {
            slot =
                std::make_unique<TileChooser>(space.einsums[e].templates[t], divisors, workspace);
        }
        return *slot;
    }

    /// Trip counts that the open loops demand of the running fused loops.
    void demand_trips(const TemplateData& t, std::uint32_t running,
                      const mapspace::detail::JoinPlan& plan) {
        wanted.assign(t.fused.size(), 0);
        int position = 0;
        for (std::size_t k = 0; k < t.fused.size(); ++k) {
            if (!(running >> k & 1u)) {
                continue;
            }
            for (int j = 0; j < plan.n_left; ++j) {
                if (plan.right_of_left[j] == position) {
                    wanted[k] = open_trips[j];
                }
            }
            ++position;
        }
    }

    bool fill_tiles(Rng& rng, TileChooser& tiles) {
        for (std::size_t k = 0; k < tiles.size(); ++k) {
            tiles.candidates(k, candidates);
            ++work;
            for (;;) {
                if (candidates.empty()) {
                    return false;
                }
                const std::size_t pick = rng.below(candidates.size());
                ++work;
                if (tiles.choose(k, candidates[pick])) {
                    break;
                }
                // Ascending: what is too large takes everything after it along.
                const auto refused = candidates.begin() + static_cast<std::ptrdiff_t>(pick);
                candidates.erase(refused, tiles.too_large() ? candidates.end() : refused + 1);
                tiles.rewind(k);
            }
        }
        return tiles.complete();
    }

    /// Uniform among the templates that can follow the state; false if there is none.
    bool pick_option(Rng& rng, int state, std::size_t e, Joiner::Option& out) {
        const std::size_t n = space.einsums[e].templates.size();
        options.clear();
        for (int i = 0; i < blind_attempts && options.empty(); ++i) {
            joiner.options(state, static_cast<std::uint32_t>(rng.below(n)), options);
        }
        if (options.empty()) {
            const std::vector<std::uint32_t>& list = joiner.templates(state);
            if (list.empty()) {
                return false;
            }
            joiner.options(state, list[rng.below(list.size())], options);
        }
        out = options[rng.below(options.size())];
        return true;
    }

    /// The open loops' trip counts after the Einsum.
    void follow(const TemplateData& t, std::uint32_t running, const double* v,
                const mapspace::detail::JoinPlan& plan) {
        trips_of(t, running, v, new_trips);
        open_trips.resize(plan.n_open);
        for (int p = 0; p < plan.n_open; ++p) {
            open_trips[p] = new_trips[plan.order[p]];
        }
    }

    bool draw_einsum(Rng& rng, std::size_t e, int& state, Point& point) {
        for (int i = 0; i < template_attempts; ++i) {
            Joiner::Option option;
            if (!pick_option(rng, state, e, option)) {
                return false;
            }
            const TemplateData& t = space.einsums[e].templates[option.tmpl];
            const Pattern& pattern = t.patterns[option.pattern];
            const Way& way = joiner.ways(state, pattern.structure)[option.way];
            demand_trips(t, pattern.loops, way.plan);
            TileChooser& tiles = chooser(e, option.tmpl);
            for (int k = 0; k < tile_attempts; ++k) {
                base::poll_stop();
                tiles.start(pattern.loops, wanted);
                if (!fill_tiles(rng, tiles)) {
                    continue;
                }
                point.choices.push_back({option.tmpl, option.way});
                for (const double v : tiles.values()) {
                    point.tiles.push_back(static_cast<std::int64_t>(v));
                }
                follow(t, pattern.loops, tiles.values().data(), way.plan);
                state = way.next;
                return true;
            }
        }
        return false;
    }

    bool draw_once(Rng& rng, Point& point) {
        point.choices.clear();
        point.tiles.clear();
        open_trips.clear();
        int state = joiner.first();
        for (std::size_t e = 0; e < space.einsums.size(); ++e) {
            if (!draw_einsum(rng, e, state, point)) {
                return false;
            }
        }
        return true;
    }

    Verdict check_tiles(const TemplateData& t, const double* v) {
        if (wrong_tile_shape(t, v) >= 0) {
            return Verdict::tile_shape;
        }
        if (!meets_loop_limits(t, v)) {
            return Verdict::constraint;
        }
        ++work;
        outputs.resize(t.limits.size());
        t.check.evaluate_one({v, t.symbols.size()}, outputs, workspace);
        for (std::size_t i = 0; i < t.limits.size(); ++i) {
            if (!t.limits[i].holds(outputs[i])) {
                return t.limits[i].verdict;
            }
        }
        return Verdict::legal;
    }

    void add_costs(const EinsumData& einsum, const TemplateData& t, const Pattern& pattern,
                   const double* v, int shared, Outcome& out) {
        outputs.resize(2 + t.holdings.size());
        t.cost.evaluate_one({v, t.symbols.size()}, outputs, workspace);
        out.energy_j += outputs[0];
        out.latency_s += outputs[1];
        capacity.add_einsum(shared);
        for (const mapspace::BackedTensor& b : einsum.structures[pattern.structure].tensors) {
            if (b.shares_buffer_of >= 0) {
                capacity.share_buffer(b.tensor, b.shares_buffer_of);
            }
        }
        for (std::size_t i = 0; i < t.holdings.size(); ++i) {
            const Holding& h = t.holdings[i];
            const int depth =
                h.loops_above < 0
                    ? -1
                    : std::popcount(pattern.loops & ((1ull << t.fused_of_loop[h.loops_above]) - 1));
            capacity.add({h.memory, depth, h.tensor, outputs[2 + i]});
        }
    }

    /// `visit(e, template, way)` for every Einsum while the point is sound.
    template <class Visit>
    Verdict walk(const Point& point, const Visit& visit) {
        if (point.choices.size() != space.einsums.size()) {
            return Verdict::tile_shape;
        }
        open_trips.clear();
        int state = joiner.first();
        std::size_t at = 0;
        for (std::size_t e = 0; e < space.einsums.size(); ++e) {
            const EinsumData& einsum = space.einsums[e];
            const Choice& choice = point.choices[e];
            if (choice.tmpl >= einsum.templates.size()) {
                return Verdict::incompatible;
            }
            const TemplateData& t = einsum.templates[choice.tmpl];
            if (at + t.symbols.size() > point.tiles.size()) {
                return Verdict::tile_shape;
            }
            values.assign(point.tiles.begin() + at, point.tiles.begin() + at + t.symbols.size());
            at += t.symbols.size();
            if (const Verdict verdict = check_tiles(t, values.data()); verdict != Verdict::legal) {
                return verdict;
            }
            const int index = find_pattern(t, running_loops(t, values.data()));
            if (index < 0) {
                return Verdict::constraint;
            }
            const Pattern& pattern = t.patterns[index];
            const std::vector<Way>& ways = joiner.ways(state, pattern.structure);
            if (choice.join >= ways.size()) {
                return Verdict::incompatible;
            }
            const Way& way = ways[choice.join];
            trips_of(t, pattern.loops, values.data(), new_trips);
            for (int j = 0; j < way.plan.n_left; ++j) {
                if (new_trips[way.plan.right_of_left[j]] != open_trips[j]) {
                    return Verdict::incompatible;
                }
            }
            visit(einsum, t, pattern, way);
            follow(t, pattern.loops, values.data(), way.plan);
            state = way.next;
        }
        return at == point.tiles.size() ? Verdict::legal : Verdict::tile_shape;
    }

    Outcome evaluate(const Point& point) {
        Outcome out;
        capacity.start();
        out.verdict = walk(point, [&](const EinsumData& einsum, const TemplateData& t,
                                      const Pattern& pattern, const Way& way) {
            add_costs(einsum, t, pattern, values.data(), way.plan.n_left, out);
        });
        if (out.legal() && !capacity.fits()) {
            out.verdict = Verdict::capacity;
        }
        return out;
    }
};

Worker::Worker(const OpenSpace& space) : impl_(std::make_unique<Impl>(space)) {}
Worker::~Worker() {
    base::leave(std::move(impl_));
}

Outcome Worker::draw(std::uint64_t seed, Point& point) {
    Rng rng(seed);
    for (int i = 0; i < mapping_attempts; ++i) {
        if (!impl_->draw_once(rng, point)) {
            impl_->fail(Verdict::incompatible);
            continue;
        }
        const Outcome outcome = impl_->evaluate(point);
        if (outcome.legal()) {
            return outcome;
        }
        impl_->fail(outcome.verdict);
    }
    Outcome none;
    none.verdict = Verdict::no_point;
    return none;
}

Worker::Failures Worker::take_failures() {
    return std::exchange(impl_->failures, {});
}

std::uint64_t Worker::take_work() {
    return std::exchange(impl_->work, 0);
}

Outcome Worker::evaluate(const Point& point) {
    return impl_->evaluate(point);
}

Outcome Worker::vary(std::uint64_t seed, std::uint32_t einsum, Point& point) {
    Outcome none = impl_->evaluate(point);
    if (einsum >= point.choices.size() || !none.legal()) {
        return none;
    }
    none.verdict = Verdict::no_point;
    std::size_t begin = 0;
    for (std::uint32_t e = 0; e < einsum; ++e) {
        begin += impl_->space.einsums[e].templates[point.choices[e].tmpl].symbols.size();
    }
    const std::uint32_t index = point.choices[einsum].tmpl;
    const TemplateData& t = impl_->space.einsums[einsum].templates[index];
    const std::vector<double> before(point.tiles.begin() + begin,
                                     point.tiles.begin() + begin + t.symbols.size());
    const std::uint32_t running = running_loops(t, before.data());
    std::vector<std::int64_t> trips, wanted(t.fused.size(), 0);
    trips_of(t, running, before.data(), trips);
    for (std::size_t k = 0, n = 0; k < t.fused.size(); ++k) {
        wanted[k] = running >> k & 1u ? trips[n++] : 0;
    }
    TileChooser& tiles = impl_->chooser(einsum, index);
    Rng rng(seed);
    for (int i = 0; i < tile_attempts * template_attempts; ++i) {
        base::poll_stop();
        tiles.start(running, wanted);
        if (!impl_->fill_tiles(rng, tiles)) {
            continue;
        }
        std::copy(tiles.values().begin(), tiles.values().end(), point.tiles.begin() + begin);
        const Outcome outcome = impl_->evaluate(point);
        if (outcome.legal()) {
            return outcome;
        }
        impl_->fail(outcome.verdict);
    }
    std::copy(before.begin(), before.end(), point.tiles.begin() + begin);
    return none;
}

mapping::Mapping Worker::mapping(const Point& point) {
    std::vector<mapping::Branch> branches;
    std::vector<int> shared;
    std::vector<std::vector<int>> orders;
    std::vector<const mapspace::detail::JoinPlan*> plans;
    const Verdict verdict = impl_->walk(
        point, [&](const EinsumData&, const TemplateData&, const Pattern&, const Way& way) {
            plans.push_back(&way.plan);
            orders.push_back(way.plan.order);
        });
    if (verdict != Verdict::legal) {
        throw Bug("a point that is not legal cannot be written as a mapping");
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
