#include "wording.hpp"

#include <algorithm>
#include <cmath>

#include "spec/quantities.hpp"
#include "tessera/base/stop.hpp"

namespace tessera::mapspace::infeasible {
namespace {

using arch::PathDim;
using arch::PathLevel;
using Kind = ConstraintKind;

/// Longer lists of names are cut; of more rank variables the numbers of values are left out.
constexpr std::size_t most_names = 6, most_values = 3;

std::string quoted(const std::string& name) {
    return "'" + name + "'";
}

std::string listed(const std::vector<std::string>& names) {
    return spec::name_list(names, most_names);
}

/// Whole numbers with all their digits.
std::string plain(double value) {
    return std::abs(value) < 1e15 && value == std::floor(value)
               ? std::to_string(static_cast<std::int64_t>(value))
               : spec::number_text(value);
}

std::string but_more(double bits) {
    return ", but more than " + plain(bits) + " bits are needed at one time";
}

void add_name(const std::string& name, std::vector<std::string>& names) {
    if (std::ranges::find(names, name) == names.end()) {
        names.push_back(name);
    }
}

std::string key_of(Kind kind) {
    constexpr const char* keys[] = {"option",
                                    "min_usage",
                                    "fanout",
                                    "banks",
                                    "size",
                                    "no_refetch_from_above",
                                    "no_resend_to_below",
                                    "reuse",
                                    "loop_bounds",
                                    "tensor_order_options",
                                    "operations",
                                    "back",
                                    "may_keep",
                                    "keep"};
    return keys[static_cast<std::size_t>(kind)];
}

void add_names(const arch::Path& path, arch::TensorMask tensors, std::vector<std::string>& names) {
    for (std::size_t t = 0; t < path.einsum.tensors.size(); ++t) {
        if (tensors >> t & 1) {
            add_name(path.einsum.tensors[t].name, names);
        }
    }
}

/// What the texts are about: one Einsum, or all.
class Words {
public:
    Words(const Feasibility& problem, const InfeasibleSubset& subset,
          const NamedConstraints& dropped)
        : problem_(problem), subset_(subset), dropped_(dropped) {
        const auto e = static_cast<std::size_t>(std::max(subset.einsum, 0));
        for (std::size_t i = e; i < problem.n_einsums() && (i == e || subset.einsum < 0); ++i) {
            einsums_.push_back(i);
        }
    }

    std::vector<std::string> lines() const;

private:
    std::string subject() const;
    std::string head() const;
    std::string each_has() const;
    bool is_open(const NamedConstraint& c) const;
    NamedConstraints named() const;
    std::string given(std::size_t n_named) const;
    std::string line(const NamedConstraint& c) const;
    std::string said(const NamedConstraint& c) const;
    std::string of_dimension(const NamedConstraint& c) const;
    std::string of_level(const NamedConstraint& c) const;
    std::string loop_bound(const NamedConstraint& c) const;
    std::string option(const NamedConstraint& c) const;
    std::string only(const NamedConstraint& c, const PathLevel& one) const;
    std::string needed_bits(const NamedConstraint& c) const;
    std::string needed_instances(const NamedConstraint& c) const;
    std::string needed_together(const NamedConstraint& c) const;
    std::string shared() const;
    std::string refusals(const NamedConstraint& c) const;
    NamedConstraints without(const NamedConstraint& c) const;
    const PathLevel& level(const NamedConstraint& c) const;
    const PathDim& dimension(const NamedConstraint& c) const;
    std::string names(const NamedConstraint& c, arch::TensorMask PathLevel::*set) const;
    std::string names(const NamedConstraint& c, spec::Expression PathLevel::*set) const;
    template <class Visit>
    void each_level(const std::string& name, Visit&& visit) const;

    const Feasibility& problem_;
    const InfeasibleSubset& subset_;
    const NamedConstraints& dropped_;
    std::vector<std::size_t> einsums_;
};

/// `visit(path, level)` for the component on every path that it stands on.
template <class Visit>
void Words::each_level(const std::string& name, Visit&& visit) const {
    for (const std::size_t e : einsums_) {
        for (const arch::Path& path : problem_.paths(e)) {
            const int at = path.find_level(name);
            if (at >= 0) {
                visit(path, path.levels[static_cast<std::size_t>(at)]);
            }
        }
    }
}

const PathLevel& Words::level(const NamedConstraint& c) const {
    const PathLevel* found = nullptr;
    each_level(c.component, [&](const arch::Path&, const PathLevel& one) {
        found = found == nullptr ? &one : found;
    });
    return *found;
}

const PathDim& Words::dimension(const NamedConstraint& c) const {
    const PathLevel& one = level(c);
    return one.spatial[static_cast<std::size_t>(one.find_dim(c.dim))];
}

/// Of tensors that the level names, whatever the levels above keep.
std::string Words::names(const NamedConstraint& c, spec::Expression PathLevel::*set) const {
    std::vector<std::string> out;
    each_level(c.component, [&](const arch::Path& path, const PathLevel& one) {
        add_names(path, fixed_tensors(one.*set, path).value_or(0), out);
    });
    return out.empty() ? "" : listed(out);
}

std::string Words::names(const NamedConstraint& c, arch::TensorMask PathLevel::*set) const {
    std::vector<std::string> out;
    each_level(c.component, [&](const arch::Path& path, const PathLevel& one) {
        add_names(path, one.*set, out);
    });
    return listed(out);
}

NamedConstraints Words::without(const NamedConstraint& c) const {
    NamedConstraints out = dropped_;
    out.push_back(c);
    return out;
}

std::string Words::needed_bits(const NamedConstraint& c) const {
    if (subset_.einsum < 0) {
        return needed_together(c);
    }
    const auto least = problem_.least_bits(einsums_.front(), without(c), c.component);
    return least ? ", but at least " + plain(*least) + " bits are needed" : "";
}

/// By bisection, to whole bits if it comes to its end.
std::string Words::needed_together(const NamedConstraint& c) const {
    double size = 0;
    each_level(c.component, [&](const arch::Path&, const PathLevel& one) {
        size = std::max(size, one.size_bits);
    });
    double refuted = std::floor(size), enough = 0;
    try {
        while (enough == 0 || enough - refuted > 1) {
            const double tried = enough == 0 ? 2 * refuted + 1 : std::floor((refuted + enough) / 2);
            const Verdict verdict = problem_.together(dropped_, {c.component, tried});
            if (verdict == Verdict::unknown) {
                break;
            }
            (verdict == Verdict::none ? refuted : enough) = tried;
        }
    } catch (const base::Stopped&) {
        return refuted > size ? but_more(refuted) : "";
    }
    return enough - refuted == 1
               ? ", but at least " + plain(enough) + " bits are needed at one time"
           : refuted > size ? but_more(refuted)
                            : "";
}

std::string Words::needed_instances(const NamedConstraint& c) const {
    if (subset_.einsum < 0) {
        return "";
    }
    const auto least = problem_.least_used(einsums_.front(), without(c), c.component, c.dim);
    return least ? ", but at least " + plain(*least) + " are needed" : "";
}

std::string Words::loop_bound(const NamedConstraint& c) const {
    const auto index = static_cast<std::size_t>(c.index);
    std::vector<std::string> variables, values;
    std::string beyond, required;
    each_level(c.component, [&](const arch::Path& path, const PathLevel& one) {
        const arch::LoopBound& bound =
            one.spatial[static_cast<std::size_t>(one.find_dim(c.dim))].loop_bounds[index];
        for (std::size_t v = 0; v < path.einsum.rank_variables.size(); ++v) {
            if (bound.variables >> v & 1) {
                const workload::LocalRankVariable& variable = path.einsum.rank_variables[v];
                add_name(variable.name, variables);
                add_name(variable.name + " has " + values_text(variable.bound), values);
            }
        }
        if (beyond.empty()) {
            beyond = trips_beyond_reach(path.einsum, bound, problem_.options());
        }
        required = std::string(bound.product && variables.size() > 1 ? "product of trips of "
                                                                     : "trips of ") +
                   listed(variables) + " " + base::sign_of(bound.op) + " " + plain(bound.value);
    });
    const bool few = values.size() <= most_values;
    return required + (!beyond.empty() ? beyond : few ? " (" + listed(values) + ")" : "");
}

std::string Words::option(const NamedConstraint& c) const {
    const auto limit = [&](int value, const char* of) {
        return "--" + c.component + " " + std::to_string(value) + ": at most " +
               std::to_string(value) + " " + of;
    };
    const MapSpaceOptions& options = problem_.options();
    if (c.component == "max-fused-loops") {
        return limit(options.max_fused_loops, "fused loops");
    }
    if (c.component == "max-fused-loops-per-rank-variable") {
        return limit(options.max_fused_loops_per_rank_variable,
                     "fused loops over one rank variable");
    }
    if (c.component == "max-loops-per-spatial-dimension") {
        return limit(options.max_loops_per_spatial_dimension, "loops in one spatial dimension");
    }
    return "--" + c.component + ": the outermost memory keeps every tensor";
}

std::string Words::of_dimension(const NamedConstraint& c) const {
    const PathDim& dim = dimension(c);
    const std::string place = " of dimension " + quoted(c.dim) + " of " + quoted(c.component);
    switch (c.kind) {
        case Kind::fanout:
            return "fanout" + place + ": " + std::to_string(dim.fanout) + " instances" +
                   (dim.usage_scale != 1 ? " with usage_scale " + spec::number_text(dim.usage_scale)
                                         : "") +
                   needed_instances(c);
        case Kind::reuse: {
            std::vector<std::string> shared;
            each_level(c.component, [&](const arch::Path& path, const PathLevel& one) {
                add_names(path, one.spatial[static_cast<std::size_t>(one.find_dim(c.dim))].reuse,
                          shared);
            });
            return "reuse" + place + ": all instances share " + listed(shared) +
                   ", so loops over what indexes it have 1 trip";
        }
        case Kind::min_usage:
            return "min_usage" + place + ": at least " + spec::number_text(dim.min_usage) +
                   " of the instances in use where sizes allow it";
        default:
            return "loop_bounds" + place + ": " + loop_bound(c);
    }
}

std::string Words::refusals(const NamedConstraint& c) const {
    std::string text;
    each_level(c.component, [&](const arch::Path& path, const PathLevel&) {
        text = text.empty() ? path.refusal() : text;
    });
    return text;
}

/// "X, W (keep: All)"
std::string with_text(const std::string& names, const std::string& key,
                      const spec::Expression& expression) {
    const std::string said = key + ": " + expression.text();
    return names.empty() ? "what '" + said + "' says" : names + " ('" + said + "')";
}

/// What `keep` and `may_keep` leave.
std::string Words::only(const NamedConstraint& c, const PathLevel& one) const {
    std::vector<std::string> out;
    bool fixed = true;
    each_level(c.component, [&](const arch::Path& path, const PathLevel& at) {
        const auto keep = fixed_tensors(at.keep, path), may = fixed_tensors(at.may_keep, path);
        fixed = fixed && keep && may;
        add_names(path, keep.value_or(0) | may.value_or(0), out);
    });
    const std::string keep = one.has_keep ? "'keep: " + one.keep.text() + "'" : "";
    const std::string says = one.has_may_keep ? keep + (one.has_keep ? ", " : "") +
                                                    "'may_keep: " + one.may_keep.text() + "'"
                                              : keep + " without may_keep";
    return !fixed ? "only what " + says + " leaves"
                  : (out.empty() ? "nothing" : listed(out) + " only") + " (" + says + ")";
}

std::string Words::of_level(const NamedConstraint& c) const {
    const PathLevel& one = level(c);
    const std::string name = quoted(c.component);
    switch (c.kind) {
        case Kind::keep:
            return "keep of " + name + ": it must hold " +
                   with_text(names(c, &PathLevel::keep), "keep", one.keep);
        case Kind::may_keep:
            return (one.has_may_keep ? "may_keep of " : "keep of ") + name + ": it may hold " +
                   only(c, one);
        case Kind::back:
            return "back of " + name + ": it must be the outermost holder of " +
                   with_text(names(c, &PathLevel::back), "back", one.back);
        case Kind::no_refetch_from_above:
            return "no_refetch_from_above of " + name + ": no tile of " +
                   names(c, &PathLevel::no_refetch_from_above) + " may be fetched twice";
        case Kind::no_resend_to_below:
            return "no_resend_to_below of " + name + ": no tile of " +
                   names(c, &PathLevel::no_resend_to_below) + " may be sent twice";
        case Kind::tensor_order_options:
            return "tensor_order_options of " + name + ": its holders stand in one of these orders";
        case Kind::size:
            return "size of " + name + ": " + plain(one.size_bits) + " bits" + needed_bits(c);
        case Kind::banks:
            return "banks of " + name + ": each has " + plain(one.bank_bits) +
                   " bits, for one tensor alone";
        default:
            return "compute " + name + " cannot run it: " + refusals(c);
    }
}

std::string Words::said(const NamedConstraint& c) const {
    return c.kind == Kind::option ? option(c) : c.dim.empty() ? of_level(c) : of_dimension(c);
}

std::string Words::line(const NamedConstraint& c) const {
    const std::string where = c.where.text();
    std::string text = where.empty() ? "" : where + ": ";
    try {
        return text + said(c);
    } catch (const base::Stopped&) {
        return text + "the limit of the explanation came before its other side was known";
    }
}

/// Tensors that more than one Einsum uses.
std::string Words::shared() const {
    std::vector<std::string> out;
    for (const std::size_t e : einsums_) {
        for (const workload::LocalTensor& tensor : problem_.paths(e).front().einsum.tensors) {
            if (tensor.fusable) {
                add_name(tensor.name, out);
            }
        }
    }
    return out.empty() ? "" : ", sharing " + listed(out);
}

std::string Words::subject() const {
    std::vector<std::string> all;
    for (const std::size_t e : einsums_) {
        add_name(problem_.paths(e).front().einsum.name, all);
    }
    return (all.size() > 1 ? "Einsums " : "Einsum ") + listed(all) +
           (subset_.einsum < 0 ? ": each has mappings alone, but together" + shared() + "," : ":");
}

std::string Words::head() const {
    const std::size_t n = named().size();
    const bool all = n == subset_.constraints.size(), smallest = subset_.open.empty();
    return subject() + " no mapping meets " +
           (n == 1 ? "this constraint" : "these " + std::to_string(n) + " constraints") +
           (all ? "" : " and those of the last line") + (n == 1 && all ? "" : " at the same time") +
           (n > 1 && smallest ? ", and without any one of them " + each_has() : "");
}

/// What is known without one of the constraints.
std::string Words::each_has() const {
    return subset_.einsum < 0 || problem_.n_einsums() == 1 ? "there is a mapping"
                                                           : "each Einsum alone has one";
}

bool Words::is_open(const NamedConstraint& c) const {
    return std::ranges::any_of(subset_.open, [&](const auto& open) { return open.same(c); });
}

/// What is written out: if nothing is known to be needed, everything.
NamedConstraints Words::named() const {
    NamedConstraints out = subset_.constraints;
    if (subset_.open.size() < out.size()) {
        std::erase_if(out, [&](const NamedConstraint& c) { return is_open(c); });
    }
    return out;
}

std::string Words::given(std::size_t n_named) const {
    if (subset_.open.empty()) {
        return "";
    }
    if (n_named == subset_.constraints.size()) {
        return "it may be that fewer of them suffice: the search for fewer has a limit";
    }
    std::vector<std::string> open;
    for (const NamedConstraint& c : subset_.open) {
        add_name(key_of(c.kind) + " of " + quoted(c.component), open);
    }
    return "  " + listed(open) +
           ": whether these are needed was not found out within the limit of the explanation";
}

std::vector<std::string> Words::lines() const {
    std::vector<std::string> out;
    const NamedConstraints named = this->named();
    if (named.size() == 1) {
        out.push_back(head() + ": " + line(named.front()));
    } else {
        out.push_back(head() + ":");
        for (const NamedConstraint& c : named) {
            out.push_back("  " + line(c));
        }
    }
    if (const std::string more = given(named.size()); !more.empty()) {
        out.push_back(more);
    }
    return out;
}

}  // namespace

std::vector<std::string> lines_of(const Feasibility& problem, const InfeasibleSubset& subset,
                                  const NamedConstraints& dropped) {
    return Words(problem, subset, dropped).lines();
}

}  // namespace tessera::mapspace::infeasible
