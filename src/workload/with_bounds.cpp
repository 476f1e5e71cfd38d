#include "workload/with_bounds.hpp"

#include <algorithm>
#include <cmath>

#include "spec/quantities.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::workload {
namespace {

/// Of each rank: how far an access reaches; 1 of the rank of states, one of which is there at a
/// time.
std::vector<double> extents_of(const Workload& w, const TensorAccess& access) {
    std::vector<double> extents(access.ranks.size(), 1);
    for (std::size_t r = 0; r < access.ranks.size(); ++r) {
        if (static_cast<int>(r) == w.tensors[static_cast<std::size_t>(access.tensor)].state_rank) {
            continue;
        }
        for (const AffineTerm& term : access.ranks[r].terms) {
            const auto variable = static_cast<std::size_t>(term.rank_variable);
            extents[r] += static_cast<double>(std::abs(term.coefficient)) *
                          static_cast<double>(w.rank_variables[variable].bound - 1);
        }
    }
    return extents;
}

/// Values of the box that an access covers.
double image_size(const Workload& w, const TensorAccess& access) {
    double values = 1;
    for (const double extent : extents_of(w, access)) {
        values *= extent;
    }
    return values;
}

/// By tensor: the access that gives its size. That of its producer, else of its first reader.
std::vector<const TensorAccess*> first_accesses(const Workload& w) {
    std::vector<const TensorAccess*> out(w.tensors.size(), nullptr);
    for (const Einsum& einsum : w.einsums) {
        for (const TensorAccess& access : einsum.accesses) {
            const TensorAccess*& first = out[static_cast<std::size_t>(access.tensor)];
            if (first == nullptr || access.output) {
                first = &access;
            }
        }
    }
    return out;
}

/// Whether readers reach as far beyond what is there (into padding), or stay as far inside it, as
/// before. So rank variables of several Einsums that run over one rank change alike.
bool still_fit(const Workload& before, const Workload& now) {
    const std::vector<const TensorAccess*> sources = first_accesses(before);
    for (const Einsum& einsum : before.einsums) {
        for (const TensorAccess& access : einsum.accesses) {
            const TensorAccess& source = *sources[static_cast<std::size_t>(access.tensor)];
            const std::vector<double> old_source = extents_of(before, source),
                                      old_own = extents_of(before, access),
                                      new_source = extents_of(now, source),
                                      new_own = extents_of(now, access);
            for (std::size_t r = 0; r < old_own.size(); ++r) {
                if (new_own[r] - new_source[r] != old_own[r] - old_source[r]) {
                    return false;
                }
            }
        }
    }
    return true;
}

/// By tensor: what its producer writes, else what its first reader reads.
std::vector<double> sizes_of(const Workload& w) {
    std::vector<double> sizes;
    for (const TensorAccess* access : first_accesses(w)) {
        sizes.push_back(access != nullptr ? image_size(w, *access) : 0);
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
    if (too_many_points(out) || !still_fit(workload, out)) {
        return std::nullopt;
    }
    const std::vector<double> others = sizes_of(out);
    for (std::size_t t = 0; t < others.size(); ++t) {
        out.tensors[t].size_values = others[t];
    }
    return out;
}

}  // namespace tessera::workload
