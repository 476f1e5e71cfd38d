// Strategy `genetic`: a population of mappings.
//
// Idea     form=generations (TileFlow, Zheng et al., MICRO 2023; rates of GAMMA, Kao and Krishna,
//          ICCAD 2020): children of the better half by crossover, which takes Einsums in a row from
//          the other parent, or by one random move; a few new mappings; the best stay.
//          form=members (FFM's baseline): every member proposes one move of itself and is replaced
//          if that is better.
// State    the population, the children of this generation, random numbers by child.
// Stops    never by itself.
// Parallel children of one generation are independent of each other.
#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "tessera/plugin/search_strategy.hpp"
#include "tessera/search/point_text.hpp"

namespace tessera::search {

class Genetic : public SearchStrategy {
public:
    static std::vector<plugin::Knob> knobs() {
        return {
            plugin::Knob::choice("form", "generations", {"generations", "members"},
                                 "children of the better ones, or every member for itself"),
            plugin::Knob::integer("population", 100, 2, 1 << 20, "mappings", "members"),
            plugin::Knob::number("elites", 0.05, 0, 1, "",
                                 "fraction of the best that outlives its generation (GAMMA)"),
            plugin::Knob::number("parents", 0.5, 0.001, 1, "",
                                 "fraction of the best that has children (GAMMA)"),
            plugin::Knob::number("crossover", 0.5, 0, 1, "",
                                 "fraction of children with two parents (GAMMA)"),
            plugin::Knob::number("injections", 0.1, 0, 1, "",
                                 "fraction of children that are drawn at random (GAMMA)"),
        };
    }

    explicit Genetic(const plugin::KnobValues& knobs)
        : generations_(knobs.text("form") == "generations"),
          size_(static_cast<std::size_t>(knobs.integer("population"))),
          elites_(part(knobs.number("elites"), 0)),
          parents_(part(knobs.number("parents"), 1)),
          crossover_(knobs.number("crossover")),
          injections_(knobs.number("injections")) {}

    std::string name() const override {
        return "genetic";
    }

    void start(const Space& space, std::uint64_t seed) override {
        n_einsums_ = space.n_einsums();
        seed_ = seed;
        asked_ = told_ = 0;
        population_.clear();
        children_.clear();
    }

    std::size_t ask(std::span<Candidate> batch) override {
        const std::size_t n = std::min(batch.size(), size_ - asked_ % size_);
        for (std::size_t i = 0; i < n; ++i) {
            Rng rng(stream_seed(seed_, asked_));
            Candidate& c = batch[i];
            c.seed = rng.next();
            if (population_.empty()) {
                c.how = Candidate::How::draw;
            } else if (generations_) {
                bear(rng, c);
            } else {
                mutate(rng, population_[asked_ % size_ % population_.size()].point, c);
            }
            ++asked_;
        }
        return n;
    }

    void tell(std::span<const Candidate> batch) override {
        for (const Candidate& c : batch) {
            if (c.outcome.verdict == Verdict::not_evaluated) {
                continue;
            }
            if (!generations_ && !population_.empty()) {
                Member& member = population_[told_ % size_ % population_.size()];
                if (c.outcome.legal() && c.outcome.value < member.value) {
                    member = {c.point, c.outcome.value};
                }
            } else if (c.outcome.legal()) {
                children_.push_back({c.point, c.outcome.value});
            }
            ++told_;
        }
        asked_ = told_;  // what a stop left out is asked for again
        if (told_ % size_ == 0 && (generations_ || population_.empty())) {
            select();
        }
    }

    void immigrate(const Candidate& best) override {
        children_.push_back({best.point, best.outcome.value});
    }

    std::string save() const override {
        std::ostringstream out;
        out.precision(17);
        out << told_ << ' ' << population_.size() << ' ' << children_.size() << '\n';
        for (const auto* members : {&population_, &children_}) {
            for (const Member& member : *members) {
                out << member.value << ' ' << to_text(member.point) << '\n';
            }
        }
        return out.str();
    }

    bool restore(const std::string& state) override {
        std::istringstream in(state);
        std::size_t n_population = 0, n_children = 0;
        std::string line;
        if (!(in >> told_ >> n_population >> n_children) || !std::getline(in, line)) {
            return false;
        }
        asked_ = told_;
        const auto read = [&](std::size_t n, std::vector<Member>& members) {
            Member member;
            for (; n > 0; --n) {
                if (!(in >> member.value) || in.get() != ' ' || !std::getline(in, line) ||
                    !from_text(line, member.point)) {
                    return false;
                }
                members.push_back(member);
            }
            return true;
        };
        return read(n_population, population_) && read(n_children, children_);
    }

private:
    struct Member {
        Point point;
        double value = 0;
    };

    std::size_t part(double fraction, std::size_t least) const {
        return std::max(
            least, static_cast<std::size_t>(std::lround(fraction * static_cast<double>(size_))));
    }

    void mutate(Rng& rng, const Point& parent, Candidate& c) const {
        // Small changes are the most frequent.
        static constexpr std::array<Move, 9> moves = {Move::factor, Move::factor,  Move::factor,
                                                      Move::tile,   Move::tiles,   Move::order,
                                                      Move::keep,   Move::backing, Move::einsum};
        c.how = Candidate::How::move;
        c.move = moves[rng.below(moves.size())];
        c.einsum = static_cast<std::uint32_t>(rng.below(n_einsums_));
        c.point = parent;
    }

    void bear(Rng& rng, Candidate& c) const {
        if (rng.uniform() < injections_) {
            c.how = Candidate::How::draw;
            return;
        }
        const std::size_t parents = std::min(parents_, population_.size());
        const Point& parent = population_[rng.below(parents)].point;
        if (n_einsums_ < 2 || rng.uniform() >= crossover_) {
            mutate(rng, parent, c);
            return;
        }
        c.how = Candidate::How::cross;
        c.point = parent;
        c.mate = population_[rng.below(parents)].point;
        c.einsum = static_cast<std::uint32_t>(rng.below(n_einsums_));
        c.end = c.einsum + 1 + static_cast<std::uint32_t>(rng.below(n_einsums_ - c.einsum));
    }

    /// The best children and elites, each value once.
    void select() {
        const std::size_t elites = std::min(elites_, population_.size());
        for (std::size_t i = 0; i < elites; ++i) {
            children_.push_back(std::move(population_[i]));
        }
        if (children_.empty()) {
            return;
        }
        std::stable_sort(children_.begin(), children_.end(),
                         [](const Member& a, const Member& b) { return a.value < b.value; });
        const auto last =
            std::unique(children_.begin(), children_.end(),
                        [](const Member& a, const Member& b) { return a.value == b.value; });
        children_.erase(last, children_.end());
        children_.resize(std::min(children_.size(), size_));
        population_ = std::move(children_);
        children_.clear();
    }

    const bool generations_;
    const std::size_t size_, elites_, parents_;
    const double crossover_, injections_;
    std::uint64_t seed_ = 0, n_einsums_ = 1, asked_ = 0, told_ = 0;
    std::vector<Member> population_, children_;
};

TESSERA_PLUGIN(tessera::search::SearchStrategy, Genetic, "genetic",
               "a population of mappings: crossover, moves, selection",
               "Zheng et al., TileFlow, MICRO 2023; Kao and Krishna, GAMMA, ICCAD 2020");

}  // namespace tessera::search
