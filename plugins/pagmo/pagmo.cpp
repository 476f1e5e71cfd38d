// Strategy `pagmo`: the optimisers of the library pagmo (Biscani and Izzo, JOSS 2020) on points as
// vectors of numbers (search/vector_blocks.hpp).
//
// Idea     The numbers of one Einsum at a time (or of all) are the variables of a problem with
//          bounds 0 and 1. A population is made around the best mapping, and evolved as long as
//          that makes it better; then comes another Einsum. What pagmo asks for is decoded, made
//          legal by the host, and answered by the logarithm of its value.
// State    pagmo's, on its own thread (pump.hpp), which cannot be written down. What it was told
//          since it began with the population can: told the same again, it is where it was.
// Stops    never by itself.
// Parallel islands.

// Memory goes from the library to its headers and back. Under a sanitizer the headers of Eigen,
// which they include, would lay it out in another way than the library, which was built without.
#if defined(__SANITIZE_ADDRESS__) && defined(__LP64__)
#define EIGEN_MALLOC_ALREADY_ALIGNED 1
#endif

#include <algorithm>
#include <cmath>
#include <memory>
#include <pagmo/algorithm.hpp>
#include <pagmo/algorithms/bee_colony.hpp>
#include <pagmo/algorithms/cmaes.hpp>
#include <pagmo/algorithms/de.hpp>
#include <pagmo/algorithms/de1220.hpp>
#include <pagmo/algorithms/gwo.hpp>
#include <pagmo/algorithms/ihs.hpp>
#include <pagmo/algorithms/pso.hpp>
#include <pagmo/algorithms/sade.hpp>
#include <pagmo/algorithms/sga.hpp>
#include <pagmo/algorithms/simulated_annealing.hpp>
#include <pagmo/algorithms/xnes.hpp>
#include <pagmo/population.hpp>
#include <pagmo/problem.hpp>
#include <stdexcept>

#include "pump.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/plugin/search_strategy.hpp"
#include "tessera/search/point_text.hpp"
#include "tessera/search/state_text.hpp"
#include "tessera/search/vector_blocks.hpp"

namespace tessera::search {

namespace {

using pagmo_plugin::Pump;

/// What the library was told, in order; first once more what a saved state says.
struct Answers {
    std::vector<double> values;
    std::size_t next = 0;

    template <class Answer>
    double tell(const Answer& answer) {
        if (next == values.size()) {
            values.push_back(answer());
        }
        return values[next++];
    }
    /// What follows is of another block.
    void begin_block() {
        values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(next));
        next = 0;
    }
};

/// A block's numbers as a problem of pagmo's.
struct Cube {
    Pump* pump = nullptr;
    Answers* costs = nullptr;
    std::size_t size = 1;

    pagmo::vector_double fitness(const pagmo::vector_double& numbers) const {
        return {costs->tell([&] { return pump->cost(numbers); })};
    }
    std::pair<pagmo::vector_double, pagmo::vector_double> get_bounds() const {
        return {pagmo::vector_double(size, 0), pagmo::vector_double(size, 1)};
    }
    template <class Archive>
    void serialize(Archive&, unsigned) {}  // asked for by pagmo, never called
};

/// With the library's own parameters.
pagmo::algorithm made(const std::string& name, unsigned generations, unsigned seed) {
    constexpr double no_tolerance = 0;
    if (name == "de") {
        return pagmo::algorithm(
            pagmo::de(generations, 0.8, 0.9, 2, no_tolerance, no_tolerance, seed));
    }
    if (name == "sade") {
        return pagmo::algorithm(
            pagmo::sade(generations, 2, 1, no_tolerance, no_tolerance, true, seed));
    }
    if (name == "de1220") {
        return pagmo::algorithm(pagmo::de1220(generations,
                                              pagmo::de1220_statics<void>::allowed_variants, 1,
                                              no_tolerance, no_tolerance, true, seed));
    }
    if (name == "pso") {
        return pagmo::algorithm(
            pagmo::pso(generations, 0.7298, 2.05, 2.05, 0.5, 5, 2, 4, true, seed));
    }
    if (name == "cmaes") {
        return pagmo::algorithm(pagmo::cmaes(generations, -1, -1, -1, -1, 0.3, no_tolerance,
                                             no_tolerance, true, true, seed));
    }
    if (name == "xnes") {
        return pagmo::algorithm(pagmo::xnes(generations, -1, -1, -1, 0.3, no_tolerance,
                                            no_tolerance, true, true, seed));
    }
    if (name == "sga") {
        return pagmo::algorithm(pagmo::sga(generations, .90, 1., 0.02, 1., 2u, "exponential",
                                           "polynomial", "tournament", seed));
    }
    if (name == "bee-colony") {
        return pagmo::algorithm(pagmo::bee_colony(generations, 20, seed));
    }
    if (name == "gwo") {
        return pagmo::algorithm(pagmo::gwo(generations, seed));
    }
    if (name == "ihs") {  // one evaluation a generation
        return pagmo::algorithm(pagmo::ihs(20 * generations, 0.85, 0.35, 0.99, 1e-5, 1, seed));
    }
    return pagmo::algorithm(pagmo::simulated_annealing(10., .1, generations, 1, 20, 1., seed));
}

}  // namespace

class Pagmo : public SearchStrategy {
public:
    static std::vector<plugin::Knob> knobs() {
        return {plugin::Knob::choice("algorithm", "sade",
                                     {"de", "sade", "de1220", "pso", "cmaes", "xnes", "sga",
                                      "bee-colony", "gwo", "ihs", "simulated-annealing"},
                                     "the library's name for it; its parameters are the library's"),
                plugin::Knob::choice("scope", "mixed", {"mixed", "einsum", "all"},
                                     "numbers of one Einsum at a time, of all Einsums, or either "
                                     "by turns"),
                plugin::Knob::integer("population", 20, 8, 100000, "", "members"),
                plugin::Knob::integer("generations", 10, 2, 1 << 20, "",
                                      "between two looks at whether the best got better")};
    }

    explicit Pagmo(const plugin::KnobValues& knobs)
        : algorithm_(knobs.text("algorithm")),
          scope_(knobs.text("scope")),
          population_(static_cast<std::size_t>(knobs.integer("population"))),
          generations_(static_cast<unsigned>(knobs.integer("generations"))) {}
    ~Pagmo() override {
        pump_.stop();
    }
    Pagmo(const Pagmo&) = delete;
    Pagmo& operator=(const Pagmo&) = delete;

    std::string name() const override {
        return "pagmo";
    }
    std::size_t width() const override {
        return 1;
    }

    void start(const Space& space, std::uint64_t seed) override {
        pump_.stop();
        space_ = &space;
        blocks_ = std::make_unique<VectorBlocks>(space);
        seed_ = seed;
        step_ = n_blocks_ = 0;
        best_ = {};
        costs_ = looks_ = {};
        running_ = false;
    }

    std::size_t ask(std::span<Candidate> batch) override {
        if (batch.empty()) {
            return 0;
        }
        Candidate& c = batch.front();
        c.seed = stream_seed(seed_, step_);
        if (!best_.outcome.legal()) {
            c.how = Candidate::How::draw;
            return 1;
        }
        if (!running_) {
            pump_.start([this] { evolve(); });
            running_ = true;
        }
        const std::vector<double>* const numbers = pump_.asked([] { base::poll_stop(); });
        if (numbers == nullptr) {
            throw std::runtime_error("pagmo's " + algorithm_ + " gave up: " + pump_.failure());
        }
        c.how = Candidate::How::repair;
        blocks_->decode(block_, *numbers, c.point);
        return 1;
    }

    void tell(std::span<const Candidate> batch) override {
        constexpr double illegal = 1e3;  // times the best value
        for (const Candidate& c : batch) {
            if (c.outcome.verdict == Verdict::not_evaluated) {
                continue;  // pagmo still waits for it
            }
            ++step_;
            const bool asked = running_ && c.how == Candidate::How::repair;
            keep(c);
            if (asked) {
                pump_.answer(
                    std::log(c.outcome.legal() ? c.outcome.value : illegal * best_.outcome.value));
            }
        }
    }

    void immigrate(const Candidate& best) override {
        pump_.settle();
        keep(best);
    }

    std::string save() const override {
        pump_.settle();
        if (costs_.values.size() > most_saved) {
            return "";
        }
        StateWriter out;
        for (const std::uint64_t number :
             {step_, std::uint64_t{best_.outcome.legal()}, std::uint64_t{running_}}) {
            out.put(number);
        }
        if (best_.outcome.legal()) {
            out.put(best_.outcome.value);
            out.put(to_text(best_.point));
        }
        if (running_) {
            out.put(n_blocks_ - 1);
            out.put(to_text(begun_with_));
            out.put(costs_.values);
            out.put(looks_.values);
        }
        return out.text();
    }

    bool restore(const std::string& state) override {
        StateReader in(state);
        std::uint64_t legal = 0, running = 0;
        Candidate best;
        if (!in.get(step_) || !in.get(legal) || !in.get(running) || (running != 0 && legal == 0)) {
            return false;
        }
        if (legal != 0) {
            best.outcome.verdict = Verdict::legal;
            if (!in.get(best.outcome.value) || !get_point(in, *space_, best.point)) {
                return false;
            }
        }
        Point begun_with;
        if (running != 0 && (!in.get(n_blocks_) || !get_point(in, *space_, begun_with) ||
                             !in.get_at_most(costs_.values, most_saved) ||
                             !in.get_at_most(looks_.values, most_saved))) {
            return false;
        }
        return in.ended() && go_on(best, begun_with);
    }

private:
    static constexpr std::size_t most_of_covariances =
        300;  // variables; a stop waits for their cube
    /// Answers after which a block ends although it got better, and those of a state.
    static constexpr std::size_t most_answers = 20000, most_saved = 100000;

    /// As it was when `best` was the best mapping; a block was begun with the other one, if any.
    bool go_on(const Candidate& best, const Point& begun_with) {
        if (!begun_with.choices.empty()) {
            best_.point = begun_with;
            blocks_->stand_on(best_.point);
            pump_.start([this] { evolve(); });
            if (pump_.asked([] { base::poll_stop(); }) == nullptr) {
                return false;
            }
            running_ = true;
        }
        if (best.outcome.legal()) {
            best_ = best;
            blocks_->stand_on(best_.point);
        }
        return true;
    }

    void keep(const Candidate& c) {
        if (c.outcome.legal() &&
            (!best_.outcome.legal() || c.outcome.value < best_.outcome.value)) {
            best_.point = c.point;
            best_.outcome = c.outcome;
            blocks_->stand_on(best_.point);
        }
    }

    /// The thread of pagmo.
    void evolve() {
        for (;;) {
            costs_.begin_block();
            looks_.begin_block();
            begun_with_ = best_.point;
            Rng rng(~stream_seed(seed_, n_blocks_++));
            block_ = choose(rng);
            const std::size_t size = blocks_->size(block_);
            const auto seed = [&] { return static_cast<unsigned>(rng.next()); };
            pagmo::population members(pagmo::problem(Cube{&pump_, &costs_, size}), 0, seed());
            fill(members, size, rng);
            const pagmo::algorithm algorithm = made(algorithm_, generations_, seed());
            const auto look = [&] { return looks_.tell([&] { return best_.outcome.value; }); };
            double before = 0, now = look();
            do {
                before = now;
                members = algorithm.evolve(members);
                now = look();
            } while (now < before && costs_.next < most_answers);
        }
    }

    std::size_t choose(Rng& rng) const {
        const std::size_t one = rng.below(blocks_->n_einsums());
        const bool turn = rng.below(2) == 0, square = algorithm_ == "cmaes" || algorithm_ == "xnes";
        const bool fits = !square || blocks_->size(blocks_->n_einsums()) <= most_of_covariances;
        return scope_ == "all" || (scope_ == "mixed" && turn && fits) ? blocks_->n_einsums() : one;
    }

    /// The best mapping, others near it, and as many anywhere.
    void fill(pagmo::population& members, std::size_t size, Rng& rng) const {
        constexpr double wide = 0.2;
        std::vector<double> here(size), numbers(size);
        blocks_->read(block_, here);
        for (std::size_t i = 0; i < population_; ++i) {
            for (std::size_t k = 0; k < size; ++k) {
                const double at = rng.uniform();
                numbers[k] = i == 0       ? here[k]
                             : i % 2 == 0 ? at
                                          : std::clamp(here[k] + wide * (2 * at - 1), 0.0, 1.0);
            }
            members.push_back(numbers);
        }
    }

    const std::string algorithm_;
    const std::string scope_;
    const std::size_t population_;
    const unsigned generations_;
    const Space* space_ = nullptr;
    std::unique_ptr<VectorBlocks> blocks_;
    std::uint64_t seed_ = 0, step_ = 0;
    Candidate best_;
    bool running_ = false;
    // The thread of pagmo writes these.
    std::uint64_t n_blocks_ = 0;  ///< begun
    Point begun_with_;            ///< the best mapping when this block was begun
    std::size_t block_ = 0;
    Answers costs_, looks_;  ///< since then: costs, and the best value at each look at it
    mutable Pump pump_;      // last: its thread ends first
};

TESSERA_PLUGIN(tessera::search::SearchStrategy, Pagmo, "pagmo",
               "optimisers of the library pagmo (DE, PSO, CMA-ES, ...) on points as vectors",
               "Biscani and Izzo, A parallel global multiobjective framework for optimization: "
               "pagmo, JOSS 2020");

}  // namespace tessera::search
