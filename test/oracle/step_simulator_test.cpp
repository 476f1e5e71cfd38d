// Action counts of random mappings, confirmed by stepping through their loops.
//
// All mappings are members of the space, so holders obey the hierarchy; ranks are single variables or
// sums with coefficient 1, so bounding boxes are exact. What the simulator takes over as a convention
// is listed in step_simulator.hpp.
#include "oracle/step_simulator.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "oracle/oracle_chain.hpp"
#include "oracle/oracle_instance.hpp"
#include "tessera/plugin/registry.hpp"

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

}  // namespace

BOOST_AUTO_TEST_CASE(stepping_through_the_loops_confirms_the_counts) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    std::mt19937_64 random(7);
    int mappings = 0, with_halo = 0, with_fanout = 0;
    for (std::uint64_t seed = 1; mappings < 480; ++seed) {
        const oracle::LoadedInstance instance(oracle::random_instance(seed).yaml);
        for (const auto& [path, nodes] : samples(instance.problem, random)) {
            BOOST_TEST_CONTEXT("seed " << seed << ", Einsum " << path.einsum.name) {
                const auto walked = oracle::simulate(path, nodes);
                const auto report = model->evaluate(instance.problem, path, nodes);
                const auto own = oracle::cost(path, nodes);
                for (const auto& h : own.holders) {
                    const auto& level = path.levels[static_cast<std::size_t>(h.level)];
                    const auto& tensor = path.einsum.tensors[static_cast<std::size_t>(h.tensor)];
                    const auto& counts = walked.holders.at({h.level, h.tensor});
                    const auto* reported = find(report, level.name, tensor.name);
                    BOOST_TEST_REQUIRE(reported != nullptr);
                    const double reads = counts.reads * scale(path, h.level, h.tensor, 0);
                    const double writes = counts.writes * scale(path, h.level, h.tensor, 1);
                    const double bits = counts.largest *
                                        level.bits_per_value[static_cast<std::size_t>(h.tensor)];
                    BOOST_TEST(reported->actions.at("read") == reads);
                    BOOST_TEST(reported->actions.at("write") == writes);
                    BOOST_TEST(h.bits == bits);
                    if (reported->has_occupancy && std::isfinite(level.size_bits)) {
                        BOOST_TEST(reported->occupancy == bits / level.size_bits);
                    }
                    BOOST_TEST(h.unit_reads * path.einsum.n_instances * level.actions_scale ==
                               counts.unit_reads * scale(path, h.level, h.tensor, 0));
                    BOOST_TEST(h.unit_writes * path.einsum.n_instances * level.actions_scale ==
                               counts.unit_writes * scale(path, h.level, h.tensor, 1));
                }
                BOOST_TEST(own.computes == walked.computes);
                BOOST_TEST(own.compute_steps == walked.compute_steps);
                BOOST_TEST(report.dynamic_energy_j == own.dynamic_energy_j,
                           boost::test_tools::tolerance(1e-12));
                BOOST_TEST(report.latency_s == own.latency_s, boost::test_tools::tolerance(1e-12));
                ++mappings;
                with_fanout += own.dims.empty() ? 0 : 1;
                for (const auto& t : path.einsum.tensors) {
                    with_halo += t.partially_relevant != 0 ? 1 : 0;
                }
            }
        }
    }
    BOOST_TEST(with_halo >= 40);
    BOOST_TEST(with_fanout >= 40);
}
