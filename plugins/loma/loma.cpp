// Strategy `loma`: all orders of loops, memories allocated from the inside out (Symons, Mei,
// Verhelst, LOMA, AICAS 2021; as in ZigZag).
//
// Idea    The loops of an Einsum are the prime factors of its rank variables, multiplied until
//         `loops` are left. Every order of them is tried; memories take as many of the innermost
//         loops as they hold. Einsum by Einsum, nothing is fused: a candidate changes one Einsum of
//         the best mapping. Which loops a memory's tensors see in which order is up to the
//         templates, all of which are gone through in a pass (search/allocation.hpp).
// Passes  Each one fills the arrays in other ways. The first has four loops, each one more than the
//         one before, up to `loops` (two more once twelve passes found nothing better); then it is
//         four again. So the first passes are short.
// State   the pass, which template of which Einsum, the order, the best mapping.
// Stops   after `passes` that found nothing better, or never.
#include <algorithm>
#include <memory>
#include <set>
#include <sstream>
#include <utility>

#include "tessera/base/stop.hpp"
#include "tessera/plugin/search_strategy.hpp"
#include "tessera/search/allocation.hpp"
#include "tessera/search/point_text.hpp"

namespace tessera::search {

class Loma : public SearchStrategy {
public:
    static std::vector<plugin::Knob> knobs() {
        return {plugin::Knob::integer("loops", 6, 1, 12, "",
                                      "temporal loops of an Einsum, whose orders are all tried "
                                      "(ZigZag: 6 to 9); fewer in the first passes, two more "
                                      "once these find nothing better"),
                plugin::Knob::integer("passes", 0, 0, 1 << 30, "",
                                      "over all templates in a row that find nothing better, after "
                                      "which it ends; 0: never")};
    }

    explicit Loma(const plugin::KnobValues& knobs)
        : loops_(static_cast<std::size_t>(knobs.integer("loops"))),
          passes_(static_cast<std::uint64_t>(knobs.integer("passes"))) {}

    std::string name() const override {
        return "loma";
    }
    bool ends() const override {
        return passes_ > 0;
    }

    void start(const Space& space, std::uint64_t seed) override {
        space_ = &space;
        seed_ = seed;
        allocation_ = std::make_unique<Allocation>(space);
        best_ = {};
        tries_ = pass_ = vain_ = unit_ = done_ = proposed_ = 0;
        better_ = false;
        begun_ = false;
        units_ = 0;
        for (std::uint32_t e = 0; e < space.n_einsums(); ++e) {
            units_ = std::max<std::uint64_t>(units_, allocation_->unfused(e).size());
        }
        units_ *= space.n_einsums();
        shuffle();
    }

    std::size_t ask(std::span<Candidate> batch) override {
        if (batch.empty()) {
            return 0;
        }
        if (!best_.outcome.legal()) {
            return found(batch.front());
        }
        std::size_t n = 0;
        while (n == 0) {
            base::poll_stop();
            if (!begun_ && !begin()) {
                return 0;
            }
            while (n < batch.size() && begun_) {
                n += next(batch[n]);
            }
        }
        return n;
    }

    void tell(std::span<const Candidate> batch) override {
        for (const Candidate& c : batch) {
            const bool fits = c.outcome.legal() && (gave_up() || allocation_->unfused(c.point));
            if (fits && (!best_.outcome.legal() || c.outcome.value < best_.outcome.value)) {
                better_ = true;
                best_.point = c.point;
                best_.outcome = c.outcome;
            }
        }
    }

    void immigrate(const Candidate& best) override {
        tell({&best, 1});
    }

    std::string save() const override {
        std::ostringstream out;
        out.precision(17);
        out << tries_ << ' ' << pass_ << ' ' << vain_ << ' ' << proposed_ << ' ' << unit_ << ' '
            << done_ << ' ' << begun_ << ' ' << better_ << ' ' << best_.outcome.legal() << ' '
            << best_.outcome.value << ' ' << to_text(best_.point);
        return out.str();
    }

    bool restore(const std::string& state) override {
        std::istringstream in(state);
        std::uint64_t done = 0;
        bool begun = false, legal = false;
        std::string text;
        if (!(in >> tries_ >> pass_ >> vain_ >> proposed_ >> unit_ >> done >> begun >> better_ >>
              legal >> best_.outcome.value) ||
            in.get() != ' ' || !std::getline(in, text) || !from_text(text, best_.point)) {
            return false;
        }
        if ((legal || begun) && !has_form_of(*space_, best_.point)) {
            return false;
        }
        best_.outcome.verdict = legal ? Verdict::legal : Verdict::not_evaluated;
        begun_ = false;
        shuffle();
        if (begun) {
            if (unit_ >= units_ || !begin()) {
                return false;
            }
            const std::uint64_t proposed = proposed_;
            Candidate ignored;
            while (begun_ && done_ < done) {
                next(ignored);
            }
            proposed_ = proposed;
        }
        return true;
    }

private:
    /// No mapping without fusion was found: what the host makes of one counts, too.
    bool gave_up() const {
        return tries_ > most_tries;
    }

    /// The first mapping: one without fusion whose memories are allocated; if there is none, a
    /// legal one.
    std::size_t found(Candidate& c) {
        Rng rng(stream_seed(seed_, tries_));
        c.seed = rng.next();
        if (++tries_ <= most_tries && allocation_->draw(rng, c.point)) {
            c.how = Candidate::How::point;
        } else {
            tries_ = std::max(tries_, most_tries + 1);
            c.how = Candidate::How::draw;
        }
        return 1;
    }

    /// The templates of each Einsum in an order that is drawn for the pass.
    void shuffle() {
        Rng rng(stream_seed(seed_, ~pass_));
        templates_.clear();
        for (std::uint32_t e = 0; e < space_->n_einsums(); ++e) {
            std::vector<std::uint32_t>& own = templates_.emplace_back(allocation_->unfused(e));
            for (std::size_t i = own.size(); i > 1; --i) {
                std::swap(own[i - 1], own[rng.below(i)]);
            }
        }
    }

    /// Of an Einsum in this pass.
    std::size_t n_loops() const {
        const std::size_t least = std::min(fewest, loops_);
        const std::size_t more = vain_ < patience ? 0 : most_more;
        return least + pass_ % (loops_ + more - least + 1);
    }

    /// False: enough passes found nothing better, or they have nothing to propose.
    bool next_pass() {
        vain_ = better_ ? 0 : vain_ + 1;
        better_ = false;
        unit_ = 0;
        ++pass_;
        shuffle();
        const bool idle = proposed_ == 0 && vain_ >= most_idle;
        proposed_ = vain_ >= most_idle ? 0 : proposed_;
        return !idle && (passes_ == 0 || vain_ < passes_);
    }

    /// The next template with its loops in their first order. False: there are no more.
    bool begin() {
        for (;; ++unit_) {
            base::poll_stop();
            if (unit_ == units_ && !next_pass()) {
                return false;
            }
            einsum_ = static_cast<std::uint32_t>(unit_ % space_->n_einsums());
            const std::vector<std::uint32_t>& templates = templates_[einsum_];
            const std::uint64_t which = unit_ / space_->n_einsums();
            Rng rng(stream_seed(stream_seed(seed_, pass_), unit_));
            if (which < templates.size() && allocation_->start(einsum_, templates[which], rng)) {
                tmpl_ = templates[which];
                order_ = allocation_->factors();
                merge_factors(order_, n_loops());
                seen_.clear();
                done_ = 0;
                begun_ = true;
                return true;
            }
        }
    }

    /// One order. \returns whether it gives a candidate: tile shapes that none before gave.
    bool next(Candidate& c) {
        if (done_ % 64 == 0) {
            base::poll_stop();
        }
        const std::vector<std::int64_t>& tiles = allocation_->allocate(order_);
        ++done_;
        const bool fresh = !tiles.empty() && seen_.insert(tiles).second;
        if (fresh) {
            ++proposed_;
            c.how = gave_up() ? Candidate::How::cross : Candidate::How::point;
            c.seed = stream_seed(stream_seed(seed_, pass_), unit_ * 1000003 + done_);
            c.point = allocation_->with(best_.point, einsum_, tmpl_, tiles);
            if (gave_up()) {
                c.mate = std::exchange(c.point, best_.point);
                c.einsum = einsum_;
                c.end = einsum_ + 1;
            }
        }
        if (!std::next_permutation(order_.begin(), order_.end())) {
            begun_ = false;
            ++unit_;
        }
        return fresh;
    }

    static constexpr std::uint64_t most_tries = 64, most_idle = 16, patience = 12;
    static constexpr std::size_t fewest = 4, most_more = 2;
    const std::size_t loops_;
    const std::uint64_t passes_;
    const Space* space_ = nullptr;
    std::unique_ptr<Allocation> allocation_;
    std::uint64_t seed_ = 0, tries_ = 0;
    Candidate best_;
    bool better_ = false;  // found in this pass
    // What is gone through: templates of all Einsums in turn.
    std::uint64_t pass_ = 0, vain_ = 0;  // passes in a row that found nothing better
    std::uint64_t proposed_ = 0;         // since as many passes as may be idle
    std::vector<std::vector<std::uint32_t>> templates_;
    std::uint64_t units_ = 0, unit_ = 0, done_ = 0;  // orders of this one
    bool begun_ = false;
    std::uint32_t einsum_ = 0, tmpl_ = 0;
    std::vector<LoopFactor> order_;
    std::set<std::vector<std::int64_t>> seen_;
};

TESSERA_PLUGIN(tessera::search::SearchStrategy, Loma, "loma",
               "all orders of loops, memories allocated from the inside out",
               "Symons, Mei, Verhelst, LOMA: Fast Auto-Scheduling on DNN Accelerators through "
               "Loop-Order-based Memory Allocation, AICAS 2021");

}  // namespace tessera::search
