// Judging a mapping by the constraints as they were written, independently of how the mapspace
// enumerates.
#include <algorithm>
#include <sstream>

#include "timeloop/mapspace.hpp"
#include "timeloop/read.hpp"

namespace tessera::timeloop {
namespace {

class Auditor {
public:
    Auditor(const Problem& problem, const Architecture& architecture, const Mapping& mapping,
            bool hardware_only = false)
        : problem_(problem),
          architecture_(architecture),
          mapping_(mapping),
          hardware_only_(hardware_only) {}

    void loops(const LoopConstraint& entry) {
        const LevelMapping& level = mapping_.levels[entry.level];
        block_ = entry.spatial ? &level.spatial : &level.temporal;
        where_ =
            architecture_.storage[entry.level].name + (entry.spatial ? " spatial" : " temporal");
        for (const FactorRule& rule : entry.factors) {
            for (int d = 0; d < static_cast<int>(problem_.dimensions.size()); ++d) {
                if (rule.dimension == d ||
                    (rule.dimension < 0 && !named(entry, rule.relation, d))) {
                    factor(rule, d);
                }
            }
        }
        // The order of the loops around the computes themselves changes nothing.
        const bool innermost = entry.level == 0 && !entry.spatial && architecture_.fanout(0) == 1;
        if (entry.permutation && !(hardware_only_ && innermost)) {
            order(*entry.permutation);
        }
        if (entry.split) {
            split(*entry.split, entry.permutation.value_or(PermutationRule{}));
        }
        if (hardware_only_) {
            return;
        }
        if (entry.remainders) {
            remainders(*entry.remainders);
        }
        reuse(entry, level);
    }
    void bypass(const BypassConstraint& entry) {
        where_ = architecture_.storage[entry.level].name;
        const LevelMapping& level = mapping_.levels[entry.level];
        for (const bool keep : {true, false}) {
            for (const int ds : keep ? entry.keep : entry.bypass) {
                if (level.keeps(ds) != keep) {
                    complain(entry.where, problem_.data_spaces[ds].name +
                                              (keep ? " is bypassed but must be kept"
                                                    : " is kept but must be bypassed"));
                }
            }
        }
        check_set(entry.no_coalesce, level.no_coalesce, "no_coalesce");
    }
    void temporal_loops(const PlacedNumber& most) {
        std::int64_t loops = 0;
        for (const LevelMapping& level : mapping_.levels) {
            loops += std::count_if(level.temporal.factors.begin(), level.temporal.factors.end(),
                                   [](const Factor& factor) { return factor.end > 1; });
        }
        if (loops > most.value) {
            where_ = "all levels";
            complain(most.where, std::to_string(loops) + " temporal loops are more than " +
                                     std::to_string(most.value));
        }
    }
    void parallelism(const ParallelismConstraint& entry) {
        double used = 1;
        for (int level = 0; level < architecture_.levels(); ++level) {
            const Expansion e = expansion(mapping_.levels[level].spatial);
            used *= static_cast<double>(e.x) * static_cast<double>(e.y) /
                    static_cast<double>(architecture_.fanout(level));
        }
        if (used < entry.min) {
            std::ostringstream text;
            text << "parallelism " << used << " is below the constrained " << entry.min;
            where_ = "all levels";
            complain(entry.where, text.str());
        }
    }
    std::vector<std::string> faults;

private:
    static bool named(const LoopConstraint& entry, FactorRule::Relation relation, int dimension) {
        return std::any_of(entry.factors.begin(), entry.factors.end(), [&](const FactorRule& rule) {
            return rule.relation == relation && rule.dimension == dimension;
        });
    }
    void complain(const Position& place, const std::string& text) {
        const std::string at = place.text();
        faults.push_back((at.empty() ? "" : at + ": ") + where_ + ": " + text);
    }
    void factor(const FactorRule& rule, int d) {
        using Relation = FactorRule::Relation;
        const std::int64_t bound = problem_.dimensions[d].bound, end = block_->factors[d].end;
        const bool equal = rule.relation == Relation::equal;
        const std::int64_t value = equal && rule.value == 0 ? bound : rule.value;
        if (equal && value > bound) {
            return;  // ignored with a warning
        }
        const bool obeyed = equal                                ? end == value
                            : rule.relation == Relation::at_most ? end <= value
                                                                 : end >= value;
        const char* sign = equal ? "=" : rule.relation == Relation::at_most ? "<=" : ">=";
        const std::string& name = problem_.dimensions[d].name;
        if (!obeyed) {
            complain(rule.where, "the factor of '" + name + "' is " + std::to_string(end) +
                                     " (constraint: " + name + sign + std::to_string(value) + ")");
        } else if (!hardware_only_ && equal && rule.residual &&
                   block_->factors[d].residual != *rule.residual) {
            complain(rule.where, "residual " + std::to_string(block_->factors[d].residual) +
                                     " of " + name + " is not " + std::to_string(*rule.residual));
        }
    }
    /// Of a list of dimensions those with loops; the others may stand anywhere.
    std::vector<int> running(const std::vector<int>& dimensions) const {
        std::vector<int> kept;
        for (const int d : dimensions) {
            if (block_->factors[d].end > 1) {
                kept.push_back(d);
            }
        }
        return kept;
    }
    void order(const PermutationRule& rule) {
        const std::vector<int> used = running(block_->permutation);
        const std::vector<int> inner = running(rule.innermost), outer = running(rule.outermost);
        if (inner.size() + outer.size() <= used.size() &&
            std::equal(inner.begin(), inner.end(), used.begin()) &&
            std::equal(outer.rbegin(), outer.rend(), used.rbegin())) {
            return;
        }
        const auto names = [&](const std::vector<int>& dimensions) {
            std::string text;
            for (const int d : dimensions) {
                text += problem_.dimensions[d].name;
            }
            return text;
        };
        complain(rule.where, "the loops are ordered " + names(used) +
                                 ", innermost first (constraint: " + names(rule.innermost) +
                                 (rule.outermost.empty() ? "" : "_") + names(rule.outermost) + ")");
    }
    /// The split counts dimensions of the constraint's own permutation, those without loops
    /// included; where that leaves a place open, both sides are good.
    void split(const PlacedNumber& wanted, const PermutationRule& rule) {
        const auto all = static_cast<std::int64_t>(problem_.dimensions.size());
        const Expansion used = expansion(*block_);
        if (!hardware_only_ &&
            ((wanted.value == 0 && used.x > 1) || (wanted.value >= all && used.y > 1))) {
            complain(wanted.where, "loops along the axis that the split leaves empty");
            return;
        }
        const auto check = [&](int d, std::int64_t place) {
            const auto at = std::find(block_->permutation.begin(), block_->permutation.end(), d);
            const bool along_x = at - block_->permutation.begin() < block_->split;
            if (block_->factors[d].end > 1 && along_x != (place < wanted.value)) {
                complain(wanted.where, "'" + problem_.dimensions[d].name + "' lies along " +
                                           (along_x ? "X" : "Y") + " (constraint: split " +
                                           std::to_string(wanted.value) + ")");
            }
        };
        for (std::size_t i = 0; i < rule.innermost.size(); ++i) {
            check(rule.innermost[i], static_cast<std::int64_t>(i));
        }
        for (std::size_t i = 0; i < rule.outermost.size(); ++i) {
            check(rule.outermost[i], all - static_cast<std::int64_t>(rule.outermost.size() - i));
        }
    }
    void remainders(const PlacedNumber& rule) {
        for (int d = 0; d < static_cast<int>(block_->factors.size()); ++d) {
            const Factor& factor = block_->factors[d];
            if (!factor.perfect() && factor.end > rule.value) {
                complain(rule.where, "imperfect factor " + problem_.dimensions[d].name +
                                         std::to_string(factor.end) + " exceeds the remainder " +
                                         std::to_string(rule.value));
            }
        }
    }
    void reuse(const LoopConstraint& entry, const LevelMapping& level) {
        check_set(entry.no_temporal_reuse, level.no_temporal_reuse, "no_temporal_reuse");
        check_set(entry.no_link_transfer, level.no_link_transfer, "no_link_transfer");
        check_set(entry.no_multicast_no_reduction, level.no_multicast_no_reduction,
                  "no_multicast_no_reduction");
        check_set(entry.rmw_first_update, level.rmw_first_update, "rmw_first_update");
    }
    void check_set(const std::optional<PlacedSpaces>& wanted, DataSpaceMask set, const char* key) {
        for (const int ds : wanted ? wanted->spaces : std::vector<int>{}) {
            if (!(set >> ds & 1)) {
                complain(wanted->where,
                         std::string(key) + " is not set for " + problem_.data_spaces[ds].name);
            }
        }
    }

    const Problem& problem_;
    const Architecture& architecture_;
    const Mapping& mapping_;
    const bool hardware_only_;  ///< what Timeloop's model asks
    const LoopBlock* block_ = nullptr;
    std::string where_;
};

}  // namespace

std::vector<std::string> MapSpace::audit(const Mapping& mapping) const {
    Auditor auditor(*problem_, *architecture_, mapping);
    const std::string fault = structural_fault(*problem_, *architecture_, mapping);
    if (!fault.empty()) {
        auditor.faults.push_back(fault);
        return auditor.faults;
    }
    for (const LoopConstraint& entry : constraints_.loops) {
        auditor.loops(entry);
    }
    for (const BypassConstraint& entry : constraints_.bypasses) {
        auditor.bypass(entry);
    }
    for (const ParallelismConstraint& entry : constraints_.parallelism) {
        auditor.parallelism(entry);
    }
    if (constraints_.temporal_loops && constraints_.temporal_loops->value > 0) {
        auditor.temporal_loops(*constraints_.temporal_loops);
    }
    return auditor.faults;
}

std::vector<std::string> broken_constraints(const Input& input, const Mapping& mapping,
                                            Warnings& warnings) {
    // Of nodes, the mapping and the constraints are one list.
    if (input.document.from_nodes) {
        return {};
    }
    const Constraints all =
        read_constraints(input.document, input.problem, input.architecture, warnings);
    Auditor auditor(input.problem, input.architecture, mapping, true);
    for (const LoopConstraint& entry : all.loops) {
        if (entry.source == ConstraintSource::architecture) {
            auditor.loops(entry);
        }
    }
    return auditor.faults;
}

}  // namespace tessera::timeloop
