// Strategy `annealing`: simulated annealing as SET does it (Cai et al., ISCA 2023, section 5).
//
// Idea     one mapping walks: a random move makes a neighbour, which is taken if it is better, and
//          else with probability exp(-d / T), d the relative change. The temperature falls over the
//          rounds, T(x) = t0 (1 - x) / (1 + cooling x), x the fraction of the rounds. In the last
//          tenth it goes on from the best mapping once.
//          schedule=simanneal: that of the Python library of this name, as Mind Mappings uses it
//          (Hegde et al., ASPLOS 2021): absolute differences, exponential cooling between two
//          temperatures that probes of the landscape give (tuning.hpp). They are part of the
//          budget.
// State    mapping, best mapping, round; random numbers are streams of the seed by round.
// Stops    never by itself. Rounds that are used up begin anew from the best mapping.
// Parallel one candidate at a time: the host runs islands.
#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "tessera/plugin/search_strategy.hpp"
#include "tessera/search/point_text.hpp"
#include "tuning.hpp"

namespace tessera::search {

namespace {

struct Weight {
    Move move;
    const char* name;
    double standard;
    const char* text;
};

// SET's operators (weights 10, 10, 20, 20, 20, 20, 40) as moves of a fused mapping: its cuts and
// batches are fusion boundaries and tile shapes of fused loops; the last one, a layer's own scheme,
// is shared out among the moves inside an Einsum.
constexpr std::array<Weight, n_moves> moves = {{
    {Move::factor, "factor", 40, "factors go to other loops"},
    {Move::tile, "tile", 10, "one tile shape is drawn anew"},
    {Move::tiles, "tiles", 5, "the tile shapes of an Einsum are drawn anew"},
    {Move::spatial, "spatial", 5, "those of its spatial loops"},
    {Move::order, "order", 10, "another order of holders and loops"},
    {Move::keep, "keep", 10, "other memories keep its tensors"},
    {Move::backing, "backing", 20, "another fusion boundary"},
    {Move::einsum, "einsum", 5, "an Einsum is drawn anew"},
    {Move::einsums, "einsums", 5, "two to four Einsums are drawn anew"},
}};

}  // namespace

class Annealing : public SearchStrategy {
public:
    static std::vector<plugin::Knob> knobs() {
        std::vector<plugin::Knob> all = {
            plugin::Knob::number("t0", 0.07, 0, 1e6, "",
                                 "first temperature: a relative change of this size is taken with "
                                 "probability 1/e (SET)"),
            plugin::Knob::number("cooling", 8, 0, 1e6, "", "how fast the temperature falls (SET)"),
            plugin::Knob::choice("schedule", "set", {"set", "simanneal"},
                                 "t0 and cooling, or temperatures from probes"),
            plugin::Knob::integer("probe", 2000, 1, 1 << 30, "moves",
                                  "of one probe (simanneal: 2000)"),
            plugin::Knob::choice("accept", "metropolis", {"metropolis", "greedy"},
                                 "greedy: nothing worse is ever taken"),
            plugin::Knob::integer("rounds", 0, 0, std::int64_t{1} << 50, "",
                                  "rounds until the temperature is 0; 0: the budget's, or, without "
                                  "a limit on time and evaluations, 10 000 for each Einsum"),
            plugin::Knob::flag("return_to_best", true,
                               "after nine tenths of the rounds it goes on from the best (SET)"),
        };
        for (const Weight& w : moves) {
            all.push_back(plugin::Knob::number(std::string("weight_") + w.name, w.standard, 0, 1e6,
                                               "", std::string("how often: ") + w.text));
        }
        return all;
    }

    explicit Annealing(const plugin::KnobValues& knobs)
        : t0_(knobs.number("t0")),
          cooling_(knobs.number("cooling")),
          tuned_(knobs.text("schedule") == "simanneal"),
          probe_(static_cast<std::uint64_t>(knobs.integer("probe"))),
          greedy_(knobs.text("accept") == "greedy"),
          return_to_best_(knobs.flag("return_to_best")),
          rounds_(static_cast<std::uint64_t>(knobs.integer("rounds"))) {
        double sum = 0;
        for (std::size_t i = 0; i < moves.size(); ++i) {
            sum += knobs.number(std::string("weight_") + moves[i].name);
            until_[i] = sum;
        }
        if (sum == 0) {
            until_.back() = 1;  // something must be done
        }
    }

    std::string name() const override {
        return "annealing";
    }
    std::size_t width() const override {
        return 1;
    }

    void start(const Space& space, std::uint64_t seed) override {
        n_einsums_ = space.n_einsums();
        seed_ = seed;
        current_ = best_ = {};
        round_ = 0;
        tuning_ = Tuning(probe_);
        tuned_at_ = 0;
        tuned_by_ = 0;
    }

    Preparation preparation() const override {
        return {0, tuned_by_};
    }

    void budget_used(double fraction) override {
        budget_ = fraction;
    }

    std::size_t ask(std::span<Candidate> batch) override {
        if (batch.empty()) {
            return 0;
        }
        Candidate& c = batch.front();
        Rng rng(stream_seed(seed_, round_));
        c.seed = rng.next();
        if (!current_.outcome.legal()) {
            c.how = Candidate::How::draw;
            return 1;
        }
        c.how = Candidate::How::move;
        const double at = rng.uniform() * until_.back();
        const auto drawn = std::upper_bound(until_.begin(), until_.end() - 1, at);
        c.move = moves[static_cast<std::size_t>(drawn - until_.begin())].move;
        c.einsum = static_cast<std::uint32_t>(rng.below(n_einsums_));
        c.point = current_.point;
        return 1;
    }

    void tell(std::span<const Candidate> batch) override {
        for (const Candidate& c : batch) {
            if (c.outcome.verdict == Verdict::not_evaluated) {
                continue;
            }
            const double before = progress();
            ++round_;
            if (c.outcome.legal()) {
                consider(c);
            }
            if (return_to_best_ && best_.outcome.legal() &&
                ((before < 0.9 && progress() >= 0.9) || progress() < before)) {
                take(best_, current_);
            }
        }
    }

    void immigrate(const Candidate& best) override {
        if (!best_.outcome.legal() || best.outcome.value < best_.outcome.value) {
            take(best, best_);
        }
        if (!current_.outcome.legal()) {
            take(best, current_);
        }
    }

    std::string save() const override {
        std::ostringstream out;
        out.precision(17);
        out << round_ << ' ' << budget_ << ' ' << tuned_at_ << ' ' << tuned_by_ << ' ';
        tuning_.save(out);
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
        if (!(in >> round_ >> budget_ >> tuned_at_ >> tuned_by_) || !tuning_.restore(in) ||
            !std::getline(in, line)) {
            return false;
        }
        for (Candidate* c : {&current_, &best_}) {
            bool legal = false;
            if (!(in >> legal >> c->outcome.value) || in.get() != ' ' || !std::getline(in, line) ||
                !from_text(line, c->point)) {
                return false;
            }
            c->outcome.verdict = legal ? Verdict::legal : Verdict::not_evaluated;
        }
        return true;
    }

private:
    static void take(const Candidate& from, Candidate& to) {
        to.point = from.point;
        to.outcome = from.outcome;
    }

    /// Fraction of the rounds.
    double progress() const {
        if (rounds_ == 0 && budget_ >= 0) {
            return std::min(budget_, 1.0);
        }
        const std::uint64_t rounds = rounds_ > 0 ? rounds_ : 10000 * n_einsums_;
        return static_cast<double>(round_ % rounds) / static_cast<double>(rounds);
    }

    void consider(const Candidate& c) {
        if (!best_.outcome.legal() || c.outcome.value < best_.outcome.value) {
            take(c, best_);
        }
        const double own = current_.outcome.value;
        bool better = !current_.outcome.legal() || c.outcome.value < own;
        Rng rng(~stream_seed(seed_, round_));
        if (tuned_ && current_.outcome.legal()) {
            const double rise = c.outcome.value - own;
            const double x = std::clamp((progress() - tuned_at_) / (1 - tuned_at_), 0.0, 1.0);
            better = better || rng.uniform() < std::exp(-rise / tuning_.temperature(x));
            if (!tuning_.over()) {
                tuning_.tell(rise, better);
                tuned_at_ = std::min(progress(), 0.9);
                ++tuned_by_;
            }
        } else if (!better && !greedy_) {
            const double x = progress();
            const double temperature = t0_ * (1 - x) / (1 + cooling_ * x);
            better = rng.uniform() < std::exp((own - c.outcome.value) / own / temperature);
        }
        if (better) {
            take(c, current_);
        }
    }

    const double t0_, cooling_;
    const bool tuned_;
    const std::uint64_t probe_;
    const bool greedy_, return_to_best_;
    const std::uint64_t rounds_;
    std::array<double, moves.size()> until_{};
    std::uint64_t seed_ = 0, round_ = 0, n_einsums_ = 1;
    double budget_ = -1;
    Tuning tuning_{1};
    double tuned_at_ = 0;         ///< progress when it was over
    std::uint64_t tuned_by_ = 0;  ///< probes
    Candidate current_, best_;
};

TESSERA_PLUGIN(tessera::search::SearchStrategy, Annealing, "annealing",
               "simulated annealing over moves of one mapping",
               "Cai et al., Inter-layer Scheduling Space Definition and Exploration for Tiled "
               "Accelerators, ISCA 2023; Hegde et al., Mind Mappings, ASPLOS 2021");

}  // namespace tessera::search
