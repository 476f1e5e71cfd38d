// What a state and an Einsum more hold in one memory: see join.hpp for the columns, coexistence.hpp
// for the arithmetic. Joined held from left held, the right Einsum's cumulative occupancies and
// what both sides hold; joined peak from left peak likewise.
#pragma once

#include <algorithm>
#include <vector>

#include "mapspace/join_state.hpp"
#include "tessera/model/coexistence.hpp"

namespace tessera::mapspace::detail {

/// Its vectors are scratch: no allocation per pair. `Layout`: of the left state's rows.
template <class Layout>
class HeldTogether {
public:
    /// `reference_sizes`: see JoinOptions::reference_rules. All must outlive it.
    HeldTogether(const JoinPlan& plan, const Layout& left, const PmappingGroup& right,
                 bool reference_sizes)
        : plan_(plan),
          left_(left),
          right_(right),
          reference_sizes_(reference_sizes),
          shared_(static_cast<std::size_t>(plan.n_left + 2)),
          joined_(static_cast<std::size_t>(plan.n_right + 2)),
          peak_(static_cast<std::size_t>(std::max(plan.n_open, plan.n_left) + 1)) {}

    /// Of memory m, for a pair of rows.
    void find(int m, const double* l, const double* r) {
        find_shared(m, l, r);
        const model::Appended all{&l[left_.held(m, 0)], &r[right_.occupancy_column(m, 0)],
                                  shared_.data() + 1, plan_.n_left};
        double* joined = joined_.data() + 1;  // index -1..n
        for (int d = -1; d <= plan_.n_right; ++d) {
            joined[d] = all.held(d);
        }
        std::fill(peak_.begin(), peak_.end(), 0.0);
        for (int d = 0; d <= plan_.n_left; ++d) {
            double& target = peak_[static_cast<std::size_t>(std::min(d, plan_.n_open))];
            target = std::max(target, all.peak(l[left_.peak(m, d)], d));
        }
    }

    /// By all together at depth <= d, from -1 to the loops of the right group.
    double held(int d) const {
        return joined_[static_cast<std::size_t>(d + 1)];
    }
    /// By both sides.
    double shared() const {
        return shared_.back();
    }
    /// By finished branches below d open loops; no suffix maxima yet.
    std::vector<double>& peak() {
        return peak_;
    }
    /// By what is live below all open loops.
    double live(int m, const double* l, const double* r) const {
        double bits = held(plan_.n_open - 1);
        for (const SizeSource& z : plan_.sizes) {
            if (z.tracked == m && z.level == plan_.n_open && z.counts) {
                bits += size_of(l, r, z);
            }
        }
        return bits;
    }
    /// Size of a live tensor. Its users may see boxes of different size (halo, broadcast copies):
    /// the largest counts, in the reference the first user's.
    double size_of(const double* l, const double* r, const SizeSource& z) const {
        const double before = z.left >= 0 ? l[left_.size(z.left)] : 0.0;
        if (z.right < 0 || (z.left >= 0 && reference_sizes_)) {
            return before;
        }
        return std::max(before, r[right_.size_column(z.right)]);
    }

private:
    void find_shared(int m, const double* l, const double* r) {
        std::fill(shared_.begin(), shared_.end(), 0.0);
        for (const SharedTensor& x : plan_.shared) {
            if (x.tracked != m) {
                continue;
            }
            const double before = l[left_.size(x.left_index)];
            const double twice =
                reference_sizes_ ? before : std::min(before, r[right_.size_column(x.right_index)]);
            for (int d = x.level; d <= plan_.n_left; ++d) {
                shared_[static_cast<std::size_t>(d + 1)] += twice;
            }
        }
    }

    const JoinPlan& plan_;
    const Layout& left_;
    const PmappingGroup& right_;
    const bool reference_sizes_;
    std::vector<double> shared_, joined_, peak_;
};

}  // namespace tessera::mapspace::detail
