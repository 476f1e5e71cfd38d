// Judging a mapping by the constraints as they were written, independently of how the mapspace
// enumerates.
#include <algorithm>
#include <sstream>

#include "timeloop/mapspace.hpp"

namespace tessera::timeloop {
namespace {

class Auditor {
public:
    Auditor(const Problem& problem, const Architecture& architecture, const Mapping& mapping)
        : problem_(problem), architecture_(architecture), mapping_(mapping) {}

    void loops(const LoopConstraint& entry) {
        const LevelMapping& level = mapping_.levels[entry.level];
        const LoopBlock& block = entry.spatial ? level.spatial : level.temporal;
        where_ =
            architecture_.storage[entry.level].name + (entry.spatial ? " spatial" : " temporal");
        for (const FactorRule& rule : entry.factors) {
            for (int d = 0; d < static_cast<int>(problem_.dimensions.size()); ++d) {
                if (rule.dimension == d ||
                    (rule.dimension < 0 && !named(entry, rule.relation, d))) {
                    factor(block, rule, d);
                }
            }
        }
        if (entry.permutation) {
            permutation(block, *entry.permutation);
        }
        if (entry.split) {
            split(block, entry);
        }
        if (entry.remainders) {
            remainders(block, *entry.remainders);
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
    void factor(const LoopBlock& block, const FactorRule& rule, int d) {
        using Relation = FactorRule::Relation;
        const std::int64_t bound = problem_.dimensions[d].bound, end = block.factors[d].end;
        const bool equal = rule.relation == Relation::equal;
        const std::int64_t value = equal && rule.value == 0 ? bound : rule.value;
        if (equal && value > bound) {
            return;  // ignored with a warning
        }
        const bool obeyed = equal                                ? end == value
                            : rule.relation == Relation::at_most ? end <= value
                                                                 : end >= value;
        const char* sign = equal ? "=" : rule.relation == Relation::at_most ? "<=" : ">=";
        const std::string name = problem_.dimensions[d].name;
        if (!obeyed) {
            complain(rule.where, "factor " + name + std::to_string(end) + " violates " + name +
                                     sign + std::to_string(value));
        } else if (equal && rule.residual && block.factors[d].residual != *rule.residual) {
            complain(rule.where, "residual " + std::to_string(block.factors[d].residual) + " of " +
                                     name + " is not " + std::to_string(*rule.residual));
        }
    }
    // Loops with one iteration may stand anywhere.
    std::vector<int> running(const LoopBlock& block) const {
        std::vector<int> order;
        for (const int d : block.permutation) {
            if (block.factors[d].end > 1) {
                order.push_back(d);
            }
        }
        return order;
    }
    void permutation(const LoopBlock& block, const PermutationRule& rule) {
        const std::vector<int> order = running(block);
        const auto only_running = [&](const std::vector<int>& list) {
            std::vector<int> kept;
            for (const int d : list) {
                if (block.factors[d].end > 1) {
                    kept.push_back(d);
                }
            }
            return kept;
        };
        const std::vector<int> front = only_running(rule.innermost);
        const std::vector<int> back = only_running(rule.outermost);
        if (front.size() + back.size() > order.size() ||
            !std::equal(front.begin(), front.end(), order.begin()) ||
            !std::equal(back.rbegin(), back.rend(), order.rbegin())) {
            complain(rule.where, "the order of the loops violates the permutation");
        }
    }
    // A dimension of one iteration goes along neither axis.
    void split(const LoopBlock& block, const LoopConstraint& entry) {
        const Expansion e = expansion(block);
        const bool x = e.x > 1, y = e.y > 1;
        if ((entry.split->value == 0 && x) ||
            (entry.split->value >= static_cast<std::int64_t>(block.permutation.size()) && y)) {
            complain(entry.split->where, "loops along the axis that the split leaves empty");
            return;
        }
        if (!entry.permutation) {
            return;
        }
        for (int i = 0; i < static_cast<int>(block.permutation.size()); ++i) {
            const int d = block.permutation[i];
            const auto& inner = entry.permutation->innermost;
            const auto it = std::find(inner.begin(), inner.end(), d);
            if (block.factors[d].end > 1 && it != inner.end() &&
                (it - inner.begin() < entry.split->value) != (i < block.split)) {
                complain(entry.split->where,
                         "dimension " + problem_.dimensions[d].name + " goes along the wrong axis");
            }
        }
    }
    void remainders(const LoopBlock& block, const PlacedNumber& rule) {
        for (int d = 0; d < static_cast<int>(block.factors.size()); ++d) {
            const Factor& factor = block.factors[d];
            if (!factor.perfect() && factor.end > rule.value) {
                complain(rule.where, "imperfect factor " + problem_.dimensions[d].name +
                                         std::to_string(factor.end) + " exceeds the remainder " +
                                         std::to_string(rule.value));
            }
        }
    }
    void reuse(const LoopConstraint& entry, const LevelMapping& level) {
        const auto check = [&](const std::optional<PlacedSpaces>& wanted, DataSpaceMask set,
                               const char* key) {
            for (const int ds : wanted ? wanted->spaces : std::vector<int>{}) {
                if (!(set >> ds & 1)) {
                    complain(wanted->where,
                             std::string(key) + " is not set for " + problem_.data_spaces[ds].name);
                }
            }
        };
        check(entry.no_temporal_reuse, level.no_temporal_reuse, "no_temporal_reuse");
        check(entry.no_link_transfer, level.no_link_transfer, "no_link_transfer");
        check(entry.no_multicast_no_reduction, level.no_multicast_no_reduction,
              "no_multicast_no_reduction");
    }

    const Problem& problem_;
    const Architecture& architecture_;
    const Mapping& mapping_;
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
    return auditor.faults;
}

}  // namespace tessera::timeloop
