// Strategy `salsa`: annealing of the order of loops (Jung and others, SALSA, AICAS 2023; as in
// ZigZag).
//
// Idea     the loops of an Einsum are the prime factors of its rank variables in some order;
// memories
//          take as many of the innermost ones as they hold (search/allocation.hpp). A step swaps
//          two loops, or goes to another template. It is taken with probability exp((old / new - 1)
//          / T); T falls from 0.05 by 0.995 a step. After 1000 steps the next Einsum's turn comes,
//          from the best mapping. Nothing is fused.
// State    Einsum, its template and order, the current and the best mapping.
// Stops    never by itself.
// Parallel one candidate at a time: the host runs islands.
#include <cmath>
#include <memory>
#include <sstream>

#include "tessera/base/stop.hpp"
#include "tessera/plugin/search_strategy.hpp"
#include "tessera/search/allocation.hpp"
#include "tessera/search/point_text.hpp"

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
                "tensors, and in which order"),
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
        now_ = next_ = {};
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
        if (!current_.outcome.legal()) {
            c.how = Candidate::How::draw;
            return 1;
        }
        const auto e = static_cast<std::uint32_t>((step_ / steps_) % space_->n_einsums());
        for (int i = 0; i < attempts; ++i) {
            base::poll_stop();
            if (propose(rng, e)) {
                c.how = Candidate::How::cross;
                c.point = current_.point;
                c.mate = with(e, allocation_->allocate(next_.order));
                c.einsum = e;
                c.end = e + 1;
                return 1;
            }
        }
        c.how = Candidate::How::move;  // no order is legal here
        c.move = Move::tiles;
        c.einsum = e;
        c.point = current_.point;
        next_ = {};
        return 1;
    }

    void tell(std::span<const Candidate> batch) override {
        for (const Candidate& c : batch) {
            if (c.outcome.verdict == Verdict::not_evaluated) {
                continue;
            }
            consider(c);
            if (++step_ % steps_ == 0 && best_.outcome.legal()) {
                take(best_, current_);
                now_ = {};
            }
        }
    }

    void immigrate(const Candidate& best) override {
        if (!best_.outcome.legal() || best.outcome.value < best_.outcome.value) {
            take(best, best_);
        }
        if (!current_.outcome.legal()) {
            take(best, current_);
            now_ = {};
        }
    }

    std::string save() const override {
        std::ostringstream out;
        out.precision(17);
        out << step_ << ' ' << now_.tmpl << ' ' << now_.spatial << ' ' << now_.order.size();
        for (const LoopFactor& factor : now_.order) {
            out << ' ' << factor.rank_variable << ' ' << factor.trips;
        }
        out << '\n';
        for (const Candidate* c : {&current_, &best_}) {
            out << c->outcome.legal() << ' ' << c->outcome.value << ' ' << to_text(c->point)
                << '\n';
        }
        return out.str();
    }

    bool restore(const std::string& state) override {
        std::istringstream in(state);
        std::string line;
        std::size_t n = 0;
        now_ = {};
        if (!(in >> step_ >> now_.tmpl >> now_.spatial >> n)) {
            return false;
        }
        for (std::size_t i = 0; i < n; ++i) {
            LoopFactor factor;
            if (!(in >> factor.rank_variable >> factor.trips)) {
                return false;
            }
            now_.order.push_back(factor);
        }
        for (Candidate* c : {&current_, &best_}) {
            bool legal = false;
            if (!(in >> legal >> c->outcome.value) || in.get() != ' ' || !std::getline(in, line) ||
                !from_text(line, c->point) || (legal && !has_form_of(*space_, c->point))) {
                return false;
            }
            c->outcome.verdict = legal ? Verdict::legal : Verdict::not_evaluated;
        }
        return true;
    }

private:
    static constexpr int attempts = 64;

    /// The loops of one Einsum.
    struct Loops {
        std::uint32_t tmpl = 0;
        std::uint64_t spatial = 0;  ///< of which the order of spatial loops is drawn
        std::vector<LoopFactor> order;
    };

    /// Other loops into `next_`, their template into the allocation. False: they are not legal.
    bool propose(Rng& rng, std::uint32_t e) {
        next_ = now_;
        const std::vector<std::uint32_t>& templates = allocation_->unfused(e);
        const bool other = now_.order.empty() || rng.uniform() < templates_;
        if (other) {
            next_.tmpl = templates[rng.below(templates.size())];
            next_.spatial = rng.next();
        }
        Rng spatial(next_.spatial);
        if (next_.tmpl >= space_->n_templates(e) || !allocation_->start(e, next_.tmpl, spatial)) {
            return false;
        }
        if (other) {
            next_.order = allocation_->factors();
            for (std::size_t i = next_.order.size(); i > 1; --i) {
                std::swap(next_.order[i - 1], next_.order[rng.below(i)]);
            }
        } else if (next_.order.size() > 1) {
            const std::size_t a = rng.below(next_.order.size());
            const std::size_t b = rng.below(next_.order.size() - 1);
            std::swap(next_.order[a], next_.order[b + (b >= a ? 1 : 0)]);
        }
        return !allocation_->allocate(next_.order).empty();
    }

    /// The current mapping with other tile shapes of the Einsum.
    Point with(std::uint32_t einsum, const std::vector<std::int64_t>& tiles) const {
        Point point;
        point.order = current_.point.order;
        point.choices = current_.point.choices;
        point.choices[einsum] = {next_.tmpl, 0};
        auto at = current_.point.tiles.begin();
        for (std::uint32_t e = 0; e < space_->n_einsums(); ++e) {
            const auto n = static_cast<std::ptrdiff_t>(
                space_->tmpl(e, current_.point.choices[e].tmpl).symbols.size());
            if (e == einsum) {
                point.tiles.insert(point.tiles.end(), tiles.begin(), tiles.end());
            } else {
                point.tiles.insert(point.tiles.end(), at, at + n);
            }
            at += n;
        }
        return point;
    }

    static void take(const Candidate& from, Candidate& to) {
        to.point = from.point;
        to.outcome = from.outcome;
    }

    void consider(const Candidate& c) {
        if (!c.outcome.legal()) {
            return;
        }
        if (!best_.outcome.legal() || c.outcome.value < best_.outcome.value) {
            take(c, best_);
        }
        bool taken = !current_.outcome.legal() || c.outcome.value <= current_.outcome.value;
        if (!taken) {
            const double temperature =
                t0_ * std::pow(cooling_, static_cast<double>(step_ % steps_));
            Rng rng(~stream_seed(seed_, step_));
            taken = rng.uniform() <
                    std::exp((current_.outcome.value / c.outcome.value - 1) / temperature);
        }
        if (taken) {
            take(c, current_);
            now_ = c.how == Candidate::How::cross ? next_ : Loops{};
        }
    }

    const std::uint64_t steps_;
    const double t0_, cooling_, templates_;
    const Space* space_ = nullptr;
    std::unique_ptr<Allocation> allocation_;
    std::uint64_t seed_ = 0, step_ = 0;
    Loops now_, next_;
    Candidate current_, best_;
};

TESSERA_PLUGIN(
    tessera::search::SearchStrategy, Salsa, "salsa", "annealing of the order of loops",
    "Jung, Symons, Mei, Verhelst, Benini, SALSA: Simulated Annealing based Loop-Ordering "
    "Scheduler for DNN Accelerators, AICAS 2023");

}  // namespace tessera::search
