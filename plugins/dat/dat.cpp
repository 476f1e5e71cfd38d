// Strategy `dat`: a genetic search for orders, and for each order the best tile shapes (the
// optimiser DAT that FuseCU is compared with, Xu et al.).
//
// Idea     An individual is a structure: a template for each Einsum, and which fused loops run. Its
//          value is that of its best tile shapes. The best `survivors` live on; in each generation
//          every one of them gives one structure that is drawn anew, and four that differ in the
//          templates of some Einsums in a row.
// Tiles    DAT has them solved by a quadratic integer programme. Here Einsums take turns: all tile
//          shapes of the Einsum if they are at most `most`, in an order that is drawn; of more, as
//          many changes of the best, at random. A structure is done after a pass over all Einsums
//          that made it less than `worth` better.
// State    survivors, structures that were looked at, the tile shapes at hand.
// Stops    never by itself.
// Parallel the candidates of a turn.
#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "tessera/base/stop.hpp"
#include "tessera/plugin/search_strategy.hpp"
#include "tessera/search/partial.hpp"
#include "tessera/search/point_text.hpp"
#include "tessera/search/state_text.hpp"

namespace tessera::search {

class Dat : public SearchStrategy {
public:
    static std::vector<plugin::Knob> knobs() {
        return {plugin::Knob::integer("survivors", 5, 1, 1 << 16, "structures",
                                      "that live on (DAT: 5)"),
                plugin::Knob::integer("neighbours", 4, 0, 1 << 16, "structures",
                                      "that differ from a survivor in some Einsums, for each in a "
                                      "generation (DAT: 4)"),
                plugin::Knob::integer("most", 300, 1, 1 << 30, "tile shapes",
                                      "of one Einsum in a turn: all, or of more so many changes "
                                      "of the best")};
    }

    explicit Dat(const plugin::KnobValues& knobs)
        : survivors_(static_cast<std::size_t>(knobs.integer("survivors"))),
          neighbours_(static_cast<std::size_t>(knobs.integer("neighbours"))),
          most_(static_cast<std::size_t>(knobs.integer("most"))) {}

    std::string name() const override {
        return "dat";
    }

    void start(const Space& space, std::uint64_t seed) override {
        space_ = &space;
        partial_ = std::make_unique<Partial>(space, Partial::Order::einsums);
        seed_ = seed;
        step_ = made_ = 0;
        alive_.clear();
        known_.clear();
        at_work_ = false;
        turn_ = {};
    }

    std::size_t ask(std::span<Candidate> batch) override {
        if (batch.empty()) {
            return 0;
        }
        if (!at_work_) {
            propose(batch.front());
            return 1;
        }
        if (turn_.left == 0) {
            begin_turn();
        }
        const std::size_t n =
            std::min<std::size_t>({batch.size(), turn_.left, turn_.all ? batch.size() : at_once});
        for (std::size_t i = 0; i < n; ++i) {
            Candidate& c = batch[i];
            Rng rng(stream_seed(seed_, step_ + i));
            c.seed = rng.next();
            c.einsum = turn_.einsum;
            c.point = current_.point;
            if (turn_.all) {
                c.how = Candidate::How::cross;
                c.end = c.einsum + 1;
                c.mate = with(turn_.shapes[turn_.shapes.size() - 1 - i]);
            } else {
                static constexpr Move moves[] = {Move::factor, Move::factor, Move::tile,
                                                 Move::tile,   Move::tiles,  Move::spatial};
                c.how = Candidate::How::move;
                c.move = moves[rng.below(std::size(moves))];
            }
        }
        return n;
    }

    void tell(std::span<const Candidate> batch) override {
        const bool was_at_work = at_work_;
        std::uint64_t told = 0;
        for (const Candidate& c : batch) {
            if (c.outcome.verdict == Verdict::not_evaluated) {
                break;  // a stop: it is asked for again
            }
            ++step_;
            ++told;
            if (!was_at_work) {
                begin(c);
            } else if (c.outcome.legal() && c.outcome.value < current_.value) {
                current_ = {c.point, c.outcome.value};
            }
        }
        if (!was_at_work) {
            return;
        }
        turn_.left -= told;
        if (turn_.all) {
            turn_.shapes.resize(turn_.left);
        }
        if (turn_.left == 0) {
            end_turn();
        }
    }

    void immigrate(const Candidate& best) override {
        if (alive_.empty() || best.outcome.value < alive_.front().value) {
            alive_.insert(alive_.begin(), {best.point, best.outcome.value});
        }
    }

    std::string save() const override {
        StateWriter out;
        for (const std::uint64_t number :
             {step_, std::uint64_t{made_}, std::uint64_t{alive_.size()},
              std::uint64_t{known_.size()}, std::uint64_t{at_work_}}) {
            out.put(number);
        }
        for (const Individual& one : alive_) {
            put(out, one);
        }
        for (const std::vector<std::uint32_t>& structure : known_) {
            out.put(std::uint64_t{structure.size()});
            for (const std::uint32_t number : structure) {
                out.put(std::uint64_t{number});
            }
        }
        if (!at_work_) {
            return out.text();
        }
        put(out, current_);
        out.put(turn_.before);
        for (const std::uint64_t number :
             {std::uint64_t{turn_.einsum}, std::uint64_t{turn_.all}, turn_.left}) {
            out.put(number);
        }
        for (const Shape& shape : turn_.shapes) {
            for (const std::int64_t tile : shape) {
                out.put(static_cast<std::uint64_t>(tile));
            }
        }
        return out.text();
    }

    bool restore(const std::string& state) override {
        StateReader in(state);
        std::uint64_t made = 0, n_alive = 0, n_known = 0, at_work = 0;
        if (!in.get(step_) || !in.get(made) || !in.get(n_alive) || !in.get(n_known) ||
            !in.get(at_work) || n_alive > state.size() || at_work > 1) {
            return false;
        }
        made_ = made;
        alive_.assign(n_alive, {});
        known_.clear();
        at_work_ = at_work == 1;
        turn_ = {};
        if (!std::ranges::all_of(alive_, [&](Individual& one) { return get(in, one); })) {
            return false;
        }
        for (std::uint64_t i = 0; i < n_known; ++i) {
            if (!get_structure(in, state.size())) {
                return false;
            }
        }
        return (!at_work_ || get_turn(in, state.size())) && in.ended();
    }

private:
    struct Individual {
        Point point;
        double value = 0;
    };

    using Shape = std::vector<std::int64_t>;  // of one Einsum

    /// Tile shapes of one Einsum; those of the others stay.
    struct Turn {
        std::uint32_t einsum = 0;
        bool all = false;           ///< `shapes` are gone through from the end; else changes
        std::uint64_t left = 0;     ///< candidates; 0: it has not begun
        std::vector<Shape> shapes;  ///< `left` of them
        double before = 0;          ///< the structure's value before this pass over the Einsums
    };

    struct Listing {
        std::size_t first = 0;  ///< in Point::tiles
        Shape shape;
        std::size_t chosen = 0;  ///< of the shape
        std::uint64_t nodes = 0;
    };

    static void put(StateWriter& out, const Individual& one) {
        out.put(one.value);
        out.put(to_text(one.point));
    }
    bool get(StateReader& in, Individual& one) const {
        return in.get(one.value) && get_point(in, *space_, one.point);
    }
    bool get_structure(StateReader& in, std::size_t most) {
        std::uint64_t n = 0, number = 0;
        std::vector<std::uint32_t> structure;
        if (!in.get(n) || n > most) {
            return false;
        }
        for (; structure.size() < n; structure.push_back(static_cast<std::uint32_t>(number))) {
            if (!in.get(number)) {
                return false;
            }
        }
        known_.insert(std::move(structure));
        return true;
    }

    bool get_turn(StateReader& in, std::size_t most) {
        std::uint64_t einsum = 0, all = 0;
        if (!get(in, current_) || !in.get(turn_.before) || !in.get(einsum) || !in.get(all) ||
            !in.get(turn_.left) || einsum >= space_->n_einsums() || all > 1 ||
            (all == 1 && turn_.left > most)) {
            return false;
        }
        turn_.einsum = static_cast<std::uint32_t>(einsum);
        turn_.all = all == 1;
        turn_.shapes.assign(turn_.all ? turn_.left : 0, Shape(symbols().second));
        for (Shape& shape : turn_.shapes) {
            for (std::int64_t& tile : shape) {
                std::uint64_t value = 0;
                if (!in.get(value)) {
                    return false;
                }
                tile = static_cast<std::int64_t>(value);
            }
        }
        return true;
    }

    /// The next structure of this generation.
    void propose(Candidate& c) {
        Rng rng(stream_seed(seed_, step_));
        c.seed = rng.next();
        c.how = Candidate::How::draw;
        if (alive_.size() < survivors_) {
            return;
        }
        const std::size_t each = 1 + neighbours_;
        if (made_ >= each * survivors_) {
            made_ = 0;
        }
        const Individual& parent = alive_[made_ / each];
        if (made_++ % each > 0) {
            static constexpr Move moves[] = {Move::order, Move::backing, Move::keep, Move::einsum};
            c.how = Candidate::How::move;
            c.move = moves[rng.below(std::size(moves))];
            c.einsum = static_cast<std::uint32_t>(rng.below(space_->n_einsums()));
            c.point = parent.point;
        }
    }

    /// A structure that was not looked at yet: its tile shapes.
    void begin(const Candidate& c) {
        if (!c.outcome.legal() || !partial_->start(c.point)) {
            return;
        }
        if (known_.size() > most_known) {
            known_.clear();
        }
        if (!known_.insert(partial_->structure()).second) {
            return;
        }
        current_ = {c.point, c.outcome.value};
        turn_ = {};
        turn_.before = current_.value;
        at_work_ = true;
    }

    void begin_turn() {
        Turn& turn = turn_;
        turn.shapes.clear();
        turn.all = partial_->start(current_.point);
        if (turn.all) {
            const auto [first, count] = symbols();
            Listing listing{first, Shape(count, 1)};
            turn.all = walk(listing) && !turn.shapes.empty();
        }
        turn.left = turn.all ? turn.shapes.size() : most_;
        if (!turn.all) {
            turn.shapes.clear();
        }
        Rng rng(~stream_seed(seed_, step_));
        for (std::size_t i = turn.shapes.size(); i > 1; --i) {
            std::swap(turn.shapes[i - 1], turn.shapes[rng.below(i)]);
        }
    }

    void end_turn() {
        if (++turn_.einsum < space_->n_einsums()) {
            return;
        }
        const bool solved = space_->n_einsums() == 1 && turn_.all;
        const bool better = current_.value < (1 - worth) * turn_.before;
        turn_ = {};
        turn_.before = current_.value;
        at_work_ = better && !solved;
        if (!at_work_) {
            keep();
        }
    }

    /// Of the Einsum whose turn it is, in Point::tiles: the first and how many.
    std::pair<std::size_t, std::size_t> symbols() const {
        const auto count = [&](std::uint32_t e) {
            return space_->tmpl(e, current_.point.choices[e].tmpl).symbols.size();
        };
        std::size_t first = 0;
        for (std::uint32_t e = 0; e < turn_.einsum; ++e) {
            first += count(e);
        }
        return {first, count(turn_.einsum)};
    }

    /// The current point with other tile shapes of the Einsum whose turn it is.
    Point with(const Shape& shape) const {
        Point point = current_.point;
        std::copy(shape.begin(), shape.end(),
                  point.tiles.begin() + static_cast<std::ptrdiff_t>(symbols().first));
        return point;
    }

    /// Depth first over the tile shapes of the Einsum whose turn it is; those of Einsums before it
    /// are as near to the current ones as they can be. False: there are more than `most`, or too
    /// many dead ends.
    bool walk(Listing& listing) {
        if (++listing.nodes % 64 == 0) {
            base::poll_stop();
        }
        if (listing.nodes > nodes_per_shape * most_) {
            return false;
        }
        const bool complete = partial_->complete();
        const std::size_t place = complete ? 0 : partial_->place();
        const bool inside =
            !complete && place >= listing.first && place < listing.first + listing.shape.size();
        if (complete || (!inside && listing.chosen > 0)) {
            turn_.shapes.push_back(listing.shape);
            return turn_.shapes.size() <= most_;
        }
        const std::size_t depth = partial_->depth();
        std::vector<std::int64_t> values = partial_->values();
        if (!inside && !values.empty()) {
            values = {nearest(values, current_.point.tiles[place])};
        }
        bool whole = true;
        listing.chosen += inside ? 1 : 0;
        for (std::size_t i = 0; whole && i < values.size(); ++i) {
            partial_->choose(values[i]);
            if (inside) {
                listing.shape[place - listing.first] = values[i];
            }
            whole = walk(listing);
            partial_->rewind(depth);
        }
        listing.chosen -= inside ? 1 : 0;
        return whole;
    }

    static std::int64_t nearest(const std::vector<std::int64_t>& values, std::int64_t wanted) {
        const auto far = [&](std::int64_t value) {
            return std::abs(std::log(static_cast<double>(value) / static_cast<double>(wanted)));
        };
        return *std::min_element(values.begin(), values.end(),
                                 [&](std::int64_t a, std::int64_t b) { return far(a) < far(b); });
    }

    void keep() {
        const auto place =
            std::upper_bound(alive_.begin(), alive_.end(), current_.value,
                             [](double value, const Individual& one) { return value < one.value; });
        alive_.insert(place, current_);
        if (alive_.size() > survivors_) {
            alive_.resize(survivors_);
        }
    }

    static constexpr std::size_t most_known = 1 << 20;
    static constexpr std::size_t at_once = 16;  // changes; all of them are of one point
    static constexpr std::uint64_t nodes_per_shape = 4;
    static constexpr double worth = 0.001;
    const std::size_t survivors_, neighbours_, most_;
    const Space* space_ = nullptr;
    std::unique_ptr<Partial> partial_;
    std::uint64_t seed_ = 0, step_ = 0;  // candidates
    std::vector<Individual> alive_;      // best first
    std::set<std::vector<std::uint32_t>> known_;
    std::size_t made_ = 0;  // of this generation
    // The structure at hand.
    bool at_work_ = false;
    Individual current_;
    Turn turn_;
};

TESSERA_PLUGIN(tessera::search::SearchStrategy, Dat, "dat",
               "a genetic search for orders, the best tile shapes of each",
               "DAT, as in Xu et al., FuseCU: see docs/fusecu.md");

}  // namespace tessera::search
