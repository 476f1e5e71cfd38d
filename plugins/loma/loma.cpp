// Strategy `loma`: all orders of loops, memories allocated from the inside out (Symons, Mei,
// Verhelst, LOMA, AICAS 2021; as in ZigZag).
//
// Idea    the loops of an Einsum are the prime factors of its rank variables, multiplied until
// `loops`
//         are left. Every order of them is tried; memories take as many of the innermost loops as
//         they hold. Einsum by Einsum, nothing is fused: a candidate changes one Einsum of the best
//         mapping. Which loops a memory's tensors see in which order is up to the templates, all of
//         which are gone through; arrays are filled first (search/allocation.hpp).
// State   which template of which Einsum, the order, the best mapping.
// Stops   when a pass over all of it finds nothing better.
#include <algorithm>
#include <memory>
#include <set>
#include <sstream>

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
                                      "(ZigZag: 6 to 9)")};
    }

    explicit Loma(const plugin::KnobValues& knobs)
        : loops_(static_cast<std::size_t>(knobs.integer("loops"))) {}

    std::string name() const override {
        return "loma";
    }
    bool ends() const override {
        return true;
    }

    void start(const Space& space, std::uint64_t seed) override {
        space_ = &space;
        seed_ = seed;
        allocation_ = std::make_unique<Allocation>(space);
        best_ = {};
        tries_ = unit_ = done_ = 0;
        better_ = false;
        begun_ = false;
        units_ = 0;
        for (std::uint32_t e = 0; e < space.n_einsums(); ++e) {
            units_ = std::max<std::uint64_t>(units_, allocation_->unfused(e).size());
        }
        units_ *= space.n_einsums();
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
            if (c.outcome.legal() &&
                (!best_.outcome.legal() || c.outcome.value < best_.outcome.value)) {
                better_ = better_ || c.how == Candidate::How::cross;
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
        out << tries_ << ' ' << unit_ << ' ' << done_ << ' ' << begun_ << ' ' << better_ << ' '
            << best_.outcome.legal() << ' ' << best_.outcome.value << ' ' << to_text(best_.point);
        return out.str();
    }

    bool restore(const std::string& state) override {
        std::istringstream in(state);
        std::uint64_t done = 0;
        bool begun = false, legal = false;
        std::string text;
        if (!(in >> tries_ >> unit_ >> done >> begun >> better_ >> legal >> best_.outcome.value) ||
            in.get() != ' ' || !std::getline(in, text) || !from_text(text, best_.point)) {
            return false;
        }
        if ((legal || begun) && !has_form_of(*space_, best_.point)) {
            return false;
        }
        best_.outcome.verdict = legal ? Verdict::legal : Verdict::not_evaluated;
        begun_ = false;
        if (begun) {
            if (unit_ >= units_ || !begin()) {
                return false;
            }
            Candidate ignored;
            while (begun_ && done_ < done) {
                next(ignored);
            }
        }
        return true;
    }

private:
    /// The first mapping: the nearest legal one to unfused templates without a look at memories.
    std::size_t found(Candidate& c) {
        Rng rng(stream_seed(seed_, tries_));
        c.seed = rng.next();
        c.how = Candidate::How::draw;
        if (tries_++ % 2 == 0) {
            c.point = {};
            for (std::uint32_t e = 0; e < space_->n_einsums(); ++e) {
                const auto& templates = allocation_->unfused(e);
                const std::uint32_t t = templates[rng.below(templates.size())];
                std::vector<std::int64_t> tiles;
                if (allocation_->start(e, t, rng)) {
                    tiles = allocation_->allocate(allocation_->factors());
                }
                tiles.resize(space_->tmpl(e, t).symbols.size(), 1);
                c.point.choices.push_back({t, 0});
                c.point.tiles.insert(c.point.tiles.end(), tiles.begin(), tiles.end());
            }
            c.how = Candidate::How::repair;
        }
        return 1;
    }

    /// The next template with its loops in their first order. False: there are no more.
    bool begin() {
        for (;; ++unit_) {
            base::poll_stop();
            if (unit_ == units_) {
                if (!better_) {
                    return false;
                }
                better_ = false;
                unit_ = 0;
            }
            einsum_ = static_cast<std::uint32_t>(unit_ % space_->n_einsums());
            const auto& templates = allocation_->unfused(einsum_);
            const std::uint64_t which = unit_ / space_->n_einsums();
            Rng rng(stream_seed(seed_, unit_));
            if (which < templates.size() && allocation_->start(einsum_, templates[which], rng)) {
                tmpl_ = templates[which];
                order_ = allocation_->factors();
                merge_factors(order_, loops_);
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
            c.how = Candidate::How::cross;
            c.seed = stream_seed(seed_, unit_ * 1000003 + done_);
            c.point = best_.point;
            c.mate = with(tiles);
            c.einsum = einsum_;
            c.end = einsum_ + 1;
        }
        if (!std::next_permutation(order_.begin(), order_.end())) {
            begun_ = false;
            ++unit_;
        }
        return fresh;
    }

    /// The best mapping with other tile shapes of the Einsum.
    Point with(const std::vector<std::int64_t>& tiles) const {
        Point point;
        point.order = best_.point.order;
        point.choices = best_.point.choices;
        point.choices[einsum_] = {tmpl_, 0};
        auto at = best_.point.tiles.begin();
        for (std::uint32_t e = 0; e < space_->n_einsums(); ++e) {
            const auto n = static_cast<std::ptrdiff_t>(
                space_->tmpl(e, best_.point.choices[e].tmpl).symbols.size());
            if (e == einsum_) {
                point.tiles.insert(point.tiles.end(), tiles.begin(), tiles.end());
            } else {
                point.tiles.insert(point.tiles.end(), at, at + n);
            }
            at += n;
        }
        return point;
    }

    const std::size_t loops_;
    const Space* space_ = nullptr;
    std::unique_ptr<Allocation> allocation_;
    std::uint64_t seed_ = 0, tries_ = 0;
    Candidate best_;
    bool better_ = false;  // found in this pass
    // What is gone through: templates of all Einsums in turn.
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
