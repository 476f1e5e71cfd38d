// Strategy `gradient`: descends a surrogate of the cost (Hegde et al., Mind Mappings, ASPLOS 2021).
// Map:
//   predictor.hpp  the surrogate
//   Chain          one mapping that descends
//   Gradient       all chains: their gradients in one batch, a step, a projection, what came of it
//
// Idea     A mapping is a vector; a network predicts its cost, and the derivative of the prediction
//          by the vector says which way is down. A step goes there and is projected: the nearest
//          point of the space, repaired by the host. Every `interval` steps a random mapping is
//          looked at, so that no chain stays in a local minimum.
//          variant=paper: the random mapping replaces the chain's by the rule of annealing.
//          variant=code (the program that comes with the paper): always; a step that changes
//          nothing is doubled until it does; with undo, one that is predicted to be worse is taken
//          back and halved; without clamp the chain goes on from the vector that was projected.
// State    the chains; random numbers are streams of the seed by chain and step.
// Stops    never by itself.
// Parallel all chains at a time.
#include <algorithm>
#include <cmath>
#include <memory>

#include "predictor.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/plugin/search_strategy.hpp"
#include "tessera/search/point_text.hpp"

namespace tessera::search {

using gradient::OwnTraining;
using gradient::Predictor;

class Gradient : public SearchStrategy {
public:
    static std::vector<plugin::Knob> knobs();

    explicit Gradient(const plugin::KnobValues& knobs)
        : file_(knobs.text("surrogate")),
          code_(knobs.text("variant") == "code"),
          undo_(knobs.flag("undo")),
          clamp_(knobs.flag("clamp")),
          objective_(knobs.text("objective") == "sum" ? learning::Objective::sum
                                                      : learning::Objective::log_edp),
          rate_(static_cast<float>(knobs.number("rate"))),
          penalty_(knobs.number("penalty")),
          temperature_(knobs.number("temperature")),
          interval_(static_cast<std::uint64_t>(knobs.integer("interval"))),
          chains_(static_cast<std::size_t>(knobs.integer("restarts"))) {
        own_.samples = static_cast<std::size_t>(knobs.integer("samples"));
        own_.again = static_cast<std::size_t>(knobs.integer("again"));
        own_.epochs = static_cast<std::size_t>(knobs.integer("epochs"));
        own_.width = static_cast<std::size_t>(knobs.integer("width"));
        own_.problems = static_cast<std::size_t>(knobs.integer("problems"));
    }

    std::string name() const override {
        return "gradient";
    }

    void start(const Space& space, std::uint64_t seed) override {
        seed_ = seed;
        draws_ = injections_ = 0;
        next_ = 0;
        asked_.clear();
        predictor_ = std::make_unique<Predictor>(space, file_, own_, seed);
        for (Chain& chain : chains_) {
            chain = {};
        }
    }

    Preparation preparation() const override {
        return predictor_ ? predictor_->preparation() : Preparation{};
    }

    std::size_t ask(std::span<Candidate> batch) override {
        asked_.clear();
        predictor_->train();
        if (!predictor_->ready()) {
            for (Candidate& c : batch) {
                const Space* const problem = predictor_->problem_of(draws_);
                draw(c);
                c.space = problem;
            }
            return batch.size();
        }
        const std::size_t n = std::min(batch.size(), chains_.size());
        for (std::size_t i = 0; i < n; ++i) {
            asked_.push_back((next_ + i) % chains_.size());
        }
        next_ = chains_.empty() ? 0 : (next_ + n) % chains_.size();
        find_gradients();
        for (std::size_t i = 0; i < n; ++i) {
            base::poll_stop();
            propose(asked_[i], batch[i]);
        }
        return n;
    }

    void tell(std::span<const Candidate> batch) override {
        predict(batch);
        const std::size_t width = predictor_->encoding().size();
        for (std::size_t i = 0; i < batch.size(); ++i) {
            const Candidate& c = batch[i];
            if (c.outcome.legal()) {
                predictor_->learn(c);
            }
            if (i >= asked_.size() || c.outcome.verdict == Verdict::not_evaluated) {
                continue;
            }
            Chain& chain = chains_[asked_[i]];
            ++chain.steps;
            if (c.outcome.legal()) {
                const std::span<const float> found(vectors_.data() + i * width, width);
                if (chain.injects) {
                    inject(chain, c, found, costs_[i]);
                } else {
                    arrive(chain, c, found, costs_[i]);
                }
            } else if (!chain.injects) {
                chain = {};  // nothing legal is near: elsewhere
            }
        }
    }

    void immigrate(const Candidate& best) override {
        Chain& first = chains_.front();
        if (!first.at.empty()) {
            return;
        }
        first.at.resize(predictor_->encoding().size());
        predictor_->encoding().encode(best.point, first.at);
        first.mapped = first.from = best.point;
        first.cost = cost_of(first.at);
    }

    std::string save() const override {
        StateWriter out;
        for (const std::uint64_t number : {draws_, injections_, std::uint64_t{next_}}) {
            out.put(number);
        }
        predictor_->save(out);
        for (const Chain& chain : chains_) {
            out.put(chain.steps);
            out.put(double{chain.scale});
            out.put(chain.cost);
            out.put(chain.at);
            out.put(to_text(chain.mapped));
            out.put(to_text(chain.from));
        }
        return out.text();
    }

    bool restore(const std::string& state) override {
        StateReader in(state);
        std::uint64_t next = 0;
        if (!in.get(draws_) || !in.get(injections_) || !in.get(next) || next >= chains_.size() ||
            !predictor_->restore(in)) {
            return false;
        }
        next_ = next;
        const std::size_t width = predictor_->encoding().size();
        for (Chain& chain : chains_) {
            double scale = 1;
            std::string mapped, from;
            if (!in.get(chain.steps) || !in.get(scale) || !in.get(chain.cost) ||
                !in.get_lists(chain.at, width) || chain.at.size() > width || !in.get(mapped) ||
                !in.get(from) || !from_text(mapped, chain.mapped) || !from_text(from, chain.from)) {
                return false;
            }
            chain.scale = static_cast<float>(scale);
        }
        return in.ended();
    }

private:
    /// One mapping that descends. Its vector is empty until its first mapping is drawn.
    struct Chain {
        std::vector<float> at, before, down;  ///< where it is, was, and the gradient
        Point mapped;                         ///< what `at` was decoded to, or came from
        Point from;                           ///< the legal mapping
        double cost = 0, cost_before = 0;     ///< predicted, log2
        float scale = 1;                      ///< of the rate
        std::uint64_t steps = 0;
        bool injects = false;  ///< its candidate is a random mapping
    };
    static constexpr int most_doublings = 100;

    void draw(Candidate& c) {
        c.how = Candidate::How::draw;
        c.space = nullptr;
        c.seed = stream_seed(seed_, draws_++);
    }

    double cost_of(const std::vector<float>& vector) {
        double cost = 0;
        predictor_->surrogate().costs(vector, scratch_, {&cost, 1});
        return cost;
    }

    bool is_due(const Chain& chain) const {
        return interval_ > 0 && chain.steps > 0 && chain.steps % interval_ == 0;
    }

    /// Of all chains that were asked for, in one batch.
    void find_gradients() {
        const std::size_t width = predictor_->encoding().size();
        vectors_.clear();
        std::vector<std::size_t> moving;
        for (const std::size_t i : asked_) {
            if (!chains_[i].at.empty() && !is_due(chains_[i])) {
                moving.push_back(i);
                vectors_.insert(vectors_.end(), chains_[i].at.begin(), chains_[i].at.end());
            }
        }
        costs_.resize(moving.size());
        gradients_.resize(vectors_.size());
        if (moving.empty()) {
            return;
        }
        predictor_->surrogate().gradients(objective_, penalty_, vectors_, scratch_, costs_,
                                          gradients_);
        for (std::size_t k = 0; k < moving.size(); ++k) {
            Chain& chain = chains_[moving[k]];
            const auto from = gradients_.begin() + static_cast<std::ptrdiff_t>(k * width);
            chain.down.assign(from, from + static_cast<std::ptrdiff_t>(width));
            chain.cost = costs_[k];
        }
    }

    void propose(std::size_t index, Candidate& c) {
        Chain& chain = chains_[index];
        chain.injects = chain.at.empty() || is_due(chain);
        if (chain.injects) {
            draw(c);
            return;
        }
        chain.before = chain.at;
        chain.cost_before = chain.cost;
        step(chain);
        predictor_->encoding().decode(chain.at, c.point);
        for (int i = 0; code_ && c.point == chain.mapped; ++i) {
            if (i == most_doublings) {
                chain.injects = true;
                draw(c);
                return;
            }
            chain.scale *= 2;
            chain.at = chain.before;
            step(chain);
            predictor_->encoding().decode(chain.at, c.point);
        }
        chain.mapped = c.point;
        c.how = Candidate::How::repair;
        c.space = nullptr;
        c.seed = stream_seed(seed_ ^ 0xa5a5U, draws_++);
    }

    void step(Chain& chain) const {
        for (std::size_t k = 0; k < chain.at.size(); ++k) {
            // The network's inputs are standardised: so is the step. None leaves all reason.
            constexpr float furthest = 1e3F;
            const float by = rate_ * chain.scale * chain.down[k];
            const float to = chain.at[k] - std::clamp(by, -furthest, furthest) *
                                               predictor_->surrogate().deviation(k);
            chain.at[k] = std::clamp(to, -furthest, furthest);
        }
    }

    /// Vectors of the candidates of chains, and their predicted costs, in one batch.
    void predict(std::span<const Candidate> batch) {
        const std::size_t n = std::min(batch.size(), asked_.size());
        const std::size_t width = predictor_->encoding().size();
        vectors_.assign(n * width, 0.0F);
        costs_.assign(n, 0.0);
        for (std::size_t i = 0; i < n; ++i) {
            if (batch[i].outcome.legal()) {
                predictor_->encoding().encode(batch[i].point, {vectors_.data() + i * width, width});
            }
        }
        if (n > 0) {
            predictor_->surrogate().costs(vectors_, scratch_, costs_);
        }
    }

    /// A step led to `found`.
    void arrive(Chain& chain, const Candidate& c, std::span<const float> found, double cost) {
        if (undo_ && cost > chain.cost_before) {
            chain.at = chain.before;
            chain.cost = chain.cost_before;
            chain.scale /= 2;
            predictor_->encoding().decode(chain.at, chain.mapped);
            return;
        }
        chain.cost = cost;
        // Where the step led back to the same mapping, steps add up until it does not.
        if (clamp_ && !(c.point == chain.from)) {
            chain.at.assign(found.begin(), found.end());
            chain.mapped = c.point;
        }
        chain.from = c.point;
    }

    void inject(Chain& chain, const Candidate& c, std::span<const float> found, double cost) {
        if (!chain.at.empty() && !code_ && !accepts(cost, chain.cost)) {
            return;
        }
        chain.at.assign(found.begin(), found.end());
        chain.mapped = chain.from = c.point;
        chain.scale = 1;
    }

    /// By predicted costs, as times the minimum (trained here: times the best so far). The
    /// temperature falls every 50 injections.
    bool accepts(double cost, double own) {
        constexpr double cooling = 0.75;
        constexpr std::uint64_t every = 50;
        const double t = temperature_ * std::pow(cooling, static_cast<double>(injections_ / every));
        Rng rng(~stream_seed(seed_, injections_++));
        const double unit = predictor_->unit();
        const double worse =
            std::exp2(std::min(cost - unit, 300.0)) - std::exp2(std::min(own - unit, 300.0));
        return worse <= 0 || (t > 0 && rng.uniform() < std::exp(-worse / t));
    }

    const std::string file_;
    const bool code_, undo_, clamp_;
    const learning::Objective objective_;
    const float rate_;
    const double penalty_, temperature_;
    const std::uint64_t interval_;
    OwnTraining own_;
    std::vector<Chain> chains_;
    std::unique_ptr<Predictor> predictor_;
    learning::Surrogate::Scratch scratch_;
    std::uint64_t seed_ = 0, draws_ = 0, injections_ = 0;
    std::size_t next_ = 0;
    std::vector<std::size_t> asked_;  // the chain of each candidate; none while samples are drawn
    std::vector<float> vectors_, gradients_;
    std::vector<double> costs_;
};

std::vector<plugin::Knob> Gradient::knobs() {
    plugin::Knob surrogate;
    surrogate.name = "surrogate";
    surrogate.text = "file of tessera train; empty: one is trained on what the search evaluates";
    return {
        surrogate,
        plugin::Knob::choice("variant", "code", {"paper", "code"},
                             "what is done with random mappings, and with steps that change "
                             "nothing: as published, or as its program does it"),
        plugin::Knob::choice("objective", "log-edp", {"log-edp", "sum"},
                             "what descends: the logarithm of the cost, or the sum of all "
                             "standardised outputs (the paper's program)"),
        plugin::Knob::number("rate", 1, 1e-9, 1e9, "", "length of a step"),
        plugin::Knob::integer("interval", 10, 0, 1 << 20, "steps",
                              "between random mappings; 0: none"),
        plugin::Knob::number("temperature", 50, 0, 1e12, "",
                             "paper: of the first random mappings, as times the minimum"),
        plugin::Knob::flag("undo", true, "take back steps that are predicted to be worse"),
        plugin::Knob::flag("clamp", true, "go on from the projected mapping"),
        plugin::Knob::number("penalty", 10, 0, 1e9, "",
                             "for predicted use of a memory beyond its size"),
        plugin::Knob::integer("restarts", 16, 1, 1 << 16, "", "chains that descend side by side"),
        plugin::Knob::integer("samples", 1000, 1, 1 << 24, "",
                              "without a file: random mappings before the first training"),
        plugin::Knob::integer("again", 1000, 0, 1 << 24, "",
                              "mappings after which training goes on; 0: never"),
        plugin::Knob::integer("epochs", 20, 1, 100000, "", "of each training"),
        plugin::Knob::integer("width", 64, 1, 4096, "", "of its two hidden layers"),
        plugin::Knob::integer("problems", 0, 0, 64, "",
                              "without a file: problems of other size that the first mappings are "
                              "of too"),
    };
}

TESSERA_PLUGIN(tessera::search::SearchStrategy, Gradient, "gradient",
               "descends a surrogate of the cost",
               "Hegde et al., Mind Mappings: Enabling Efficient Algorithm-Accelerator Mapping "
               "Space Search, ASPLOS 2021");

}  // namespace tessera::search
