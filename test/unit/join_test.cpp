// Joining hand-made pmapping tables: the reservation arithmetic has closed forms.
#include <boost/test/unit_test.hpp>
#include <random>

#include "mapspace/row_semijoin.hpp"
#include "tessera/mapspace/join.hpp"
#include "tessera/workload/workload.hpp"

namespace {

using namespace tessera;
using namespace tessera::mapspace;

// A: T1[m] = ..., B: T2[m] = T1[m] ...
workload::Workload chain(int einsums) {
    workload::Workload w;
    for (int t = 0; t <= einsums; ++t) {
        workload::Tensor tensor;
        tensor.name = "T" + std::to_string(t);
        w.tensors.push_back(tensor);
    }
    for (int e = 0; e < einsums; ++e) {
        workload::Einsum einsum;
        einsum.name = "E" + std::to_string(e);
        einsum.accesses.push_back({e, false, {}, {}, {}});
        einsum.accesses.push_back({e + 1, true, {}, {}, {}});
        w.einsums.push_back(einsum);
    }
    return w;
}

// Einsums as (inputs, outputs), both indices of tensors.
workload::Workload cascade(
    const std::vector<std::string>& tensors,
    const std::vector<std::pair<std::vector<int>, std::vector<int>>>& einsums) {
    workload::Workload w;
    for (const std::string& name : tensors) {
        workload::Tensor t;
        t.name = name;
        w.tensors.push_back(t);
    }
    for (const auto& [inputs, outputs] : einsums) {
        workload::Einsum e;
        for (const int t : inputs) {
            e.accesses.push_back({t, false, {}, {}, {}});
        }
        for (const int t : outputs) {
            e.accesses.push_back({t, true, {}, {}, {}});
        }
        w.einsums.push_back(e);
    }
    return w;
}

// One row: objectives, cumulative occupancy for depths -1..n of one memory, sizes of the tensors.
PmappingGroup group(std::vector<FusedLoop> loops, std::vector<BackedTensor> tensors,
                    const std::vector<std::vector<double>>& rows,
                    const std::vector<std::vector<std::int64_t>>& trips, std::uint32_t breaks = 0) {
    PmappingGroup g;
    g.structure.loops = std::move(loops);
    g.structure.tensors = std::move(tensors);
    g.structure.breaks = breaks;
    g.n_objectives = 2;
    g.n_tracked = 1;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        BOOST_REQUIRE_EQUAL(rows[r].size(), static_cast<std::size_t>(g.stride()));
        g.values.insert(g.values.end(), rows[r].begin(), rows[r].end());
        g.trips.insert(g.trips.end(), trips[r].begin(), trips[r].end());
        g.source_row.push_back(static_cast<std::uint32_t>(r));
        g.source_template.push_back(0);
    }
    return g;
}

BackedTensor backed(int tensor, int memory, int level, bool output, std::vector<int> ranks) {
    BackedTensor b;
    b.tensor = tensor;
    b.memory = memory;
    b.level = level;
    b.tracked = memory == 1 ? 0 : -1;
    b.output = output;
    b.rank_of_loop = std::move(ranks);
    return b;
}

/// A chain with shared tensors in either memory, below loops or not, and tensors that stay.
std::vector<std::vector<PmappingGroup>> random_chain(std::mt19937& random) {
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    const int einsums = 2 + below(3);
    std::vector<std::vector<PmappingGroup>> groups(static_cast<std::size_t>(einsums));
    for (int e = 0; e < einsums; ++e) {
        // Every way to keep the input and the output: in main memory, or in the GLB below 0, 1.
        for (int way = 0; way < 9; ++way) {
            std::vector<BackedTensor> tensors;
            int level = 0;
            const auto add = [&](int tensor, int kind, bool output) {
                const int at = kind == 2 ? 1 : 0;
                level = std::max(level, at);
                tensors.push_back(backed(tensor, kind == 0 ? 0 : 1, at, output, {}));
            };
            if (e > 0) {
                add(e, way % 3, false);
            } else if (way % 3 != 0) {
                continue;
            }
            if (e + 1 < einsums) {
                add(e + 1, way / 3, true);
            } else if (way / 3 != 0) {
                continue;
            }
            for (BackedTensor& t : tensors) {
                t.rank_of_loop.assign(static_cast<std::size_t>(level), 0);
            }
            std::vector<FusedLoop> loops;
            if (level == 1) {
                loops.push_back({0, -1, 64});
            }
            std::vector<std::vector<double>> rows;
            std::vector<std::vector<std::int64_t>> trips;
            for (int r = 0; r < 4; ++r) {
                std::vector<double> row{1.0 + below(20), 1.0 + below(20)};
                double bits = below(3) == 0 ? below(15) : 0;
                row.push_back(bits);  // stays all the time
                for (int d = 0; d <= level; ++d) {
                    double held = 0;
                    for (const BackedTensor& t : tensors) {
                        held += t.memory == 1 && t.level == d ? 8 : 0;
                    }
                    bits += held + below(25);
                    row.push_back(bits);
                }
                for (const BackedTensor& t : tensors) {
                    row.push_back(t.memory == 1 ? 8 : 0);
                }
                rows.push_back(std::move(row));
                trips.emplace_back(static_cast<std::size_t>(level), 2 + below(2));
            }
            groups[static_cast<std::size_t>(e)].push_back(
                group(std::move(loops), std::move(tensors), rows, trips));
        }
    }
    return groups;
}

JoinResult run(const std::vector<std::vector<PmappingGroup>>& groups, double capacity,
               bool settle = true) {
    JoinOptions o;
    o.goal = JoinGoal::pareto;
    o.settle = settle;
    return join(chain(static_cast<int>(groups.size())), groups, {{"GLB", capacity}}, o);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_join_is_given_up_when_a_step_keeps_too_many_rows) {
    // Neither row beats the other.
    const auto a = group({{0, -1, 64}}, {backed(1, 1, 1, true, {0})},
                         {{1, 2, 0, 20, 40, 10}, {2, 1, 0, 20, 40, 10}}, {{8}, {8}});
    const auto b =
        group({{0, -1, 64}}, {backed(1, 1, 1, false, {0})}, {{2, 3, 0, 30, 55, 10}}, {{8}});
    JoinOptions o;
    o.goal = JoinGoal::pareto;
    const auto joined = [&] { return join(chain(2), {{a}, {b}}, {{"GLB", 75}}, o); };
    o.most_rows = 2;
    BOOST_TEST(joined().mappings.size() == 2u);
    BOOST_TEST(!joined().given_up);
    o.most_rows = 1;
    BOOST_TEST(joined().given_up);
    BOOST_TEST(!joined().complete);
    BOOST_TEST(joined().mappings.empty());
}

BOOST_AUTO_TEST_CASE(a_join_is_given_up_when_too_many_pairs_are_put_together) {
    const auto a = group({{0, -1, 64}}, {backed(1, 1, 1, true, {0})},
                         {{1, 2, 0, 20, 40, 10}, {2, 1, 0, 20, 40, 10}}, {{8}, {8}});
    const auto b =
        group({{0, -1, 64}}, {backed(1, 1, 1, false, {0})}, {{2, 3, 0, 30, 55, 10}}, {{8}});
    JoinOptions o;
    o.goal = JoinGoal::pareto;
    const auto joined = [&] { return join(chain(2), {{a}, {b}}, {{"GLB", 75}}, o); };
    const std::uint64_t pairs = joined().rows_joined;
    for (const int threads : {1, 2}) {
        o.threads = threads;
        o.most_pairs = pairs;
        BOOST_TEST(joined().complete);
        BOOST_TEST(joined().mappings.size() == 2u);
        o.most_pairs = pairs - 1;
        BOOST_TEST(joined().given_up);
        BOOST_TEST(!joined().complete);
        BOOST_TEST(joined().mappings.empty());
    }
}

BOOST_AUTO_TEST_CASE(a_beam_of_few_states_leaves_out_states_and_says_so) {
    std::mt19937 random(77);
    int found = 0, left_out = 0;
    for (int i = 0; i < 400; ++i) {
        const std::vector<std::vector<PmappingGroup>> groups = random_chain(random);
        const workload::Workload w = chain(static_cast<int>(groups.size()));
        const std::vector<TrackedMemory> memories = {{"GLB", 70}};
        JoinOptions options;
        options.goal = JoinGoal::edp;
        const JoinResult exact = join(w, groups, memories, options);
        options.beam = 1000;
        options.beam_states = 1;
        const JoinResult few = join(w, groups, memories, options);
        BOOST_TEST((few.complete || !few.mappings.empty() || few.failed_at >= 0));
        left_out += few.complete ? 0 : 1;
        if (few.complete) {
            BOOST_TEST(few.mappings.empty() == exact.mappings.empty());
        }
        if (!few.mappings.empty()) {
            ++found;
            const std::vector<double>& best = exact.mappings.front().objectives;
            const std::vector<double>& of_few = few.mappings.front().objectives;
            BOOST_TEST(of_few[0] * of_few[1] >= best[0] * best[1]);
        }
    }
    BOOST_TEST(found > 100);
    BOOST_TEST(left_out > 20);
}

BOOST_AUTO_TEST_CASE(fused_pair_peaks_at_both_residents_plus_the_larger_branch) {
    // T1 in GLB under one fused m loop of 8 trips. A: 0.2 resident, 0.4 inside; B: 0.3, 0.55.
    // Peak = 0.2 + 0.3 + max(0.2, 0.25) = 0.75 (bits scaled by 100).
    const auto a =
        group({{0, -1, 64}}, {backed(1, 1, 1, true, {0})}, {{1, 1, 0, 20, 40, 10}}, {{8}});
    const auto b =
        group({{0, -1, 64}}, {backed(1, 1, 1, false, {0})}, {{2, 3, 0, 30, 55, 10}}, {{8}});
    const JoinResult fits = run({{a}, {b}}, 75);
    BOOST_REQUIRE_EQUAL(fits.mappings.size(), 1u);
    BOOST_TEST(fits.mappings[0].objectives[0] == 3.0);
    BOOST_TEST(fits.mappings[0].objectives[1] == 4.0);
    BOOST_TEST(fits.mappings[0].einsums[0].shared_with_next == 1);
    const JoinResult over = run({{a}, {b}}, 74.999);
    BOOST_TEST(over.mappings.empty());
    BOOST_TEST(over.failed_at == 1);
    BOOST_TEST(over.failed_memory == "GLB");
    BOOST_TEST(over.failed_needed_bits == 75.0);
}

BOOST_AUTO_TEST_CASE(sequential_pair_peaks_at_the_larger_einsum) {
    const auto a = group({}, {backed(1, 1, 0, true, {})}, {{1, 1, 0, 50, 30}}, {{}});
    const auto b = group({}, {backed(1, 1, 0, false, {})}, {{1, 1, 0, 60, 30}}, {{}});
    BOOST_TEST(run({{a}, {b}}, 60).mappings.size() == 1u);
    BOOST_TEST(run({{a}, {b}}, 59).mappings.empty());
}

// T1 in main memory: nothing stays in the GLB. The cheaper row of A has the higher peak.
std::vector<PmappingGroup> low_or_cheap() {
    return {group({}, {backed(1, 0, 0, true, {})}, {{1, 1, 0, 60, 0}, {2, 1, 0, 30, 0}}, {{}, {}})};
}

// T1 in the GLB below a loop over m; likewise.
const std::vector<FusedLoop> over_m{{0, -1, 64}};
std::vector<PmappingGroup> low_or_cheap_inside() {
    return {group(over_m, {backed(1, 1, 1, true, {0})},
                  {{1, 1, 0, 0, 60, 10}, {2, 1, 0, 0, 30, 10}}, {{8}, {8}})};
}

// B reads T1 in the loop and writes T2 as given.
PmappingGroup reader_inside(BackedTensor t2, const std::vector<double>& row) {
    return group(over_m, {backed(1, 1, 1, false, {0}), std::move(t2)}, {row}, {{8}});
}

// Energy of the cheapest mapping.
double least_energy(const std::vector<std::vector<PmappingGroup>>& groups, double capacity,
                    bool settle) {
    const JoinResult found = run(groups, capacity, settle);
    BOOST_REQUIRE(!found.mappings.empty());
    return found.mappings[0].objectives[0];
}

BOOST_AUTO_TEST_CASE(a_peak_that_cannot_overflow_any_more_is_forgotten) {
    const auto b = group({}, {backed(1, 0, 0, false, {})}, {{1, 1, 0, 50, 0}}, {{}});
    const JoinResult reduced = run({low_or_cheap(), {b}}, 100);
    BOOST_REQUIRE_EQUAL(reduced.mappings.size(), 1u);
    BOOST_TEST(reduced.mappings[0].objectives[0] == 2.0);
    BOOST_TEST(reduced.rows_kept == 2u);
    BOOST_TEST(run({low_or_cheap(), {b}}, 100, false).rows_kept == 4u);
}

BOOST_AUTO_TEST_CASE(a_peak_beside_which_a_later_einsum_keeps_a_tensor_is_not_forgotten) {
    // B keeps 50 all the time, while A runs, too.
    const auto b = group({}, {backed(1, 0, 0, false, {})}, {{1, 1, 50, 50, 0}}, {{}});
    for (const bool settle : {true, false}) {
        BOOST_TEST(least_energy({low_or_cheap(), {b}}, 100, settle) == 3.0);
        BOOST_TEST(least_energy({low_or_cheap(), {b}}, 110, settle) == 2.0);
    }
}

BOOST_AUTO_TEST_CASE(a_peak_inside_open_loops_is_not_forgotten_for_what_is_held_above_them) {
    // All three run inside one loop over m; C holds 50 above it, at the same time as what A holds
    // inside.
    const auto b = reader_inside(backed(2, 1, 1, true, {0}), {1, 1, 0, 0, 20, 10, 10});
    const auto c = group(over_m, {backed(2, 1, 1, false, {0})}, {{1, 1, 0, 50, 60, 10}}, {{8}});
    for (const bool settle : {true, false}) {
        BOOST_TEST(least_energy({low_or_cheap_inside(), {b}, {c}}, 105, settle) == 4.0);
        BOOST_TEST(least_energy({low_or_cheap_inside(), {b}, {c}}, 120, settle) == 3.0);
    }
}

BOOST_AUTO_TEST_CASE(a_peak_is_not_forgotten_for_what_comes_after_its_loops) {
    // A and B run inside one loop over m, B holds 20 above it; C comes after the loop and keeps 30
    // all the time: 110 with the cheaper row of A.
    const auto b = reader_inside(backed(2, 0, 0, true, {0}), {1, 1, 0, 20, 30, 10, 0});
    const auto c = group({}, {backed(2, 0, 0, false, {})}, {{1, 1, 30, 30, 0}}, {{}});
    for (const bool settle : {true, false}) {
        BOOST_TEST(least_energy({low_or_cheap_inside(), {b}, {c}}, 105, settle) == 4.0);
        BOOST_TEST(least_energy({low_or_cheap_inside(), {b}, {c}}, 110, settle) == 3.0);
    }
}

BOOST_AUTO_TEST_CASE(forgotten_peaks_change_no_front) {
    std::mt19937 random(7);
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    std::uint64_t with = 0, without = 0;
    int fronts = 0, points = 0;
    for (int instance = 0; instance < 2000; ++instance) {
        const std::vector<std::vector<PmappingGroup>> groups = random_chain(random);
        const double capacity = 30 + below(60);
        const JoinResult reduced = run(groups, capacity), plain = run(groups, capacity, false);
        with += reduced.rows_kept;
        without += plain.rows_kept;
        BOOST_TEST_REQUIRE(reduced.mappings.size() == plain.mappings.size());
        for (std::size_t i = 0; i < plain.mappings.size(); ++i) {
            BOOST_TEST(reduced.mappings[i].objectives == plain.mappings[i].objectives);
        }
        BOOST_TEST(reduced.failed_needed_bits == plain.failed_needed_bits);
        fronts += plain.mappings.empty() ? 0 : 1;
        points += static_cast<int>(plain.mappings.size());
    }
    BOOST_TEST(fronts > 1000);
    BOOST_TEST(points > 2 * fronts);
    BOOST_TEST(with < without);
}

// Sums that are enough for all tables, for some, and for none.
BOOST_AUTO_TEST_CASE(completion_bounds_change_no_optimum) {
    std::mt19937 random(11);
    std::uint64_t with = 0, without = 0;
    int found = 0;
    for (int instance = 0; instance < 1500; ++instance) {
        const std::vector<std::vector<PmappingGroup>> groups = random_chain(random);
        const double capacity = 30 + static_cast<double>(random() % 60);
        const auto joined = [&](JoinGoal goal, std::vector<std::vector<double>> known,
                                std::size_t sums) {
            JoinOptions o;
            o.goal = goal;
            o.incumbents = std::move(known);
            o.completion_sums = sums;
            return join(chain(static_cast<int>(groups.size())), groups, {{"GLB", capacity}}, o);
        };
        const JoinResult front = run(groups, capacity);
        const JoinResult best = joined(JoinGoal::edp, {}, 0);
        if (best.mappings.empty()) {
            continue;
        }
        ++found;
        const std::vector<double> costs = best.mappings.front().objectives;
        const double product = costs[0] * costs[1];
        for (const std::size_t sums : {1'000'000, 200, 1}) {
            for (const double share : {1.0, 1.02, 1.5}) {
                const JoinResult other = joined(JoinGoal::edp, {{product * share, 1.0}}, sums);
                BOOST_TEST_REQUIRE(other.mappings.size() == 1u);
                const std::vector<double>& found_costs = other.mappings.front().objectives;
                BOOST_TEST(found_costs[0] * found_costs[1] == product);
                with += sums > 1000 ? other.rows_kept : 0;
                without +=
                    sums > 1000 ? joined(JoinGoal::edp, {{product * share, 1.0}}, 0).rows_kept : 0;
            }
            const JoinResult none = joined(JoinGoal::edp, {{product * 0.999, 1.0}}, sums);
            BOOST_TEST((none.mappings.empty() ||
                        none.mappings.front().objectives[0] * none.mappings.front().objectives[1] >=
                            product));
            // A point that others dominate changes no front.
            std::vector<double> worse = front.mappings.front().objectives;
            worse[0] += 0.5;
            worse[1] += 0.5;
            const JoinResult points = joined(JoinGoal::pareto, {worse}, sums);
            BOOST_TEST_REQUIRE(points.mappings.size() == front.mappings.size());
            for (std::size_t i = 0; i < front.mappings.size(); ++i) {
                BOOST_TEST(points.mappings[i].objectives == front.mappings[i].objectives);
            }
        }
    }
    BOOST_TEST(found > 700);
    BOOST_TEST(with < without);
}

BOOST_AUTO_TEST_CASE(reduced_costs_fix_no_row_of_an_optimum) {
    std::mt19937 random(13);
    std::size_t before = 0, after = 0;
    int tight = 0;
    for (int instance = 0; instance < 1500; ++instance) {
        const std::vector<std::vector<PmappingGroup>> groups = random_chain(random);
        const double capacity = 30 + static_cast<double>(random() % 60);
        const workload::Workload work = chain(static_cast<int>(groups.size()));
        const auto best = [&](const std::vector<std::vector<PmappingGroup>>& of) {
            JoinOptions o;
            o.goal = JoinGoal::edp;
            const JoinResult found = join(work, of, {{"GLB", capacity}}, o);
            return found.mappings.empty() ? std::vector<double>{}
                                          : found.mappings.front().objectives;
        };
        const std::vector<double> costs = best(groups);
        if (costs.empty()) {
            continue;
        }
        const double product = costs[0] * costs[1];
        for (const std::size_t sums : {1'000'000, 200, 1}) {
            for (const double share : {1.0, 1.1, 2.0}) {
                std::vector<std::vector<PmappingGroup>> left = groups;
                const double least =
                    fix_by_reduced_costs(work, left, JoinGoal::edp, {{product * share, 1.0}}, sums);
                BOOST_TEST(least <= product);
                tight += least > product * 0.999 ? 1 : 0;
                const std::vector<double> still = best(left);
                BOOST_TEST_REQUIRE(still.size() == 2u);
                BOOST_TEST(still[0] * still[1] == product);
                for (std::size_t e = 0; e < groups.size(); ++e) {
                    for (const PmappingGroup& g : groups[e]) {
                        before += g.rows();
                    }
                    for (const PmappingGroup& g : left[e]) {
                        after += g.rows();
                    }
                }
            }
        }
    }
    BOOST_TEST(2 * after < before);
    BOOST_TEST(tight > 500);
}

BOOST_AUTO_TEST_CASE(residual_stays_reserved_while_an_einsum_that_ignores_it_runs) {
    // X (10 bits) is written by E0, read by E2; E1 does not touch it.
    const workload::Workload w = cascade({"X", "Y"}, {{{}, {0}}, {{}, {1}}, {{0, 1}, {}}});
    const auto e0 = group({}, {backed(0, 1, 0, true, {})}, {{1, 1, 0, 10, 10}}, {{}});
    const auto e1 = group({}, {backed(1, 1, 0, true, {})}, {{1, 1, 0, 50, 5}}, {{}});
    const auto e2 = group({}, {backed(0, 1, 0, false, {}), backed(1, 1, 0, false, {})},
                          {{1, 1, 0, 15, 10, 5}}, {{}});
    JoinOptions o;
    o.goal = JoinGoal::pareto;
    BOOST_TEST(join(w, {{e0}, {e1}, {e2}}, {{"GLB", 60}}, o).mappings.size() == 1u);
    BOOST_TEST(join(w, {{e0}, {e1}, {e2}}, {{"GLB", 59}}, o).mappings.empty());
}

BOOST_AUTO_TEST_CASE(loops_pair_by_tensor_rank_across_a_permuted_block) {
    // A writes T1[m,n] under loops m (4), n (2); B reads it under n (2), m (4).
    const auto a = group({{0, -1, 16}, {1, -1, 8}}, {backed(1, 1, 2, true, {0, 1})},
                         {{1, 1, 0, 0, 0, 8, 8}}, {{4, 2}});
    const auto b = group({{1, -1, 8}, {0, -1, 16}}, {backed(1, 1, 2, false, {1, 0})},
                         {{1, 1, 0, 0, 0, 8, 8}}, {{2, 4}});
    const JoinResult r = run({{a}, {b}}, 100);
    BOOST_REQUIRE_EQUAL(r.mappings.size(), 1u);
    const auto& ea = r.mappings[0].einsums[0];
    const auto& eb = r.mappings[0].einsums[1];
    BOOST_TEST(ea.shared_with_next == 2);
    // The same tree loop: A's loop k and B's loop at the same position index the same rank.
    for (int p = 0; p < 2; ++p) {
        const int rank_a =
            std::vector<int>{0, 1}[static_cast<std::size_t>(ea.order[static_cast<std::size_t>(p)])];
        const int rank_b =
            std::vector<int>{1, 0}[static_cast<std::size_t>(eb.order[static_cast<std::size_t>(p)])];
        BOOST_TEST(rank_a == rank_b);
    }
}

BOOST_AUTO_TEST_CASE(a_holder_between_two_loops_fixes_their_order) {
    const auto a = group({{0, -1, 16}, {1, -1, 8}}, {backed(1, 1, 2, true, {0, 1})},
                         {{1, 1, 0, 0, 0, 8, 8}}, {{4, 2}}, 0b10);
    const auto b = group({{1, -1, 8}, {0, -1, 16}}, {backed(1, 1, 2, false, {1, 0})},
                         {{1, 1, 0, 0, 0, 8, 8}}, {{2, 4}}, 0b10);
    BOOST_TEST(run({{a}, {b}}, 100).mappings.empty());
}

BOOST_AUTO_TEST_CASE(different_trip_counts_or_memories_do_not_join) {
    const auto a = group({{0, -1, 64}}, {backed(1, 1, 1, true, {0})}, {{1, 1, 0, 0, 8, 8}}, {{8}});
    const auto other_trips =
        group({{0, -1, 64}}, {backed(1, 1, 1, false, {0})}, {{1, 1, 0, 0, 8, 8}}, {{4}});
    const auto other_memory =
        group({{0, -1, 64}}, {backed(1, 0, 1, false, {0})}, {{1, 1, 0, 0, 8, 0}}, {{8}});
    BOOST_TEST(run({{a}, {other_trips}}, 100).mappings.empty());
    BOOST_TEST(run({{a}, {other_memory}}, 100).mappings.empty());
}

BOOST_AUTO_TEST_CASE(unfinished_reads_are_not_joined) {
    // C lives under a shared n loop; D is reduced over n by its producer E1 and backed outside it.
    // E2 inside the n loop would read D before it is complete.
    const workload::Workload w = cascade({"C", "D"}, {{{}, {0}}, {{0}, {1}}, {{0, 1}, {}}});
    const std::vector<FusedLoop> n{{0, -1, 16}};
    const auto e0 = group(n, {backed(0, 1, 1, true, {1})}, {{1, 1, 0, 0, 8, 8}}, {{4}});
    auto e1 = group(n, {backed(0, 1, 1, false, {1}), backed(1, 0, 0, true, {-1})},
                    {{1, 1, 0, 0, 8, 8, 0}}, {{4}});
    const auto e2 = group(n, {backed(0, 1, 1, false, {1}), backed(1, 0, 0, false, {-1})},
                          {{1, 1, 0, 0, 8, 8, 0}}, {{4}});
    JoinOptions o;
    o.goal = JoinGoal::pareto;
    BOOST_TEST(join(w, {{e0}, {e1}, {e2}}, {{"GLB", 100}}, o).mappings.empty());
    // If D's producer indexes D by n and so does the reader, every iteration completes its part.
    auto e1_indexed = e1;
    e1_indexed.structure.tensors[1].rank_of_loop = {0};
    auto e2_indexed = e2;
    e2_indexed.structure.tensors[1].rank_of_loop = {0};
    BOOST_TEST(join(w, {{e0}, {e1_indexed}, {e2_indexed}}, {{"GLB", 100}}, o).mappings.size() ==
               1u);
}

BOOST_AUTO_TEST_CASE(dominated_rows_go_and_ties_keep_one) {
    const auto a = group({}, {backed(1, 0, 0, true, {})},
                         {{1, 5, 0, 0, 0}, {2, 4, 0, 0, 0}, {3, 4, 0, 0, 0}, {1, 5, 0, 0, 0}},
                         {{}, {}, {}, {}});
    PmappingGroup g = a;
    prune_pareto(g);
    BOOST_TEST(g.rows() == 2u);
}
