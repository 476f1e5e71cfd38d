// The compiled evaluator and the as-written one agree bit by bit.
#include <bit>
#include <boost/test/unit_test.hpp>

#include "support/random_timeloop.hpp"

namespace {

using namespace tessera;
using namespace tessera::timeloop;

bool same_bits(double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

bool same(const Cost& cost, const Evaluation& written) {
    const Fit &a = cost.fit, &b = written.fit;
    if (a.kind != b.kind || a.level != b.level || a.needed != b.needed) {
        return false;
    }
    if (!a.ok()) {
        return true;
    }
    const Stats& stats = written.stats;
    bool equal = same_bits(cost.energy_pj, stats.energy_pj) && cost.cycles == stats.cycles &&
                 same_bits(cost.utilization, stats.utilization) && cost.wrapped == stats.wrapped &&
                 cost.forgets == !stats.forgotten.empty();
    for (std::size_t i = 0; i < stats.levels.size(); ++i) {
        equal = equal && cost.accesses[i] == stats.levels[i].accesses;
    }
    return equal;
}

void compare(int cases, std::uint64_t seed, const testing::TimeloopCaseOptions& options,
             const ModelOptions& model_options = {}) {
    std::mt19937_64 random(seed);
    CompiledModel::Workspace workspace;
    int fitting = 0, different = 0;
    for (int c = 0; c < cases; ++c) {
        testing::TimeloopCase drawn = testing::random_timeloop_case(random, options);
        if (model_options.dialect == Dialect::master) {
            testing::let_leak(drawn.architecture);
        }
        const CompiledModel model(drawn.problem, drawn.architecture, model_options);
        for (int m = 0; m < 4; ++m) {
            drawn.mapping = testing::random_timeloop_mapping(random, drawn.problem,
                                                             drawn.architecture, options);
            FlatMapping flat;
            flatten(drawn.mapping, flat);
            Cost cost;
            model.evaluate(flat, workspace, cost);
            const Evaluation written =
                evaluate(drawn.problem, drawn.architecture, drawn.mapping, model_options);
            fitting += cost.fit.ok();
            if (cost.fit.ok() == (model.check_capacity(flat).ok()) && same(cost, written)) {
                continue;
            }
            BOOST_CHECK_MESSAGE(++different > 3, "case " << c << "." << m << '\n'
                                                         << testing::timeloop_yaml(drawn));
        }
    }
    BOOST_CHECK_EQUAL(different, 0);
    BOOST_CHECK_GT(fitting, cases);
}

BOOST_AUTO_TEST_SUITE(timeloop_compiled)

BOOST_AUTO_TEST_CASE(perfect_mappings_cost_the_same) {
    compare(1000, 1, {});
}

BOOST_AUTO_TEST_CASE(mappings_that_exceed_capacities_are_found) {
    compare(400, 2, {.finite = true});
}

BOOST_AUTO_TEST_CASE(switched_off_reuse_costs_the_same) {
    compare(500, 3, {.reuse_limits = true});
}

BOOST_AUTO_TEST_CASE(imperfect_mappings_cost_the_same) {
    compare(150, 4, {.imperfect = 0.5, .most_levels = 4});
}

BOOST_AUTO_TEST_CASE(dialect_master_costs_the_same) {
    compare(300, 5, {}, {.dialect = Dialect::master});
}

BOOST_AUTO_TEST_CASE(without_elision_or_links_costs_the_same) {
    compare(300, 6, {}, {.first_read_elision = false, .link_transfers = false});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
