// Costs and legality of points, by the templates' formulas.
//
// What was found out of the last point is kept: only Einsums that differ from it are looked up,
// only those that find other loops open are joined anew, and what they reserve together is summed
// up only if somebody else can see the difference. Nothing of it alters a bit of an outcome.
#pragma once

#include <cstdint>
#include <vector>

#include "joint_capacity.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/search/space_worker.hpp"

namespace tessera::search {

/// The outcome of the first legal point that `attempt` makes and `evaluate` looks at; of the others
/// it is counted what they came to.
template <class Attempt, class Evaluate>
Outcome first_legal(int attempts, SpaceWorker::Failures& failures, const Attempt& attempt,
                    const Evaluate& evaluate) {
    for (int i = 0; i < attempts; ++i) {
        base::poll_stop();
        const Outcome outcome = attempt() ? evaluate() : Outcome{Verdict::incompatible};
        if (outcome.legal()) {
            return outcome;
        }
        ++failures[static_cast<std::size_t>(outcome.verdict)];
    }
    return {Verdict::no_point};
}

/// Scratch of one thread.
class Evaluation {
public:
    Evaluation(const OpenSpace::Data& space, Joiner& joiner)
        : space_(space),
          joiner_(joiner),
          memo_(space),
          capacity_(space),
          links_(space.einsums.size()) {}

    Outcome evaluate(const Point& point);

    /// Whether the point's Einsums are legal each by itself, and join.
    Verdict follow(const Point& point);
    /// Of a point for which follow() said legal, one per Einsum. Valid until the next call.
    const std::vector<Link>& links() const {
        return links_;
    }

    /// Whether the Einsums of the point that was evaluated last are legal each by itself, and join.
    bool joined() const {
        return joined_;
    }
    /// If they do: the most that each memory holds.
    const std::vector<Peak>& peaks() {
        capacity_.peaks(links_, peaks_);
        return peaks_;
    }

    EinsumMemo& memo() {
        return memo_;
    }
    /// Counts as work what a legal point would be that is known to be one.
    void count_known() {
        work_ += links_.size();
    }
    /// Tile shapes that were tried since the last call.
    std::uint64_t take_work();

private:
    Verdict look_up(std::size_t einsum, std::uint32_t tmpl, const std::int64_t* tiles,
                    std::size_t n_tiles);
    bool join(std::size_t einsum, std::uint32_t join);

    const OpenSpace::Data& space_;
    Joiner& joiner_;
    EinsumMemo memo_;
    JointCapacity capacity_;
    std::vector<Link> links_;  // each true by itself, whatever became of the point
    Followed followed_;
    bool joined_ = false;
    std::vector<Peak> peaks_;
    std::uint64_t work_ = 0;
};

}  // namespace tessera::search
