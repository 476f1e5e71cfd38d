#include "timeloop/mapspace/merge.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "tessera/base/error.hpp"
#include "tessera/spec/value.hpp"

namespace tessera::timeloop {
namespace {

std::string at(const Position& where, ConstraintSource source) {
    const std::string list = source == ConstraintSource::architecture ? "architecture constraints"
                                                                      : "mapspace constraints";
    const std::string place = where.text();
    return place.empty() ? list : place + " (" + list + ")";
}

class Merger {
public:
    Merger(const Problem& problem, const Architecture& architecture)
        : problem_(problem), architecture_(architecture) {
        const std::size_t dimensions = problem.dimensions.size();
        for (int storage = 0; storage < architecture.levels(); ++storage) {
            for (const bool spatial : {true, false}) {
                if (spatial && architecture.fanout(storage) <= 1) {
                    continue;
                }
                TilingLevel level;
                level.storage = storage;
                level.spatial = spatial;
                if (spatial) {
                    level.fanout_x = architecture.fanout_x(storage);
                    level.fanout_y = architecture.fanout_y(storage);
                    level.exceeds_fanout = architecture.packs_instances();
                }
                for (auto* list :
                     {&level.fixed, &level.fixed_residual, &level.at_most, &level.at_least}) {
                    list->assign(dimensions, 0);
                }
                out_.levels.push_back(level);
            }
        }
        // The outermost level keeps everything unless told otherwise.
        std::vector<int> free(architecture.levels(), 2);
        free.back() = 1;
        out_.keep.assign(problem.data_spaces.size(), free);
    }

    MergedConstraints merge(const Constraints& constraints) {
        for (const LoopConstraint& entry : constraints.loops) {
            add_loops(entry);
        }
        for (const BypassConstraint& entry : constraints.bypasses) {
            add_bypass(entry);
        }
        for (const ParallelismConstraint& entry : constraints.parallelism) {
            claim({-1, 0, -1, "the minimum parallelism"}, entry.where, entry.source);
            out_.min_parallelism = entry.min;
        }
        check_divisible();
        finish_levels();
        return std::move(out_);
    }

private:
    struct Item {
        int level, spatial, id;
        std::string what;
        bool operator<(const Item& o) const {
            return std::tie(level, spatial, id, what) < std::tie(o.level, o.spatial, o.id, o.what);
        }
    };
    using Claim = std::pair<Position, ConstraintSource>;

    void claim(const Item& item, const Position& where, ConstraintSource source) {
        const auto [it, fresh] = claims_.try_emplace(item, where, source);
        if (!fresh) {
            const std::string level =
                item.level < 0 ? "" : " at level " + architecture_.storage[item.level].name;
            throw UserError(
                where,
                "constraints: " + item.what + level + " is given twice, here in the " +
                    (source == ConstraintSource::architecture ? "architecture" : "mapspace") +
                    " constraints and before at " + at(it->second.first, it->second.second) +
                    "; keep one of the two");
        }
    }
    TilingLevel& find(const LoopConstraint& entry) {
        for (TilingLevel& level : out_.levels) {
            if (level.storage == entry.level && level.spatial == entry.spatial) {
                return level;
            }
        }
        const std::string inner = entry.level == 0 ? architecture_.arithmetic.name
                                                   : architecture_.storage[entry.level - 1].name;
        throw UserError(entry.where,
                        "constraints: level " + architecture_.storage[entry.level].name +
                            " has no spatial loops to constrain, because it has as many "
                            "instances as the next inner level " +
                            inner + "; constrain a level with a fan-out");
    }
    void add_loops(const LoopConstraint& entry) {
        TilingLevel& level = find(entry);
        for (const FactorRule& rule : entry.factors) {
            if (rule.dimension >= 0) {
                add_factor(entry, level, rule.dimension, rule);
            }
        }
        for (const FactorRule& rule : entry.factors) {  // defaults, for what is not named
            for (int d = 0; rule.dimension < 0 && d < static_cast<int>(level.fixed.size()); ++d) {
                if (!named(entry, rule.relation, d)) {
                    add_factor(entry, level, d, rule);
                }
            }
        }
        const int kind = entry.spatial;
        if (entry.permutation) {
            claim({entry.level, kind, -1, "the permutation"}, entry.permutation->where,
                  entry.source);
            level.prefix = entry.permutation->innermost;
            level.suffix = entry.permutation->outermost;
        }
        if (entry.split) {
            claim({entry.level, kind, -1, "the spatial split"}, entry.split->where, entry.source);
            level.split = entry.split->value;
        }
        if (entry.remainders) {
            claim({entry.level, kind, -1, "the largest remainder"}, entry.remainders->where,
                  entry.source);
            level.remainder = entry.remainders->value;
        }
    }
    static bool named(const LoopConstraint& entry, FactorRule::Relation relation, int dimension) {
        for (const FactorRule& rule : entry.factors) {
            if (rule.relation == relation && rule.dimension == dimension) {
                return true;
            }
        }
        return false;
    }
    void add_factor(const LoopConstraint& entry, TilingLevel& level, int d,
                    const FactorRule& rule) {
        using Relation = FactorRule::Relation;
        const std::int64_t bound = problem_.dimensions[d].bound;
        const std::string& name = problem_.dimensions[d].name;
        if (rule.relation == Relation::equal && rule.value > bound) {
            out_.warnings.push_back("Constraint " + name + "=" + std::to_string(rule.value) +
                                    " exceeds problem dimension " + name + "=" +
                                    std::to_string(bound) + ", ignoring.");
            return;
        }
        const char* what = rule.relation == Relation::equal ? "the factor of dimension "
                           : rule.relation == Relation::at_most
                               ? "the largest factor of dimension "
                               : "the smallest factor of dimension ";
        claim({entry.level, entry.spatial, d, what + name}, rule.where, entry.source);
        auto& list = rule.relation == Relation::equal     ? level.fixed
                     : rule.relation == Relation::at_most ? level.at_most
                                                          : level.at_least;
        list[d] = rule.relation == Relation::equal && rule.value == 0 ? bound : rule.value;
        if (rule.relation == Relation::equal && rule.residual && *rule.residual != list[d]) {
            level.fixed_residual[d] = *rule.residual;
            out_.residuals = true;
        }
    }
    void add_bypass(const BypassConstraint& entry) {
        for (const bool keep : {true, false}) {
            for (const int ds : keep ? entry.keep : entry.bypass) {
                int& state = out_.keep[ds][entry.level];
                const Item item{entry.level, 2, ds,
                                "keep or bypass of data space " + problem_.data_spaces[ds].name};
                // Timeloop lets the outermost level be told twice; the same answer is harmless.
                const auto known = claims_.find(item);
                if (entry.level + 1 == architecture_.levels() && known != claims_.end() &&
                    state == keep) {
                    continue;
                }
                claim(item, entry.where, entry.source);
                state = keep;
            }
        }
    }
    void check_divisible() const {
        for (int d = 0; d < static_cast<int>(problem_.dimensions.size()); ++d) {
            const std::int64_t bound = problem_.dimensions[d].bound;
            std::int64_t product = 1;  // above the bound it need not be exact
            double told = 1;
            bool imperfect = false, all_fixed = true;
            std::string places;
            for (const TilingLevel& level : out_.levels) {
                imperfect |= level.fixed_residual[d] != 0 || level.remainder != 0;
                all_fixed &= level.fixed[d] != 0;
                if (level.fixed[d] > 1) {
                    product *= product > bound ? 1 : level.fixed[d];
                    told *= static_cast<double>(level.fixed[d]);
                    places += (places.empty() ? "" : ", ") +
                              architecture_.storage[level.storage].name +
                              (level.spatial ? " spatial " : " temporal ") +
                              std::to_string(level.fixed[d]) + place_of(level, d);
                }
            }
            if (imperfect || (bound % product == 0 && (!all_fixed || product == bound))) {
                continue;
            }
            throw UserError("constraints: the fixed factors of dimension " +
                            problem_.dimensions[d].name + " multiply to " +
                            spec::number_text(told) +
                            (bound % product == 0 ? ", but leave no level free and the bound is "
                                                  : ", which does not divide the bound ") +
                            std::to_string(bound) + ": " + (places.empty() ? "all 1" : places) +
                            "; change one of them");
        }
    }
    std::string place_of(const TilingLevel& level, int d) const {
        const auto it = claims_.find({level.storage, level.spatial, d,
                                      "the factor of dimension " + problem_.dimensions[d].name});
        return it == claims_.end() ? "" : " at " + at(it->second.first, it->second.second);
    }
    void finish_levels() {
        for (std::size_t i = 0; i < out_.levels.size(); ++i) {
            TilingLevel& level = out_.levels[i];
            for (int d = 0; d < static_cast<int>(problem_.dimensions.size()); ++d) {
                const auto in = [&](const std::vector<int>& list) {
                    return std::find(list.begin(), list.end(), d) != list.end();
                };
                if (!in(level.prefix) && !in(level.suffix)) {
                    level.free.push_back(d);
                }
            }
            const bool all_free = level.prefix.empty() && level.suffix.empty();
            const bool flat = level.fanout_x == 1 || level.fanout_y == 1;
            level.canonical = level.spatial ? all_free && flat : i == 0;
        }
    }

    const Problem& problem_;
    const Architecture& architecture_;
    MergedConstraints out_;
    std::map<Item, Claim> claims_;
};

}  // namespace

MergedConstraints merge_constraints(const Problem& problem, const Architecture& architecture,
                                    const Constraints& constraints) {
    return Merger(problem, architecture).merge(constraints);
}

}  // namespace tessera::timeloop
