// What `tessera compare` says: a table for people, one document, files.
#pragma once

#include <iosfwd>
#include <map>
#include <string>

#include "comparison.hpp"
#include "io/report_json.hpp"

namespace tessera::cli {

/// What was compared on.
struct ComparisonSubject {
    std::string workload, architecture, model, mapspace, metric;  ///< metric: "edp"
    std::string value_unit, energy_unit, latency_unit;  ///< "J s", "J", "s"; empty: arbitrary
    std::string value_key, latency_key;                 ///< "edp_js", "latency_s"
    int threads = 0;
    std::string switches = {};  ///< of the mapspace, those that are not its preset's
};

/// One contender over its seeds. Medians count a search without a mapping as infinitely bad; its
/// times and counts are of all searches that ran.
struct Standing {
    const Contender* contender = nullptr;
    int rank = 1;       ///< by the median, then by `later`; equal ones share it
    bool tied = false;  ///< somebody else has this rank, too
    int ran = 0, found = 0, proven = 0, failed = 0;
    double median = 0, least = 0, most = 0;  ///< value; infinity: none
    double later = 0;                        ///< by the later metric, of the median
    double wall_s = 0, best_s = 0;           ///< medians; best_s: until its own best
    double evaluated = 0;                    ///< median
    std::optional<double> bound, gap;        ///< highest bound, median gap
    double wins = 0;  ///< seeds at which nobody was better by both metrics; ties are shared
    /// Chance of values that differ this much from the first-ranked one's if both drew from the
    /// same distribution (two-sided U test); empty: fewer than five seeds.
    std::optional<double> p;
    const Trial* best = nullptr;  ///< its best trial; null: none found
};

/// Fewer seeds give no test.
inline constexpr int fewest_seeds_for_test = 5;

/// Infinity counts as a value; infinity if there are none.
double median(std::vector<double> values);

/// Best median first; of equal medians (up to rounding) the best by the later metric; of those that
/// are equal by it, too, proven or not, the one that was given first. Those without a mapping are
/// last.
std::vector<Standing> standings(const Comparison& comparison);

/// Moments at which contenders are compared: 1, 3, 10, 30, ... ms up to the longest search.
std::vector<double> moments(const Comparison& comparison);

io::Json comparison_json(const Comparison& comparison, const ComparisonSubject& subject);
void print_comparison(std::ostream& out, const Comparison& comparison,
                      const ComparisonSubject& subject);
/// result.json, curves.csv, and of each contender the best mapping.
std::map<std::string, std::string> comparison_files(const Comparison& comparison,
                                                    const ComparisonSubject& subject);
/// 0; 1, 5: nobody found a mapping; 4: some contender failed. \p interrupted: 130.
int comparison_exit_code(const Comparison& comparison, bool interrupted);

}  // namespace tessera::cli
