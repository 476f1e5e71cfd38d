// Which neighbours of a LoopTree run at once: by dynamic programming over the Einsums in order, as
// what a pipeline takes and holds does not depend on other pipelines.
#include "model/overlap.hpp"

#include <algorithm>
#include <optional>

#include "model/rounds.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapping/assemble.hpp"
#include "tessera/model/pipelines.hpp"

namespace tessera::model {

namespace {

/// Loops that Einsum i and i + 1 share; none before the first and after the last.
int loops_after(const std::vector<int>& shared, int i) {
    const bool inside = 0 <= i && i < static_cast<int>(shared.size());
    return inside ? shared[static_cast<std::size_t>(i)] : 0;
}

/// Neighbouring branches of one split that run one Einsum each.
bool are_branches(const std::vector<int>& shared, const Range& range) {
    const int loops = loops_after(shared, range.begin);
    for (int i = range.begin; i + 1 < range.end; ++i) {
        if (loops_after(shared, i) != loops) {
            return false;
        }
    }
    return loops_after(shared, range.begin - 1) <= loops &&
           loops_after(shared, range.end - 1) <= loops;
}

/// Latency of the range at once, nothing if it does not fit.
std::optional<double> at_once_s(const workload::Workload& workload, const std::vector<Part>& parts,
                                const std::vector<int>& shared, const Range& range) {
    try {
        return run_pipeline(workload, parts, shared, range).pipeline.latency_s;
    } catch (const IllegalMapping&) {
        return std::nullopt;
    }
}

}  // namespace

Overlapped best_overlap(const Problem& problem, const mapping::Mapping& mapping,
                        const Report& report) {
    const std::vector<mapping::EinsumMapping> chains =
        mapping::split(mapping, *problem.paths_or_new());
    const std::vector<Part> parts = parts_of(chains, report);
    const std::vector<int> shared = shared_loops(parts);
    const int n = static_cast<int>(parts.size());
    Overlapped result;
    struct Best {
        double latency_s = 0;
        int begin = 0;  ///< of the last range
    };
    std::vector<Best> best(static_cast<std::size_t>(n) + 1);
    for (int end = 1; end <= n; ++end) {
        Best& here = best[static_cast<std::size_t>(end)];
        const auto before = [&](int begin) {
            return best[static_cast<std::size_t>(begin)].latency_s;
        };
        here = {before(end - 1) + report.einsums[static_cast<std::size_t>(end) - 1].latency_s,
                end - 1};
        for (int begin = end - 2; begin >= 0; --begin) {
            const Range range{begin, end};
            if (loops_after(shared, begin) != loops_after(shared, end - 2) ||
                parts[static_cast<std::size_t>(begin)].einsum->n_instances !=
                    parts[static_cast<std::size_t>(end) - 1].einsum->n_instances) {
                break;
            }
            if (end - begin > static_cast<int>(most_branches)) {
                result.complete = false;
                break;
            }
            if (!are_branches(shared, range)) {
                continue;
            }
            if (const auto latency_s = at_once_s(*problem.workload, parts, shared, range);
                latency_s && before(begin) + *latency_s < here.latency_s * (1 - 1e-12)) {
                here = {before(begin) + *latency_s, begin};
            }
        }
    }
    result.latency_s = best.back().latency_s;
    result.mapping = mapping;
    for (int end = n; end > 0; end = best[static_cast<std::size_t>(end)].begin) {
        std::vector<std::string> einsums;
        for (int i = best[static_cast<std::size_t>(end)].begin; i < end; ++i) {
            einsums.push_back(parts[static_cast<std::size_t>(i)].einsum->name);
        }
        if (einsums.size() > 1) {
            mapping::run_at_once(result.mapping, einsums);
        }
    }
    return result;
}

}  // namespace tessera::model
