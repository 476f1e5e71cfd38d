// Costs below which an optimum is looked for, before everything below the incumbent is; and what
// came of it.
#pragma once

#include <vector>

#include "../saved.hpp"

namespace tessera::ffm {

/// By how much cutoffs are above the bound, ascending, as shares of it. `known`: cost of the
/// incumbent, infinite without one.
std::vector<double> cutoffs_above(double bound, double known);
/// With partial tiles, where a search below a cutoff can take longer than there is time: every one
/// that ends without a mapping is a better bound. `gap`: what is asked for, 0: a proof.
std::vector<double> partial_cutoffs_above(double bound, double known, double gap);

/// What searches below cutoffs have come to, in all parts of a run.
class CutoffLog {
public:
    CutoffLog() = default;
    CutoffLog(double refuted_before, std::vector<SavedJoin> joins)
        : refuted_before_(refuted_before), joins_(std::move(joins)) {}

    /// Nothing lies at or below the cutoff.
    void refute(double cutoff);
    /// The same, because an earlier part of the run has shown it. False: it has not.
    bool refuted_before(double cutoff);
    /// The largest cutoff below which this part has found nothing, or went past.
    double refuted() const {
        return refuted_;
    }
    /// In all parts.
    double refuted_in_all() const;

    /// How often the join below a cutoff was begun and not ended.
    int begun(double cutoff) const;
    void join_begins(double cutoff);
    void join_ended(double cutoff);
    /// The cutoff to try before this one, whose join is begun in vain again and again; 0: none.
    /// `proven`: a bound.
    double lower_one(double cutoff, double proven) const;

    const std::vector<SavedJoin>& joins() const {
        return joins_;
    }

private:
    double refuted_ = 0, refuted_before_ = 0;
    std::vector<SavedJoin> joins_;
};

}  // namespace tessera::ffm
