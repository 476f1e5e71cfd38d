// Metric `resource_usage`: the Pareto set over the usage of memories and other metrics is that of
// all mappings, found by brute force.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <set>

#include "oracle/oracle_instance.hpp"
#include "oracle/oracle_tree.hpp"
#include "oracle/points.hpp"
#include "support/setting.hpp"
#include "tessera/base/error.hpp"
#include "tessera/session.hpp"

namespace {

using namespace tessera;
using mapper::Metric;
using Values = std::vector<double>;  ///< usages, then metrics
using Set = std::set<Values>;

/// What is minimised: usages of the first memories, and metrics.
struct Goals {
    std::vector<std::string> memories;
    std::vector<Metric> metrics;
    bool alone = false;
};

bool as_good(const Values& a, const Values& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i] > b[i] && !oracle::close(a[i], b[i])) {
            return false;
        }
    }
    return true;
}

/// Keeps what no other one is as good as.
void offer(Set& set, const Values& values) {
    for (const Values& one : set) {
        if (as_good(one, values)) {
            return;
        }
    }
    std::erase_if(set, [&](const Values& one) { return as_good(values, one); });
    set.insert(values);
}

bool same(const Set& a, const Set& b) {
    const auto all_in = [](const Set& these, const Set& those) {
        return std::ranges::all_of(these, [&](const Values& one) {
            return std::ranges::any_of(
                those, [&](const Values& two) { return as_good(one, two) && as_good(two, one); });
        });
    };
    return a.size() == b.size() && all_in(a, b) && all_in(b, a);
}

std::string text(const Set& set) {
    std::string all;
    for (const Values& values : set) {
        all += " (";
        for (const double value : values) {
            all += std::to_string(value) + " ";
        }
        all += ")";
    }
    return all;
}

double value(Metric metric, double energy_j, double latency_s) {
    return mapper::metric_value(metric, energy_j, latency_s);
}

/// \throws TooMany
Set brute_force(const oracle::Space& space, const Goals& goals) {
    Set set;
    oracle::for_each_tree(
        space,
        [&](const oracle::Tree& tree) {
            double energy_j = 0, latency_s = 0;
            for (const oracle::ChainRow* row : tree.rows) {
                energy_j += row->energy_j;
                latency_s += row->latency_s;
            }
            Values values;
            for (std::size_t m = 0; m < goals.memories.size(); ++m) {
                values.push_back(oracle::peak_bits(space, tree.groups, tree.rows, tree.shared, m) /
                                 space.memories[m].size_bits);
            }
            for (const Metric metric : goals.alone ? std::vector<Metric>() : goals.metrics) {
                values.push_back(value(metric, energy_j, latency_s));
            }
            offer(set, values);
        },
        60'000);
    return set;
}

/// Of the search; its points are no better than each other.
Set found(const oracle::LoadedInstance& instance, const mapspace::MapSpaceOptions& mapspace,
          const Goals& goals, const std::string& mapper = "ffm") {
    mapper::Options settings;
    settings.metrics = goals.metrics;
    settings.mapspace = mapspace;
    settings.threads = 1;
    Components components;
    components.mapper = mapper == "ffm" ? mapper : "search";
    if (mapper != "ffm") {
        components.strategy = mapper;
        components.knobs["search"]["strategy"] = mapper;
    }
    Session session(instance.problem, components, settings, Session::Space::given);
    session.minimise_usage({goals.memories, goals.alone});
    const Result result = session.search();
    BOOST_TEST((result.status ==
                (result.solutions.empty() ? mapper::Status::infeasible : mapper::Status::optimal)));
    Set set;
    double first = -std::numeric_limits<double>::infinity();
    for (const mapper::Solution& one : result.solutions) {
        Values values;
        for (const std::string& memory : goals.memories) {
            values.push_back(resource_usage(one.report, memory));
        }
        for (const Metric metric : goals.alone ? std::vector<Metric>() : goals.metrics) {
            values.push_back(mapper::metric_value(metric, one.report));
        }
        offer(set, values);
        const double now = mapper::metric_value(goals.metrics.front(), one.report);
        BOOST_TEST(now >= first);
        first = now;
    }
    BOOST_TEST(set.size() == result.solutions.size());
    return set;
}

/// What is asked for differs from one problem to the next.
Goals goals_of(const oracle::Space& space, std::uint64_t seed) {
    static const std::vector<std::vector<Metric>> metrics = {
        {Metric::energy}, {Metric::latency}, {Metric::edp}, {Metric::energy, Metric::latency}};
    Goals goals;
    const bool all = seed % 3 == 0;
    for (const oracle::Memory& memory : space.memories) {
        if (all || goals.memories.empty()) {
            goals.memories.push_back(memory.name);
        }
    }
    goals.metrics = metrics[seed % metrics.size()];
    goals.alone = seed % 7 == 0;
    return goals;
}

}  // namespace

// A soak: TESSERA_SOAK=N problems from TESSERA_SOAK_FROM on.
BOOST_AUTO_TEST_CASE(fronts_over_the_usage_of_memories_equal_brute_force) {
    plugin::register_builtins();
    const std::uint64_t soak = test::setting("TESSERA_SOAK", 0);
    const std::uint64_t wanted = soak > 0 ? soak : 60;
    std::uint64_t judged = 0, several = 0, sizes = 0;
    for (std::uint64_t seed = test::setting("TESSERA_SOAK_FROM", 1); judged < wanted; ++seed) {
        oracle::Instance drawn = oracle::random_full_instance(seed);
        drawn.options.all_einsum_orders = false;
        try {
            const oracle::LoadedInstance instance(drawn.yaml);
            auto space = oracle::make_space(instance.problem, drawn.options, 4'000);
            oracle::keep_useful_rows(space);
            const Goals goals = goals_of(space, seed);
            if (goals.memories.empty()) {
                continue;
            }
            BOOST_TEST_CONTEXT("seed " << seed << " " << drawn.kind << "\n" << drawn.yaml) {
                const Set expected = brute_force(space, goals);
                const Set set = found(instance, drawn.options, goals);
                BOOST_TEST(same(set, expected),
                           "found" << text(set) << ", brute force" << text(expected));
                several += expected.size() > 2;
                sizes += expected.size();
            }
            ++judged;
        } catch (const oracle::TooMany&) {
            continue;
        }
    }
    BOOST_TEST(several * 4 >= judged);
    BOOST_TEST_MESSAGE(judged << " problems, " << sizes << " points");
}

BOOST_AUTO_TEST_CASE(the_front_is_the_same_with_every_mapper_that_proves) {
    plugin::register_builtins();
    int judged = 0;
    for (std::uint64_t seed = 1; judged < 5; ++seed) {
        oracle::Instance drawn = oracle::random_full_instance(seed);
        drawn.options.all_einsum_orders = false;
        try {
            const oracle::LoadedInstance instance(drawn.yaml);
            const auto space = oracle::make_space(instance.problem, drawn.options, 400);
            const Goals goals{{space.memories.at(0).name}, {Metric::energy}, false};
            if (brute_force(space, goals).size() < 3) {
                continue;
            }
            BOOST_TEST(same(found(instance, drawn.options, goals),
                            found(instance, drawn.options, goals, "exhaustive")));
            ++judged;
        } catch (const oracle::TooMany&) {
            continue;
        }
    }
}

// Without the usage nothing is lost: the set has every point of the set without it.
BOOST_AUTO_TEST_CASE(a_front_with_usage_has_every_point_of_the_front_without) {
    plugin::register_builtins();
    std::size_t points = 0, more = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        const oracle::Instance drawn = oracle::random_full_instance(seed);
        const oracle::LoadedInstance instance(drawn.yaml);
        const Goals goals{{}, {Metric::energy, Metric::latency}, false};
        Goals usage = goals;
        for (const std::string& name : instance.architecture->component_names()) {
            const auto path = instance.architecture->path(
                instance.workload, 0, instance.architecture->compute_names().front(),
                instance.problem.compat);
            const int at = path.find_level(name);
            if (at >= 0 &&
                path.levels[static_cast<std::size_t>(at)].kind == arch::LevelKind::memory &&
                std::isfinite(path.levels[static_cast<std::size_t>(at)].size_bits)) {
                usage.memories = {name};
            }
        }
        if (usage.memories.empty()) {
            continue;
        }
        const Set without = found(instance, drawn.options, goals);
        const Set with = found(instance, drawn.options, usage);
        for (const Values& one : without) {
            const bool there = std::ranges::any_of(with, [&](const Values& other) {
                return oracle::close(one[0], other[1]) && oracle::close(one[1], other[2]);
            });
            BOOST_TEST(there, "seed " << seed);
        }
        points += without.size();
        more += with.size() - without.size();
    }
    BOOST_TEST(points > 60u);
    BOOST_TEST(more > 20u);
}
