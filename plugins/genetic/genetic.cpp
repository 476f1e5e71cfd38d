// Strategy `genetic`: a population of mappings.
//
// Idea     form=generations (TileFlow, Zheng et al., MICRO 2023; rates of GAMMA, Kao and Krishna,
//          ICCAD 2020): children of the better half by crossover or by a random move; then a tiler
//          gives every child better tile shapes, one step after the other, before the best of a
//          generation are chosen.
//          form=gamma: a child of the better ones goes through GAMMA's operators, each with its
//          rate: crossover, reorder, three mutations of tiles, of parallelism, growing and
//          shrinking. What they come to counts, not the best on the way.
//          form=deap (Mind Mappings, Hegde et al., ASPLOS 2021, as its appendix has it): parents by
//          tournaments of three, crossover, now and then a mutation; the children are the next
//          generation.
//          form=ffm (TileFlow's as the authors of FFM run it): ten members, parents by roulette,
//          one Einsum of the one in the other, now and then a mutation; the best one lives on.
//          form=members (their last form of SET): every member proposes one move of itself and is
//          replaced if that is better.
// Crossover takes Einsums in a row from the other parent, or attributes of one Einsum
//          (attributes.hpp): of one Einsum always these.
// State    population and children; candidate number, of which random numbers are a stream.
// Stops    never by itself.
// Parallel the candidates of one step are independent of each other.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>

#include "attributes.hpp"
#include "tessera/plugin/search_strategy.hpp"
#include "tessera/search/open_space.hpp"
#include "tessera/search/point_text.hpp"

namespace tessera::search {

class Genetic : public SearchStrategy {
public:
    static std::vector<plugin::Knob> knobs() {
        return {
            plugin::Knob::choice(
                "form", "generations", {"generations", "gamma", "deap", "ffm", "members"},
                "children of the better ones (TileFlow's, GAMMA's, Mind Mappings', TileFlow's as "
                "FFM's authors have it), or every member for itself (SET's as they have it)"),
            plugin::Knob::integer("population", 0, 0, 1 << 20, "mappings",
                                  "members; 0: as published, 10 of form=ffm, else 100"),
            plugin::Knob::integer("tiler", 5, 0, 1 << 20, "steps",
                                  "changes of tile shapes that every child tries (generations)"),
            plugin::Knob::number("elites", 0.05, 0, 1, "",
                                 "fraction of the best that outlives its generation (GAMMA)"),
            plugin::Knob::number("parents", 0.5, 0.001, 1, "",
                                 "fraction of the best that has children (GAMMA)"),
            plugin::Knob::number("crossover", 0.5, 0, 1, "",
                                 "fraction of children with two parents (GAMMA; generations)"),
            plugin::Knob::number("injections", 0.1, 0, 1, "",
                                 "fraction of children of which two to four Einsums are drawn "
                                 "anew (GAMMA draws whole mappings)"),
        };
    }

    explicit Genetic(const plugin::KnobValues& knobs)
        : form_(knobs.text("form") == "generations" ? Form::generations
                : knobs.text("form") == "gamma"     ? Form::gamma
                : knobs.text("form") == "deap"      ? Form::deap
                : knobs.text("form") == "ffm"       ? Form::ffm
                                                    : Form::members),
          size_(
              knobs.integer("population") > 0
                  ? std::max<std::size_t>(2, static_cast<std::size_t>(knobs.integer("population")))
              : form_ == Form::ffm ? 10
                                   : 100),
          steps_(form_ == Form::generations ? 1 + static_cast<std::size_t>(knobs.integer("tiler"))
                 : form_ == Form::gamma     ? gamma.size() + 1
                 : form_ == Form::members   ? 1
                                            : 2),
          elites_(part(knobs.number("elites"), 0)),
          parents_(part(knobs.number("parents"), 1)),
          crossover_(knobs.number("crossover")),
          injections_(knobs.number("injections")) {}

    std::string name() const override {
        return "genetic";
    }

    void start(const Space& space, std::uint64_t seed) override {
        space_ = &space;
        has_templates_ = dynamic_cast<const OpenSpace*>(&space) != nullptr;
        n_einsums_ = space.n_einsums();
        seed_ = seed;
        asked_ = told_ = 0;
        population_.clear();
        children_.assign(size_, {});
    }

    std::size_t ask(std::span<Candidate> batch) override {
        // A step is one candidate per child. The founders of the first are drawn; what they are is
        // known before the others descend from them.
        const std::size_t place = asked_ % size_;
        const bool founding = asked_ < founders();
        const std::size_t n = std::min(batch.size(), (founding ? founders() : size_) - place);
        for (std::size_t i = 0; i < n; ++i) {
            propose(place + i, batch[i]);
            ++asked_;
        }
        return n;
    }

    void tell(std::span<const Candidate> batch) override {
        for (const Candidate& c : batch) {
            if (c.outcome.verdict == Verdict::not_evaluated) {
                continue;
            }
            Member& child = children_[told_ % size_];
            const bool counts = c.outcome.legal() &&
                                (c.outcome.value < child.value || form_ == Form::gamma || varies());
            if (counts) {
                child = {c.point, c.outcome.value};
            }
            if (++told_ % (size_ * steps_) == 0) {
                select();
            }
        }
        asked_ = told_;  // what a stop left out is asked for again
    }

    void immigrate(const Candidate& best) override {
        const auto worst =
            std::max_element(children_.begin(), children_.end(),
                             [](const Member& a, const Member& b) { return a.value < b.value; });
        if (best.outcome.value < worst->value) {
            *worst = {best.point, best.outcome.value};
        }
    }

    std::string save() const override {
        std::ostringstream out;
        out.precision(17);
        out << told_ << ' ' << population_.size() << '\n';
        for (const auto* members : {&population_, &children_}) {
            for (const Member& member : *members) {
                out << member.value << ' ' << to_text(member.point) << '\n';
            }
        }
        return out.str();
    }

    bool restore(const std::string& state) override {
        std::istringstream in(state);
        std::size_t n_population = 0;
        std::string line;
        if (!(in >> told_ >> n_population) || !std::getline(in, line)) {
            return false;
        }
        asked_ = told_;
        population_.clear();
        children_.clear();
        Member member;
        std::string value;
        while (in >> value) {
            if (in.get() != ' ' || !std::getline(in, line) || !from_text(line, member.point)) {
                return false;
            }
            member.value = std::strtod(value.c_str(), nullptr);  // "inf" too
            (population_.size() < n_population ? population_ : children_).push_back(member);
        }
        return children_.size() == size_;
    }

private:
    struct Member {
        Point point;
        double value = std::numeric_limits<double>::infinity();  ///< there is none yet
    };

    std::size_t part(double fraction, std::size_t least) const {
        return std::max(
            least, static_cast<std::size_t>(std::lround(fraction * static_cast<double>(size_))));
    }

    void propose(std::size_t place, Candidate& c) const {
        Rng rng(stream_seed(seed_, asked_));
        c.seed = rng.next();
        const Member& own = children_[place];
        const bool born = own.value < std::numeric_limits<double>::infinity();
        if (asked_ < founders()) {
            c.how = Candidate::How::draw;
        } else if (population_.empty() && !born) {
            const Member& founder = children_[rng.below(founders())];
            c.how = Candidate::How::draw;
            if (!founder.point.choices.empty()) {
                renew(rng, founder.point, c);
            }
        } else if (form_ == Form::gamma && !population_.empty()) {
            operate(rng, asked_ / size_ % steps_, own, born, c);
        } else if (varies() && !population_.empty()) {
            vary(rng, asked_ / size_ % steps_, own, born, c);
        } else if (!born) {
            bear(rng, c);
        } else if (form_ == Form::generations) {
            // The tiler.
            move(rng, tiler_moves[rng.below(tiler_moves.size())], own.point, c);
        } else {
            mutate(rng, own.point, c);
        }
    }

    void move(Rng& rng, Move what, const Point& from, Candidate& c) const {
        c.how = Candidate::How::move;
        c.move = what;
        c.einsum = static_cast<std::uint32_t>(rng.below(n_einsums_));
        c.point = from;
    }

    void mutate(Rng& rng, const Point& parent, Candidate& c) const {
        move(rng, moves[rng.below(moves.size())], parent, c);
    }

    /// Some Einsums drawn anew: cheaper than a whole mapping, which few draws are legal of.
    void renew(Rng& rng, const Point& parent, Candidate& c) const {
        move(rng, Move::einsums, parent, c);
    }

    std::size_t founders() const {
        return form_ == Form::ffm ? size_ : std::max<std::size_t>(2, size_ / 20);
    }

    /// Crossover by a rate, then a mutation by a rate; what they come to counts.
    bool varies() const {
        return form_ == Form::deap || form_ == Form::ffm;
    }

    void bear(Rng& rng, Candidate& c) const {
        const std::size_t parents = std::min(parents_, population_.size());
        const Point& parent = population_[rng.below(parents)].point;
        if (rng.uniform() < injections_) {
            renew(rng, parent, c);
            return;
        }
        if (!crosses() || rng.uniform() >= crossover_) {
            mutate(rng, parent, c);
            return;
        }
        cross(rng, parent, population_[rng.below(parents)].point, c);
    }

    /// Whether two parents can have a child.
    bool crosses() const {
        return n_einsums_ > 1 || has_templates_;
    }

    void cross(Rng& rng, const Point& parent, const Point& mate, Candidate& c) const {
        // FFM's authors exchange whole Einsums, where there are several.
        const bool attributes =
            has_templates_ && (n_einsums_ < 2 || (form_ != Form::ffm && rng.below(2) == 0));
        if (attributes) {
            const auto e = static_cast<std::uint32_t>(rng.below(n_einsums_));
            c.how = Candidate::How::repair;
            c.point =
                cross_attributes(*space_, parent, mate, e,
                                 form_ == Form::gamma ? Attributes::one : Attributes::uniform, rng);
            return;
        }
        c.how = Candidate::How::cross;
        c.point = parent;
        c.mate = mate;
        c.einsum = static_cast<std::uint32_t>(rng.below(n_einsums_));
        c.end =
            c.einsum + 1 +
            (form_ == Form::ffm ? 0 : static_cast<std::uint32_t>(rng.below(n_einsums_ - c.einsum)));
    }

    void stay(const Point& point, Candidate& c) const {
        c.how = Candidate::How::point;
        c.point = point;
    }

    /// GAMMA: the first step takes a parent, with another one by its rate; the others each do, by
    /// their rates, what they are named for.
    void operate(Rng& rng, std::size_t step, const Member& own, bool born, Candidate& c) const {
        const std::size_t parents = std::min(parents_, population_.size());
        if (!born || step == 0) {
            const Point& parent = population_[rng.below(parents)].point;
            if (crosses() && rng.uniform() < gamma_crossover) {
                cross(rng, parent, population_[rng.below(parents)].point, c);
            } else {
                stay(parent, c);
            }
        } else if (const Operator& one = gamma[step - 1]; rng.uniform() < one.rate) {
            move(rng, one.move, own.point, c);
        } else {
            stay(own.point, c);
        }
    }

    /// Mind Mappings and FFM's authors: crossover first, then the mutation.
    void vary(Rng& rng, std::size_t step, const Member& own, bool born, Candidate& c) const {
        const Rates& rates = form_ == Form::ffm ? ffm : deap;
        if (!born || step == 0) {
            const Point& parent = population_[chosen(rng)].point;
            if (crosses() && rng.uniform() < rates.crossover) {
                cross(rng, parent, population_[chosen(rng)].point, c);
            } else {
                stay(parent, c);
            }
        } else if (rng.uniform() >= rates.mutation) {
            stay(own.point, c);
        } else if (form_ == Form::ffm) {
            mutate(rng, own.point, c);
        } else {
            move(rng, redrawn[rng.below(redrawn.size())], own.point, c);
        }
    }

    /// A parent: the best of three, or by roulette with weight 1 / value.
    std::size_t chosen(Rng& rng) const {
        if (form_ == Form::ffm) {
            double sum = 0;
            for (const Member& member : population_) {
                sum += population_.front().value / member.value;
            }
            double left = sum * rng.uniform();
            std::size_t at = 0;
            while (at + 1 < population_.size() &&
                   (left -= population_.front().value / population_[at].value) >= 0) {
                ++at;
            }
            return at;
        }
        std::size_t best = rng.below(population_.size());
        for (int i = 1; i < tournament; ++i) {
            const std::size_t other = rng.below(population_.size());
            best = population_[other].value < population_[best].value ? other : best;
        }
        return best;
    }

    /// The best of children and elites, each value once, are the parents of the next generation.
    /// Members stay as they are.
    void select() {
        if (form_ == Form::members) {
            return;
        }
        const std::size_t most = form_ == Form::deap ? 0 : form_ == Form::ffm ? 1 : elites_;
        const std::size_t elites = std::min(most, population_.size());
        for (std::size_t i = 0; i < elites; ++i) {
            children_.push_back(std::move(population_[i]));
        }
        std::stable_sort(children_.begin(), children_.end(),
                         [](const Member& a, const Member& b) { return a.value < b.value; });
        children_.erase(
            std::unique(children_.begin(), children_.end(),
                        [](const Member& a, const Member& b) { return a.value == b.value; }),
            children_.end());
        std::erase_if(children_, [](const Member& m) { return m.point.choices.empty(); });
        if (!children_.empty()) {
            population_ = std::move(children_);
        }
        children_.assign(size_, {});
    }

    // Small changes are the most frequent.
    static constexpr std::array<Move, 12> moves = {
        Move::factor,  Move::factor, Move::factor, Move::factor,  Move::tile,   Move::tiles,
        Move::spatial, Move::order,  Move::keep,   Move::backing, Move::einsum, Move::einsums};
    static constexpr std::array<Move, 6> tiler_moves = {Move::factor, Move::factor, Move::factor,
                                                        Move::tile,   Move::tiles,  Move::spatial};

    enum class Form : std::uint8_t { generations, gamma, deap, ffm, members };
    struct Operator {
        Move move;
        double rate;
    };
    // GAMMA's rates. Its tiles and orders are those of one layer; growing and shrinking add and
    // remove a level, here what memories keep and the fused loops.
    static constexpr double gamma_crossover = 0.57;
    static constexpr std::array<Operator, 7> gamma = {{{Move::order, 0.47},
                                                       {Move::factor, 0.53},
                                                       {Move::tile, 0.53},
                                                       {Move::factor, 0.53},
                                                       {Move::spatial, 0.1},
                                                       {Move::backing, 0.57},
                                                       {Move::keep, 0.27}}};
    struct Rates {
        double crossover, mutation;
    };
    static constexpr Rates deap{0.75, 0.05}, ffm{0.7, 0.2};
    static constexpr int tournament = 3;
    static constexpr std::array<Move, 5> redrawn = {Move::tiles, Move::spatial, Move::order,
                                                    Move::keep, Move::backing};

    const Form form_;
    const std::size_t size_, steps_, elites_, parents_;  // steps of a generation
    const double crossover_, injections_;
    const Space* space_ = nullptr;
    bool has_templates_ = false;
    std::uint64_t seed_ = 0, n_einsums_ = 1, asked_ = 0, told_ = 0;
    std::vector<Member> population_, children_;
};

TESSERA_PLUGIN(tessera::search::SearchStrategy, Genetic, "genetic",
               "a population of mappings: crossover, moves, selection",
               "Zheng et al., TileFlow, MICRO 2023; Kao and Krishna, GAMMA, ICCAD 2020; Hegde et "
               "al., Mind Mappings, ASPLOS 2021");

}  // namespace tessera::search
