#include <bit>
#include <cmath>

#include "model/legality.hpp"
#include "tessera/base/comparison.hpp"
#include "tessera/spec/value.hpp"

namespace tessera::model {

namespace {

using mapping::NodeKind;
using mapping::PmappingNode;
using spec::number_text;
using workload::TensorMask;

class Checker {
public:
    explicit Checker(const EinsumAnalysis& einsum)
        : e_(einsum), path_(einsum.tables.path()), view_(einsum.einsum()) {}

    std::vector<std::string> run();

private:
    void storage();
    void spatial(int level, int dim);
    void loop_bound(const arch::LoopBound& bound, int level, int dim);
    void refetch(int level);
    void unit_loops(int from, int to, int level, int tensor, const char* option);
    TensorMask held(int level) const;
    std::string names(TensorMask tensors) const;
    void warn(const Position& where, const std::string& text);
    std::string place(int level, int dim) const {
        return path_.levels[level].name + " dimension " + path_.levels[level].spatial[dim].name;
    }

    const EinsumAnalysis& e_;
    const arch::Path& path_;
    const workload::EinsumView& view_;
    std::vector<std::string> warnings_;
};

void Checker::warn(const Position& where, const std::string& text) {
    const std::string at = where.text();
    warnings_.push_back((at.empty() ? "" : at + ": ") + "Einsum '" + view_.name + "': " + text);
}

TensorMask Checker::held(int level) const {
    TensorMask mask = 0;
    for (const PmappingNode& node : e_.nodes) {
        if (node.tensor >= 0 && node.level == level) {
            mask |= TensorMask{1} << node.tensor;
        }
    }
    return mask;
}

std::string Checker::names(TensorMask tensors) const {
    std::string text;
    for (; tensors != 0; tensors &= tensors - 1) {
        text += (text.empty() ? "" : ", ") + view_.tensors[std::countr_zero(tensors)].name;
    }
    return text;
}

// keep, back and may_keep see the memories above with what the mapping keeps there.
void Checker::storage() {
    spec::Symbols symbols = path_.symbols.child();
    TensorMask above = 0;
    for (int l = 0; l < e_.tables.n_levels; ++l) {
        const arch::PathLevel& level = path_.levels[l];
        if (!level.holds_tensors()) {
            continue;
        }
        symbols.set("Above", spec::Value(spec::TensorSet{above}));
        const auto evaluate = [&](const spec::Expression& expression) {
            return expression.empty() ? TensorMask{0} : arch::evaluate_tensors(expression, symbols);
        };
        const TensorMask here = held(l);
        const TensorMask back = evaluate(level.back);
        TensorMask must = evaluate(level.keep) | back;
        TensorMask may = level.has_may_keep ? evaluate(level.may_keep)
                         : level.has_keep   ? 0
                                            : view_.all();
        if (level.kind == arch::LevelKind::toll) {
            must &= above;
            may &= above;
        }
        // A copy only needs outermost holders.
        const TensorMask needed = view_.is_copy_operation ? must & ~above : must;
        if (const TensorMask missing = needed & ~here; missing != 0) {
            warn(level.keep.empty() ? level.where : level.keep.position(),
                 level.name + " must keep " + names(missing) +
                     " (keep: " + (level.keep.empty() ? level.back : level.keep).text() +
                     "), but the mapping does not");
        }
        if (const TensorMask extra = here & ~(must | may); extra != 0) {
            warn(level.has_may_keep ? level.may_keep.position() : level.where,
                 level.name + " keeps " + names(extra) + ", which it may not (may_keep: " +
                     (level.has_may_keep ? level.may_keep.text() : "Nothing") + ")");
        }
        if (const TensorMask late = back & above; late != 0) {
            warn(level.back.position(), level.name + " must be the outermost holder of " +
                                            names(late) + " (back: " + level.back.text() +
                                            "), but a memory above holds it too");
        }
        above |= here;
        symbols.set(level.name, spec::Value(spec::TensorSet{here}));
    }
}

void Checker::loop_bound(const arch::LoopBound& bound, int level, int dim) {
    double product = 1;
    for (std::size_t i = 0; i < e_.nodes.size(); ++i) {
        const PmappingNode& node = e_.nodes[i];
        if (node.kind != NodeKind::spatial || node.level != level || node.dim != dim ||
            !(bound.variables >> node.rank_variable & 1)) {
            continue;
        }
        const double trips = e_.trips(static_cast<int>(i));
        product *= trips;
        if (!bound.product && !base::holds(bound.op, trips, bound.value)) {
            warn(bound.where, "the loop over '" + view_.rank_variables[node.rank_variable].name +
                                  "' on " + place(level, dim) + " has " + number_text(trips) +
                                  " iterations, but loop_bounds asks for " +
                                  base::sign_of(bound.op) + " " + number_text(bound.value));
        }
    }
    if (bound.product && !base::holds(bound.op, product, bound.value)) {
        warn(bound.where, "the loops on " + place(level, dim) + " have " + number_text(product) +
                              " iterations together, but loop_bounds asks for a product " +
                              base::sign_of(bound.op) + " " + number_text(bound.value));
    }
}

void Checker::spatial(int level, int dim) {
    const arch::PathDim& facts = path_.levels[level].spatial[dim];
    for (std::size_t i = 0; i < e_.nodes.size(); ++i) {
        const PmappingNode& node = e_.nodes[i];
        if (node.kind != NodeKind::spatial || node.level != level || node.dim != dim ||
            e_.trips(static_cast<int>(i)) == 1) {
            continue;
        }
        for (TensorMask rest = facts.reuse; rest != 0; rest &= rest - 1) {
            const int tensor = std::countr_zero(rest);
            if (e_.tables.tensors[tensor].indexed_by(node.rank_variable)) {
                warn(facts.where, place(level, dim) + " must reuse " + view_.tensors[tensor].name +
                                      ", but its loop over '" +
                                      view_.rank_variables[node.rank_variable].name +
                                      "' indexes that tensor and has " +
                                      number_text(e_.trips(static_cast<int>(i))) + " iterations");
            }
        }
    }
    for (const arch::LoopBound& bound : facts.loop_bounds) {
        loop_bound(bound, level, dim);
    }
    const int index = e_.tables.levels[level].first_dim + dim;
    const double usage = arch::share_in_use(facts, e_.analysis.used[index]);
    if (!view_.is_copy_operation && usage < facts.min_usage) {
        warn(facts.where, place(level, dim) + " is used to " + number_text(usage) +
                              ", but min_usage asks for " + number_text(facts.min_usage));
    }
}

// Temporal loops over variables that do not index the tensor, between two of its holders, repeat
// the transfer.
void Checker::unit_loops(int from, int to, int level, int tensor, const char* option) {
    for (int i = from; i < to; ++i) {
        const PmappingNode& node = e_.nodes[i];
        if (node.kind == NodeKind::temporal && e_.trips(i) != 1 &&
            !(e_.tables.tensors[tensor].relevant >> node.rank_variable & 1)) {
            warn(path_.levels[level].where,
                 path_.levels[level].name + " has " + option + " for " +
                     view_.tensors[tensor].name + ", but the loop over '" +
                     view_.rank_variables[node.rank_variable].name + "' repeats the transfer " +
                     number_text(e_.trips(i)) + " times");
        }
    }
}

void Checker::refetch(int level) {
    const int n = static_cast<int>(e_.nodes.size());
    for (int t = 0; t < e_.tables.n_tensors; ++t) {
        int first = -1, own = -1, next = n;
        for (int i = 0; i < n; ++i) {
            if (e_.nodes[i].tensor != t) {
                continue;
            }
            first = first < 0 ? i : first;
            if (own >= 0 && next == n) {
                next = i;
            }
            own = e_.nodes[i].level == level ? i : own;
        }
        if (own >= 0 && path_.levels[level].no_refetch_from_above >> t & 1) {
            unit_loops(first, own, level, t, "no_refetch_from_above");
        }
        if (own >= 0 && path_.levels[level].no_resend_to_below >> t & 1) {
            unit_loops(own, next, level, t, "no_resend_to_below");
        }
    }
}

std::vector<std::string> Checker::run() {
    if (!path_.compute().enabled) {
        warn(path_.compute().where,
             "compute " + path_.compute().name + " is not enabled for this Einsum");
    }
    storage();
    for (int l = 0; l < e_.tables.n_levels; ++l) {
        for (int d = 0; d < static_cast<int>(path_.levels[l].spatial.size()); ++d) {
            spatial(l, d);
        }
        if (path_.levels[l].kind == arch::LevelKind::memory) {
            refetch(l);
        }
    }
    return warnings_;
}

}  // namespace

std::vector<std::string> constraint_warnings(const EinsumAnalysis& einsum) {
    return Checker(einsum).run();
}

}  // namespace tessera::model
