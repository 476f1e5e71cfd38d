// Role contract SearchStrategy: proposes points of a mapspace and is told what they cost.
//
// The mapper `search` runs a strategy: it asks for a batch, evaluates the batch on all threads,
// tells the outcomes, and repeats until the budget is used up or the strategy has nothing left to
// propose. A strategy never evaluates, never prints, and knows neither threads nor time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tessera/search/space.hpp"

namespace tessera::search {

/// One proposal, and its outcome once it is told.
///
/// But for How::point the host makes the point, legal by construction, from `seed`. Where it finds
/// none after a few attempts the verdict is no_point, and `point` is what it was.
struct Candidate {
    enum class How : std::uint8_t {
        point,  ///< evaluate `point` as it stands; it must be a point of the space (space.hpp)
        draw,   ///< a random legal point, uniform over structures
        move,   ///< `move` makes it from `point`, a legal point, beginning at Einsum `einsum`
        cross,  ///< `point` takes the Einsums [einsum, end) of `mate`; both are points of the space
        repair,  ///< a legal point near `point`, a point of the space that need not be legal
    };
    How how = How::draw;
    Move move = Move::factor;
    std::uint32_t einsum = 0, end = 0;
    std::uint64_t seed = 0;
    Point point;  ///< when told: the point that was evaluated, drawn ones included
    Point mate;
    /// Of which `point` and `mate` are; null: the one that is searched (which is told as null even
    /// if it is named). What is found in another one (Space::with_bounds) is told, and is no
    /// mapping of the problem.
    const Space* space = nullptr;
    Outcome outcome;
};

/// Mappings that were evaluated for something else than their value. Charged apart where strategies
/// are compared.
struct Preparation {
    std::uint64_t trained_on = 0;  ///< before the search, to make what it goes by
    std::uint64_t tuned_by = 0;    ///< in the search, by which it set itself
};

/// Thread rule: one thread at a time. Same seed and same outcomes: same proposals.
class SearchStrategy {
public:
    virtual ~SearchStrategy() = default;
    virtual std::string name() const = 0;

    /// Called once, before everything else. `space` outlives the strategy.
    virtual void start(const Space& space, std::uint64_t seed) = 0;

    /// Fills the first candidates of `batch` (all fields but `outcome`; a candidate holds what the
    /// last batch left in it) and returns how many, at most batch.size(). 0: nothing left.
    virtual std::size_t ask(std::span<Candidate> batch) = 0;

    /// The outcomes of the last batch, in its order. After a stop some are `not_evaluated`.
    virtual void tell(std::span<const Candidate> batch) = 0;

    /// After ask() returned 0: every legal point of the space has been proposed, so that the best
    /// one is optimal.
    virtual bool exhausted() const {
        return false;
    }

    /// How many proposals the strategy has use for at a time; 0: as many as there is room for. The
    /// host runs a strategy that works on few at a time as islands: several objects, each with a
    /// seed of its own, so that all threads have work.
    virtual std::size_t width() const {
        return 0;
    }

    /// Before ask(): the fraction of the budget that is used up, by evaluations or time; it never
    /// falls. Negative: there is no such limit.
    virtual void budget_used(double fraction) {
        static_cast<void>(fraction);
    }

    /// The best point of all islands, legal, told now and then to those that did not find it.
    virtual void immigrate(const Candidate& best) {
        static_cast<void>(best);
    }

    /// True: ask() returns 0 after finitely many proposals, so that no budget is needed.
    virtual bool ends() const {
        return false;
    }

    /// So far.
    virtual Preparation preparation() const {
        return {};
    }

    /// State after the last tell(), from which a new object of the same space and seed can go on
    /// with the same proposals. Empty: it cannot be saved, a resumed search starts over.
    virtual std::string save() const {
        return "";
    }
    /// Called after start() with what save() gave. False: not understood.
    virtual bool restore(const std::string& state) {
        static_cast<void>(state);
        return false;
    }
};

}  // namespace tessera::search
