#include "support/small_mapspace.hpp"

#include <algorithm>

#include "support/random_timeloop.hpp"

namespace tessera::testing {
namespace {

using namespace timeloop;
using Random = std::mt19937_64;

int pick(Random& random, int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
}
bool chance(Random& random, double share) {
    return std::uniform_real_distribution<>(0, 1)(random) < share;
}

LoopConstraint loop_constraint(Random& random, const Problem& problem, int level, bool spatial) {
    LoopConstraint entry;
    entry.level = level;
    entry.spatial = spatial;
    entry.source =
        chance(random, 0.5) ? ConstraintSource::architecture : ConstraintSource::mapspace;
    const int dimensions = static_cast<int>(problem.dimensions.size());
    for (int d = 0; d < dimensions; ++d) {
        if (chance(random, 0.35)) {
            FactorRule rule;
            rule.dimension = d;
            rule.relation = chance(random, 0.5)   ? FactorRule::Relation::equal
                            : chance(random, 0.8) ? FactorRule::Relation::at_most
                                                  : FactorRule::Relation::at_least;
            const bool one = rule.relation == FactorRule::Relation::equal && chance(random, 0.8);
            rule.value = one ? 1 : 2;
            if (problem.dimensions[d].bound % 2 != 0 &&
                rule.relation != FactorRule::Relation::at_most) {
                rule.value = 1;
            }
            entry.factors.push_back(rule);
        }
    }
    if (chance(random, 0.4)) {
        PermutationRule rule;
        std::vector<int> order;
        for (int d = 0; d < dimensions; ++d) {
            order.push_back(d);
        }
        std::shuffle(order.begin(), order.end(), random);
        const int front = pick(random, 0, 2), back = pick(random, 0, 1);
        rule.innermost.assign(order.begin(), order.begin() + front);
        rule.outermost.assign(order.end() - back, order.end());
        entry.permutation = rule;
    }
    if (spatial && chance(random, 0.3)) {
        entry.split = PlacedNumber{pick(random, 0, dimensions), {}};
    }
    return entry;
}

}  // namespace

SmallMapSpace small_mapspace(Random& random) {
    TimeloopCaseOptions options;
    options.finite = chance(random, 0.7);
    options.networks = chance(random, 0.3);
    options.most_levels = 3;
    TimeloopCase c = random_timeloop_case(random, options);
    SmallMapSpace out{c.problem, c.architecture, {}};
    static constexpr int bounds[] = {1, 2, 2, 3, 4, 4, 6, 8};
    for (Dimension& dimension : out.problem.dimensions) {
        dimension.bound = bounds[pick(random, 0, 7)];
    }
    for (StorageLevel& level : out.architecture.storage) {
        if (options.finite && &level != &out.architecture.storage.back()) {
            level.size = pick(random, 6, 120);
        }
    }
    for (int level = 0; level < out.architecture.levels(); ++level) {
        for (const bool spatial : {false, true}) {
            if ((!spatial || out.architecture.fanout(level) > 1) && chance(random, 0.5)) {
                out.constraints.loops.push_back(
                    loop_constraint(random, out.problem, level, spatial));
            }
        }
        BypassConstraint bypass;
        bypass.level = level;
        for (int ds = 0; ds < static_cast<int>(out.problem.data_spaces.size()); ++ds) {
            if (chance(random, 0.7)) {
                const double kept = level + 1 == out.architecture.levels() ? 0.97 : 0.6;
                (chance(random, kept) ? bypass.keep : bypass.bypass).push_back(ds);
            }
        }
        out.constraints.bypasses.push_back(bypass);
    }
    if (chance(random, 0.15)) {
        out.constraints.parallelism.push_back({ConstraintSource::mapspace, 0.5, {}});
    }
    return out;
}

}  // namespace tessera::testing
