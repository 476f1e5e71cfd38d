// Mappers on a field of instances with several seeds: what the searches came to, and what that
// says.
#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "base/statistics.hpp"
#include "cli/compare/comparison.hpp"
#include "io/json_text.hpp"

namespace tessera::cli {

/// A mapping that somebody else found.
struct FieldMapping {
    std::string name;  ///< who
    std::string file;
    double time_s = 0;  ///< how long that took, as far as it was told
};

struct FieldInstance {
    std::string name, architecture, workload;
    std::vector<std::pair<std::string, std::string>> defines;
    std::vector<std::string> start = {};  ///< mappings that all searches begin with
    std::vector<FieldMapping> given = {};
    bool timeloop = false;                   ///< the files are Timeloop's
    std::vector<std::string> warnings = {};  ///< what its files say without effect
};

struct Field {
    std::vector<FieldInstance> instances;
    std::vector<std::string> mappers;  ///< those that search, then those whose mappings are given
    std::uint64_t first_seed = 0, n_seeds = 1;
    std::string metric;
    /// The searches were limited by CPU time: times are of CPU, so that a busy machine says the
    /// same.
    bool cpu_time = false;
    std::vector<Trial> trials;  ///< by instance, then mapper, then seed

    std::size_t index(std::size_t instance, std::size_t mapper, std::size_t seed) const {
        return (instance * mappers.size() + mapper) * n_seeds + seed;
    }
    std::size_t instance_of(std::size_t search) const {
        return search / n_seeds / mappers.size();
    }
    std::size_t mapper_of(std::size_t search) const {
        return search / n_seeds % mappers.size();
    }
    std::size_t seed_of(std::size_t search) const {
        return search % n_seeds;
    }
    const Trial& at(std::size_t instance, std::size_t mapper, std::size_t seed) const {
        return trials[index(instance, mapper, seed)];
    }
    /// The least value that anybody found; infinity: none.
    double best(std::size_t instance) const;
    /// The highest bound that anybody proved; the value if somebody proved it best.
    std::optional<double> bound(std::size_t instance) const;
    double longest_s() const;
    /// Seconds until a trial was at the goal, by the clock of the comparison.
    std::optional<double> time_to(const Trial& trial, double goal) const {
        return trial.time_to(goal, cpu_time);
    }
    /// "to 1 %" with what the time is of, if it is not the wall clock.
    std::string time_label(const std::string& label) const {
        return cpu_time ? label + ", CPU" : label;
    }
};

/// Values that differ less are the same: mappers add up costs in orders of their own.
inline constexpr double same_value = 1e-9;
inline constexpr double field_evidence = 0.05;

/// One mapper over all instances and seeds. See docs/comparison-method.md.
struct FieldStanding {
    std::size_t mapper = 0;
    std::size_t ran = 0, found = 0, proven = 0, failed = 0, best = 0;
    double ratio = 0;              ///< geometric mean of value / best of the instance
    std::vector<double> within_s;  ///< shifted geometric means: 1, 5, 10 %
    std::vector<double> reached;   ///< share of searches that came within 1, 5, 10 %
    double gap = 0;                ///< median gap to the bound; infinity: no bound
    double valid_share = 0;        ///< median; negative: unknown
    double memory_bytes = 0;       ///< most
    Preparation preparation;       ///< medians
};

/// One test of two mappers; p_holm is adjusted after Holm for all pairs of the family.
struct FieldTest {
    base::SignedRanks ranks;
    double p_holm = 1;

    bool is_evidence() const {
        return p_holm < field_evidence;
    }
};

/// What two mappers are compared by: over all searches, which says something of these instances,
/// and over instances by the medians of their seeds, which says something of others like them.
struct FieldTests {
    FieldTest searches, instances;
};

struct FieldPair {
    std::size_t a = 0, b = 0;
    FieldTests value, time;
};

/// "better", "worse" or "no evidence": a than b.
const char* quality(const FieldTest& test);
/// "faster", "slower" or "no evidence"
const char* speed(const FieldTest& test);

/// Best ratio first; of mappers that did not always find a mapping, who found more.
std::vector<FieldStanding> field_standings(const Field& field);
std::vector<FieldPair> field_pairs(const Field& field);
/// Share of instances and seeds at which the row's mapper found less than the column's.
std::vector<std::vector<double>> win_matrix(const Field& field);

io::Json field_json(const Field& field);
void print_field(std::ostream& out, const Field& field);
std::string trials_csv(const Field& field);
/// One page without anything from elsewhere.
std::string field_html(const Field& field);

}  // namespace tessera::cli
