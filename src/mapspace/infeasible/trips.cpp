// Which trip counts there are, whatever else holds.
#include <algorithm>
#include <cmath>
#include <set>

#include "spec/quantities.hpp"
#include "tessera/base/divisors.hpp"
#include "wording.hpp"

namespace tessera::mapspace::infeasible {
namespace {

/// More counts are not listed.
constexpr std::size_t most_counts = 4096;

std::string count(double value) {
    return spec::number_text(value);
}

/// Products of trips of whole tiles over these variables.
std::set<double> whole_trips(const workload::EinsumView& einsum, arch::RankVariableMask variables) {
    std::set<double> counts{1};
    for (; variables != 0; variables &= variables - 1) {
        const std::int64_t bound =
            einsum.rank_variables[static_cast<std::size_t>(__builtin_ctzll(variables))].bound;
        std::set<double> next;
        for (const std::int64_t divisor : base::divisors(bound)) {
            for (const double other : counts) {
                next.insert(other * static_cast<double>(divisor));
            }
        }
        counts = std::move(next);
        if (counts.size() > most_counts) {
            return {};
        }
    }
    return counts;
}

double most_trips(const workload::EinsumView& einsum, arch::RankVariableMask variables) {
    double most = 1;
    for (; variables != 0; variables &= variables - 1) {
        most *= static_cast<double>(
            einsum.rank_variables[static_cast<std::size_t>(__builtin_ctzll(variables))].bound);
    }
    return most;
}

std::string names_with_values(const workload::EinsumView& einsum,
                              arch::RankVariableMask variables) {
    std::string text;
    for (; variables != 0; variables &= variables - 1) {
        const workload::LocalRankVariable& v =
            einsum.rank_variables[static_cast<std::size_t>(__builtin_ctzll(variables))];
        text += (text.empty() ? "" : ", ") + v.name + " has " + values_text(v.bound);
    }
    return text;
}

/// "2 or 4": the counts next to the value that none of them is.
std::string next_to(const std::set<double>& counts, double value) {
    const auto above = counts.lower_bound(value);
    std::string text;
    if (above != counts.begin()) {
        text = count(*std::prev(above));
    }
    if (above != counts.end()) {
        text += (text.empty() ? "" : " or ") + count(*above);
    }
    return text;
}

std::string beyond_reach(const workload::EinsumView& einsum, arch::RankVariableMask variables,
                         const arch::LoopBound& bound, const MapSpaceOptions& options) {
    const double most = most_trips(einsum, variables);
    const bool has_one = base::holds(bound.op, 1, bound.value);
    if (has_one || base::holds(bound.op, most, bound.value)) {
        return "";
    }
    const std::string but = ", but " + names_with_values(einsum, variables);
    using Op = arch::LoopBound::Op;
    if (bound.op == Op::less || bound.op == Op::less_equal) {
        return ", but there is at least 1 trip";
    }
    if (bound.op != Op::equal || bound.value > most || bound.value < 1) {
        return but + (variables & (variables - 1) ? ", at most " + count(most) + " together" : "");
    }
    const std::set<double> counts = whole_trips(einsum, variables);
    if (options.partial_tiles() || counts.empty() || counts.contains(bound.value)) {
        return "";
    }
    return but + ", which whole tiles split into " + next_to(counts, bound.value) + " trips, not " +
           count(bound.value) + " (--imperfect-spatial: partial tiles, too)";
}

}  // namespace

std::string values_text(std::int64_t values) {
    return std::to_string(values) + (values == 1 ? " value" : " values");
}

std::string trips_beyond_reach(const workload::EinsumView& einsum, const arch::LoopBound& bound,
                               const MapSpaceOptions& options) {
    if (bound.product) {
        return beyond_reach(einsum, bound.variables, bound, options);
    }
    for (arch::RankVariableMask rest = bound.variables; rest != 0; rest &= rest - 1) {
        const std::string text = beyond_reach(einsum, rest & -rest, bound, options);
        if (!text.empty()) {
            return text;
        }
    }
    return "";
}

}  // namespace tessera::mapspace::infeasible
