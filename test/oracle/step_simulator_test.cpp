// Action counts of random mappings, confirmed by stepping through their loops.
//
// Members of the space and templates with random tile shapes. Holders obey the hierarchy; ranks are
// single variables or sums with coefficient 1, so bounding boxes are exact. What the simulator
// takes over as a convention is listed in step_simulator.hpp.
#include "oracle/step_simulator.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "oracle/oracle_chain.hpp"
#include "oracle/oracle_instance.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;

namespace {

struct Sample {
    arch::Path path;
    mapping::Pmapping nodes;
};

bool fits(const arch::Path& path, const oracle::ChainCost& cost) {
    std::vector<double> bits(path.levels.size(), 0);
    for (const auto& h : cost.holders) {
        bits[static_cast<std::size_t>(h.level)] += h.bits;
    }
    for (std::size_t l = 0; l < bits.size(); ++l) {
        if (bits[l] > path.levels[l].size_bits) {
            return false;
        }
    }
    return true;
}

// A few chains of each Einsum of the instance, evenly spread over all of them.
std::vector<Sample> samples(const model::Problem& problem, std::mt19937_64& random) {
    std::vector<Sample> all;
    const auto& computes = problem.architecture->compute_names();
    for (int e = 0; e < static_cast<int>(problem.workload->einsums.size()); ++e) {
        const auto path =
            problem.architecture->path(*problem.workload, e, computes.front(), problem.compat);
        std::uint64_t seen = 0;
        std::vector<mapping::Pmapping> kept;
        oracle::enumerate_chains(path, {}, [&](const mapping::Pmapping& nodes) {
            if (!fits(path, oracle::cost(path, nodes))) {
                return true;
            }
            ++seen;
            if (kept.size() < 3) {
                kept.push_back(nodes);
            } else if (random() % seen < 3) {
                kept[random() % 3] = nodes;
            }
            return seen < 5000;
        });
        for (auto& nodes : kept) {
            all.push_back({path, std::move(nodes)});
        }
    }
    return all;
}

double scale(const arch::Path& path, int level, int tensor, std::size_t action) {
    const auto& l = path.levels[static_cast<std::size_t>(level)];
    return l.actions_scale * path.einsum.n_instances /
           l.actions[action].values_per_action[static_cast<std::size_t>(tensor)];
}

const model::TensorReport* find(const model::EinsumReport& report, const std::string& component,
                                const std::string& tensor) {
    for (const auto& c : report.components) {
        for (const auto& t : c.tensors) {
            if (c.component == component && t.tensor == tensor) {
                return &t;
            }
        }
    }
    return nullptr;
}

struct Totals {
    int mappings = 0, with_halo = 0, with_fanout = 0;
};

// The cost model's report, the oracle's closed forms and the walk say the same.
void compare(const model::Problem& problem, const model::CostModel& model, const Sample& sample,
             Totals& totals) {
    const auto& [path, nodes] = sample;
    const auto walked = oracle::simulate(path, nodes);
    const auto report = model.evaluate(problem, path, nodes);
    const auto own = oracle::cost(path, nodes);
    for (const auto& h : own.holders) {
        const auto& level = path.levels[static_cast<std::size_t>(h.level)];
        const auto t = static_cast<std::size_t>(h.tensor);
        const auto& counts = walked.holders.at({h.level, h.tensor});
        const auto* reported = find(report, level.name, path.einsum.tensors[t].name);
        BOOST_TEST_REQUIRE(reported != nullptr);
        const double per_read = scale(path, h.level, h.tensor, 0);
        const double per_write = scale(path, h.level, h.tensor, 1);
        BOOST_TEST(reported->actions.at("read") == counts.reads * per_read);
        BOOST_TEST(reported->actions.at("write") == counts.writes * per_write);
        const double bits = counts.largest * level.bits_per_value[t];
        BOOST_TEST(h.bits == bits);
        if (reported->has_occupancy && std::isfinite(level.size_bits)) {
            BOOST_TEST(reported->occupancy == bits / level.size_bits);
        }
        const double instances = path.einsum.n_instances * level.actions_scale;
        BOOST_TEST(h.unit_reads * instances == counts.unit_reads * per_read);
        BOOST_TEST(h.unit_writes * instances == counts.unit_writes * per_write);
    }
    BOOST_TEST(own.computes == walked.computes);
    BOOST_TEST(own.compute_steps == walked.compute_steps);
    const auto close = boost::test_tools::tolerance(1e-12);
    BOOST_TEST(report.dynamic_energy_j == own.dynamic_energy_j, close);
    BOOST_TEST(report.leak_energy_j == own.leak_energy_j, close);
    BOOST_TEST(report.latency_s == own.latency_s, close);
    ++totals.mappings;
    totals.with_fanout += own.dims.empty() ? 0 : 1;
    const auto& tensors = path.einsum.tensors;
    totals.with_halo += std::any_of(tensors.begin(), tensors.end(),
                                    [](const auto& t) { return t.partially_relevant != 0; });
}

// Random divisors for the unknown tile shapes.
mapping::Pmapping fill(const arch::Path& path, mapspace::Template t, std::mt19937_64& random) {
    std::vector<std::int64_t> tile;
    for (const auto& v : path.einsum.rank_variables) {
        tile.push_back(v.bound);
    }
    for (auto& n : t.nodes) {
        if (n.rank_variable < 0) {
            continue;
        }
        auto& outer = tile[static_cast<std::size_t>(n.rank_variable)];
        if (n.symbol >= 0) {
            do {
                n.tile =
                    1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(outer));
            } while (outer % n.tile != 0);
            n.symbol = -1;
        }
        outer = n.tile;
    }
    return t.nodes;
}

bool within_fanout(const arch::Path& path, const oracle::ChainCost& cost) {
    return std::all_of(cost.dims.begin(), cost.dims.end(), [&](const oracle::DimUse& d) {
        return d.used <= static_cast<double>(path.levels[static_cast<std::size_t>(d.level)]
                                                 .spatial[static_cast<std::size_t>(d.dim)]
                                                 .fanout);
    });
}

}  // namespace

BOOST_AUTO_TEST_CASE(stepping_through_the_loops_confirms_the_counts_of_mappings) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    std::mt19937_64 random(7);
    Totals totals;
    for (std::uint64_t seed = 1; totals.mappings < 400; ++seed) {
        const oracle::LoadedInstance instance(oracle::random_instance(seed).yaml);
        for (const auto& sample : samples(instance.problem, random)) {
            BOOST_TEST_CONTEXT("seed " << seed << ", Einsum " << sample.path.einsum.name) {
                compare(instance.problem, *model, sample, totals);
            }
        }
    }
    BOOST_TEST(totals.with_halo >= 30);
    BOOST_TEST(totals.with_fanout >= 40);
}

BOOST_AUTO_TEST_CASE(stepping_through_the_loops_confirms_the_counts_of_templates) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    std::mt19937_64 random(11);
    Totals totals;
    for (std::uint64_t seed = 1000; totals.mappings < 400; ++seed) {
        const oracle::LoadedInstance instance(oracle::random_instance(seed).yaml);
        const auto& p = instance.problem;
        for (int e = 0; e < static_cast<int>(p.workload->einsums.size()); ++e) {
            const auto path = p.architecture->path(*p.workload, e, "MAC", p.compat);
            std::vector<mapspace::Template> templates;
            mapspace::MapSpaceOptions options = mapspace::MapSpaceOptions::accelforge();
            options.open_loop_orders = false;  // as they stand
            mapspace::enumerate_templates(
                path, options, [&](mapspace::Template&& t) { templates.push_back(std::move(t)); });
            for (int tries = 0; tries < 20; ++tries) {
                const Sample sample{path,
                                    fill(path, templates[random() % templates.size()], random)};
                const auto cost = oracle::cost(path, sample.nodes);
                if (fits(path, cost) && within_fanout(path, cost)) {
                    BOOST_TEST_CONTEXT("seed " << seed << ", Einsum " << path.einsum.name) {
                        compare(p, *model, sample, totals);
                    }
                    break;
                }
            }
        }
    }
    BOOST_TEST(totals.with_halo >= 30);
    BOOST_TEST(totals.with_fanout >= 40);
}
