#include "workload/with_bounds.hpp"

#include <algorithm>
#include <cmath>

#include "spec/quantities.hpp"

namespace tessera::workload {
namespace {

/// Values of the box that an access covers.
double image_size(const Workload& w, const TensorAccess& access) {
    double values = 1;
    for (std::size_t r = 0; r < access.ranks.size(); ++r) {
        if (static_cast<int>(r) == w.tensors[static_cast<std::size_t>(access.tensor)].state_rank) {
            continue;  // one state at a time
        }
        double extent = 1;
        for (const AffineTerm& term : access.ranks[r].terms) {
            const auto variable = static_cast<std::size_t>(term.rank_variable);
            extent += static_cast<double>(std::abs(term.coefficient)) *
                      static_cast<double>(w.rank_variables[variable].bound - 1);
        }
        values *= extent;
    }
    return values;
}

/// By tensor: what its producer writes, else what its first reader reads.
std::vector<double> sizes_of(const Workload& w) {
    std::vector<double> sizes(w.tensors.size(), 0);
    for (const Einsum& einsum : w.einsums) {
        for (const TensorAccess& access : einsum.accesses) {
            double& size = sizes[static_cast<std::size_t>(access.tensor)];
            if (access.output || size == 0) {
                size = image_size(w, access);
            }
        }
    }
    return sizes;
}

bool too_many_points(const Workload& w) {
    return std::ranges::any_of(w.einsums, [&](const Einsum& einsum) {
        double points = w.n_instances * einsum.n_instances;
        for (const int v : einsum.rank_variables) {
            points *= static_cast<double>(w.rank_variables[static_cast<std::size_t>(v)].bound);
        }
        return points > spec::most_points;
    });
}

}  // namespace

std::optional<Workload> with_bounds(const Workload& workload,
                                    std::span<const std::int64_t> bounds) {
    const auto wrong = [](std::int64_t b) { return b < 1 || b > spec::largest_extent; };
    if (bounds.size() != workload.rank_variables.size() || std::ranges::any_of(bounds, wrong)) {
        return std::nullopt;
    }
    const std::vector<double> sizes = sizes_of(workload);
    for (std::size_t t = 0; t < sizes.size(); ++t) {
        if (sizes[t] != workload.tensors[t].size_values) {
            return std::nullopt;
        }
    }
    Workload out = workload;
    for (std::size_t v = 0; v < bounds.size(); ++v) {
        out.rank_variables[v].bound = bounds[v];
    }
    if (too_many_points(out)) {
        return std::nullopt;
    }
    const std::vector<double> others = sizes_of(out);
    for (std::size_t t = 0; t < others.size(); ++t) {
        out.tensors[t].size_values = others[t];
    }
    return out;
}

}  // namespace tessera::workload
