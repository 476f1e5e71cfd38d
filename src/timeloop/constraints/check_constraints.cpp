// Whether a given mapping obeys the constraints of the hardware, as Timeloop's model asks: factors,
// their limits, orders of non-unit loops, spatial splits. Bypasses are not asked about, nor the
// order of the innermost temporal loops, which makes no difference.

#include <algorithm>

#include "timeloop/read.hpp"

namespace tessera::timeloop {

namespace {

class Checker {
public:
    Checker(const Input& input, const Mapping& mapping, std::vector<std::string>& faults)
        : input_(input), mapping_(mapping), faults_(faults) {}

    void check(const LoopConstraint& constraint) {
        const auto level = static_cast<std::size_t>(constraint.level);
        const LevelMapping& loops = mapping_.levels[level];
        block_ = constraint.spatial ? &loops.spatial : &loops.temporal;
        name_ = input_.architecture.storage[level].name +
                (constraint.spatial ? " spatial" : " temporal");
        factors(constraint);
        // The order of the loops around the computes themselves changes nothing.
        const bool innermost =
            constraint.level == 0 && !constraint.spatial && input_.architecture.fanout(0) == 1;
        if (constraint.permutation && !innermost) {
            order(*constraint.permutation);
        }
        if (constraint.split) {
            split(*constraint.split, constraint.permutation.value_or(PermutationRule{}));
        }
    }

private:
    void fault(const Position& where, const std::string& text) {
        faults_.push_back((where.text().empty() ? "" : where.text() + ": ") + name_ + ": " + text);
    }
    const std::string& dimension(int id) const {
        return input_.problem.dimensions[static_cast<std::size_t>(id)].name;
    }

    void factors(const LoopConstraint& constraint) {
        using Relation = FactorRule::Relation;
        const auto named = [&](int id, Relation relation) {
            return std::any_of(constraint.factors.begin(), constraint.factors.end(),
                               [&](const FactorRule& rule) {
                                   return rule.dimension == id && rule.relation == relation;
                               });
        };
        for (const FactorRule& rule : constraint.factors) {
            if (rule.dimension >= 0) {
                factor(rule, rule.dimension);
                continue;
            }
            for (std::size_t d = 0; d < input_.problem.dimensions.size(); ++d) {
                if (!named(static_cast<int>(d), rule.relation)) {
                    factor(rule, static_cast<int>(d));
                }
            }
        }
    }

    void factor(const FactorRule& rule, int id) {
        const auto d = static_cast<std::size_t>(id);
        const std::int64_t used = block_->factors[d].end;
        std::int64_t wanted = rule.value;
        const char* relation = "=";
        bool good = true;
        if (rule.relation == FactorRule::Relation::equal) {
            wanted = wanted == 0 ? input_.problem.dimensions[d].bound : wanted;
            good = used == wanted;
        } else if (rule.relation == FactorRule::Relation::at_most) {
            relation = "<=";
            good = used <= wanted;
        } else {
            relation = ">=";
            good = used >= wanted;
        }
        if (!good) {
            fault(rule.where, "the factor of '" + dimension(id) + "' is " + std::to_string(used) +
                                  " (constraint: " + dimension(id) + relation +
                                  std::to_string(wanted) + ")");
        }
    }

    /// Dimensions with loops in the order of the mapping, innermost first.
    std::vector<int> loops() const {
        std::vector<int> result;
        for (const int id : block_->permutation) {
            if (block_->factors[static_cast<std::size_t>(id)].end > 1) {
                result.push_back(id);
            }
        }
        return result;
    }

    void order(const PermutationRule& rule) {
        const std::vector<int> used = loops();
        const auto with_loops = [&](const std::vector<int>& wanted) {
            std::vector<int> result;
            std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(result), [&](int id) {
                return std::find(used.begin(), used.end(), id) != used.end();
            });
            return result;
        };
        const std::vector<int> inner = with_loops(rule.innermost),
                               outer = with_loops(rule.outermost);
        const bool good = inner.size() + outer.size() <= used.size() &&
                          std::equal(inner.begin(), inner.end(), used.begin()) &&
                          std::equal(outer.rbegin(), outer.rend(), used.rbegin());
        if (!good) {
            std::string order, wanted;
            for (const int id : used) {
                order += dimension(id);
            }
            for (const int id : rule.innermost) {
                wanted += dimension(id);
            }
            for (const int id : rule.outermost) {
                wanted += (id == rule.outermost.front() ? "_" : "") + dimension(id);
            }
            fault(rule.where, "the loops are ordered " + order +
                                  ", innermost first (constraint: " + wanted + ")");
        }
    }

    /// The split counts dimensions of the constraint's own permutation, those without loops
    /// included; where that leaves a place open, both sides are good.
    void split(const PlacedNumber& wanted, const PermutationRule& rule) {
        const auto all = static_cast<std::int64_t>(input_.problem.dimensions.size());
        const auto check = [&](int id, std::int64_t place) {
            const auto at = std::find(block_->permutation.begin(), block_->permutation.end(), id);
            const bool along_x = at - block_->permutation.begin() < block_->split;
            const bool loop = block_->factors[static_cast<std::size_t>(id)].end > 1;
            if (loop && along_x != (place < wanted.value)) {
                fault(wanted.where, "'" + dimension(id) + "' lies along " + (along_x ? "X" : "Y") +
                                        " (constraint: split " + std::to_string(wanted.value) +
                                        ")");
            }
        };
        for (std::size_t i = 0; i < rule.innermost.size(); ++i) {
            check(rule.innermost[i], static_cast<std::int64_t>(i));
        }
        for (std::size_t i = 0; i < rule.outermost.size(); ++i) {
            check(rule.outermost[i], all - static_cast<std::int64_t>(rule.outermost.size() - i));
        }
    }

    const Input& input_;
    const Mapping& mapping_;
    std::vector<std::string>& faults_;
    const LoopBlock* block_ = nullptr;
    std::string name_;
};

}  // namespace

std::vector<std::string> broken_constraints(const Input& input, const Mapping& mapping) {
    // Of nodes, the mapping and the constraints are one list.
    if (input.document.from_nodes) {
        return {};
    }
    Warnings ignored;
    const Constraints all =
        read_constraints(input.document, input.problem, input.architecture, ignored);
    std::vector<std::string> faults;
    Checker checker(input, mapping, faults);
    for (const LoopConstraint& constraint : all.loops) {
        if (constraint.source == ConstraintSource::architecture) {
            checker.check(constraint);
        }
    }
    return faults;
}

}  // namespace tessera::timeloop
