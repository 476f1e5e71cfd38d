// What several parts judge, each with code of its own, they judge by one rule: the search by joined
// tables, the search by points, the model and the checker. Each problem is one on which two of them
// could part: where a limit is met exactly, scaled, or follows the Einsum.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>

#include "oracle/few_instances.hpp"
#include "oracle/oracle_instance.hpp"
#include "spec/reader.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapping/mapping.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/workload/workload.hpp"
#include "workload/select.hpp"

using namespace tessera;
using mapper::Metric;

namespace {

std::string memory(const std::string& name, const std::string& size, int energy,
                   const std::string& tensors) {
    const std::string cost = "energy: " + std::to_string(energy) + ", throughput: 1}";
    return "  - !Memory\n    name: " + name + "\n    size: " + size +
           "\n    actions: [{name: read, " + cost + ", {name: write, " + cost +
           "]\n    tensors: " + tensors + "\n";
}

/// `spatial`: a dimension of the array, as in "{name: x, fanout: 4}". `inner`: memories in it.
std::string machine(const std::string& memories, const std::string& spatial,
                    const std::string& inner = "") {
    return "arch:\n  nodes:\n" + memories + "  - !Container\n    name: Array\n    spatial: [" +
           spatial + "]\n" + inner +
           "  - !Compute\n    name: MAC\n    actions: [{name: compute, energy: 1, "
           "throughput: 1}]\n";
}

std::string buffered(const std::string& size, const std::string& spatial = "{name: x, fanout: 1}",
                     const std::string& kept = "~Main") {
    return machine(memory("Main", "inf", 10, "{keep: ~Intermediates, may_keep: All}") +
                       memory("Buffer", size, 1, "{keep: " + kept + ", may_keep: All}"),
                   spatial);
}

std::string cascade(const std::string& space, const std::string& bits, const std::string& einsums) {
    return "workload:\n  iteration_space_shape: {" + space + "}\n  bits_per_value: " + bits +
           "\n  einsums:\n" + einsums;
}

/// The least cost, infinite if nothing is legal. Both searches prove it, no strategy is below it,
/// and model and checker accept the mappings.
double least(const std::string& yaml, Metric metric) {
    const oracle::LoadedInstance instance(yaml, arch::Compat::none);
    mapper::Options options;
    options.threads = 1;
    options.metrics = {metric};
    const auto run = [&](const std::string& mapper, const plugin::KnobSettings& knobs) {
        mapper::Result found;
        try {
            found = oracle::mapped(instance.problem, options, mapper, knobs);
        } catch (const NoLegalMapping&) {
            return HUGE_VAL;
        }
        if (found.solutions.empty()) {
            return HUGE_VAL;
        }
        const mapper::Solution& s = found.solutions.front();
        for (const auto& v : mapspace::check(instance.problem, s.mapping, &options.mapspace)) {
            BOOST_TEST((v.severity == mapspace::Severity::warning), mapspace::to_text(v));
        }
        return mapper::metric_value(metric, s.report);
    };
    const double joined = run("ffm", {}), points = run("search", {{"strategy", "exhaustive"}});
    options.budget.max_evals = 2000;
    const double drawn = run("search", {{"strategy", "random"}});
    BOOST_TEST(joined <= points * (1 + 1e-9), yaml);
    BOOST_TEST(points <= joined * (1 + 1e-9), yaml);
    BOOST_TEST(joined <= drawn * (1 + 1e-9), yaml);
    return joined;
}

/// With its conventions and in its mapspace; the checker accepts the mapping.
void map_as_the_reference(const std::string& yaml) {
    const oracle::LoadedInstance instance(yaml, arch::Compat::accelforge);
    mapper::Options options;
    options.mapspace = mapspace::MapSpaceOptions::accelforge();
    options.threads = 1;
    const mapper::Result found = oracle::mapped(instance.problem, options, "ffm");
    BOOST_TEST_REQUIRE(found.solutions.size() == 1u);
    for (const auto& v :
         mapspace::check(instance.problem, found.solutions[0].mapping, &options.mapspace)) {
        BOOST_TEST((v.severity == mapspace::Severity::warning), mapspace::to_text(v));
    }
}

/// 64 values are summed up to 8.
const std::string row_sums =
    cascade("m: 0 <= m < 8, k: 0 <= k < 8", "{All: 1}", "  - \"Z[m] = A[m, k]\"\n");

/// `nodes`: the list of a mapping file.
mapping::Mapping given(const std::string& nodes) {
    return mapping::read_mapping(spec::read_text("nodes:\n" + nodes, "given"));
}

model::Report evaluated(const model::Problem& problem, const mapping::Mapping& mapping) {
    return plugin::Registry<model::CostModel>::instance()
        .create("looptree")
        ->evaluate(problem, mapping);
}

/// Whether a mapping can run: checker and model say the same.
bool runs(const model::Problem& problem, const mapping::Mapping& mapping) {
    const mapspace::MapSpaceOptions options;
    const bool checked = std::ranges::none_of(
        mapspace::check(problem, mapping, &options),
        [](const auto& v) { return v.severity == mapspace::Severity::physical; });
    bool modelled = true;
    try {
        modelled = evaluated(problem, mapping).energy_j() > 0;
    } catch (const IllegalMapping&) {
        modelled = false;
    }
    BOOST_TEST(checked == modelled);
    return modelled;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(one_rule)

// Z = A times B, both copies of I: the 64 values of I are there once, beside one of Z.
BOOST_AUTO_TEST_CASE(copies_that_are_read_together_are_one_buffer) {
    const auto problem = [](int size) {
        return buffered(std::to_string(size)) +
               cascade("m: 0 <= m < 8, p: 0 <= p < 8, q: 0 <= q < 8, k: 0 <= k < 8", "{All: 1}",
                       "  - {name: I, einsum: \"I[m, k] = X[m, k]\"}\n"
                       "  - {name: C, einsum: \"A[m, k] = I[m, k]\", is_copy_operation: True}\n"
                       "  - {name: D, einsum: \"B[m, k] = I[m, k]\", is_copy_operation: True}\n"
                       "  - {name: Z, einsum: \"Z[p, q] = A[M: p, k] * B[M: q, k]\"}\n");
    };
    const double roomy = least(problem(1000), Metric::energy);
    BOOST_TEST(least(problem(65), Metric::energy) == roomy);
    BOOST_TEST(least(problem(64), Metric::energy) > roomy);
}

// W and V wait in Reg while the loop over p that both Einsums share runs: 16 bits, or one of them.
BOOST_AUTO_TEST_CASE(a_reservation_lies_below_the_loops_of_its_chain) {
    const std::string any = ", force_memory_hierarchy_order: False}";
    const auto problem = [&](int size) {
        return machine(
                   memory("Main", "inf", 1000, "{keep: ~Intermediates, may_keep: All" + any) +
                       memory("Buffer", "4", 1,
                              "{keep: Intermediates, may_keep: Intermediates" + any),
                   "{name: x, fanout: 4, loop_bounds: [{expression: k, operator: \"==\", "
                   "value: 1}]}",
                   memory("Reg", std::to_string(size), 1, "{keep: W | V, may_keep: W | V" + any)) +
               cascade("m: 0 <= m < 4, p: 0 <= p < 8, k: 0 <= k < 8", "{All: 1}",
                       "  - {einsum: \"T[m, p] = A[m, p, k] * W[k]\", renames: {V: Nothing}}\n"
                       "  - {einsum: \"Z[m, p] = T[m, p] * V[k]\", renames: {W: Nothing}}\n");
    };
    const double roomy = least(problem(16), Metric::energy);
    BOOST_TEST(least(problem(12), Metric::energy) > roomy);
    BOOST_TEST(std::isfinite(least(problem(12), Metric::energy)));
}

// A and V have 20 003 values each and no room beside one another, whichever way they are read.
BOOST_AUTO_TEST_CASE(a_memory_is_large_enough_for_all_whatever_the_signs) {
    const auto problem = [](const std::string& read) {
        return buffered("30000") +
               cascade("p: 0 <= p < 4, r: 0 <= r < 20000, n: 0 <= n < 10", "{All: 1}",
                       "  - \"T[p, n] = A[P: " + read +
                           "] * B[n]\"\n  - \"U[p, n] = T[p, n] * V[P: " + read + "]\"\n");
    };
    const oracle::LoadedInstance forward(problem("p + r"), arch::Compat::none);
    const oracle::LoadedInstance backward(problem("p - r + 19999"), arch::Compat::none);
    mapper::Options options;
    options.threads = 1;
    const auto best = [&](const oracle::LoadedInstance& instance) {
        return oracle::mapped(instance.problem, options, "ffm").solutions.at(0).report.edp_js();
    };
    BOOST_TEST(best(forward) == best(backward));
}

BOOST_AUTO_TEST_CASE(a_memory_may_be_as_large_as_its_einsum_wants) {
    const auto problem = [](const std::string& size) {
        return buffered(size) +
               cascade("p: 0 <= p < 8, n: 0 <= n < 8, k: 0 <= k < 8, j: 0 <= j < 8", "{All: 1}",
                       "  - {name: T, einsum: \"T[p, n] = A[p, k] * B[n, k]\", renames: {big: "
                       "All}}\n"
                       "  - {name: U, einsum: \"U[p, j] = T[p, n] * C[n, j]\", renames: {big: "
                       "Nothing}}\n");
    };
    const double small = least(problem("40"), Metric::energy);
    const double large = least(problem("400"), Metric::energy);
    for (const char* size : {"400 if big else 40", "inf if big else 40", "40 if big else 400"}) {
        const double some = least(problem(size), Metric::energy);
        BOOST_TEST(some <= small * (1 + 1e-12));
        BOOST_TEST(some >= large * (1 - 1e-12));
    }
    BOOST_TEST(small > large);
}

BOOST_AUTO_TEST_CASE(a_scaled_fan_out_has_no_more_instances_than_there_are) {
    const std::string product = cascade("m: 0 <= m < 8, n: 0 <= n < 8, k: 0 <= k < 8", "{All: 1}",
                                        "  - \"Z[m, n] = A[m, k] * B[k, n]\"\n");
    const auto with = [&](const std::string& dimension) {
        return least(buffered("inf", dimension) + product, Metric::latency);
    };
    const double four = with("{name: x, fanout: 4}");
    BOOST_TEST(with("{name: x, fanout: 4, usage_scale: 0.5}") == four);
    // Half of them are all that may be in use.
    BOOST_TEST(with("{name: x, fanout: 4, usage_scale: 2}") == with("{name: x, fanout: 2}"));
    // An Einsum runs somewhere.
    BOOST_TEST(with("{name: x, fanout: 1, usage_scale: 2}") == with("{name: x, fanout: 1}"));
}

BOOST_AUTO_TEST_CASE(a_scaled_fan_out_binds_given_mappings_too) {
    const oracle::LoadedInstance instance(
        buffered("inf", "{name: x, fanout: 4, usage_scale: 2}") + row_sums, arch::Compat::none);
    const auto spread = [](int tile) {
        return given(
            "- !Storage {tensors: [A, Z], component: Main}\n"
            "- !Temporal {rank_variable: m, tile_shape: " +
            std::to_string(tile) +
            "}\n- !Spatial {rank_variable: m, tile_shape: 1, name: x, component: Array}\n"
            "- !Temporal {rank_variable: k, tile_shape: 1}\n"
            "- !Compute {einsum: Z, component: MAC}\n");
    };
    BOOST_TEST(runs(instance.problem, spread(2)));
    BOOST_TEST(!runs(instance.problem, spread(4)));
}

// Both loops over six values have two trips with tiles of 3, 4 and 5 values.
BOOST_AUTO_TEST_CASE(tiles_that_are_handed_on_are_the_same) {
    const oracle::LoadedInstance instance(
        buffered("inf", "{name: x, fanout: 1}", "B") +
            cascade("m: 0 <= m < 6, n: 0 <= n < 6", "{All: 1}",
                    "  - \"B[m] = A[m]\"\n  - \"C[n] = B[M: n]\"\n"),
        arch::Compat::none);
    const auto handed = [](int made, int read) {
        return given(
            "- !Storage {tensors: [A, C], component: Main}\n"
            "- !Temporal {rank_variable: {B: m, C: n}, tile_shape: {B: " +
            std::to_string(made) + ", C: " + std::to_string(read) +
            "}}\n- !Storage {tensors: [B], component: Buffer}\n- !Sequential\n  nodes:\n"
            "  - !Nested\n    nodes:\n    - !Temporal {rank_variable: m, tile_shape: 1}\n"
            "    - !Compute {einsum: B, component: MAC}\n"
            "  - !Nested\n    nodes:\n    - !Temporal {rank_variable: n, tile_shape: 1}\n"
            "    - !Compute {einsum: C, component: MAC}\n");
    };
    for (const auto& [made, read] : {std::pair{3, 3}, {4, 4}, {3, 4}, {4, 3}, {3, 5}}) {
        BOOST_TEST(runs(instance.problem, handed(made, read)) == (made == read),
                   made << " and " << read);
    }
}

BOOST_AUTO_TEST_CASE(outputs_are_held_until_their_sums_are_complete) {
    const oracle::LoadedInstance instance(buffered("inf") + row_sums, arch::Compat::none);
    const auto loops = [](const std::string& outer, const std::string& inner) {
        return given(
            "- !Storage {tensors: [A], component: Main}\n- !Temporal {rank_variable: " + outer +
            ", tile_shape: 1}\n- !Storage {tensors: [Z], component: Main}\n"
            "- !Temporal {rank_variable: " +
            inner + ", tile_shape: 1}\n- !Compute {einsum: Z, component: MAC}\n");
    };
    BOOST_TEST(runs(instance.problem, loops("m", "k")));
    BOOST_TEST(!runs(instance.problem, loops("k", "m")));
}

BOOST_AUTO_TEST_CASE(no_memory_feeds_one_further_out) {
    const oracle::LoadedInstance instance(buffered("inf") + row_sums, arch::Compat::none);
    const auto held = [](const std::string& outer, const std::string& inner) {
        return given(
            "- !Storage {tensors: [Z], component: Main}\n"
            "- !Storage {tensors: [A], component: " +
            outer +
            "}\n- !Temporal {rank_variable: m, tile_shape: 1}\n"
            "- !Storage {tensors: [A], component: " +
            inner +
            "}\n- !Temporal {rank_variable: k, tile_shape: 1}\n"
            "- !Compute {einsum: Z, component: MAC}\n");
    };
    BOOST_TEST(runs(instance.problem, held("Main", "Buffer")));
    BOOST_TEST(!runs(instance.problem, held("Buffer", "Main")));
}

// In the reference an offset of -1 takes a value from every tile: Z and no value of A, or one of A.
BOOST_AUTO_TEST_CASE(the_checker_counts_offsets_as_the_reference_does) {
    for (const char* read : {"m - 1", "m + 1", "m - n + 1"}) {
        map_as_the_reference(
            machine(
                memory("Main", "inf", 10, "{keep: All}") + memory("Buffer", "4", 1, "{keep: All}"),
                "{name: x, fanout: 1}") +
            "workload:\n  iteration_space_shape: {m: 0 <= m < 2, n: 0 <= n < 2}\n"
            "  bits_per_value: {All: 1}\n  einsums:\n  - name: E\n    tensor_accesses:\n"
            "    - {name: A, projection: {M: " +
            read + ", N: n}}\n    - {name: Z, projection: {M: m}, output: True}\n");
    }
}

// G and U have 32 bits where they are made and one where they are read. In the reference's sums the
// last Einsum takes off the 64 and adds two.
BOOST_AUTO_TEST_CASE(the_checker_sums_up_what_is_exchanged_as_the_reference_does) {
    map_as_the_reference(
        machine(memory("Main", "inf", 10, "{keep: ~Intermediates, may_keep: All}") +
                    memory("Buffer", "86", 1,
                           "{keep: ~Main | Outputs, may_keep: All}\n"
                           "    bits_per_value: {Outputs: 32}"),
                "{name: x, fanout: 1}") +
        cascade("c: 0 <= c < 6, m: 0 <= m < 12", "{All: 1}",
                "  - \"G[m, c] = X[m] * V[m, c]\"\n  - \"U[m, c] = X[m] * W[m, c]\"\n"
                "  - \"H[m, c] = G[m, c] * U[m, c]\"\n"));
}

// What passes through a toll is not kept there: no rule says how often it passes.
BOOST_AUTO_TEST_CASE(tensors_are_fetched_once_into_memories_alone) {
    const auto problem = [](const std::string& kind, const std::string& size) {
        return machine(memory("Main", "inf", 10, "{keep: All}"), "{name: x, fanout: 1}",
                       "  - !" + kind + " {name: Inner, " + size +
                           "actions: [{name: read, energy: 1, throughput: 1}" +
                           (size.empty() ? "" : ", {name: write, energy: 1, throughput: 1}") +
                           "], tensors: {keep: A, may_keep: A, no_refetch_from_above: A}}\n") +
               cascade("m: 0 <= m < 4, n: 0 <= n < 4", "{All: 1}",
                       "  - \"Z[m, n] = A[m] * B[m, n]\"\n");
    };
    const auto warned = [&](const std::string& yaml, const std::string& node) {
        const oracle::LoadedInstance instance(yaml, arch::Compat::none);
        const mapping::Mapping mapping = given(
            "- !Storage {tensors: [A, B, Z], component: Main}\n"
            "- !Temporal {rank_variable: n, tile_shape: 1}\n- !" +
            node +
            " {tensors: [A], component: Inner}\n"
            "- !Temporal {rank_variable: m, tile_shape: 1}\n"
            "- !Compute {einsum: Z, component: MAC}\n");
        const mapspace::MapSpaceOptions options;
        const auto found = mapspace::check(instance.problem, mapping, &options);
        const bool checked =
            std::ranges::any_of(found, [](const auto& v) { return v.code == "no_refetch"; });
        const auto warnings = evaluated(instance.problem, mapping).warnings;
        const bool modelled = std::ranges::any_of(warnings, [](const std::string& w) {
            return w.find("no_refetch_from_above") != std::string::npos;
        });
        BOOST_TEST(checked == modelled);
        return checked;
    };
    BOOST_TEST(warned(problem("Memory", "size: 100, "), "Storage"));
    BOOST_TEST(!warned(problem("Toll", ""), "Toll"));
}

// Eight values of W stay for all four instances, whatever the mapping says of them.
BOOST_AUTO_TEST_CASE(the_workload_says_what_is_persistent) {
    const auto problem = [](int size, const std::string& persistent) {
        return buffered(std::to_string(size)) +
               "workload:\n  iteration_space_shape: {m: 0 <= m < 4, k: 0 <= k < 8}\n"
               "  persistent_tensors: " +
               persistent +
               "\n  bits_per_value: {All: 1}\n  einsums:\n"
               "  - {einsum: \"Z[m] = A[m, k] * W[k]\", n_instances: 4}\n";
    };
    const auto kept = [](const std::string& said) {
        return given(
            "- !Storage {tensors: [A, Z], component: Main}\n"
            "- !Storage {tensors: [W], component: Buffer" +
            said +
            "}\n- !Temporal {rank_variable: m, tile_shape: 1}\n"
            "- !Temporal {rank_variable: k, tile_shape: 1}\n"
            "- !Compute {einsum: Z, component: MAC}\n");
    };
    for (const char* said : {"", ", persistent: True"}) {
        for (const char* persistent : {"Nothing", "W"}) {
            const int needed = std::string(persistent) == "W" ? 32 : 8;
            const oracle::LoadedInstance enough(problem(needed, persistent), arch::Compat::none);
            const oracle::LoadedInstance little(problem(needed - 1, persistent),
                                                arch::Compat::none);
            BOOST_TEST(runs(enough.problem, kept(said)));
            BOOST_TEST(!runs(little.problem, kept(said)));
        }
    }
}

// The maker of Y and its reader would spread it each in its own way.
BOOST_AUTO_TEST_CASE(a_persistent_tensor_is_not_spread_whatever_passes_a_toll) {
    const auto problem = [](const std::string& toll, const std::string& size) {
        return machine(memory("Main", "inf", 10, "{keep: ~Intermediates, may_keep: All}") + toll,
                       "{name: x, fanout: 2}",
                       memory("Buffer", size, 1, "{keep: ~Main, may_keep: All}")) +
               cascade("m: 0 <= m < 8, n: 0 <= n < 4", "{All: 1}\n  persistent_tensors: Y",
                       "  - \"Y[m] = A[m]\"\n  - \"Z[m, n] = Y[m] * W[n]\"\n");
    };
    const std::string toll =
        "  - !Toll {name: Link, direction: down, actions: [{name: read, energy: 1, throughput: "
        "1}], "
        "tensors: {keep: Inputs}}\n";
    for (const char* size : {"6", "9"}) {
        BOOST_TEST(least(problem(toll, size), Metric::energy) >
                   least(problem("", size), Metric::energy));
    }
    const oracle::LoadedInstance instance(problem(toll, "8"), arch::Compat::none);
    const mapping::Mapping spread = given(
        "- !Storage {tensors: [A, W, Z], component: Main}\n"
        "- !Storage {tensors: [Y], component: Buffer}\n- !Sequential\n  nodes:\n"
        "  - !Nested\n    nodes:\n    - !Toll {tensors: [A], component: Link}\n"
        "    - !Spatial {rank_variable: m, tile_shape: 4, name: x, component: Array}\n"
        "    - !Temporal {rank_variable: m, tile_shape: 1}\n"
        "    - !Compute {einsum: Y, component: MAC}\n"
        "  - !Nested\n    nodes:\n    - !Toll {tensors: [W], component: Link}\n"
        "    - !Temporal {rank_variable: n, tile_shape: 1}\n"
        "    - !Temporal {rank_variable: m, tile_shape: 1}\n"
        "    - !Compute {einsum: Z, component: MAC}\n");
    const mapspace::MapSpaceOptions options;
    BOOST_TEST(std::ranges::any_of(mapspace::check(instance.problem, spread, &options),
                                   [](const auto& v) { return v.code == "outermost"; }));
}

// 0.28 * 25 is more than 7 in floating point, 7 / 25 is not less than 0.28.
BOOST_AUTO_TEST_CASE(a_share_that_is_just_enough_is_enough) {
    const auto problem = [](const std::string& share) {
        return machine(memory("Main", "inf", 10, "{keep: All}"),
                       "{name: x, fanout: 25, min_usage: " + share +
                           ", loop_bounds: [{expression: r, operator: \"==\", value: 1}]}") +
               cascade("p: 0 <= p < 14, r: 0 <= r < 8", "{All: 1}", "  - \"O[p] = I[P: p + r]\"\n");
    };
    BOOST_TEST(least(problem("0.28"), Metric::energy) ==
               least(problem("0.2799999"), Metric::energy));
    BOOST_TEST(least(problem("0.2800001"), Metric::latency) ==
               least(problem("0.5"), Metric::latency));
}

// 1.1 + 2.2 is more than 3.3 in floating point.
BOOST_AUTO_TEST_CASE(fractions_of_bits_fill_a_memory_exactly) {
    const std::string product =
        cascade("k: 0 <= k < 8", "{A: 1.1, B: 2.2, Z: 1}", "  - \"Z[k] = A[k] * B[k]\"\n");
    const std::string dimension = "{name: x, fanout: 1}";
    BOOST_TEST(std::isfinite(least(buffered("3.3", dimension, "A | B") + product, Metric::energy)));
    BOOST_TEST(std::isinf(least(buffered("3.29", dimension, "A | B") + product, Metric::energy)));
}

// The state S is read by T and by Z; without the Einsums before them they have other numbers.
BOOST_AUTO_TEST_CASE(einsums_are_chosen_with_who_reads_their_states) {
    const auto problem = [](const std::string& first, const std::string& last) {
        return buffered("inf") +
               "workload:\n  iterative_ranks: [M]\n  rank_sizes: {M: 8, N: 16, P: 4}\n"
               "  bits_per_value: {All: 16}\n  einsums:\n" +
               first +
               "  - {einsum: \"T[m, p] = S[m, p] + L[m, p]\", operation: add}\n"
               "  - {einsum: \"S[M: m + 1, p] = T[m, p]\", operation: copy}\n" +
               last;
    };
    const oracle::LoadedInstance whole(
        problem("  - {einsum: \"L[m, p] = max(A[m, n, p])\", operation: max}\n",
                "  - {einsum: \"Z[p] = S[M: last, p]\", operation: divide}\n"),
        arch::Compat::none);
    const oracle::LoadedInstance part(problem("", ""), arch::Compat::none);
    const workload::Workload chosen = workload::selected(whole.workload, {"T", "S"});
    mapper::Options options;
    options.threads = 1;
    const auto best = [&](const model::Problem& problem) {
        return oracle::mapped(problem, options, "ffm").solutions.at(0).report.edp_js();
    };
    model::Problem problem_of_chosen = whole.problem;
    problem_of_chosen.workload = &chosen;
    BOOST_TEST(best(problem_of_chosen) == best(part.problem));
}

BOOST_AUTO_TEST_SUITE_END()
