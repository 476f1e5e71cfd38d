// Strategy `es`: evolution strategies on points as vectors of numbers (search/vector_blocks.hpp).
//
// Idea     The numbers of one Einsum at a time (or of all) are mutated by normal noise; the host
//          decodes them and makes the point legal. A mapping that is better than all before becomes
//          what the others stand on.
//          variant=one-plus-one: a child of the best one; the noise grows by success and shrinks by
//          failure, so that one in five succeeds (Rechenberg, Evolutionsstrategie, 1973).
//          variant=tbpsa: mu parents' mean, 4 mu children, each with a noise of its own that is
//          mutated, too; mu doubles where the last generations are not better than those before by
//          a test, and falls by .84 where they are (Hellwig and Beyer, PPSN 2016; as in Nevergrad).
//          Both are of the line-up against GAMMA (Kao and Krishna, ICCAD 2020).
// State    block, mean, noise, children of this generation, best mapping. Random numbers of a step
//          are a stream of their own, so that a saved state goes on with the same ones.
// Stops    never by itself; `patience` evaluations without a better mapping: the next block.
// Parallel islands.
#include <algorithm>
#include <cmath>
#include <memory>

#include "tessera/plugin/search_strategy.hpp"
#include "tessera/search/point_text.hpp"
#include "tessera/search/state_text.hpp"
#include "tessera/search/vector_blocks.hpp"

namespace tessera::search {

class Es : public SearchStrategy {
public:
    static std::vector<plugin::Knob> knobs() {
        return {plugin::Knob::choice("variant", "one-plus-one", {"one-plus-one", "tbpsa"},
                                     "how children are made and chosen"),
                plugin::Knob::choice("scope", "mixed", {"mixed", "einsum", "all"},
                                     "numbers of one Einsum at a time, of all Einsums (as "
                                     "published, for one layer), or either by turns"),
                plugin::Knob::number("noise", 1, 1e-6, 1, "",
                                     "standard deviation at first; numbers are between 0 and 1"),
                plugin::Knob::number("share", 1, 0, 1, "",
                                     "of the numbers that a child changes, at least one; 1: all, "
                                     "as published"),
                plugin::Knob::integer("patience", 0, 0, 1 << 30, "",
                                      "evaluations without a better mapping before the next block "
                                      "is begun; 0: 50 (one-plus-one), 1000 (tbpsa)")};
    }

    explicit Es(const plugin::KnobValues& knobs)
        : tbpsa_(knobs.text("variant") == "tbpsa"),
          scope_(knobs.text("scope")),
          noise_at_first_(knobs.number("noise")),
          share_(knobs.number("share")),
          patience_(knobs.integer("patience") > 0
                        ? static_cast<std::uint64_t>(knobs.integer("patience"))
                        : (tbpsa_ ? 1000 : 50)) {}

    std::string name() const override {
        return "es";
    }
    std::size_t width() const override {
        return 1;
    }

    void start(const Space& space, std::uint64_t seed) override {
        space_ = &space;
        blocks_ = std::make_unique<VectorBlocks>(space);
        seed_ = seed;
        best_ = {};
        step_ = since_better_ = 0;
        begun_ = false;
    }

    std::size_t ask(std::span<Candidate> batch) override {
        if (batch.empty()) {
            return 0;
        }
        Candidate& c = batch.front();
        Rng rng(stream_seed(seed_, step_));
        c.seed = rng.next();
        if (!best_.outcome.legal()) {
            c.how = Candidate::How::draw;
            return 1;
        }
        if (!begun_ || since_better_ >= patience_) {
            begin();
        }
        propose(rng);
        c.how = Candidate::How::repair;
        blocks_->decode(block_, child_.numbers, c.point);
        return 1;
    }

    void tell(std::span<const Candidate> batch) override {
        for (const Candidate& c : batch) {
            if (c.outcome.verdict == Verdict::not_evaluated) {
                continue;
            }
            ++step_;
            const bool of_block = c.how == Candidate::How::repair;
            const bool better = keep(c);
            since_better_ = better ? 0 : since_better_ + 1;
            if (!of_block || !begun_) {
                continue;
            }
            // Costs of different mappings differ by orders of magnitude.
            child_.cost =
                std::log(c.outcome.legal() ? c.outcome.value : best_.outcome.value * illegal);
            if (tbpsa_) {
                add_child();
            } else {
                succeed(better);
            }
        }
    }

    void immigrate(const Candidate& best) override {
        if (keep(best)) {
            begun_ = false;
        }
    }

    std::string save() const override {
        StateWriter out;
        for (const std::uint64_t number :
             {step_, since_better_, std::uint64_t{best_.outcome.legal()}, std::uint64_t{begun_}}) {
            out.put(number);
        }
        if (best_.outcome.legal()) {
            out.put(best_.outcome.value);
            out.put(to_text(best_.point));
        }
        if (begun_) {
            out.put(std::uint64_t{block_});
            out.put(std::uint64_t{mu_});
            out.put(noise_);
            out.put(mean_);
            out.put(costs_);
            out.put(std::uint64_t{children_.size()});
            for (const Child& child : children_) {
                out.put(child.numbers);
                out.put(child.noise);
                out.put(child.cost);
            }
        }
        return out.text();
    }

    bool restore(const std::string& state) override {
        StateReader in(state);
        std::uint64_t legal = 0, begun = 0;
        best_ = {};
        begun_ = false;
        if (!in.get(step_) || !in.get(since_better_) || !in.get(legal) || !in.get(begun) ||
            (legal != 0 && !restore_best(in)) || (begun != 0 && !restore_block(in))) {
            return false;
        }
        begun_ = begun != 0;
        return in.ended();
    }

private:
    static constexpr double illegal = 1e3;       // times the best value
    static constexpr double least_noise = 0.02;  // less than that moves no tile shape
    static constexpr std::size_t most_mu = 1024;
    static constexpr std::size_t most_costs = 6 * 4 * most_mu;

    struct Child {
        std::vector<double> numbers;
        double noise = 0, cost = 0;
    };

    bool restore_best(StateReader& in) {
        if (!in.get(best_.outcome.value) || !get_point(in, *space_, best_.point)) {
            return false;
        }
        best_.outcome.verdict = Verdict::legal;
        blocks_->stand_on(best_.point);
        return true;
    }

    bool restore_block(StateReader& in) {
        std::uint64_t block = 0, mu = 0, n = 0;
        if (!best_.outcome.legal() || !in.get(block) || block > blocks_->n_einsums() ||
            !in.get(mu) || mu < 1 || mu > most_mu || !in.get(noise_)) {
            return false;
        }
        block_ = block;
        mu_ = mu;
        const std::size_t size = blocks_->size(block_);
        if (!in.get_at_most(mean_, size) || mean_.size() != size ||
            !in.get_at_most(costs_, most_costs) || !in.get(n) || n >= 4 * mu_) {
            return false;
        }
        children_.assign(n, {});
        return std::ranges::all_of(children_, [&](Child& child) {
            return in.get_at_most(child.numbers, size) && child.numbers.size() == size &&
                   in.get(child.noise) && in.get(child.cost);
        });
    }

    /// \returns whether it is better than all before
    bool keep(const Candidate& c) {
        if (!c.outcome.legal() ||
            (best_.outcome.legal() && c.outcome.value >= best_.outcome.value)) {
            return false;
        }
        best_.point = c.point;
        best_.outcome = c.outcome;
        blocks_->stand_on(best_.point);
        return true;
    }

    void begin() {
        Rng rng(~stream_seed(seed_, step_));
        const bool all = scope_ == "all" || (scope_ == "mixed" && rng.below(2) == 0);
        block_ = all ? blocks_->n_einsums() : rng.below(blocks_->n_einsums());
        mean_.resize(blocks_->size(block_));
        blocks_->read(block_, mean_);
        noise_ = noise_at_first_;
        mu_ = least_mu();
        children_.clear();
        costs_.clear();
        since_better_ = 0;
        begun_ = true;
    }

    std::size_t least_mu() const {
        constexpr std::size_t most = 32;  // Nevergrad: the dimension; blocks have up to hundreds
        return std::clamp<std::size_t>(mean_.size(), 1, most);
    }

    void propose(Rng& rng) {
        child_.noise = noise_;
        if (tbpsa_) {
            const double rate = 1 / std::sqrt(2.0 * static_cast<double>(mean_.size()));
            child_.noise *= std::exp(rate * normal(rng));
        }
        child_.numbers = mean_;
        const std::size_t one = rng.below(mean_.size());
        for (std::size_t k = 0; k < mean_.size(); ++k) {
            if (k == one || rng.uniform() < share_) {
                double& number = child_.numbers[k];
                number = std::clamp(number + child_.noise * normal(rng), 0.0, 1.0);
            }
        }
    }

    /// The rule of one fifth.
    void succeed(bool better) {
        constexpr double up = 1.5;
        if (better) {
            blocks_->read(block_, mean_);  // what the repair has made of it
            noise_ = std::min(noise_ * up, 1.0);
        } else {
            noise_ = std::max(noise_ * std::pow(up, -0.25), least_noise);
        }
    }

    void add_child() {
        children_.push_back(child_);
        costs_.push_back(child_.cost);
        if (children_.size() < 4 * mu_) {
            return;
        }
        std::stable_sort(children_.begin(), children_.end(),
                         [](const Child& a, const Child& b) { return a.cost < b.cost; });
        double log_noise = 0;
        std::fill(mean_.begin(), mean_.end(), 0.0);
        for (std::size_t i = 0; i < mu_; ++i) {
            for (std::size_t k = 0; k < mean_.size(); ++k) {
                mean_[k] += children_[i].numbers[k] / static_cast<double>(mu_);
            }
            log_noise += std::log(children_[i].noise) / static_cast<double>(mu_);
        }
        noise_ = std::clamp(std::exp(log_noise), least_noise, 1.0);
        adapt_population();
        children_.clear();
    }

    /// Compares the last generation with the one of five generations ago.
    void adapt_population() {
        const std::size_t n = children_.size();
        if (costs_.size() < 5 * n) {
            return;
        }
        const auto first = costs_.end() - static_cast<std::ptrdiff_t>(5 * n);
        const auto last = costs_.end() - static_cast<std::ptrdiff_t>(n);
        const auto moments = [&](auto begin) {
            double mean = 0, square = 0;
            for (std::size_t i = 0; i < n; ++i) {
                mean += begin[static_cast<std::ptrdiff_t>(i)] / static_cast<double>(n);
            }
            for (std::size_t i = 0; i < n; ++i) {
                const double off = begin[static_cast<std::ptrdiff_t>(i)] - mean;
                square += off * off / static_cast<double>(n);
            }
            return std::pair(mean, square);
        };
        const auto [before, spread_before] = moments(first);
        const auto [now, spread_now] = moments(last);
        const double error = std::sqrt((spread_before + spread_now) / static_cast<double>(n));
        mu_ = (before - now) > 2 * error
                  ? std::max(least_mu(), static_cast<std::size_t>(0.84 * static_cast<double>(mu_)))
                  : std::min(2 * mu_, most_mu);
        costs_.clear();
    }

    /// Box and Muller.
    static double normal(Rng& rng) {
        const double radius = std::sqrt(-2 * std::log(1 - rng.uniform()));
        return radius * std::cos(2 * std::acos(-1.0) * rng.uniform());
    }

    const bool tbpsa_;
    const std::string scope_;
    const double noise_at_first_, share_;
    const std::uint64_t patience_;
    const Space* space_ = nullptr;
    std::unique_ptr<VectorBlocks> blocks_;
    std::uint64_t seed_ = 0, step_ = 0;
    Candidate best_;
    std::uint64_t since_better_ = 0;
    // The block at hand.
    bool begun_ = false;
    std::size_t block_ = 0, mu_ = 1;
    std::vector<double> mean_, costs_;
    double noise_ = 0;
    Child child_;
    std::vector<Child> children_;
};

TESSERA_PLUGIN(tessera::search::SearchStrategy, Es, "es",
               "evolution strategies on points as vectors: (1+1), TBPSA",
               "Rechenberg, Evolutionsstrategie, 1973; Hellwig and Beyer, Evolution under Strong "
               "Noise, PPSN 2016");

}  // namespace tessera::search
