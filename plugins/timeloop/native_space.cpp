// Timeloop's mapspace over native hardware: mapper options as constraints.
//
//   Storage      keep, may_keep and back of every memory, from the outermost in
//   Fanout       what the spatial dimensions below one memory say; ways to share out the variables
#include <cmath>

#include "native.hpp"
#include "tessera/base/error.hpp"
#include "tessera/spec/expression.hpp"

namespace tessera::model {

namespace {

using arch::LoopBound;
using arch::Path;
using arch::PathDim;
using arch::PathLevel;
using arch::TensorMask;
using timeloop::BypassConstraint;
using timeloop::Constraints;
using timeloop::FactorRule;
using timeloop::LoopConstraint;

constexpr std::size_t most_ways = 64;
constexpr const char* remedy = ", which Timeloop's constraints cannot express; use another mapper";

std::vector<int> bits(TensorMask mask) {
    std::vector<int> result;
    for (int i = 0; mask != 0; ++i, mask >>= 1) {
        if (mask & 1) {
            result.push_back(i);
        }
    }
    return result;
}

/// Which memory may hold what. Expressions may name memories further out and `Above`; where those
/// hold a choice of tensors, they cannot be evaluated before the search.
void add_storage(const Path& path, const NativeCase& native, Constraints& constraints) {
    const TensorMask all = path.einsum.all();
    spec::Symbols symbols = path.symbols.child();
    std::vector<std::string> open;  // memories that hold a choice of tensors
    const auto evaluated = [&](const PathLevel& level, const spec::Expression& e,
                               TensorMask otherwise) {
        if (e.empty()) {
            return otherwise & all;
        }
        for (const std::string& name : e.names()) {
            for (const std::string& other : open) {
                if (name == other) {
                    throw UserError(level.where, level.name + " holds tensors depending on what " +
                                                     other + " holds" + remedy);
                }
            }
        }
        return arch::evaluate_tensors(e, symbols) & all;
    };
    for (int i = static_cast<int>(native.memories.size()) - 1; i >= 0; --i) {
        const PathLevel& level = path.levels[native.memories[i]];
        const bool outermost = i + 1 == static_cast<int>(native.memories.size());
        symbols.set("Above", spec::Value(spec::TensorSet{outermost ? 0 : all}));
        TensorMask must = 0, may = 0;
        if (level.enabled) {
            const TensorMask back = evaluated(level, level.back, 0);
            must = evaluated(level, level.keep, 0) | back;
            may = must | evaluated(level, level.may_keep, level.keep.empty() ? all : 0);
            if (!outermost && back != 0) {
                throw UserError(level.where, level.name +
                                                 " is to be the outermost memory of a tensor "
                                                 "(back), but the outermost memory holds all" +
                                                 remedy);
            }
        }
        if (outermost && may != all) {
            throw UserError(level.where, level.name +
                                             " may not hold every tensor, but Timeloop's "
                                             "mappings start there" +
                                             remedy);
        }
        must = outermost ? all : must;
        BypassConstraint entry;
        entry.level = i;
        entry.keep = bits(must);
        entry.bypass = bits(all & ~(must | may));
        entry.where = level.where;
        constraints.bypasses.push_back(std::move(entry));
        if ((may & ~must) != 0) {
            open.push_back(level.name);
        }
        symbols.set(level.name, spec::Value(spec::TensorSet{must}));
        if ((level.no_refetch_from_above | level.no_resend_to_below) & all) {
            throw UserError(
                level.where,
                level.name + " has no_refetch_from_above or no_resend_to_below" + remedy);
        }
    }
}

/// Least and greatest trip count of a variable along one dimension.
struct Range {
    std::int64_t least = 1, most = 0;  ///< most 0: no limit

    void at_least(double value) {
        least = std::max(least, static_cast<std::int64_t>(std::ceil(value)));
    }
    void at_most(double value) {
        const auto limit = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(value)));
        most = most == 0 ? limit : std::min(most, limit);
    }
    bool only_one() const {
        return most == 1;
    }
    bool free() const {
        return least == 1 && most == 0;
    }
};

void apply(const PathDim& dim, const LoopBound& bound, std::vector<Range>& ranges) {
    const std::vector<int> variables = bits(bound.variables);
    if (bound.product && variables.size() > 1) {
        throw UserError(bound.where, dim.name + " bounds a product of loops" + remedy);
    }
    for (const int v : variables) {
        Range& range = ranges[v];
        switch (bound.op) {
            case LoopBound::Op::equal:
                range.at_least(bound.value);
                range.at_most(bound.value);
                break;
            case LoopBound::Op::less_equal:
                range.at_most(bound.value);
                break;
            case LoopBound::Op::less:
                range.at_most(std::ceil(bound.value) - 1);
                break;
            case LoopBound::Op::greater_equal:
                range.at_least(bound.value);
                break;
            case LoopBound::Op::greater:
                range.at_least(std::floor(bound.value) + 1);
                break;
        }
    }
}

/// Per variable, what one dimension asks of its loops.
std::vector<Range> ranges_of(const Path& path, const PathDim& dim) {
    std::vector<Range> ranges(path.einsum.rank_variables.size());
    for (const int tensor : bits(dim.reuse & path.einsum.all())) {
        const workload::LocalTensor& local = path.einsum.tensors[tensor];
        for (const int v : bits(local.directly_indexing | local.expression_indexing)) {
            ranges[v].at_most(1);
        }
    }
    for (const LoopBound& bound : dim.loop_bounds) {
        apply(dim, bound, ranges);
    }
    return ranges;
}

FactorRule rule(int variable, FactorRule::Relation relation, std::int64_t value,
                const Position& where) {
    FactorRule result;
    result.dimension = variable;
    result.relation = relation;
    result.value = value;
    result.where = where;
    return result;
}

void add_rules(int variable, const Range& range, const Position& where, LoopConstraint& entry) {
    using Relation = FactorRule::Relation;
    if (range.least == range.most) {
        entry.factors.push_back(rule(variable, Relation::equal, range.least, where));
        return;
    }
    if (range.least > 1) {
        entry.factors.push_back(rule(variable, Relation::at_least, range.least, where));
    }
    if (range.most > 0) {
        entry.factors.push_back(rule(variable, Relation::at_most, range.most, where));
    }
}

/// The spatial dimensions below one memory.
class Fanout {
public:
    Fanout(const Path& path, int level, const std::vector<FanoutDim>& dims)
        : path_(path), level_(level), dims_(dims) {
        for (const FanoutDim& dim : dims) {
            const PathDim& own = path.levels[dim.level].spatial[dim.dim];
            ranges_.push_back(ranges_of(path, own));
            where_ = own.where;
            alike_ = alike_ && ((own.may_reuse ^ first(dims).may_reuse) & path.einsum.all()) == 0;
        }
        for (const std::vector<Range>& ranges : ranges_) {
            for (const Range& range : ranges) {
                alike_ = alike_ && range.free();
            }
        }
    }

    /// One entry for every way to give each variable a dimension; a single one that leaves it open
    /// if the dimensions ask for nothing.
    std::vector<LoopConstraint> ways() const {
        std::vector<int> along(ranges_[0].size());
        std::vector<LoopConstraint> result;
        if (alike_ || ranges_.size() == 1) {
            std::vector<arch::RankVariableMask> loops(dims_.size());
            LoopConstraint entry;
            for (std::size_t v = 0; v < along.size(); ++v) {
                if (!alike_) {
                    add_rules(static_cast<int>(v), ranges_[0][v], where_, entry);
                }
                for (arch::RankVariableMask& mask : loops) {
                    mask |= ranges_[0][v].only_one() ? 0 : arch::RankVariableMask{1} << v;
                }
            }
            result.push_back(finished(std::move(entry), loops));
        } else {
            share_out(0, along, result);
        }
        return result;
    }

private:
    const PathDim& first(const std::vector<FanoutDim>& dims) const {
        return path_.levels[dims[0].level].spatial[dims[0].dim];
    }
    void share_out(std::size_t v, std::vector<int>& along,
                   std::vector<LoopConstraint>& result) const {
        if (result.size() > most_ways) {
            return;
        }
        if (v == along.size()) {
            result.push_back(entry_of(along));
            return;
        }
        // Along a dimension where it must have one iteration a variable has no choice.
        const bool x = !ranges_[0][v].only_one(), y = !ranges_[1][v].only_one();
        if ((x && ranges_[1][v].least == 1) || (!x && !y)) {
            along[v] = 0;
            share_out(v + 1, along, result);
        }
        if (y && ranges_[0][v].least == 1) {
            along[v] = 1;
            share_out(v + 1, along, result);
        }
    }
    LoopConstraint entry_of(const std::vector<int>& along) const {
        LoopConstraint entry;
        timeloop::PermutationRule order;
        order.where = where_;
        std::int64_t split = 0;
        std::vector<arch::RankVariableMask> loops(2);
        for (int d = 0; d < 2; ++d) {
            for (std::size_t v = 0; v < along.size(); ++v) {
                if (along[v] == d) {
                    const Range& range = ranges_[static_cast<std::size_t>(d)][v];
                    order.innermost.push_back(static_cast<int>(v));
                    add_rules(static_cast<int>(v), range, where_, entry);
                    loops[static_cast<std::size_t>(d)] |=
                        range.only_one() ? 0 : arch::RankVariableMask{1} << v;
                }
            }
            split = d == 0 ? static_cast<std::int64_t>(order.innermost.size()) : split;
        }
        entry.permutation = order;
        entry.split = timeloop::PlacedNumber{split, where_};
        return finished(std::move(entry), loops);
    }
    LoopConstraint finished(LoopConstraint entry,
                            const std::vector<arch::RankVariableMask>& loops) const {
        entry.level = level_;
        entry.spatial = true;
        entry.where = where_;
        try {
            const Reuse reuse = spatial_reuse(path_, dims_, loops);
            if (reuse.separate != 0) {
                entry.no_multicast_no_reduction =
                    timeloop::PlacedSpaces{bits(reuse.separate), where_};
            }
            if (reuse.no_links != 0) {
                entry.no_link_transfer = timeloop::PlacedSpaces{bits(reuse.no_links), where_};
            }
        } catch (const IllegalMapping& conflict) {
            throw UserError(where_, conflict.what());
        }
        return entry;
    }

    const Path& path_;
    int level_;
    const std::vector<FanoutDim>& dims_;
    std::vector<std::vector<Range>> ranges_;  ///< per dimension and variable
    bool alike_ = true;  ///< no dimension restricts loops, all share the same tensors
    Position where_;
};

}  // namespace

std::vector<Constraints> native_constraints(const Path& path, const NativeCase& native) {
    std::vector<Constraints> all(1);
    add_storage(path, native, all.front());
    for (int i = 0; i < static_cast<int>(native.memories.size()); ++i) {
        const std::vector<FanoutDim> dims = fanout_below(path, native.memories, i);
        if (dims.empty()) {
            continue;
        }
        std::vector<Constraints> more;
        for (const LoopConstraint& way : Fanout(path, i, dims).ways()) {
            for (Constraints constraints : all) {
                constraints.loops.push_back(way);
                more.push_back(std::move(constraints));
            }
        }
        all = std::move(more);
        if (all.size() > most_ways) {
            throw UserError(path.levels[dims.front().level].where,
                            "rank variables may go along either of two spatial dimensions in more "
                            "than 64 ways" +
                                std::string(remedy));
        }
        if (all.empty()) {
            throw NoLegalMapping("no loops meet the bounds of the spatial dimensions of " +
                                 path.levels[dims.front().level].name);
        }
    }
    return all;
}

}  // namespace tessera::model
