// A deletion filter: a constraint without which there still is no mapping is not needed. Many are
// dropped at a time first. A constraint may also take something away that another one forbids (a
// loop bound of 1 does), so what was needed once is tried again until nothing can be dropped.
#include "mapspace/infeasible_subset.hpp"

#include <algorithm>
#include <functional>

#include "feasibility.hpp"
#include "tessera/base/stop.hpp"
#include "wording.hpp"

namespace tessera::mapspace {
namespace infeasible {
namespace {

using Ask = std::function<Verdict(const NamedConstraints& dropped)>;

class Filter {
public:
    Filter(NamedConstraints all, const Ask& ask) : kept_(std::move(all)), ask_(ask) {
        std::ranges::stable_sort(kept_, {}, &NamedConstraint::kind);
    }

    /// \pre no mapping meets all constraints
    void run() {
        try {
            for (std::size_t size = kept_.size() / 2; size > 1; size /= 2) {
                pass(size);
            }
            while (pass(1)) {
            }
        } catch (const base::Stopped&) {
            shown_ = false;
        }
    }

    const NamedConstraints& kept() const {
        return kept_;
    }
    const NamedConstraints& dropped() const {
        return dropped_;
    }
    bool smallest() const {
        return shown_;
    }

private:
    /// Whether something was dropped.
    bool pass(std::size_t size) {
        bool any = false;
        shown_ = true;
        for (std::size_t at = 0; at < kept_.size();) {
            const std::size_t end = std::min(at + size, kept_.size());
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
        const Verdict verdict = ask_(without);
        shown_ = shown_ && verdict != Verdict::unknown;
        if (verdict != Verdict::none) {
            return false;
        }
        dropped_ = std::move(without);
        kept_.erase(from, to);
        return true;
    }

    NamedConstraints kept_, dropped_;
    const Ask& ask_;
    bool shown_ = false;
};

bool earlier(const NamedConstraint& a, const NamedConstraint& b) {
    return std::tuple(a.where.file, a.where.line, a.where.column, a.kind, a.index) <
           std::tuple(b.where.file, b.where.line, b.where.column, b.kind, b.index);
}

std::optional<InfeasibleSubset> smallest(const Feasibility& problem, int einsum,
                                         NamedConstraints all, const Ask& ask) {
    Filter filter(std::move(all), ask);
    filter.run();
    if (filter.kept().empty()) {
        return std::nullopt;
    }
    InfeasibleSubset out;
    out.einsum = einsum;
    out.constraints = filter.kept();
    out.smallest = filter.smallest();
    std::ranges::stable_sort(out.constraints, earlier);
    out.lines = lines_of(problem, out, filter.dropped());
    return out;
}

std::optional<InfeasibleSubset> of_one(const Feasibility& problem, std::size_t einsum) {
    NamedConstraints all;
    for (const arch::Path& path : problem.paths(einsum)) {
        add_constraints(path, all);
    }
    std::erase_if(all, [](const NamedConstraint& c) {
        return c.kind == ConstraintKind::min_usage;  // best effort: binds only among several
    });
    add_constraints(problem.options(), all);
    const Ask ask = [&](const NamedConstraints& dropped) { return problem.alone(einsum, dropped); };
    return smallest(problem, static_cast<int>(einsum), std::move(all), ask);
}

std::optional<InfeasibleSubset> of_all(const Feasibility& problem) {
    NamedConstraints all;
    for (std::size_t e = 0; e < problem.n_einsums(); ++e) {
        for (const arch::Path& path : problem.paths(e)) {
            add_constraints(path, all);
        }
    }
    add_constraints(problem.options(), all);
    const Ask ask = [&](const NamedConstraints& dropped) { return problem.together(dropped); };
    return smallest(problem, -1, std::move(all), ask);
}

}  // namespace
}  // namespace infeasible

std::optional<InfeasibleSubset> infeasible_subset(const model::Problem& problem,
                                                  const model::CostModel& model,
                                                  const MapSpaceOptions& options) {
    using namespace infeasible;
    try {
        const Feasibility feasibility(problem, model, options);
        for (std::size_t e = 0; e < feasibility.n_einsums(); ++e) {
            if (feasibility.alone(e, {}) == Verdict::none) {
                return of_one(feasibility, e);
            }
        }
        if (feasibility.n_einsums() < 2 || feasibility.together({}) != Verdict::none) {
            return std::nullopt;
        }
        return of_all(feasibility);
    } catch (const base::Stopped&) {
        return std::nullopt;
    }
}

}  // namespace tessera::mapspace
