// Strategy `salsa`: annealing of the order of loops (Jung and others, SALSA, AICAS 2023; as in
// ZigZag).
//
// Idea     The loops of an Einsum are the prime factors of its rank variables in some order;
//          memories take as many of the innermost ones as they hold (search/allocation.hpp).
//          Nothing is fused.
// Run      `steps` steps of one Einsum, the others as in the best mapping; then the next Einsum's
//          turn comes. It begins with the Einsum's best loops, every other time with drawn ones. A
//          step swaps two loops, or keeps their order in another template or with spatial loops
//          that are filled otherwise. It is taken with probability exp((old / new - 1) / T); T
//          falls from 0.05 by 0.995 a step, over the number of Einsums: values are those of the
//          whole mapping.
// State    the run, the best loops of each Einsum, the current and the best mapping.
// Stops    never by itself.
// Parallel one candidate at a time: the host runs islands.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "tessera/base/stop.hpp"
#include "tessera/plugin/search_strategy.hpp"
#include "tessera/search/allocation.hpp"
#include "tessera/search/point_text.hpp"
#include "tessera/search/state_text.hpp"

namespace tessera::search {

class Salsa : public SearchStrategy {
public:
    static std::vector<plugin::Knob> knobs() {
        return {
            plugin::Knob::integer("steps", 1000, 1, 1 << 30, "",
                                  "steps of an Einsum at a time (ZigZag)"),
            plugin::Knob::number("t0", 0.05, 0, 1e6, "", "first temperature (ZigZag)"),
            plugin::Knob::number("cooling", 0.995, 0, 1, "",
                                 "the temperature of a step over that of the one before (ZigZag)"),
            plugin::Knob::number(
                "templates", 0.1, 0, 1, "",
                "fraction of steps that go to another template: where memories keep "
                "tensors, and in which order; and of those that fill spatial loops otherwise"),
        };
    }

    explicit Salsa(const plugin::KnobValues& knobs)
        : steps_(static_cast<std::uint64_t>(knobs.integer("steps"))),
          t0_(knobs.number("t0")),
          cooling_(knobs.number("cooling")),
          templates_(knobs.number("templates")) {}

    std::string name() const override {
        return "salsa";
    }
    std::size_t width() const override {
        return 1;
    }

    void start(const Space& space, std::uint64_t seed) override {
        space_ = &space;
        seed_ = seed;
        allocation_ = std::make_unique<Allocation>(space);
        best_loops_.assign(space.n_einsums(), {});
        gave_up_ = false;
        now_ = next_ = loaded_ = {};
        current_ = best_ = {};
        step_ = 0;
    }

    std::size_t ask(std::span<Candidate> batch) override {
        if (batch.empty()) {
            return 0;
        }
        Candidate& c = batch.front();
        Rng rng(stream_seed(seed_, step_));
        c.seed = rng.next();
        c.how = Candidate::How::point;
        next_ = {};
        if (!current_.outcome.legal()) {
            if (step_ >= most_tries || !allocation_->draw(rng, c.point)) {
                step_ = std::max(step_, most_tries);
                c.how = Candidate::How::draw;
            }
            loaded_ = {};
            return 1;
        }
        const std::uint32_t e = einsum();
        c.point = current_.point;
        bool made = false;
        for (int i = 0; i < attempts && !made; ++i) {
            base::poll_stop();
            next_ = now_;
            made = propose(rng, e, next_) && is_new();
        }
        if (made) {
            c.point = allocation_->with(current_.point, e, next_.tmpl, next_.tiles);
        } else {
            next_ = now_;
        }
        if (gave_up_) {  // what does not fit is mended
            c.how = Candidate::How::cross;
            c.mate = std::exchange(c.point, current_.point);
            c.einsum = e;
            c.end = e + 1;
        }
        return 1;
    }

    void tell(std::span<const Candidate> batch) override {
        for (const Candidate& c : batch) {
            if (c.outcome.verdict == Verdict::not_evaluated) {
                continue;
            }
            const bool searching = !current_.outcome.legal();
            gave_up_ = gave_up_ || c.how == Candidate::How::draw;
            consider(c);
            if (searching) {
                step_ = current_.outcome.legal() ? 0 : step_ + 1;
            } else if (++step_ % steps_ == 0) {
                take(best_, current_);
                now_ = {};
            }
        }
    }

    void immigrate(const Candidate& best) override {
        if (!gave_up_ && !allocation_->unfused(best.point)) {
            return;
        }
        if (!best_.outcome.legal() || best.outcome.value < best_.outcome.value) {
            take(best, best_);
        }
        if (!current_.outcome.legal()) {
            take(best, current_);
            now_ = {};
            step_ = 0;
        }
    }

    std::string save() const override {
        StateWriter out;
        out.put(step_);
        out.put(std::uint64_t{gave_up_});
        put(out, now_);
        for (const Loops& loops : best_loops_) {
            put(out, loops);
        }
        for (const Candidate* c : {&current_, &best_}) {
            out.put(std::uint64_t{c->outcome.legal()});
            if (c->outcome.legal()) {
                out.put(c->outcome.value);
                out.put(to_text(c->point));
            }
        }
        return out.text();
    }

    bool restore(const std::string& state) override {
        StateReader in(state);
        std::uint64_t gave_up = 0;
        if (!in.get(step_) || !in.get(gave_up) || gave_up > 1 || !get(in, now_, state.size()) ||
            !std::ranges::all_of(best_loops_,
                                 [&](Loops& loops) { return get(in, loops, state.size()); })) {
            return false;
        }
        gave_up_ = gave_up == 1;
        for (Candidate* c : {&current_, &best_}) {
            std::uint64_t legal = 0;
            if (!in.get(legal) || legal > 1 ||
                (legal == 1 && (!in.get(c->outcome.value) || !get_point(in, *space_, c->point)))) {
                return false;
            }
            c->outcome.verdict = legal == 1 ? Verdict::legal : Verdict::not_evaluated;
        }
        return in.ended();
    }

private:
    static constexpr int attempts = 64;
    static constexpr std::uint64_t most_tries = 64;

    /// The loops of one Einsum.
    struct Loops {
        bool known = false;
        std::uint32_t tmpl = 0;
        std::uint64_t spatial = 0;  ///< of which it is drawn how spatial loops are filled
        std::vector<LoopFactor> order;
        std::vector<std::int64_t> tiles;  ///< what memories make of it
    };

    static void put(StateWriter& out, const Loops& loops) {
        for (const std::uint64_t number :
             {std::uint64_t{loops.known}, std::uint64_t{loops.tmpl}, loops.spatial,
              std::uint64_t{loops.order.size()}, std::uint64_t{loops.tiles.size()}}) {
            out.put(number);
        }
        for (const LoopFactor& factor : loops.order) {
            out.put(static_cast<std::uint64_t>(factor.rank_variable));
            out.put(static_cast<std::uint64_t>(factor.trips));
        }
        for (const std::int64_t tile : loops.tiles) {
            out.put(static_cast<std::uint64_t>(tile));
        }
    }
    static bool get(StateReader& in, Loops& loops, std::size_t most) {
        std::uint64_t known = 0, tmpl = 0, n = 0, n_tiles = 0, a = 0, b = 0;
        if (!in.get(known) || !in.get(tmpl) || !in.get(loops.spatial) || !in.get(n) ||
            !in.get(n_tiles) || known > 1 || tmpl > std::numeric_limits<std::uint32_t>::max() ||
            n > most || n_tiles > most) {
            return false;
        }
        loops.known = known == 1;
        loops.tmpl = static_cast<std::uint32_t>(tmpl);
        loops.order.clear();
        loops.tiles.clear();
        for (std::uint64_t i = 0; i < n; ++i) {
            if (!in.get(a) || !in.get(b)) {
                return false;
            }
            loops.order.push_back({static_cast<int>(a), static_cast<std::int64_t>(b)});
        }
        for (std::uint64_t i = 0; i < n_tiles; ++i) {
            if (!in.get(a)) {
                return false;
            }
            loops.tiles.push_back(static_cast<std::int64_t>(a));
        }
        return true;
    }

    std::uint32_t einsum() const {
        return static_cast<std::uint32_t>(step_ / steps_ % space_->n_einsums());
    }

    /// The template and its spatial loops into the allocation. False: it has none without fusion.
    bool load(std::uint32_t e, const Loops& loops) {
        if (loops.tmpl >= space_->n_templates(e)) {
            return false;
        }
        if (loaded_.known && loaded_einsum_ == e && loaded_.tmpl == loops.tmpl &&
            loaded_.spatial == loops.spatial) {
            return true;
        }
        Rng spatial(loops.spatial);
        loaded_.known = allocation_->start(e, loops.tmpl, spatial);
        loaded_.tmpl = loops.tmpl;
        loaded_.spatial = loops.spatial;
        loaded_einsum_ = e;
        return loaded_.known;
    }

    /// Other loops, from those at hand. False: they are not legal.
    bool propose(Rng& rng, std::uint32_t e, Loops& loops) {
        const std::vector<std::uint32_t>& templates = allocation_->unfused(e);
        const double kind = rng.uniform();
        if (!loops.known) {  // a run begins
            const std::uint64_t run = step_ / steps_ / space_->n_einsums();
            if (best_loops_[e].known && run % 2 == 0) {
                loops = best_loops_[e];
                return true;
            }
            loops = {true, templates[rng.below(templates.size())], rng.next(), {}, {}};
        } else if (kind < templates_) {
            loops.tmpl = templates[rng.below(templates.size())];
        } else if (kind < 2 * templates_) {
            loops.spatial = rng.next();
        } else if (loops.order.size() > 1) {
            const std::size_t a = rng.below(loops.order.size());
            const std::size_t b = rng.below(loops.order.size() - 1);
            std::swap(loops.order[a], loops.order[b + (b >= a ? 1 : 0)]);
        }
        if (!load(e, loops)) {
            return false;
        }
        loops.order = in_order(rng, loops.order);
        loops.tiles = allocation_->allocate(loops.order);
        return !loops.tiles.empty();
    }

    /// The factors of the allocation in the order of others as far as they are the same; the rest
    /// anywhere.
    std::vector<LoopFactor> in_order(Rng& rng, const std::vector<LoopFactor>& other) const {
        std::vector<LoopFactor> rest = allocation_->factors(), order;
        for (const LoopFactor& factor : other) {
            const auto same = std::find(rest.begin(), rest.end(), factor);
            if (same != rest.end()) {
                order.push_back(factor);
                rest.erase(same);
            }
        }
        for (const LoopFactor& factor : rest) {
            const std::uint64_t place = rng.below(order.size() + 1);
            order.insert(order.begin() + static_cast<std::ptrdiff_t>(place), factor);
        }
        return order;
    }

    /// Whether `next_` is another mapping. An order of which memories make the same is taken
    /// without a look.
    bool is_new() {
        const bool same = now_.known && next_.tmpl == now_.tmpl && next_.tiles == now_.tiles;
        if (same) {
            now_ = next_;
        }
        return !same;
    }

    static void take(const Candidate& from, Candidate& to) {
        to.point = from.point;
        to.outcome = from.outcome;
    }

    void consider(const Candidate& c) {
        if (!c.outcome.legal() || !(gave_up_ || allocation_->unfused(c.point))) {
            return;
        }
        if (!best_.outcome.legal() || c.outcome.value < best_.outcome.value) {
            take(c, best_);
            if (current_.outcome.legal()) {
                best_loops_[einsum()] = next_;
            }
        }
        bool taken =
            !current_.outcome.legal() || !now_.known || c.outcome.value <= current_.outcome.value;
        if (!taken) {
            const double temperature = t0_ / static_cast<double>(space_->n_einsums()) *
                                       std::pow(cooling_, static_cast<double>(step_ % steps_));
            Rng rng(~stream_seed(seed_, step_));
            taken = rng.uniform() <
                    std::exp((current_.outcome.value / c.outcome.value - 1) / temperature);
        }
        if (taken) {
            now_ = current_.outcome.legal() ? next_ : Loops{};
            take(c, current_);
        }
    }

    const std::uint64_t steps_;
    const double t0_, cooling_, templates_;
    const Space* space_ = nullptr;
    std::unique_ptr<Allocation> allocation_;
    std::uint64_t seed_ = 0, step_ = 0;
    bool gave_up_ = false;  // nothing without fusion was legal: what the host draws counts
    Loops now_, next_;      // of the Einsum whose turn it is
    std::vector<Loops> best_loops_;
    Loops loaded_;  // in the allocation
    std::uint32_t loaded_einsum_ = 0;
    Candidate current_, best_;
};

TESSERA_PLUGIN(
    tessera::search::SearchStrategy, Salsa, "salsa", "annealing of the order of loops",
    "Jung, Symons, Mei, Verhelst, Benini, SALSA: Simulated Annealing based Loop-Ordering "
    "Scheduler for DNN Accelerators, AICAS 2023");

}  // namespace tessera::search
