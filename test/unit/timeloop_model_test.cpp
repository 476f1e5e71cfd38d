// The Timeloop cost model on a small example worked by hand, what it refuses and what it warns of.
#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <random>
#include <thread>

#include "support/random_timeloop.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/stop.hpp"

namespace {

using namespace tessera;
using namespace tessera::timeloop;

/// Z[m, n] += A[m, k] * B[k, n] on four units in a row with a register file each.
struct Gemm {
    Gemm() {
        problem.dimensions = {{"M", 4}, {"N", 4}, {"K", 8}};
        const auto rank = [](int d) { return std::vector<Term>{{d, 1, -1}}; };
        problem.data_spaces = {{"A", {rank(0), rank(2)}, false, {}},
                               {"B", {rank(2), rank(1)}, false, {}},
                               {"Z", {rank(0), rank(1)}, true, {}}};
        architecture.arithmetic.instances = architecture.arithmetic.mesh_x = 4;
        architecture.storage.resize(3);
        StorageLevel& rf = architecture.storage[0];
        rf.name = "RF";
        rf.size = 16;
        rf.instances = rf.mesh_x = 4;
        StorageLevel& gb = architecture.storage[1];
        gb.name = "GB";
        gb.size = 1024;
        gb.block_size = 2;
        gb.read_bandwidth = 2;
        gb.write_bandwidth = 4;
        gb.network.energy_per_hop_pj = 0.1;
        StorageLevel& dram = architecture.storage[2];
        dram.name = "DRAM";
        dram.technology = Technology::dram;
        dram.block_size = 4;
        apply_default_energies(architecture);
        mapping = empty_mapping(problem, architecture);
        loops(mapping.levels[0].temporal, {2, 1, 2}, {2, 0, 1});
        loops(mapping.levels[1].temporal, {1, 2, 1}, {1, 0, 2});
        loops(mapping.levels[1].spatial, {1, 2, 2}, {2, 1, 0});
        loops(mapping.levels[2].temporal, {2, 1, 2}, {2, 0, 1});
    }

    static void loops(LoopBlock& block, std::vector<std::int64_t> factors, std::vector<int> order) {
        for (std::size_t d = 0; d < factors.size(); ++d) {
            block.factors[d] = {factors[d], factors[d]};
        }
        block.permutation = std::move(order);
    }
    Stats stats() const {
        return evaluate(problem, architecture, mapping).stats;
    }
    Cost cost() const {
        FlatMapping flat;
        flatten(mapping, flat);
        CompiledModel::Workspace workspace;
        Cost result;
        CompiledModel(problem, architecture).evaluate(flat, workspace, result);
        return result;
    }

    Problem problem;
    Architecture architecture;
    Mapping mapping;
};

void refused(const Gemm& gemm, const std::string& text) {
    const auto names = [&](const UserError& error) {
        return std::string(error.what()).find(text) != std::string::npos;
    };
    BOOST_CHECK_EXCEPTION(gemm.stats(), UserError, names);
    BOOST_CHECK_EXCEPTION(gemm.cost(), UserError, names);
}

BOOST_AUTO_TEST_SUITE(timeloop_model)

BOOST_AUTO_TEST_CASE(gemm_by_hand) {
    const Gemm gemm;
    BOOST_CHECK_EQUAL(structural_fault(gemm.problem, gemm.architecture, gemm.mapping), "");
    const Stats stats = gemm.stats();
    BOOST_CHECK_EQUAL(stats.cycles, 56);
    BOOST_CHECK_CLOSE(stats.energy_pj / 128, 183.086, 1e-3);
    BOOST_CHECK_CLOSE(stats.utilization, 32.0 / 56, 1e-9);
    const auto& rf = stats.levels[0].data_spaces;
    BOOST_CHECK_EQUAL(rf[0].reads, 32);
    BOOST_CHECK_EQUAL(rf[0].fills, 16);
    BOOST_CHECK_EQUAL(rf[2].reads, 24);
    BOOST_CHECK_EQUAL(rf[2].fills, 8);
    BOOST_CHECK_EQUAL(rf[2].updates, 32);
    const auto& links = stats.networks[1].data_spaces;
    BOOST_CHECK_EQUAL(links[0].multicast_factor, 2);
    BOOST_CHECK_CLOSE(links[0].num_hops, 2.5, 1e-9);
    BOOST_CHECK_EQUAL(gemm.cost().energy_pj, stats.energy_pj);
    BOOST_CHECK(stats.forgotten.empty() && !stats.wrapped);
}

BOOST_AUTO_TEST_CASE(f1_data_that_the_outermost_level_forgets_is_named) {
    Gemm gemm;
    gemm.mapping.levels[2].keep = 0b011;
    const Stats stats = gemm.stats();
    BOOST_CHECK_CLOSE(stats.energy_pj / 128, 158.086, 1e-3);
    BOOST_REQUIRE_EQUAL(stats.forgotten.size(), 1);
    BOOST_CHECK_EQUAL(
        stats.forgotten[0],
        "level GB is the outermost that keeps data space Z but does not hold it whole");
    BOOST_CHECK(gemm.cost().forgets);
}

BOOST_AUTO_TEST_CASE(f1_data_held_whole_is_not_forgotten) {
    Gemm gemm;
    gemm.mapping.levels[2].keep = 0b011;
    std::swap(gemm.mapping.levels[2].temporal.factors[0],
              gemm.mapping.levels[1].temporal.factors[0]);
    BOOST_CHECK(gemm.stats().forgotten.empty());
    BOOST_CHECK(!gemm.cost().forgets);
}

BOOST_AUTO_TEST_CASE(computes_of_imperfect_loops_are_told_from_the_problems) {
    Gemm gemm;
    gemm.problem.dimensions[1].bound = 3;
    gemm.mapping.levels[1].temporal.factors[1] = {2, 2};
    gemm.mapping.levels[1].spatial.factors[1] = {2, 1};  // 2 and 1 of 3
    const Stats stats = gemm.stats();
    BOOST_TEST(stats.miscounted);
    BOOST_TEST(stats.problem_computes == 4 * 3 * 8);
    BOOST_TEST(stats.arithmetic.computes > 4U * 3 * 8);
    // Four units, in as many cycles as the problem needs at the least and some more.
    BOOST_CHECK_CLOSE(stats.problem_utilization(), 96.0 / 4 / static_cast<double>(stats.cycles),
                      1e-9);
    const Gemm perfect;
    BOOST_TEST(!perfect.stats().miscounted);
    BOOST_CHECK_CLOSE(perfect.stats().problem_utilization(), perfect.stats().utilization, 1e-9);
}

/// Nothing is reused but by the registers: every count is as large as it can be.
BOOST_AUTO_TEST_CASE(counts_of_the_largest_problems_do_not_wrap) {
    std::mt19937_64 random(65);
    int accepted = 0, refused_ones = 0;
    for (int i = 0; i < 300; ++i) {
        Gemm gemm;
        gemm.mapping = empty_mapping(gemm.problem, gemm.architecture);
        gemm.architecture.storage[0].size.reset();
        gemm.architecture.storage[1].size.reset();
        double points = 1;
        for (std::size_t d = 0; d < 3; ++d) {
            const std::int64_t bound =
                1 + static_cast<std::int64_t>(random() % (std::uint64_t{1} << (16 + random() % 8)));
            gemm.problem.dimensions[d].bound = bound;
            const std::size_t level = random() % 3;
            gemm.mapping.levels[level].temporal.factors[d] = {bound, bound};
            points *= static_cast<double>(bound);
        }
        gemm.problem.data_spaces[0].ranks[0][0].value = 1 + static_cast<int>(random() % 3);
        try {
            const Stats stats = gemm.stats();
            ++accepted;
            BOOST_TEST(points <= most_iterations(gemm.problem));
            BOOST_TEST(static_cast<double>(stats.arithmetic.computes) == points,
                       boost::test_tools::tolerance(1e-12));
            const auto& inner = stats.levels[0].data_spaces;
            BOOST_TEST(static_cast<double>(inner[0].reads) == points,
                       boost::test_tools::tolerance(1e-12));
            for (const LevelStats& level : stats.levels) {
                double words = 0;
                for (const DataSpaceStats& s : level.data_spaces) {
                    words += static_cast<double>(s.reads) + static_cast<double>(s.fills) +
                             static_cast<double>(s.updates);
                }
                BOOST_TEST(static_cast<double>(level.accesses) == words,
                           boost::test_tools::tolerance(1e-12));
            }
            BOOST_TEST(gemm.cost().energy_pj == stats.energy_pj);
        } catch (const UserError&) {
            ++refused_ones;
            BOOST_TEST(points > most_iterations(gemm.problem) / 4);
            BOOST_CHECK_THROW(gemm.cost(), UserError);
        }
    }
    BOOST_TEST(accepted > 50);
    BOOST_TEST(refused_ones > 50);
}

BOOST_AUTO_TEST_CASE(imperfect_loops_that_make_too_many_iterations_are_no_mapping) {
    Gemm gemm;
    gemm.problem.dimensions[0].bound = 2000000000;
    gemm.mapping = empty_mapping(gemm.problem, gemm.architecture);
    gemm.mapping.levels[0].temporal.factors = {{1000000000, 1000000000}, {4, 4}, {8, 8}};
    gemm.mapping.levels[1].temporal.factors[0] = {2, 2};
    gemm.architecture.storage[0].size.reset();
    gemm.architecture.storage[1].size.reset();
    BOOST_CHECK_NO_THROW(gemm.stats());
    // A last pass of one iteration outside makes the loop none, but is counted.
    gemm.mapping.levels[2].temporal.factors[0] = {2000000000, 1};
    BOOST_CHECK_THROW(gemm.stats(), UserError);
    BOOST_TEST(gemm.cost().wrapped);
}

BOOST_AUTO_TEST_CASE(cycles_beyond_the_counter_mean_nothing) {
    Gemm gemm;
    gemm.architecture.storage[1].read_bandwidth = 1e-18;
    BOOST_TEST(gemm.stats().wrapped);
    BOOST_TEST(gemm.cost().wrapped);
    gemm.architecture.storage[1].read_bandwidth = 1e-6;
    BOOST_TEST(!gemm.stats().wrapped);
}

BOOST_AUTO_TEST_CASE(an_evaluation_ends_when_a_stop_is_asked) {
    const Gemm gemm;
    std::atomic<bool> stop{false};
    const base::StopScope scope({&stop});
    BOOST_CHECK_NO_THROW(gemm.stats());
    stop = true;
    BOOST_CHECK_THROW(gemm.stats(), base::Stopped);
}

BOOST_AUTO_TEST_CASE(meshes_that_do_not_divide_name_both_levels) {
    Gemm gemm;
    StorageLevel& gb = gemm.architecture.storage[1];
    gb.instances = gb.mesh_x = 3;
    refused(gemm, "meshX of level RF is 4, which meshX of the next outer level GB (3)");
}

BOOST_AUTO_TEST_CASE(capacity_names_level_and_sizes) {
    Gemm gemm;
    gemm.architecture.storage[0].size = 7;
    const Cost cost = gemm.cost();
    BOOST_CHECK(cost.fit.kind == Fit::Kind::capacity);
    BOOST_CHECK_EQUAL(describe(cost.fit, gemm.problem, gemm.architecture),
                      "level RF: mapped tile size 8 exceeds buffer capacity 7");
    BOOST_CHECK(evaluate(gemm.problem, gemm.architecture, gemm.mapping).fit.needed == 8);
}

BOOST_AUTO_TEST_CASE(a_data_space_kept_nowhere_is_no_mapping) {
    Gemm gemm;
    for (LevelMapping& level : gemm.mapping.levels) {
        level.keep = 0b101;
    }
    BOOST_CHECK_EQUAL(describe(gemm.cost().fit, gemm.problem, gemm.architecture),
                      "data space B is bypassed by every level");
    BOOST_CHECK(!evaluate(gemm.problem, gemm.architecture, gemm.mapping).fit.ok());
    BOOST_CHECK_EQUAL(structural_fault(gemm.problem, gemm.architecture, gemm.mapping),
                      "data space B is bypassed by every level");
}

// The compiled evaluator shares its accounting with the other one: figures and totals are compared.
BOOST_AUTO_TEST_CASE(the_figures_of_an_evaluation_add_up_to_its_totals) {
    const auto close = [](double a, double b) { BOOST_CHECK_CLOSE_FRACTION(a, b, 1e-9); };
    std::mt19937_64 random(12);
    int counted = 0;
    for (int c = 0; c < 300; ++c) {
        testing::TimeloopCase drawn =
            testing::random_timeloop_case(random, {.imperfect = 0.2, .most_levels = 4});
        const bool master = c % 2 == 1;
        if (master) {
            testing::let_leak(drawn.architecture);
        }
        const Stats stats = evaluate(drawn.problem, drawn.architecture, drawn.mapping,
                                     {.dialect = master ? Dialect::master : Dialect::v3_0_3})
                                .stats;
        if (stats.wrapped) {
            continue;
        }
        ++counted;
        double energy = stats.arithmetic.energy_pj;
        std::uint64_t cycles = stats.arithmetic.cycles;
        for (const LevelStats& level : stats.levels) {
            cycles = std::max(cycles, level.cycles);
        }
        BOOST_CHECK_GE(stats.cycles, cycles);
        for (const LevelStats& level : stats.levels) {
            double own = level.leakage_energy_pj, accesses = 0;
            for (const DataSpaceStats& space : level.data_spaces) {
                own += space.total_energy_pj() +
                       space.addr_gen_energy_pj * static_cast<double>(space.utilized_clusters);
                accesses += static_cast<double>(space.reads + space.updates + space.fills) *
                            space.utilized_instances;
                close(space.read_bandwidth + space.write_bandwidth, space.shared_bandwidth);
            }
            close(own, level.energy_pj);
            close(accesses, static_cast<double>(level.accesses));
            close(level.leak_pj * static_cast<double>(cycles) *
                      level.data_spaces.front().utilized_instances / level.non_gated_utilization,
                  level.leakage_energy_pj);
            energy += level.energy_pj;
        }
        for (const NetworkStats& network : stats.networks) {
            double own = 0;
            for (const NetworkDataSpaceStats& space : network.data_spaces) {
                own += (space.energy_pj + space.link_transfer_energy_pj) * space.utilized_instances;
                double words = 0;
                for (const AccessRecord& record : space.ingresses) {
                    words += record.accesses;
                }
                close(words, space.total_ingresses);
            }
            close(own, network.energy_pj);
            energy += network.energy_pj;
        }
        close(energy, stats.energy_pj);
    }
    BOOST_CHECK_GT(counted, 200);
}

BOOST_AUTO_TEST_CASE(energies_of_a_table_replace_only_what_it_names) {
    Gemm gemm;
    const double before = gemm.architecture.storage[0].energy.update_pj;
    const Ert ert = {{"system.PE[0..3].RF", {{"read", 3}, {"idle", 9}}}};
    apply_ert(gemm.architecture, ert, Dialect::v3_0_3);
    const StorageEnergy& energy = gemm.architecture.storage[0].energy;
    BOOST_CHECK_EQUAL(energy.read_pj, 3);
    BOOST_CHECK_EQUAL(energy.update_pj, before);
    BOOST_CHECK_EQUAL(energy.vector_access_pj, 9);
    BOOST_CHECK_EQUAL(energy.source, "ERT");
}

BOOST_AUTO_TEST_CASE(component_names_lose_path_and_range) {
    BOOST_CHECK_EQUAL(component_name("system.PE[0..3].mac[0..7]"), "mac");
    BOOST_CHECK_EQUAL(component_name("system.PE[0..3].mac"), "mac");
    BOOST_CHECK_EQUAL(component_name("mac"), "mac");
}

BOOST_AUTO_TEST_CASE(f2_two_models_run_beside_each_other) {
    // Different shapes, imperfect next to perfect: nothing of one may reach the other.
    const auto run = [](std::uint64_t seed, std::vector<double>& energies) {
        std::mt19937_64 random(seed);
        CompiledModel::Workspace workspace;
        const double imperfect = seed % 2 == 0 ? 0 : 1;
        for (int c = 0; c < 40; ++c) {
            const testing::TimeloopCase drawn =
                testing::random_timeloop_case(random, {.imperfect = imperfect, .most_levels = 4});
            FlatMapping flat;
            flatten(drawn.mapping, flat);
            Cost cost;
            CompiledModel(drawn.problem, drawn.architecture).evaluate(flat, workspace, cost);
            energies.push_back(
                evaluate(drawn.problem, drawn.architecture, drawn.mapping).stats.energy_pj);
            energies.push_back(cost.energy_pj);
            energies.push_back(static_cast<double>(cost.cycles));
        }
    };
    std::vector<double> alone[2], together[2];
    run(10, alone[0]);
    run(11, alone[1]);
    std::thread first([&] { run(10, together[0]); });
    std::thread second([&] { run(11, together[1]); });
    first.join();
    second.join();
    BOOST_CHECK(alone[0] == together[0]);
    BOOST_CHECK(alone[1] == together[1]);
}

BOOST_AUTO_TEST_CASE(one_model_serves_several_threads) {
    const Gemm gemm;
    const CompiledModel model(gemm.problem, gemm.architecture);
    FlatMapping flat;
    flatten(gemm.mapping, flat);
    std::vector<Cost> costs(4);
    std::vector<std::thread> threads;
    for (Cost& cost : costs) {
        threads.emplace_back([&] {
            CompiledModel::Workspace workspace;
            for (int k = 0; k < 200; ++k) {
                model.evaluate(flat, workspace, cost);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (const Cost& cost : costs) {
        BOOST_CHECK_EQUAL(cost.energy_pj, gemm.stats().energy_pj);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
