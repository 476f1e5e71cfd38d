// Strategy `dat`: a genetic search for orders, and for each order all tile shapes (the optimiser
// DAT that FuseCU is compared with, Xu et al.).
//
// Idea     An individual is a structure: a template for each Einsum, and which fused loops run. Its
//          value is that of its best tile shapes, which are gone through one by one: Einsum by
//          Einsum, those of the others as they are. The best `survivors` live on; in each
//          generation every one of them gives one structure that is drawn anew, and four that
//          differ in the templates of some Einsums in a row. DAT has them solved by a quadratic
//          integer programme; a list of divisors is short enough to be looked through.
// State    survivors, structures that were looked at, the tile shapes at hand.
// Stops    never by itself.
// Parallel the tile shapes of one Einsum.
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
                plugin::Knob::integer("most", 20000, 1, 1 << 30, "tile shapes",
                                      "of one Einsum that are gone through; of more, the first")};
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
        step_ = 0;
        alive_.clear();
        known_.clear();
        queue_.clear();
        einsum_ = space.n_einsums();
        made_ = 0;
    }

    std::size_t ask(std::span<Candidate> batch) override {
        if (batch.empty()) {
            return 0;
        }
        while (queue_.empty() && einsum_ < space_->n_einsums()) {
            base::poll_stop();
            list();
        }
        if (queue_.empty()) {
            propose(batch.front());
            return 1;
        }
        const std::size_t n = std::min(batch.size(), queue_.size());
        for (std::size_t i = 0; i < n; ++i) {
            batch[i].how = Candidate::How::point;
            batch[i].point = queue_[i];
        }
        return n;
    }

    void tell(std::span<const Candidate> batch) override {
        if (queue_.empty()) {
            for (const Candidate& c : batch) {
                if (c.outcome.verdict != Verdict::not_evaluated) {
                    ++step_;
                    begin(c);
                }
            }
            return;
        }
        std::vector<Point> left;
        for (std::size_t i = 0; i < batch.size() && i < queue_.size(); ++i) {
            const Candidate& c = batch[i];
            if (c.outcome.verdict == Verdict::not_evaluated) {
                left.push_back(queue_[i]);  // a stop: it is asked for again
            } else if (c.outcome.legal() && c.outcome.value < current_.value) {
                current_ = {c.point, c.outcome.value};
            }
        }
        const auto n = static_cast<std::ptrdiff_t>(std::min(batch.size(), queue_.size()));
        queue_.erase(queue_.begin(), queue_.begin() + n);
        queue_.insert(queue_.begin(), left.begin(), left.end());
        if (queue_.empty() && einsum_ == space_->n_einsums()) {
            keep();
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
             {step_, std::uint64_t{made_}, std::uint64_t{einsum_}, std::uint64_t{alive_.size()},
              std::uint64_t{queue_.size()}, std::uint64_t{known_.size()}}) {
            out.put(number);
        }
        for (const Individual& one : alive_) {
            put(out, one);
        }
        if (at_work()) {
            put(out, current_);
        }
        for (const Point& point : queue_) {
            out.put(to_text(point));
        }
        for (const std::vector<std::uint32_t>& structure : known_) {
            out.put(std::uint64_t{structure.size()});
            for (const std::uint32_t number : structure) {
                out.put(std::uint64_t{number});
            }
        }
        return out.text();
    }

    bool restore(const std::string& state) override {
        StateReader in(state);
        std::uint64_t made = 0, einsum = 0, n_alive = 0, n_queue = 0, n_known = 0;
        if (!in.get(step_) || !in.get(made) || !in.get(einsum) || einsum > space_->n_einsums() ||
            !in.get(n_alive) || !in.get(n_queue) || !in.get(n_known) || n_alive > state.size() ||
            n_queue > state.size()) {
            return false;
        }
        made_ = made;
        einsum_ = static_cast<std::uint32_t>(einsum);
        alive_.assign(n_alive, {});
        queue_.assign(n_queue, {});
        known_.clear();
        if (!std::ranges::all_of(alive_, [&](Individual& one) { return get(in, one); }) ||
            (at_work() && !get(in, current_)) || !std::ranges::all_of(queue_, [&](Point& point) {
                return get_point(in, *space_, point);
            })) {
            return false;
        }
        for (std::uint64_t i = 0; i < n_known; ++i) {
            if (!get_structure(in, state.size())) {
                return false;
            }
        }
        return in.ended();
    }

private:
    struct Individual {
        Point point;
        double value = 0;
    };

    /// Some tile shapes of the structure at hand are still to be looked at.
    bool at_work() const {
        return !queue_.empty() || einsum_ < space_->n_einsums();
    }

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

    /// A structure that was not looked at yet: all its tile shapes.
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
        einsum_ = 0;
    }

    /// Lists the tile shapes of the next Einsum.
    void list() {
        const auto first = first_symbol(einsum_);
        const auto end = first_symbol(einsum_ + 1);
        ++einsum_;
        if (!partial_->start(current_.point)) {
            return;
        }
        walk(first, end);
        if (queue_.empty() && einsum_ == space_->n_einsums()) {
            keep();
        }
    }

    std::size_t first_symbol(std::size_t einsum) const {
        std::size_t n = 0;
        for (std::size_t e = 0; e < einsum; ++e) {
            const auto i = static_cast<std::uint32_t>(e);
            n += space_->tmpl(i, current_.point.choices[e].tmpl).symbols.size();
        }
        return n;
    }

    /// Depth first over the tile shapes [first, end) of the point; the others stay as near to the
    /// current one's as they can.
    void walk(std::size_t first, std::size_t end) {
        if (queue_.size() >= most_) {
            return;
        }
        const std::size_t depth = partial_->depth();
        if (partial_->complete()) {
            queue_.push_back(partial_->point());
            return;
        }
        if (depth % 8 == 0) {
            base::poll_stop();
        }
        const std::vector<std::int64_t> values = partial_->values();
        const std::size_t place = partial_->place();
        if (place >= first && place < end) {
            for (const std::int64_t value : values) {
                partial_->choose(value);
                walk(first, end);
                partial_->rewind(depth);
            }
        } else if (!values.empty()) {
            partial_->choose(nearest(values, current_.point.tiles[place]));
            walk(first, end);
            partial_->rewind(depth);
        }
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
    const std::size_t survivors_, neighbours_, most_;
    const Space* space_ = nullptr;
    std::unique_ptr<Partial> partial_;
    std::uint64_t seed_ = 0, step_ = 0;
    std::vector<Individual> alive_;  // best first
    std::set<std::vector<std::uint32_t>> known_;
    std::size_t made_ = 0;  // of this generation
    // The structure at hand.
    Individual current_;
    std::uint32_t einsum_ = 0;  // the next whose tile shapes are listed
    std::vector<Point> queue_;
};

TESSERA_PLUGIN(tessera::search::SearchStrategy, Dat, "dat",
               "a genetic search for orders, all tile shapes of each",
               "DAT, as in Xu et al., FuseCU: see docs/fusecu.md");

}  // namespace tessera::search
