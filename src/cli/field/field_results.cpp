#include "field_results.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::cli {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double closeness[] = {1.01, 1.05, 1.1};
constexpr double shift_s = 0.1;

double value_of(const Trial& trial) {
    return trial.value.value_or(infinity);
}

/// -1: a is less, 1: more, 0: the same up to rounding. Infinity is more than all else.
int compared(double a, double b) {
    const bool finite = std::isfinite(a) && std::isfinite(b);
    if (a == b || (finite && std::abs(a - b) <= same_value * std::abs(b))) {
        return 0;
    }
    return a < b ? -1 : 1;
}

double log_ratio(double a, double b) {
    if (compared(a, b) == 0) {
        return 0;
    }
    return std::isinf(a) ? infinity : std::isinf(b) ? -infinity : std::log(a / b);
}

double time_within(const Field& field, const Trial& trial, double goal) {
    return field.time_to(trial, goal * (1 + same_value)).value_or(infinity);
}

FieldStanding standing(const Field& field, std::size_t mapper) {
    FieldStanding s;
    s.mapper = mapper;
    std::vector<double> logs, gaps, valid, trained_on, tuned_by, tuned_s;
    std::vector<std::vector<double>> times(std::size(closeness));
    s.reached.assign(std::size(closeness), 0);
    const double longest_s = field.longest_s();
    for (std::size_t i = 0; i < field.instances.size(); ++i) {
        const double best = field.best(i);
        const std::optional<double> bound = field.bound(i);
        for (std::size_t seed = 0; seed < field.n_seeds; ++seed) {
            const Trial& trial = field.at(i, mapper, seed);
            if (trial.status == Trial::Status::not_run) {
                continue;
            }
            ++s.ran;
            s.found += trial.found();
            s.proven += trial.status == Trial::Status::optimal;
            s.failed += trial.status == Trial::Status::failed;
            s.best += trial.found() && compared(*trial.value, best) == 0;
            s.memory_bytes = std::max(s.memory_bytes, static_cast<double>(trial.memory_bytes));
            trained_on.push_back(static_cast<double>(trial.preparation.trained_on));
            tuned_by.push_back(static_cast<double>(trial.preparation.tuned_by));
            tuned_s.push_back(trial.preparation.tuned_s);
            if (trial.generated > 0) {
                valid.push_back(static_cast<double>(trial.evaluated) /
                                static_cast<double>(std::max(trial.generated, trial.evaluated)));
            }
            if (!std::isfinite(best)) {
                continue;  // nobody found anything: says nothing of anybody
            }
            logs.push_back(std::log(value_of(trial) / best));
            const double value = value_of(trial);
            gaps.push_back(bound && std::isfinite(value) ? std::max(0.0, (value - *bound) / value)
                                                         : infinity);
            for (std::size_t c = 0; c < std::size(closeness); ++c) {
                const double time_s = time_within(field, trial, best * closeness[c]);
                s.reached[c] += std::isfinite(time_s);
                times[c].push_back(std::isfinite(time_s) ? time_s : longest_s);
            }
        }
    }
    double sum = 0;
    for (const double value : logs) {
        sum += value;
    }
    s.ratio = logs.empty() ? infinity : std::exp(sum / static_cast<double>(logs.size()));
    for (std::size_t c = 0; c < std::size(closeness); ++c) {
        s.within_s.push_back(times[c].empty() ? infinity
                                              : base::shifted_geometric_mean(times[c], shift_s));
        s.reached[c] /= static_cast<double>(std::max<std::size_t>(1, times[c].size()));
    }
    s.gap = base::quantile(gaps, 0.5);
    s.valid_share = valid.empty() ? -1 : base::quantile(valid, 0.5);
    if (!trained_on.empty()) {
        s.preparation = {static_cast<std::uint64_t>(base::quantile(trained_on, 0.5)),
                         static_cast<std::uint64_t>(base::quantile(tuned_by, 0.5)),
                         base::quantile(tuned_s, 0.5)};
    }
    return s;
}

FieldPair pair_of(const Field& field, std::size_t a, std::size_t b) {
    std::vector<double> values, times, median_values, median_times;
    for (std::size_t i = 0; i < field.instances.size(); ++i) {
        const double goal = field.best(i) * closeness[0];
        std::vector<double> value_a, value_b, time_a, time_b;
        for (std::size_t seed = 0; seed < field.n_seeds; ++seed) {
            const Trial &one = field.at(i, a, seed), &other = field.at(i, b, seed);
            if (one.status == Trial::Status::not_run || other.status == Trial::Status::not_run) {
                continue;
            }
            value_a.push_back(value_of(one));
            value_b.push_back(value_of(other));
            time_a.push_back(time_within(field, one, goal));
            time_b.push_back(time_within(field, other, goal));
            values.push_back(log_ratio(value_a.back(), value_b.back()));
            times.push_back(log_ratio(time_a.back(), time_b.back()));
        }
        if (!value_a.empty()) {
            median_values.push_back(
                log_ratio(base::quantile(value_a, 0.5), base::quantile(value_b, 0.5)));
            median_times.push_back(
                log_ratio(base::quantile(time_a, 0.5), base::quantile(time_b, 0.5)));
        }
    }
    FieldPair pair{a, b, {}, {}};
    pair.value.searches.ranks = base::signed_rank_test(values);
    pair.value.instances.ranks = base::signed_rank_test(median_values);
    pair.time.searches.ranks = base::signed_rank_test(times);
    pair.time.instances.ranks = base::signed_rank_test(median_times);
    return pair;
}

/// Adjusts one test of all pairs.
void adjust(std::vector<FieldPair>& pairs, FieldTests FieldPair::*what,
            FieldTest FieldTests::*over) {
    std::vector<double> p;
    for (const FieldPair& pair : pairs) {
        p.push_back((pair.*what.*over).ranks.p);
    }
    p = base::holm(p);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        (pairs[i].*what.*over).p_holm = p[i];
    }
}

}  // namespace

double Field::best(std::size_t instance) const {
    double best = infinity;
    for (std::size_t m = 0; m < mappers.size(); ++m) {
        for (std::size_t s = 0; s < n_seeds; ++s) {
            best = std::min(best, value_of(at(instance, m, s)));
        }
    }
    return best;
}

std::optional<double> Field::bound(std::size_t instance) const {
    std::optional<double> bound;
    for (std::size_t m = 0; m < mappers.size(); ++m) {
        for (std::size_t s = 0; s < n_seeds; ++s) {
            const Trial& trial = at(instance, m, s);
            const bool proven = trial.status == Trial::Status::optimal && trial.value;
            const std::optional<double> own = proven ? trial.value : trial.bound;
            if (own && (!bound || *own > *bound)) {
                bound = own;
            }
        }
    }
    return bound;
}

double Field::longest_s() const {
    double longest = 0;
    for (const Trial& trial : trials) {
        longest = std::max(longest, cpu_time ? trial.cpu_s : trial.wall_s);
    }
    return longest;
}

const char* quality(const FieldTest& test) {
    return !test.is_evidence() ? "no evidence" : test.ranks.effect < 0 ? "better" : "worse";
}

const char* speed(const FieldTest& test) {
    return !test.is_evidence() ? "no evidence" : test.ranks.effect < 0 ? "faster" : "slower";
}

std::vector<FieldStanding> field_standings(const Field& field) {
    std::vector<FieldStanding> all;
    for (std::size_t m = 0; m < field.mappers.size(); ++m) {
        all.push_back(standing(field, m));
    }
    std::stable_sort(all.begin(), all.end(), [](const FieldStanding& a, const FieldStanding& b) {
        return a.ratio < b.ratio || (a.ratio == b.ratio && a.found > b.found);
    });
    return all;
}

std::vector<FieldPair> field_pairs(const Field& field) {
    std::vector<FieldPair> pairs;
    for (std::size_t a = 0; a < field.mappers.size(); ++a) {
        for (std::size_t b = a + 1; b < field.mappers.size(); ++b) {
            pairs.push_back(pair_of(field, a, b));
        }
    }
    for (const auto what : {&FieldPair::value, &FieldPair::time}) {
        adjust(pairs, what, &FieldTests::searches);
        adjust(pairs, what, &FieldTests::instances);
    }
    return pairs;
}

std::vector<std::vector<double>> win_matrix(const Field& field) {
    const std::size_t n = field.mappers.size();
    std::vector<std::vector<double>> wins(n, std::vector<double>(n));
    const double share =
        1.0 / static_cast<double>(std::max<std::size_t>(1, field.instances.size() * field.n_seeds));
    for (std::size_t i = 0; i < field.instances.size(); ++i) {
        for (std::size_t seed = 0; seed < field.n_seeds; ++seed) {
            for (std::size_t a = 0; a < n; ++a) {
                for (std::size_t b = 0; b < n; ++b) {
                    const bool less = compared(value_of(field.at(i, a, seed)),
                                               value_of(field.at(i, b, seed))) < 0;
                    wins[a][b] += less ? share : 0;
                }
            }
        }
    }
    return wins;
}

}  // namespace tessera::cli
