#include "cutoffs.hpp"

#include <algorithm>
#include <iterator>

namespace tessera::ffm {
namespace {

constexpr double usual[] = {1e-5, 1e-3, 0.015, 0.08, 0.4};
/// Further on cutoffs grow by this factor, as long as the known mapping is at least as far above
/// the next one: a mapping of ten times the optimum leaves nearly all tile shapes, and all the
/// join.
constexpr double further = 1.5;
constexpr std::size_t most_further = 20;
constexpr double usual_of_partial_tiles[] = {0.01, 0.02, 0.045, 0.07, 0.1, 0.15,
                                             0.2,  0.3,  0.45,  0.7,  1.0};
/// Before these, where the known mapping is that close to the bound: what leaves it these gaps, or
/// the one that is asked for. Small steps up to there take a tenth of the time.
constexpr double usual_gaps[] = {0.05, 0.02}, near_bound = 1.08;
// A gap must not be missed for a rounding.
constexpr double gap_slack = 1e-3;
/// Parts of a run that begin a join in vain before lower cutoffs are tried.
constexpr int most_begun = 2;
/// Cutoffs this close to what is proven are not lowered any more.
constexpr double least_step = 1.001;

std::vector<double> gaps_of_cutoffs(double asked) {
    std::vector<double> out(std::begin(usual_gaps), std::end(usual_gaps));
    if (asked >= out.back()) {
        return {asked};  // others on the way would not end the search
    }
    if (asked > 0) {
        out.push_back(asked);
    }
    return out;
}

void add_further(double bound, double known, std::vector<double>& out) {
    double next = (1 + out.back()) * further;
    for (std::size_t i = 0; i < most_further && next * further * bound <= known; ++i) {
        out.push_back(next - 1);
        next *= further;
    }
}

}  // namespace

std::vector<double> cutoffs_above(double bound, double known) {
    std::vector<double> out(std::begin(usual), std::end(usual));
    add_further(bound, known, out);
    return out;
}

std::vector<double> partial_cutoffs_above(double bound, double known, double gap) {
    std::vector<double> out;
    if (known < bound * near_bound) {
        for (const double left : gaps_of_cutoffs(gap)) {
            const double excess = known * (1 - left * (1 - gap_slack)) / bound - 1;
            if (excess > 0) {
                out.push_back(excess);
            }
        }
    }
    std::ranges::copy_if(usual_of_partial_tiles, std::back_inserter(out),
                         [&](double g) { return out.empty() || g > out.back(); });
    add_further(bound, known, out);
    return out;
}

void CutoffLog::refute(double cutoff) {
    refuted_ = std::max(refuted_, cutoff);
}

bool CutoffLog::refuted_before(double cutoff) {
    if (cutoff > refuted_before_) {
        return false;
    }
    refute(cutoff);
    return true;
}

double CutoffLog::refuted_in_all() const {
    return std::max(refuted_, refuted_before_);
}

int CutoffLog::begun(double cutoff) const {
    const auto it = std::ranges::find(joins_, cutoff, &SavedJoin::cutoff);
    return it != joins_.end() ? it->begun : 0;
}

void CutoffLog::join_begins(double cutoff) {
    const int before = begun(cutoff);
    join_ended(cutoff);
    joins_.push_back({cutoff, before + 1});
}

void CutoffLog::join_ended(double cutoff) {
    std::erase_if(joins_, [&](const SavedJoin& join) { return join.cutoff == cutoff; });
}

double CutoffLog::lower_one(double cutoff, double proven) const {
    const bool again = begun(cutoff) >= most_begun && proven > 0 && cutoff > proven * least_step;
    return again ? proven + (cutoff - proven) / 2 : 0;
}

}  // namespace tessera::ffm
