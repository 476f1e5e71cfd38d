// Points: drawn at random, varied, evaluated, written as LoopTrees. Map:
//   Worker::Impl::draw_once   templates and tile shapes of a whole mapping, Einsum after Einsum
//   Worker::Impl::pick_tiles  random tile shapes of one template
//   Worker::Impl::evaluate    follows the joins, adds up what is known of each Einsum
//   Worker::mapping           the branches of the LoopTree, as the join orders their loops
#include <algorithm>
#include <bit>
#include <utility>

#include "base/leave.hpp"
#include "mapspace/tabulate.hpp"
#include "search/einsum_memo.hpp"
#include "search/followers.hpp"
#include "search/joiner.hpp"
#include "search/joint_capacity.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/mapping/assemble.hpp"

namespace tessera::search {

namespace {

constexpr int mapping_attempts = 4096;
// An Einsum is given up after these many attempts; from the second number on, among those options
// alone that have tile shapes.
constexpr int einsum_attempts = 64, blind_attempts = 48;
// Tile shapes that are not listed: attempts, and choices of each attempt for each symbol.
constexpr int tile_attempts = 16;
constexpr std::uint64_t steps_per_symbol = 64;
// vary(): attempts that find tile shapes which then do not fit together.
constexpr int vary_attempts = 128;

}  // namespace

struct Worker::Impl {
    explicit Impl(const OpenSpace& open)
        : space(open.data()),
          joiner(space),
          followers(space, joiner),
          memo(space),
          capacity(space) {}

    const OpenSpace::Data& space;
    Joiner joiner;
    Followers followers;
    EinsumMemo memo;
    JointCapacity capacity;
    std::vector<double> values;
    std::vector<std::int64_t> open_trips, new_trips;
    Failures failures{};
    std::uint64_t work = 0;

    void fail(Verdict verdict) {
        ++failures[static_cast<std::size_t>(verdict)];
    }

    /// Random tile shapes; false if none were found.
    bool draw_tiles(Rng& rng, TileChooser& tiles, std::uint32_t running,
                    const std::vector<std::int64_t>& trips) {
        for (int i = 0; i < tile_attempts; ++i) {
            base::poll_stop();
            const std::uint64_t most = steps_per_symbol * (1 + tiles.size());
            std::uint64_t left = most;
            tiles.start(running, trips);
            const bool found = tiles.draw(rng, left);
            work += most - left;
            if (found || left > 0) {
                return found;
            }
        }
        return false;
    }

    /// The open loops' trip counts after the Einsum.
    void follow(const TemplateData& t, std::uint32_t running, const double* v,
                const mapspace::detail::JoinPlan& plan) {
        trips_of(t, running, v, new_trips);
        keep_open(new_trips, plan);
    }
    void keep_open(const std::vector<std::int64_t>& trips, const mapspace::detail::JoinPlan& plan) {
        open_trips.resize(plan.n_open);
        for (int p = 0; p < plan.n_open; ++p) {
            open_trips[p] = trips[plan.order[p]];
        }
    }

    /// Tile shapes of an option into `values`; false if it has none or none were found.
    bool pick_tiles(Rng& rng, Compatibility& at, std::size_t index) {
        ++work;
        const TileShapes& shapes = followers.shapes(at, index);
        if (shapes.kind == TileShapes::Kind::none) {
            return false;
        }
        const Joiner::Option& option = followers.options(at)[index];
        const TemplateData& t = space.einsums[at.einsum].templates[option.tmpl];
        const std::size_t n = t.symbols.size();
        if (shapes.kind == TileShapes::Kind::listed) {
            const std::int64_t* const row = shapes.tiles.data() + rng.below(shapes.count) * n;
            values.assign(row, row + n);
            return true;
        }
        TileChooser& tiles = followers.walk(at.einsum, option.tmpl).chooser();
        if (!draw_tiles(rng, tiles, t.patterns[option.pattern].loops,
                        followers.wanted(at, option))) {
            fail(Verdict::constraint);
            return false;
        }
        values = tiles.values();
        return true;
    }

    /// The next Einsum; what later ones see then. Null if nothing was found.
    Compatibility* draw_einsum(Rng& rng, Compatibility& at, Point& point) {
        const std::vector<Joiner::Option>& options = followers.options(at);
        for (int i = 0; i < einsum_attempts && !options.empty(); ++i) {
            base::poll_stop();
            std::size_t index = 0;
            if (i < blind_attempts) {
                index = rng.below(options.size());
            } else if (const auto& live = followers.live(at); !live.empty()) {
                index = live[rng.below(live.size())];
            } else {
                return nullptr;
            }
            if (!pick_tiles(rng, at, index)) {
                continue;
            }
            const Joiner::Option& option = options[index];
            const TemplateData& t = space.einsums[at.einsum].templates[option.tmpl];
            const Pattern& pattern = t.patterns[option.pattern];
            const Way& way = joiner.ways(at.state, pattern.structure)[option.way];
            follow(t, pattern.loops, values.data(), way.plan);
            point.choices.push_back({option.tmpl, option.way});
            for (const double v : values) {
                point.tiles.push_back(static_cast<std::int64_t>(v));
            }
            return &followers.after(at.einsum + 1, way.next, open_trips);
        }
        return nullptr;
    }

    bool draw_once(Rng& rng, Point& point) {
        point.choices.clear();
        point.tiles.clear();
        followers.trim();
        Compatibility* at = &followers.first();
        for (std::size_t e = 0; e < space.einsums.size() && at != nullptr; ++e) {
            at = draw_einsum(rng, *at, point);
        }
        return at != nullptr;
    }

    void add_costs(const EinsumData& einsum, const TemplateData& t, const EinsumMemo::Entry& found,
                   int shared, Outcome& out) {
        const Pattern& pattern = t.patterns[static_cast<std::size_t>(found.pattern)];
        out.energy_j += found.costs[0];
        out.latency_s += found.costs[1];
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
            capacity.add({h.memory, depth, h.tensor, found.costs[2 + i]});
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
            const EinsumMemo::Entry& found = memo.of(e, choice.tmpl, point.tiles.data() + at);
            at += t.symbols.size();
            work += found.checked;
            if (found.verdict != Verdict::legal) {
                return found.verdict;
            }
            const Pattern& pattern = t.patterns[static_cast<std::size_t>(found.pattern)];
            const std::vector<Way>& ways = joiner.ways(state, pattern.structure);
            if (choice.join >= ways.size()) {
                return Verdict::incompatible;
            }
            const Way& way = ways[choice.join];
            for (int j = 0; j < way.plan.n_left; ++j) {
                if (found.trips[way.plan.right_of_left[j]] != open_trips[j]) {
                    return Verdict::incompatible;
                }
            }
            visit(einsum, t, found, way);
            keep_open(found.trips, way.plan);
            state = way.next;
        }
        return at == point.tiles.size() ? Verdict::legal : Verdict::tile_shape;
    }

    Outcome evaluate(const Point& point) {
        Outcome out;
        capacity.start();
        out.verdict = walk(point, [&](const EinsumData& einsum, const TemplateData& t,
                                      const EinsumMemo::Entry& found, const Way& way) {
            add_costs(einsum, t, found, way.plan.n_left, out);
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
    TileChooser& tiles = impl_->followers.walk(einsum, index).chooser();
    Rng rng(seed);
    for (int i = 0; i < vary_attempts; ++i) {
        if (!impl_->draw_tiles(rng, tiles, running, wanted)) {
            break;
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
    const Verdict verdict = impl_->walk(point, [&](const EinsumData&, const TemplateData&,
                                                   const EinsumMemo::Entry&, const Way& way) {
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
