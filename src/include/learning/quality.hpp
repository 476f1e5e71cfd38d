// How well a surrogate predicts samples that it was not trained on.
#pragma once

#include <vector>

#include "learning/samples.hpp"

namespace tessera::learning {

/// Spearman's rank correlation; equal values share their mean rank. 0 where one of them is constant.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

/// All of the EDP over its minimum.
struct Quality {
    double rank_correlation = 0;         ///< over all samples
    double median_rank_correlation = 0;  ///< over problems: of the samples of one
    double squared_error = 0;            ///< mean, of log2
};

/// \pre samples have the surrogate's layout and outputs, and there are some
Quality quality(const Surrogate& surrogate, const Samples& samples);

}  // namespace tessera::learning
