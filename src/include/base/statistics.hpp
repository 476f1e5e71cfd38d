// Statistics of comparisons. Infinity is a value: a search that found nothing is worse than all
// that found something. Thread rule: pure.
#pragma once

#include <cstddef>
#include <vector>

namespace tessera::base {

/// The value below which a fraction of the values lies, between neighbours by straight lines;
/// infinity if one of them is, or without values. `fraction` from 0 to 1.
double quantile(std::vector<double> values, double fraction);

/// exp(mean(log(value + shift))) - shift: a mean of times that neither the longest nor the shortest
/// decide alone. Infinity if a value is. \pre values >= 0, shift > 0, at least one value
/// Source: Achterberg, "Constraint Integer Programming", 2007, appendix A.3.
double shifted_geometric_mean(const std::vector<double>& values, double shift);

struct SignedRanks {
    std::size_t n = 0;  ///< differences that are not zero
    double plus = 0;    ///< sum of the ranks of differences above zero
    double minus = 0;
    /// Chance of a sum that is at least this far from the middle, if both signs were as likely.
    double p = 1;
    /// (plus - minus) / (plus + minus), from -1 to 1: matched-pairs rank-biserial correlation.
    double effect = 0;
};

/// Wilcoxon's signed-rank test, two-sided. Zeros are left out, equal sizes share their mean rank.
/// Exact over all signs for these ranks up to `most_exact` differences; for more the normal
/// approximation with corrections for ties and continuity. Infinite differences are the largest.
/// Source: Wilcoxon, "Individual Comparisons by Ranking Methods", Biometrics Bulletin, 1945.
SignedRanks signed_rank_test(const std::vector<double>& differences);
inline constexpr std::size_t most_exact = 60;

/// Adjusted p-values in the order given: what is below a level is significant at that level for the
/// whole family. Source: Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scand. J.
/// Statistics, 1979.
std::vector<double> holm(const std::vector<double>& p);

/// Of each row the share of columns whose value is at most `factor` times the least of the column;
/// a column without any finite value counts for nobody. `values[row][column]`, all rows as long.
/// Source: Dolan and More, "Benchmarking optimization software with performance profiles",
/// Mathematical Programming, 2002.
std::vector<double> performance_profile(const std::vector<std::vector<double>>& values,
                                        double factor);

}  // namespace tessera::base
