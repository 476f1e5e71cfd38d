// A deletion filter: a constraint without which there still is no mapping is not needed. Many are
// dropped at a time first. A constraint may also take something away that another one forbids (a
// loop bound of 1 does), so what was needed once is tried again until nothing can be dropped.
#include "mapspace/infeasible_subset.hpp"

#include <algorithm>
#include <functional>

#include "feasibility.hpp"
#include "slice.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/mapspace/feasibility.hpp"
#include "wording.hpp"

namespace tessera::mapspace {
namespace infeasible {
namespace {

using Ask = std::function<Verdict(const NamedConstraints& dropped)>;

/// CPU time of one question about what memories hold: without such a constraint there may be very
/// many templates.
constexpr double slice_s = 0.15;

/// Which memory holds which tensor, in which order.
bool about_storage(const NamedConstraint& c) {
    return c.kind >= ConstraintKind::tensor_order_options;
}

class Filter {
public:
    Filter(NamedConstraints all, const Ask& ask) : kept_(std::move(all)), ask_(ask) {
        std::ranges::stable_sort(kept_, {}, &NamedConstraint::kind);
    }

    /// \pre no mapping meets all constraints
    void run() {
        const auto first = std::ranges::find_if(kept_, about_storage);
        std::size_t storage = static_cast<std::size_t>(kept_.end() - first);
        try {
            for (std::size_t size = (kept_.size() - storage) / 2; size > 1; size /= 2) {
                pass(size, 0, storage);
            }
            pass(1, 0, storage);
            const std::size_t others = kept_.size() - storage;
            pass(std::max<std::size_t>(storage, 1), others, 0);
            while (pass(1, 0, 0)) {
            }
        } catch (const base::Stopped&) {
            open_ = kept_;
        }
    }

    const NamedConstraints& kept() const {
        return kept_;
    }
    /// Those of them that may not be needed.
    const NamedConstraints& open() const {
        return open_;
    }
    const NamedConstraints& dropped() const {
        return dropped_;
    }

private:
    /// Whether something was dropped: so many at a time, but none of the first and last ones.
    bool pass(std::size_t size, std::size_t first, std::size_t last) {
        bool any = false;
        open_ = kept_;
        for (std::size_t at = first; at + last < kept_.size();) {
            const std::size_t end = std::min(at + size, kept_.size() - last);
            if (drop(at, end)) {
                any = true;
            } else {
                at = end;
            }
        }
        return any;
    }

    bool drop(std::size_t begin, std::size_t end) {
        const auto from = kept_.begin() + static_cast<std::ptrdiff_t>(begin),
                   to = kept_.begin() + static_cast<std::ptrdiff_t>(end);
        NamedConstraints without = dropped_;
        without.insert(without.end(), from, to);
        const Verdict verdict = ask(without);
        if (verdict != Verdict::unknown) {
            std::erase_if(open_, [&](const NamedConstraint& c) {
                return (verdict == Verdict::none || end == begin + 1) &&
                       std::any_of(from, to, [&](const auto& asked) { return asked.same(c); });
            });
        }
        if (verdict != Verdict::none) {
            return false;
        }
        dropped_ = std::move(without);
        kept_.erase(from, to);
        return true;
    }

    Verdict ask(const NamedConstraints& without) const {
        if (std::ranges::none_of(without, about_storage)) {
            return ask_(without);
        }
        const Slice slice(slice_s);
        try {
            const base::StopScope scope(slice.token());
            return ask_(without);
        } catch (const base::Stopped&) {
            if (slice.outer_stopped()) {
                throw;
            }
            return Verdict::unknown;
        }
    }

    NamedConstraints kept_, dropped_, open_;
    const Ask& ask_;
};

bool earlier(const NamedConstraint& a, const NamedConstraint& b) {
    return std::tuple(a.where.file, a.where.line, a.where.column, a.kind, a.index) <
           std::tuple(b.where.file, b.where.line, b.where.column, b.kind, b.index);
}

/// `einsum()`: which one has no pmapping under what is left.
std::optional<InfeasibleSubset> smallest(const Feasibility& problem,
                                         const std::function<int()>& einsum, NamedConstraints all,
                                         const Ask& ask) {
    Filter filter(std::move(all), ask);
    filter.run();
    if (filter.kept().empty()) {
        return std::nullopt;
    }
    InfeasibleSubset out;
    out.einsum = einsum();
    out.constraints = filter.kept();
    out.open = filter.open();
    std::ranges::stable_sort(out.constraints, earlier);
    std::ranges::stable_sort(out.open, earlier);
    out.lines = lines_of(problem, out, filter.dropped());
    return out;
}

NamedConstraints all_constraints(const Feasibility& problem) {
    NamedConstraints all;
    for (std::size_t e = 0; e < problem.n_einsums(); ++e) {
        for (const arch::Path& path : problem.paths(e)) {
            add_constraints(path, all);
        }
    }
    add_constraints(problem.options(), all);
    return all;
}

/// Some Einsum has no pmapping. Which one that is may change as constraints are dropped.
class Alone {
public:
    Alone(const Feasibility& problem, std::size_t failing) : problem_(problem), failing_(failing) {}

    Verdict operator()(const NamedConstraints& dropped) {
        Verdict verdict = problem_.alone(failing_, dropped);
        for (std::size_t e = 0; e < problem_.n_einsums() && verdict == Verdict::some; ++e) {
            verdict = e == failing_ ? verdict : problem_.alone(e, dropped);
            failing_ = verdict == Verdict::none ? e : failing_;
        }
        return verdict;
    }
    std::size_t failing() const {
        return failing_;
    }

private:
    const Feasibility& problem_;
    std::size_t failing_;
};

std::optional<InfeasibleSubset> of_one(const Feasibility& problem, std::size_t einsum) {
    NamedConstraints all = all_constraints(problem);
    std::erase_if(all, [](const NamedConstraint& c) {
        return c.kind == ConstraintKind::min_usage;  // best effort: binds only among several
    });
    Alone alone(problem, einsum);
    return smallest(
        problem, [&] { return static_cast<int>(alone.failing()); }, std::move(all),
        std::ref(alone));
}

std::optional<InfeasibleSubset> of_all(const Feasibility& problem) {
    return smallest(
        problem, [] { return -1; }, all_constraints(problem),
        [&](const NamedConstraints& dropped) { return problem.together(dropped); });
}

/// An Einsum without any pmapping; -1: each has some, but all together have no mapping. Nothing:
/// there is a mapping, or it is not known. \throws base::Stopped
std::optional<int> infeasible_part(const Feasibility& problem) {
    for (std::size_t e = 0; e < problem.n_einsums(); ++e) {
        if (problem.alone(e, {}) == Verdict::none) {
            return static_cast<int>(e);
        }
    }
    const bool none = problem.n_einsums() > 1 && problem.together({}) == Verdict::none;
    return none ? std::optional(-1) : std::nullopt;
}

}  // namespace
}  // namespace infeasible

bool proves_infeasible(const model::Problem& problem, const model::CostModel& model,
                       const MapSpaceOptions& options, double cpu_s) {
    using namespace infeasible;
    const Slice slice(cpu_s);
    const base::StopScope scope(slice.token());
    try {
        return infeasible_part(Feasibility(problem, model, options)).has_value();
    } catch (const base::Stopped&) {
        return false;
    }
}

std::optional<InfeasibleSubset> infeasible_subset(const model::Problem& problem,
                                                  const model::CostModel& model,
                                                  const MapSpaceOptions& options) {
    using namespace infeasible;
    try {
        const Feasibility feasibility(problem, model, options);
        const std::optional<int> part = infeasible_part(feasibility);
        return !part        ? std::nullopt
               : *part >= 0 ? of_one(feasibility, static_cast<std::size_t>(*part))
                            : of_all(feasibility);
    } catch (const base::Stopped&) {
        return std::nullopt;
    }
}

}  // namespace tessera::mapspace
