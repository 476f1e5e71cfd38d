// The Timeloop mapspace: numbering against a straight enumeration, every form of constraint,
// conflicts, audit, Timeloop's termination rules, explanations.
#include <ctime>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <set>
#include <thread>

#include "support/small_mapspace.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/telemetry/recorder.hpp"
#include "timeloop/mapper.hpp"
#include "timeloop/mapspace.hpp"
#include "timeloop/optimal/geometry.hpp"

namespace {

using namespace tessera;
using namespace tessera::timeloop;

/// Z[m,n] += A[m,k] * B[k,n] on a buffer with a fan-out of 2 x 2 over registers, and DRAM.
struct Gemm {
    Problem problem;
    Architecture architecture;
    Constraints constraints;

    Gemm() {
        for (const auto& [name, bound] : {std::pair{"M", 4}, {"N", 2}, {"K", 6}}) {
            problem.dimensions.push_back({name, bound});
        }
        problem.data_spaces = {{"A", {{{0}}, {{2}}}}, {"B", {{{2}}, {{1}}}}, {"Z", {{{0}}, {{1}}}}};
        problem.data_spaces[2].read_write = true;
        architecture.arithmetic.instances = 4;
        architecture.arithmetic.mesh_x = architecture.arithmetic.mesh_y = 2;
        architecture.arithmetic.energy_pj = 1;
        add("Reg", 4, 8, 1);
        add("Buf", 1, 40, 5);
        add("DRAM", 1, 0, 100);
    }
    void add(const std::string& name, std::int64_t instances, std::int64_t size, double energy) {
        StorageLevel level;
        level.name = name;
        level.instances = instances;
        level.mesh_x = level.mesh_y = instances == 4 ? 2 : 1;
        if (size > 0) {
            level.size = size;
        }
        level.energy.read_pj = level.energy.fill_pj = level.energy.update_pj = energy;
        architecture.storage.push_back(level);
    }
    LoopConstraint& at(int level, bool spatial = false) {
        constraints.loops.push_back({});
        constraints.loops.back().level = level;
        constraints.loops.back().spatial = spatial;
        constraints.loops.back().where = {"in.yaml", static_cast<int>(constraints.loops.size()), 1};
        return constraints.loops.back();
    }
    static FactorRule rule(int d, FactorRule::Relation relation, std::int64_t value, int line = 1) {
        return {d, relation, value, {}, {"in.yaml", line, 3}};
    }
    MapSpace space() const {
        return MapSpace(problem, architecture, constraints);
    }
};

constexpr auto equal = FactorRule::Relation::equal;
constexpr auto at_most = FactorRule::Relation::at_most;
constexpr auto at_least = FactorRule::Relation::at_least;

std::string message(const Gemm& gemm) {
    try {
        gemm.space();
    } catch (const UserError& error) {
        return error.what();
    }
    return "";
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// Number of ordered ways to write n as a product of k factors.
std::uint64_t ways(std::int64_t n, int k) {
    if (k == 1) {
        return 1;
    }
    std::uint64_t total = 0;
    for (std::int64_t f = 1; f <= n; ++f) {
        total += n % f == 0 ? ways(n / f, k - 1) : 0;
    }
    return total;
}

MapperSettings walk(Algorithm algorithm) {
    MapperSettings settings;
    settings.algorithm = algorithm;
    settings.threads = 1;
    settings.timeout = settings.victory = 0;
    return settings;
}

MapperResult search(const Gemm& gemm, const MapperSettings& settings,
                    const MapperHooks& hooks = {}) {
    return search_mappings(gemm.problem, gemm.architecture, gemm.constraints, settings, hooks);
}

BOOST_AUTO_TEST_SUITE(timeloop_mapspace)

BOOST_AUTO_TEST_CASE(sizes_are_products_of_straight_counts) {
    const Gemm gemm;
    const MapSpace space = gemm.space();
    // Tiling levels: Reg temporal, Buf spatial, Buf temporal, DRAM temporal.
    BOOST_CHECK_EQUAL(space.levels().size(), 4U);
    BOOST_CHECK(space.factor_count() == ways(4, 4) * ways(2, 4) * ways(6, 4));
    BOOST_CHECK(space.permutation_count() == 6 * 6 * 6);  // the innermost block is canonical
    BOOST_CHECK(space.split_count() == 4);
    BOOST_CHECK_EQUAL(space.bypass_count(), 64U);  // 3 data spaces in Reg and Buf
    BOOST_CHECK_EQUAL(space.size_text(), decimal(space.factor_count() * 216 * 4 * 64));
}

BOOST_AUTO_TEST_CASE(factors_come_in_timeloops_order) {
    const Gemm gemm;
    const MapSpace space = gemm.space();
    const IndexFactors& six = space.factors()[2];
    // Divisors 1, 6, 2, 3; the outermost level changes slowest.
    const std::vector<std::vector<int>> first = {{6, 1, 1, 1}, {1, 6, 1, 1}, {3, 2, 1, 1},
                                                 {2, 3, 1, 1}, {1, 1, 6, 1}, {3, 1, 2, 1}};
    for (std::size_t i = 0; i < first.size(); ++i) {
        const std::int32_t* ends = six.end(i, 4);
        BOOST_CHECK(std::equal(first[i].begin(), first[i].end(), ends));
    }
    const std::int32_t* last = six.end(six.count - 1, 4);
    BOOST_CHECK_EQUAL(last[3], 3);
}

BOOST_AUTO_TEST_CASE(permutations_come_in_lexicographic_order) {
    const Gemm gemm;
    const MapSpace space = gemm.space();
    MapSpaceView view(space);
    FlatMapping flat;
    std::vector<int> expected = {0, 1, 2};
    for (MappingId id; id.permutation < 36; ++id.permutation) {
        view.build(id, flat, false);
        const Mapping mapping = view.mapping(0);
        if (id.permutation < 6) {  // digit of the spatial block
            BOOST_CHECK(mapping.levels[1].spatial.permutation == expected);
            std::next_permutation(expected.begin(), expected.end());
        }
    }
}

BOOST_AUTO_TEST_CASE(ids_name_every_mapping_once) {
    Gemm gemm;
    gemm.at(1).factors = {Gemm::rule(2, at_most, 2)};
    gemm.at(2).permutation = PermutationRule{{0}, {2}, {}};
    gemm.constraints.bypasses.push_back({ConstraintSource::mapspace, 0, {0, 1, 2}, {}, {}, {}});
    const MapSpace space = gemm.space();
    MapSpaceView view(space);
    FlatMapping flat;
    std::set<std::string> seen;
    std::uint64_t count = 0;
    for (MappingId id; id.factors < view.factor_count(); id.factors += 7) {
        for (id.permutation = 0; id.permutation < view.permutation_count(); ++id.permutation) {
            for (id.split = 0; id.split < view.split_count(); ++id.split) {
                view.build(id, flat, false);
                std::string key;
                const Mapping mapping = view.mapping(id.bypass);
                for (const LevelMapping& level : mapping.levels) {
                    for (const LoopBlock* block : {&level.spatial, &level.temporal}) {
                        for (const int d : block->permutation) {
                            key += std::to_string(d) + ":" + std::to_string(block->factors[d].end) +
                                   " ";
                        }
                        key += "/" + std::to_string(block->split);
                    }
                }
                seen.insert(key);
                ++count;
            }
        }
    }
    BOOST_CHECK_EQUAL(seen.size(), count);
}

BOOST_AUTO_TEST_CASE(c8_members_pass_the_audit_and_others_do_not) {
    std::mt19937_64 random(3);
    int members = 0, others = 0;
    for (int i = 0; i < 300; ++i) {
        const testing::SmallMapSpace c = testing::small_mapspace(random);
        try {
            const MapSpace constrained(c.problem, c.architecture, c.constraints);
            const MapSpace free(c.problem, c.architecture, Constraints{});
            for (const MapSpace* space : {&constrained, &free}) {
                if (space->factor_count() == 0) {
                    continue;
                }
                MapSpaceView view(*space);
                FlatMapping flat;
                for (int k = 0; k < 20; ++k) {
                    const MappingId id{
                        random() % view.factor_count(), random() % view.permutation_count(),
                        random() % view.split_count(), random() % view.bypass_count()};
                    if (!view.build(id, flat).ok()) {
                        continue;
                    }
                    auto faults = constrained.audit(view.mapping(id.bypass));
                    if (!faults.empty() && contains(faults.front(), "bypassed by every level")) {
                        continue;  // the model rejects it
                    }
                    const bool obeys = faults.empty();
                    if (space == &constrained) {
                        BOOST_CHECK_MESSAGE(obeys, (obeys ? "" : faults.front()));
                        ++members;
                    } else {
                        others += !obeys;
                    }
                }
            }
        } catch (const UserError&) {
        }
    }
    BOOST_CHECK_GT(members, 500);
    BOOST_CHECK_GT(others, 500);
}

BOOST_AUTO_TEST_CASE(every_factor_form_limits_the_options) {
    Gemm gemm;
    gemm.at(0).factors = {Gemm::rule(2, equal, 0), Gemm::rule(0, at_most, 2),
                          Gemm::rule(-1, at_most, 1), Gemm::rule(1, at_least, 1)};
    const MapSpace space = gemm.space();
    for (std::size_t i = 0; i < space.factors()[2].count; ++i) {
        BOOST_CHECK_EQUAL(space.factors()[2].end(i, 4)[0], 6);  // 0: the whole dimension
    }
    for (std::size_t i = 0; i < space.factors()[0].count; ++i) {
        BOOST_CHECK_LE(space.factors()[0].end(i, 4)[0], 2);
    }
    for (std::size_t i = 0; i < space.factors()[1].count; ++i) {
        BOOST_CHECK_EQUAL(space.factors()[1].end(i, 4)[0], 1);  // the default
    }
    Gemm least;
    least.at(2).factors = {Gemm::rule(0, at_least, 4)};
    BOOST_CHECK_EQUAL(least.space().factors()[0].count, 1U);
    Gemm large;
    large.at(0).factors = {Gemm::rule(0, equal, 64)};
    BOOST_CHECK_EQUAL(large.space().warnings().size(), 1U);
    BOOST_CHECK(large.space().factor_count() == Gemm().space().factor_count());
}

BOOST_AUTO_TEST_CASE(c8_conflicts_name_both_places) {
    Gemm gemm;
    gemm.at(1).factors = {Gemm::rule(0, equal, 2, 10)};
    LoopConstraint& twice = gemm.at(1);
    twice.source = ConstraintSource::architecture;
    twice.factors = {Gemm::rule(0, equal, 4, 20)};
    const std::string text = message(gemm);
    BOOST_CHECK(contains(text, "in.yaml:10:3") && contains(text, "in.yaml:20:3"));
    BOOST_CHECK(contains(text, "dimension M") && contains(text, "Buf"));

    Gemm bypass;
    bypass.constraints.bypasses.push_back(
        {ConstraintSource::architecture, 1, {0}, {}, {}, {"in.yaml", 5, 1}});
    bypass.constraints.bypasses.push_back(
        {ConstraintSource::mapspace, 1, {}, {0}, {}, {"in.yaml", 6, 1}});
    BOOST_CHECK(contains(message(bypass), "in.yaml:5:1") &&
                contains(message(bypass), "in.yaml:6:1"));

    Gemm order;
    order.at(2).permutation = PermutationRule{{0}, {}, {"in.yaml", 7, 1}};
    order.at(2).permutation = PermutationRule{{1}, {}, {"in.yaml", 8, 1}};
    BOOST_CHECK(contains(message(order), "permutation") && contains(message(order), "in.yaml:7:1"));

    Gemm divide;
    divide.at(0).factors = {Gemm::rule(2, equal, 4, 9)};
    BOOST_CHECK(contains(message(divide), "does not divide") &&
                contains(message(divide), "in.yaml:9:3"));

    Gemm flat;
    flat.at(2, true).factors = {Gemm::rule(0, equal, 2)};
    BOOST_CHECK(contains(message(flat), "no spatial loops"));
}

BOOST_AUTO_TEST_CASE(split_and_parallelism_bind) {
    Gemm gemm;
    LoopConstraint& spatial = gemm.at(1, true);
    spatial.split = PlacedNumber{1, {"in.yaml", 4, 1}};
    spatial.permutation = PermutationRule{{1}, {}, {}};
    gemm.constraints.parallelism.push_back({ConstraintSource::mapspace, 1.0, {"in.yaml", 5, 1}});
    const MapperResult result = search(gemm, walk(Algorithm::optimal));
    BOOST_REQUIRE(result.best);
    const LoopBlock& block = result.best->levels[1].spatial;
    BOOST_CHECK_EQUAL(block.factors[1].end, 2);  // N alone may go along X
    BOOST_CHECK_EQUAL(expansion(block).x * expansion(block).y, 4);
    Mapping broken = *result.best;
    broken.levels[1].spatial.split = 0;
    BOOST_CHECK(!gemm.space().audit(broken).empty());
}

BOOST_AUTO_TEST_CASE(contradictory_constraints_are_explained) {
    Gemm gemm;
    gemm.at(0).factors = {Gemm::rule(0, at_least, 4), Gemm::rule(1, at_least, 2),
                          Gemm::rule(2, at_least, 6)};
    gemm.constraints.bypasses.push_back({ConstraintSource::mapspace, 0, {0, 1, 2}, {}, {}, {}});
    const MapperResult result = search(gemm, MapperSettings{});
    BOOST_CHECK(!result.best && result.proof == Proof::infeasible);
    BOOST_REQUIRE_GE(result.reasons.size(), 2U);
    // Level, what it needs and has, and the data spaces: A 24 + B 12 + Z 8.
    BOOST_CHECK_MESSAGE(contains(result.reasons[0], "Reg") && contains(result.reasons[0], "44") &&
                            contains(result.reasons[0], "8") && contains(result.reasons[0], "A 24"),
                        result.reasons[0]);
    BOOST_CHECK(contains(result.reasons.back(), "proof"));
}

BOOST_AUTO_TEST_CASE(f1_a_mapping_that_forgets_data_is_never_returned) {
    Gemm gemm;
    gemm.constraints.bypasses.push_back({ConstraintSource::mapspace, 2, {}, {2}, {}, {}});
    for (const Algorithm algorithm : {Algorithm::optimal, Algorithm::linear_pruned}) {
        const MapperResult result = search(gemm, walk(algorithm));
        BOOST_REQUIRE(result.best);
        BOOST_CHECK(
            evaluate(gemm.problem, gemm.architecture, *result.best).stats.forgotten.empty());
    }
}

BOOST_AUTO_TEST_CASE(all_algorithms_agree_where_they_are_complete) {
    Gemm gemm;
    gemm.constraints.bypasses.push_back({ConstraintSource::mapspace, 0, {0, 1, 2}, {}, {}, {}});
    gemm.constraints.bypasses.push_back({ConstraintSource::mapspace, 1, {0, 1, 2}, {}, {}, {}});
    gemm.at(1).permutation = PermutationRule{{0}, {1}, {}};
    const double best = search(gemm, walk(Algorithm::optimal)).cost.edp();
    for (const Algorithm algorithm : {Algorithm::exhaustive, Algorithm::linear_pruned}) {
        const MapperResult result = search(gemm, walk(algorithm));
        BOOST_CHECK(result.proof == Proof::optimal);
        BOOST_CHECK_CLOSE_FRACTION(result.cost.edp(), best, 1e-12);
    }
    for (const Algorithm algorithm :
         {Algorithm::random, Algorithm::random_pruned, Algorithm::hybrid}) {
        MapperSettings settings = walk(algorithm);
        settings.search_size = 20'000;
        const MapperResult result = search(gemm, settings);
        BOOST_CHECK(result.proof == Proof::none);
        BOOST_CHECK_CLOSE_FRACTION(result.cost.edp(), best, 0.05);
        BOOST_CHECK_GE(result.cost.edp(), best * (1 - 1e-12));
    }
}

// A walk goes on to its next mapping before the last one is written down.
BOOST_AUTO_TEST_CASE(what_is_found_costs_what_the_search_says) {
    Gemm gemm;  // one mapping to each factorisation
    for (const int level : {0, 1, 2}) {
        gemm.constraints.bypasses.push_back(
            {ConstraintSource::mapspace, level, {0, 1, 2}, {}, {}, {}});
        gemm.at(level).permutation = PermutationRule{{0, 1, 2}, {}, {}};
    }
    gemm.at(1, true).permutation = PermutationRule{{0, 1, 2}, {}, {}};
    gemm.constraints.loops.back().split = PlacedNumber{1, {"in.yaml", 1, 1}};
    for (const Algorithm algorithm :
         {Algorithm::exhaustive, Algorithm::linear_pruned, Algorithm::random,
          Algorithm::random_pruned, Algorithm::hybrid, Algorithm::optimal}) {
        MapperSettings settings = walk(algorithm);
        for (settings.search_size = 1; settings.search_size <= 64; ++settings.search_size) {
            settings.seed = settings.search_size;
            const MapperResult result = search(gemm, settings);
            BOOST_REQUIRE(result.best);
            const Stats stats = evaluate(gemm.problem, gemm.architecture, *result.best).stats;
            BOOST_CHECK_EQUAL(stats.cycles, result.cost.cycles);
            BOOST_CHECK_CLOSE_FRACTION(stats.energy_pj, result.cost.energy_pj, 1e-12);
        }
    }
}

int temporal_loops(const Mapping& mapping) {
    int loops = 0;
    for (const LevelMapping& level : mapping.levels) {
        for (const Factor& factor : level.temporal.factors) {
            loops += factor.end > 1;
        }
    }
    return loops;
}

BOOST_AUTO_TEST_CASE(no_more_temporal_loops_than_asked_for) {
    Gemm gemm;
    MapperSettings settings = walk(Algorithm::random);
    settings.search_size = 1;
    int more = 0;
    for (settings.seed = 1; settings.seed <= 20; ++settings.seed) {
        more += temporal_loops(*search(gemm, settings).best) > 3;
    }
    BOOST_CHECK_GT(more, 0);
    gemm.constraints.temporal_loops = PlacedNumber{3, {}};
    for (const Algorithm algorithm : {Algorithm::random, Algorithm::hybrid, Algorithm::optimal}) {
        settings.algorithm = algorithm;
        for (settings.seed = 1; settings.seed <= 20; ++settings.seed) {
            const MapperResult result = search(gemm, settings);
            BOOST_REQUIRE(result.best);
            BOOST_CHECK_LE(temporal_loops(*result.best), 3);
            BOOST_CHECK(result.proof == Proof::none);
        }
    }
}

BOOST_AUTO_TEST_CASE(reuse_that_constraints_switch_off_is_paid_for) {
    Gemm gemm;
    gemm.at(1).no_temporal_reuse = PlacedSpaces{{0, 1}, {}};
    gemm.at(1, true).no_multicast_no_reduction = PlacedSpaces{{0, 1, 2}, {}};
    const auto check = [&](const MapperSettings& settings) {
        MapperHooks hooks;
        hooks.budget.max_evals = 5000;  // no proof: bounds know nothing of limits
        const MapperResult result = search(gemm, settings, hooks);
        BOOST_REQUIRE(result.best);
        const auto written = [&](const Mapping& mapping) {
            return evaluate(gemm.problem, gemm.architecture, mapping).stats;
        };
        BOOST_CHECK_EQUAL(written(*result.best).energy_pj, result.cost.energy_pj);
        BOOST_CHECK_EQUAL(written(*result.best).cycles, result.cost.cycles);
        Mapping free = *result.best;
        for (LevelMapping& level : free.levels) {
            level.no_temporal_reuse = level.no_multicast_no_reduction = 0;
        }
        return written(free).energy_pj < result.cost.energy_pj;
    };
    int dearer = 0;
    for (const Algorithm algorithm :
         {Algorithm::random, Algorithm::random_pruned, Algorithm::hybrid}) {
        MapperSettings settings = walk(algorithm);
        settings.search_size = 1;
        for (settings.seed = 1; settings.seed <= 20; ++settings.seed) {
            dearer += check(settings);
        }
    }
    BOOST_CHECK_GT(dearer, 0);
    check(walk(Algorithm::optimal));
}

BOOST_AUTO_TEST_CASE(termination_keys_end_the_search) {
    const Gemm gemm;
    std::vector<std::string> lines;
    MapperHooks hooks;
    hooks.log = [&](const std::string& line) { lines.push_back(line); };
    const auto said = [&](const std::string& part) {
        const bool found = std::any_of(lines.begin(), lines.end(),
                                       [&](const auto& line) { return contains(line, part); });
        lines.clear();
        return found;
    };
    MapperSettings settings = walk(Algorithm::random);
    settings.search_size = 50;
    BOOST_CHECK_EQUAL(search(gemm, settings, hooks).valid, 50U);
    BOOST_CHECK(said("[  0] STATEMENT: 50 valid mappings found, terminating search."));

    settings = walk(Algorithm::random);
    settings.victory = 20;
    search(gemm, settings, hooks);
    BOOST_CHECK(said("20 suboptimal mappings found since the last upgrade"));

    settings = walk(Algorithm::random);
    settings.timeout = 1;
    search(gemm, settings, hooks);
    BOOST_CHECK(said("1 invalid mappings ("));

    settings = walk(Algorithm::random);
    settings.target = 1e9;
    BOOST_CHECK_LE(search(gemm, settings, hooks).valid, 128U);

    std::atomic<bool> stop = true;
    hooks.stop = &stop;
    BOOST_CHECK_LE(search(gemm, walk(Algorithm::random), hooks).total, 1U);
}

/// Two million spatial choices and more.
Gemm large_gemm() {
    Gemm large;
    for (Dimension& dimension : large.problem.dimensions) {
        dimension.bound = 5040;
    }
    large.architecture.storage[0].instances = large.architecture.arithmetic.instances = 4096;
    large.architecture.storage[0].mesh_x = large.architecture.arithmetic.mesh_x = 64;
    large.architecture.storage[0].mesh_y = large.architecture.arithmetic.mesh_y = 64;
    return large;
}

// The first mapping ends the search, long before the pairs of spatial choices and bypasses are
// known.
BOOST_AUTO_TEST_CASE(a_mapping_is_found_before_all_spatial_choices_are_listed) {
    Gemm large = large_gemm();
    for (const Objective::Kind kind :
         {Objective::Kind::edp, Objective::Kind::delay, Objective::Kind::energy,
          Objective::Kind::last_level_accesses}) {
        MapperSettings settings = walk(Algorithm::optimal);
        settings.objectives = {{kind, 0}};
        std::atomic<bool> stop{false};
        MapperHooks hooks;
        hooks.stop = &stop;
        hooks.improved = [&](const Mapping&, const Cost&) { stop = true; };
        const MapperResult result = search(large, settings, hooks);
        BOOST_REQUIRE(result.best);
        BOOST_CHECK_EQUAL(result.total, 0U);
        BOOST_CHECK(result.proof == Proof::none);
        BOOST_CHECK_EQUAL(result.limits.size(), 1U);
    }
}

// Of too many spatial choices those with the fewest cycles are listed.
BOOST_AUTO_TEST_CASE(the_fastest_spatial_choices_are_listed) {
    Gemm gemm;
    for (Dimension& dimension : gemm.problem.dimensions) {
        dimension.bound = 24;
    }
    gemm.architecture.storage[0].instances = gemm.architecture.arithmetic.instances = 32;
    gemm.architecture.storage[0].mesh_x = gemm.architecture.arithmetic.mesh_x = 8;
    gemm.architecture.storage[0].mesh_y = gemm.architecture.arithmetic.mesh_y = 4;
    const MapSpace space = gemm.space();
    const Geometry geometry(space, {}, {});
    const SpatialChoices all = spatial_choices(geometry, 10'000);
    BOOST_CHECK_EQUAL(all.rest_cycles, HUGE_VAL);
    BOOST_REQUIRE_GT(all.list.size(), 40U);
    for (const std::size_t most : {std::size_t{1}, std::size_t{7}, all.list.size() - 1}) {
        const SpatialChoices some = spatial_choices(geometry, most);
        BOOST_REQUIRE_EQUAL(some.list.size(), most);
        BOOST_CHECK(
            std::is_sorted(some.list.begin(), some.list.end(),
                           [](const auto& a, const auto& b) { return a.cycles < b.cycles; }));
        // Choices that are not among them need no fewer cycles than it says.
        std::size_t below = 0, known = 0;
        for (const SpatialChoice& choice : all.list) {
            below += choice.cycles < some.rest_cycles;
        }
        for (const SpatialChoice& choice : some.list) {
            known += choice.cycles < some.rest_cycles;
        }
        BOOST_CHECK_EQUAL(below, known);
        BOOST_CHECK_LE(some.list.back().cycles, 2 * all.list[most - 1].cycles);
    }
    BOOST_CHECK_EQUAL(spatial_choices(geometry, all.list.size()).rest_cycles, HUGE_VAL);
}

BOOST_AUTO_TEST_CASE(a_stop_ends_the_listing_of_spatial_choices) {
    Gemm large = large_gemm();
    const MapSpace space = large.space();
    const Geometry geometry(space, {}, {});
    std::atomic<bool> stop{false};
    const base::StopScope scope({&stop});
    BOOST_CHECK_GT(spatial_choices(geometry, 10'000).list.size(), 1000U);
    stop = true;
    BOOST_CHECK_THROW(spatial_choices(geometry, 10'000), base::Stopped);

    // Then nothing is known of the mapspace, and nothing is said to be.
    MapperHooks hooks;
    hooks.stop = &stop;
    const MapperResult result = search(large, walk(Algorithm::optimal), hooks);
    BOOST_CHECK(result.proof == Proof::none);
    BOOST_CHECK(!result.best);
    BOOST_CHECK_EQUAL(result.stopped_by, "stop");
}

// One spatial choice has a quarter of a million bypasses here, all of them bounded before the
// search.
BOOST_AUTO_TEST_CASE(a_stop_ends_the_bounding_of_bypasses) {
    Gemm deep;
    for (const char* name : {"L3", "L4", "L5", "L6"}) {
        deep.add(name, 1, 0, 200);
    }
    BOOST_CHECK_EQUAL(deep.space().bypasses().size(), 1U << 18U);
    std::atomic<bool> stop{false};
    MapperHooks hooks;
    hooks.stop = &stop;
    const auto cpu_s = [] {
        timespec now{};
        ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
    };
    const double begin = cpu_s();
    double at_stop = 0;
    std::jthread timer([&] {
        while (cpu_s() < begin + 0.3) {  // the mapspace is made by then
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        at_stop = cpu_s();
        stop = true;
    });
    const MapperResult result = search(deep, walk(Algorithm::optimal), hooks);
    const double end = cpu_s();
    timer.join();
    BOOST_CHECK_EQUAL(result.stopped_by, "stop");
    BOOST_CHECK(result.proof == Proof::none);
    BOOST_CHECK_LE(end - at_stop, 0.2);  // of CPU: a busy machine must not fail it
}

BOOST_AUTO_TEST_CASE(a_seed_changes_the_walk_and_repeats_it) {
    const Gemm gemm;
    MapperSettings settings = walk(Algorithm::random);
    settings.search_size = 30;
    settings.threads = 2;
    settings.seed = 7;
    const MapperResult first = search(gemm, settings), second = search(gemm, settings);
    BOOST_CHECK(*first.best == *second.best);
    settings.seed = 8;
    BOOST_CHECK(!(*search(gemm, settings).best == *first.best));
}

BOOST_AUTO_TEST_CASE(the_recorder_hears_of_incumbents_bound_and_rejections) {
    const Gemm gemm;
    MapperHooks hooks;
    telemetry::Recorder ours, theirs;
    hooks.recorder = &ours;
    const MapperResult best = search(gemm, walk(Algorithm::optimal), hooks);
    BOOST_CHECK_CLOSE_FRACTION(ours.best(), best.cost.edp() * 1e-9, 1e-12);
    BOOST_CHECK_CLOSE_FRACTION(ours.bound(), *best.bound * 1e-9, 1e-9);
    BOOST_CHECK_EQUAL(ours.evaluated(), best.valid);

    hooks.recorder = &theirs;
    MapperSettings settings = walk(Algorithm::random);
    settings.search_size = 100;
    const MapperResult random = search(gemm, settings, hooks);
    BOOST_CHECK_EQUAL(theirs.evaluated(), 100U);
    const auto workers = theirs.workers();
    BOOST_REQUIRE_EQUAL(workers.size(), 1U);
    BOOST_CHECK_EQUAL(workers[0].worker->generated_count(), random.total);
    BOOST_CHECK_EQUAL(workers[0].worker->rejected_count(telemetry::Reason::fanout) +
                          workers[0].worker->rejected_count(telemetry::Reason::capacity),
                      random.total - 100);
}

BOOST_AUTO_TEST_CASE(c18_ruby_splits_primes) {
    Gemm gemm;
    gemm.problem.dimensions[0].bound = 7;
    gemm.problem.dimensions[1].bound = gemm.problem.dimensions[2].bound = 1;
    gemm.at(1, true).remainders = PlacedNumber{2, {}};
    gemm.constraints.bypasses.push_back({ConstraintSource::mapspace, 0, {0, 1, 2}, {}, {}, {}});
    gemm.constraints.bypasses.push_back({ConstraintSource::mapspace, 1, {0, 1, 2}, {}, {}, {}});
    MapperSettings settings = walk(Algorithm::linear_pruned);
    settings.factors = FactorTemplate::ruby;
    const MapSpace space(gemm.problem, gemm.architecture, gemm.constraints, FactorTemplate::ruby);
    bool imperfect = false;
    for (std::size_t i = 0; i < space.factors()[0].count; ++i) {
        std::int64_t x = 0;
        for (int level = 3; level >= 0; --level) {
            const std::int32_t end = space.factors()[0].end(i, 4)[level];
            const std::int32_t residual = space.factors()[0].residual(i, 4)[level];
            x = x * end + residual - 1;
            imperfect |= end != residual;
            BOOST_CHECK(end == residual || (level == 1 && end <= 2));
        }
        BOOST_CHECK_EQUAL(x + 1, 7);
    }
    BOOST_CHECK(imperfect);
    settings.objectives = {{Objective::Kind::delay, 0}};
    const MapperResult result = search(gemm, settings);
    BOOST_REQUIRE(result.best);
    BOOST_CHECK(evaluate(gemm.problem, gemm.architecture, *result.best).fit.ok());
    // 7 rows over two instances take 4 passes instead of 7.
    BOOST_CHECK(!result.best->levels[1].spatial.factors[0].perfect());
    settings.algorithm = Algorithm::optimal;
    BOOST_CHECK_LE(search(gemm, settings).cost.cycles, result.cost.cycles);
}

BOOST_AUTO_TEST_CASE(later_objectives_decide_within_a_thousandth) {
    const std::vector<Objective> objectives = {{Objective::Kind::delay, 0},
                                               {Objective::Kind::energy, 0}};
    Cost a, b;
    a.cycles = 10000;
    b.cycles = 10005;
    a.energy_pj = 2;
    b.energy_pj = 1;
    BOOST_CHECK(is_better(b, a, objectives, 1));  // 0.05 % slower, half the energy
    b.cycles = 10100;
    BOOST_CHECK(!is_better(b, a, objectives, 1));
    BOOST_CHECK(!is_better(a, a, objectives, 1));  // ties keep the incumbent
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
