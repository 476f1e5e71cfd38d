// Timeloop's input sections as Timeloop's types.
#include <boost/test/unit_test.hpp>

#include "tessera/base/error.hpp"
#include "timeloop/mapspace.hpp"
#include "timeloop/read.hpp"

namespace {

using namespace tessera;
using namespace tessera::timeloop;

const std::string gemm = R"(problem:
  shape:
    dimensions: [M, N, K]
    data-spaces:
    - {name: A, projection: [M, K]}
    - {name: B, projection: [K, N]}
    - {name: Z, projection: [M, N], read-write: true}
  instance: {M: 4, N: 6, K: 8}
)";
const std::string chip = R"(architecture:
  version: 0.3
  subtree:
  - name: system
    local:
    - {name: DRAM, class: DRAM, attributes: {width: 64, word-bits: 16}}
    subtree:
    - name: chip
      local:
      - {name: GB, class: SRAM, attributes: {depth: 64, width: 32, word-bits: 16, block-size: 2}}
      subtree:
      - name: PE[0..3]
        local:
        - {name: RF, class: regfile, attributes: {entries: 8, word-bits: 16, meshX: 4}}
        - {name: "mac[0..1]", class: intmac, attributes: {word-bits: 16, meshX: 8}}
)";

Document document(const std::string& text) {
    return read_document_text(text, "in.yaml");
}

Architecture architecture(const std::string& text) {
    Warnings warnings;
    return read_architecture(document(text), warnings);
}

Mapping mapping(const std::string& directives) {
    Warnings warnings;
    const Document all = document(gemm + chip + "mapping:\n" + directives);
    return *read_mapping(all, read_problem(all, warnings), read_architecture(all, warnings),
                         warnings);
}

Constraints constraints(const std::string& text) {
    Warnings warnings;
    const Document all = document(gemm + chip + text);
    return read_constraints(all, read_problem(all, warnings), read_architecture(all, warnings),
                            warnings);
}

/// Values in the bounding box of a data space.
double tensor_size(const Problem& problem, int space) {
    double size = 1;
    for (const auto& rank : problem.data_spaces[space].ranks) {
        size *= rank_extent<double>(
            rank, [&](int d) { return static_cast<double>(problem.dimensions[d].bound - 1); });
    }
    return size;
}

MapperSettings settings(const std::string& text) {
    Warnings warnings;
    const Document all = document(gemm + chip + text);
    return read_mapper_settings(all, read_architecture(all, warnings), warnings);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(timeloop_read)

BOOST_AUTO_TEST_CASE(projections_have_coefficients) {
    Warnings warnings;
    const Problem problem = read_problem(document(R"(problem:
  shape:
    dimensions: [P, R]
    coefficients: [{name: stride, default: 2}, {name: dilation}]
    data-spaces:
    - {name: In, projection: [[[P, stride], [R, dilation]]]}
    - {name: Out, projection: [P], read-write: True}
  instance: {P: 5, R: 3, dilation: 4, Stride: 3}
)"),
                                         warnings);
    BOOST_TEST(tensor_size(problem, 0) == 4 * 2 + 2 * 4 + 1);
    BOOST_REQUIRE(warnings.size() == 1);
    BOOST_TEST(warnings[0].find("'Stride'; did you mean 'stride'?") != std::string::npos,
               warnings[0]);
}

BOOST_AUTO_TEST_CASE(c2_named_shapes_and_the_default_shape) {
    Warnings warnings;
    const Problem named =
        read_problem(document("problem: {shape: gemm-ABZ, M: 2, N: 3, K: 4}\n"), warnings);
    BOOST_TEST(named.computes() == 24);
    BOOST_TEST(warnings.empty());
    const Problem conv = read_problem(
        document("problem: {R: 3, S: 3, P: 4, Q: 4, C: 2, K: 2, N: 1, Wstride: 2}\n"), warnings);
    BOOST_TEST(conv.data_spaces[1].name == "Inputs");
    BOOST_TEST(tensor_size(conv, 1) == 2 * (2 * 3 + 2 + 1) * (3 + 2 + 1));
    BOOST_TEST(warnings.size() == 1U);
}

BOOST_AUTO_TEST_CASE(c2_a_tree_counts_its_instances) {
    const Architecture arch = architecture(chip);
    BOOST_REQUIRE(arch.levels() == 3);
    BOOST_TEST(arch.storage[0].name == "RF");
    BOOST_TEST(arch.storage[0].instances == 4);
    BOOST_TEST(arch.storage[1].size.value() == 64 * 2);
    BOOST_TEST(arch.storage[1].cluster_size == 1);
    BOOST_TEST(arch.storage[2].block_size == 4);
    BOOST_TEST(!arch.storage[2].size.has_value());
    BOOST_TEST(arch.arithmetic.name == "mac");
    BOOST_TEST(arch.arithmetic.instances == 8);
    BOOST_TEST(arch.fanout(0) == 2);
    BOOST_TEST(arch.fanout(1) == 4);
}

BOOST_AUTO_TEST_CASE(c2_energies_come_from_tables_attributes_and_the_ert) {
    const Architecture plain = architecture(chip);
    BOOST_TEST(plain.storage[2].energy.read_pj == 800);
    BOOST_TEST(plain.storage[2].energy.source == "PAT");
    BOOST_TEST(plain.arithmetic.energy_pj == 1);
    BOOST_TEST(plain.arithmetic.energy_source == "PAT");
    std::string priced = chip;
    const std::string mac = "class: intmac, attributes: {";
    priced.insert(priced.find(mac) + mac.size(), "energy: 3, area: 5, ");
    const ArithmeticLevel own = architecture(priced).arithmetic;
    BOOST_TEST(own.energy_pj == 3);
    BOOST_TEST(own.area_um2 == 5);
    BOOST_TEST(own.energy_source == "user");
    const Input input = load_input(document(gemm + chip + R"(ERT:
  version: 0.3
  tables:
  - name: system.chip.GB
    actions:
    - {name: read, arguments: {}, energy: 1.5}
    - {name: read, arguments: {}, energy: 2.5}
    - {name: write, arguments: {}, energy: 3}
  - name: system.chip.PE[0..3].mac[0..1]
    actions:
    - {name: mac_random, arguments: {}, energy: 0.25}
ART:
  version: 0.3
  tables:
  - {name: system.chip.GB, area: 12}
)"));
    BOOST_TEST(input.architecture.storage[1].energy.read_pj == 2.5);
    BOOST_TEST(input.architecture.storage[1].energy.fill_pj == 3);
    BOOST_TEST(input.architecture.storage[1].energy.source == "ERT");
    BOOST_TEST(input.architecture.storage[1].area_um2 == 12);
    BOOST_TEST(input.architecture.arithmetic.energy_pj == 0.25);
    BOOST_TEST(input.architecture.arithmetic.energy_source == "ERT");
    // One warning for every level that the ERT does not name.
    BOOST_TEST(input.warnings.size() == 2U);
}

BOOST_AUTO_TEST_CASE(c2_the_ert_of_version_0_2) {
    Warnings warnings;
    const std::optional<Ert> ert = read_ert(document(R"(ERT:
  version: 0.2
  tables:
    system.GB:
      read: [{arguments: {a: 0}, energy: 1}, {arguments: {a: 1}, energy: 4}]
      write: 2
)"),
                                            warnings);
    BOOST_REQUIRE(ert.has_value());
    BOOST_TEST(ert->front().actions.at("read") == 4);
    BOOST_TEST(ert->front().actions.at("write") == 2);
}

BOOST_AUTO_TEST_CASE(mappings_take_all_notations) {
    const Mapping m =
        mapping(R"(- {target: DRAM, type: temporal, factors: "M=2 K4 # rest", permutation: KMN}
- {target: GB, type: spatial, factors: [N=2, M=2], permutation: [M, N], split: 1}
- {target: GB, type: temporal, factors: "N3"}
- {target: 0, type: spatial, factors: K 2, permutation: K}
- {target: GB, type: bypass, keep: [A, Z], bypass: [B]}
)");
    BOOST_TEST(m.levels[2].temporal.factors[0].end == 2);
    BOOST_TEST(m.levels[2].temporal.factors[2].end == 4);
    BOOST_TEST(m.levels[2].temporal.permutation[0] == 2);
    BOOST_TEST(m.levels[1].spatial.split == 1);
    BOOST_TEST(m.levels[1].spatial.permutation[2] == 2);
    BOOST_TEST(m.levels[0].spatial.split == 3);
    BOOST_TEST(!m.levels[1].keeps(1));
    BOOST_TEST(m.levels[0].keeps(1));
}

BOOST_AUTO_TEST_CASE(zero_is_the_whole_dimension_and_remainders_count) {
    const Mapping whole = mapping("- {target: DRAM, type: temporal, factors: M0 N0 K0}\n");
    BOOST_TEST(whole.levels[2].temporal.factors[1].end == 6);
    const Mapping uneven = mapping(R"(- {target: DRAM, type: temporal, factors: M=0 K=0 N=2}
- {target: GB, type: temporal, factors: "N=4,2"}
)");
    BOOST_TEST(uneven.levels[1].temporal.factors[1].end == 4);
    BOOST_TEST(uneven.levels[1].temporal.factors[1].residual == 2);
}

BOOST_AUTO_TEST_CASE(constraints_of_every_kind_are_read) {
    const Constraints c = constraints(R"(architecture_constraints:
  targets:
  - {target: GB, type: spatial, factors: M<=2 N=1, permutation: MK_N, split: 1, no_link_transfer: [A]}
  - {target: RF, type: datatype, keep: [Z], bypass: [A]}
mapspace:
  constraints: tight
  constraints_tight:
  - target: DRAM
    constraints:
    - {type: temporal, attributes: {factors: K>=2, default_max_factor: 4}}
  - {target: RF, type: utilization, min: 0.5}
)");
    BOOST_REQUIRE(c.loops.size() == 2);
    BOOST_TEST(c.loops[0].spatial);
    BOOST_TEST((c.loops[0].source == ConstraintSource::architecture));
    BOOST_TEST(c.loops[0].factors.size() == 2U);
    BOOST_TEST((c.loops[0].factors[0].relation == FactorRule::Relation::at_most));
    BOOST_TEST(c.loops[0].permutation->innermost.size() == 2U);
    BOOST_TEST(c.loops[0].permutation->outermost.at(0) == 1);
    BOOST_TEST(c.loops[0].split->value == 1);
    BOOST_TEST(c.loops[0].where.text() == "in.yaml:26:5");
    BOOST_TEST((c.loops[1].source == ConstraintSource::mapspace));
    BOOST_TEST((c.loops[1].factors[0].relation == FactorRule::Relation::at_least));
    BOOST_TEST(c.loops[1].factors[1].dimension == -1);
    BOOST_TEST(c.bypasses.at(0).keep.at(0) == 2);
    BOOST_TEST(c.parallelism.at(0).min == 0.5);
}

BOOST_AUTO_TEST_CASE(mappings_are_held_against_the_constraints_of_the_hardware) {
    const auto broken = [](const std::string& directives) {
        const Input input = load_input(document(gemm + chip + R"(architecture_constraints:
  targets:
  - {target: GB, type: temporal, factors: N<=2 K=2, permutation: M_K}
  - {target: GB, type: spatial, permutation: MN, split: 1}
mapspace_constraints:
  targets:
  - {target: DRAM, type: temporal, factors: M=4}
mapping:
)" + directives));
        Warnings warnings;
        return broken_constraints(
            input, *read_mapping(input.document, input.problem, input.architecture, warnings),
            warnings);
    };
    const std::vector<std::string> obeyed =
        broken(R"(- {target: GB, type: temporal, factors: M2 N2 K2, permutation: MNK}
- {target: GB, type: spatial, factors: M2, permutation: MNK, split: 1}
- {target: DRAM, type: temporal, factors: M1 N3 K4}
)");
    BOOST_TEST(obeyed.empty());
    const std::vector<std::string> found =
        broken(R"(- {target: GB, type: temporal, factors: N3 K4, permutation: KNM}
- {target: GB, type: spatial, factors: M2 N2, permutation: MNK, split: 2}
- {target: DRAM, type: temporal, factors: M2 N1 K2}
)");
    const std::vector<std::string> expected = {
        "in.yaml:26:43: GB temporal: the factor of 'N' is 3 (constraint: N<=2)",
        "in.yaml:26:43: GB temporal: the factor of 'K' is 4 (constraint: K=2)",
        "in.yaml:26:66: GB temporal: the loops are ordered KN, innermost first (constraint: M_K)",
        "in.yaml:27:57: GB spatial: 'N' lies along X (constraint: split 1)"};
    BOOST_TEST(found == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(c10_every_key_of_the_mapper_is_read) {
    const MapperSettings s = settings(R"(mapper:
  algorithm: random_pruned
  optimization-metrics: [ordered-accesses, edp]
  num-threads: 3
  heartbeat: 11
  victory-condition: -1
  search_size: 13
  sync-interval: 14
  log-interval: 15
  log-all: True
  log-stats: True
  log-oaves: True
  log-oaves-mappings: True
  live-status: False
  diagnostics: True
  penalize-consecutive-bypass-fails: True
  emit-whoop-nest: False
  filter-revisits: True
  max-permutations-per-if-visit: 17
  out_prefix: mine
  time-limit: 2.5
  seed: 18
  target: 1e-3
mapspace: {template: ruby}
)");
    BOOST_TEST((s.algorithm == Algorithm::random_pruned));
    BOOST_TEST(s.objectives.size() == 4U);
    BOOST_TEST(s.objectives[0].level == 2);
    BOOST_TEST((s.objectives[3].kind == Objective::Kind::edp));
    BOOST_TEST(s.threads == 3);
    BOOST_TEST(s.timeout == 11U);
    BOOST_TEST(s.victory == 0U);
    BOOST_TEST(s.search_size == 13U);
    BOOST_TEST(s.sync_interval == 14U);
    BOOST_TEST(s.log_interval == 15U);
    BOOST_TEST((s.log_suboptimal && s.log_stats && s.log_oaves && s.log_oaves_mappings));
    BOOST_TEST((s.diagnostics && s.penalize_bypass_fails && s.filter_revisits));
    BOOST_TEST(s.permutations == 17U);
    BOOST_TEST(s.out_prefix == "mine");
    BOOST_TEST(s.time_limit_s == 2.5);
    BOOST_TEST(s.seed == 18U);
    BOOST_TEST(s.target.value() == 1e-3);
    BOOST_TEST((s.factors == FactorTemplate::ruby));
}

// What Timeloop's Python front end makes of the nodes below, written by hand from its rules.
BOOST_AUTO_TEST_CASE(c14_nodes_become_the_levels_of_the_front_end) {
    const Document nodes = document(gemm + R"(variables: {version: 0.4, WIDTH: 16}
architecture:
  version: 0.4
  nodes:
  - !Container {name: system, attributes: {word_bits: 8}}
  - !Component {name: DRAM, class: DRAM, attributes: {width: WIDTH * 2, datawidth: WIDTH}}
  - !Container
    name: PE
    spatial: {meshX: 4}
    constraints: {spatial: {permutation: [N, M, K], factors: [N=1], split: 1}}
  - !Parallel
    nodes:
    - !Component
      name: buffer_a
      class: SRAM
      attributes: {depth: 8, width: datawidth * 2, datawidth: 8}
      constraints: {dataspace: {keep: [A]}}
    - !Component
      name: buffer_z
      class: SRAM
      attributes: {depth: 4, width: 16, datawidth: 16}
      constraints:
        dataspace: {keep: [Z]}
        temporal: {factors_only: [M=2]}
    - !Nothing
      constraints: {dataspace: {keep: [B]}}
  - !Component {name: mac, class: intmac, spatial: {meshY: 2}, attributes: {datawidth: 8}}
constraints:
  targets:
  - {target: buffer_a, type: temporal, no_iteration_over_dataspaces: [A]}
)");
    BOOST_TEST(nodes.from_nodes);
    BOOST_TEST((nodes.dialect == Dialect::v3_0_3));
    Warnings warnings;
    const Problem problem = read_problem(nodes, warnings);
    const Architecture arch = read_architecture(nodes, warnings);
    std::string names;
    for (const StorageLevel& level : arch.storage) {
        names += level.name + " " + std::to_string(level.mesh_x) + "x" +
                 std::to_string(level.mesh_y) + " ";
    }
    BOOST_TEST(names ==
               "inter_mac_spatial 4x1 buffer_z 4x1 buffer_a 4x1 inter_PE_spatial 1x1 DRAM 1x1 ");
    BOOST_TEST(arch.arithmetic.instances == 8);
    BOOST_TEST(arch.storage[2].block_size == 2);
    BOOST_TEST(arch.storage[2].size.value() == 16);
    BOOST_TEST(arch.storage[4].reduces_in_place());
    const Constraints c = read_constraints(nodes, problem, arch, warnings);
    // inter_PE_spatial keeps nothing and has no loops in time; its spatial constraint is the PE's.
    int kept_nothing = 0, spatial_of_pe = 0, once = 0;
    for (const BypassConstraint& bypass : c.bypasses) {
        kept_nothing += bypass.bypass.size() == 3 ? 1 : 0;
        if (bypass.level == 2) {
            BOOST_TEST(bypass.keep.at(0) == 0);
            BOOST_TEST(bypass.bypass.size() == 2U);
        }
    }
    for (const LoopConstraint& loops : c.loops) {
        if (loops.spatial && loops.level == 3) {
            ++spatial_of_pe;
            BOOST_TEST(loops.split->value == 1);
            BOOST_TEST(loops.permutation->innermost.size() == 3U);
        }
        if (!loops.spatial && loops.level == 1) {
            BOOST_TEST(loops.factors.size() == 3U);
        }
        if (!loops.spatial && loops.level == 2) {
            ++once;
            BOOST_TEST(loops.factors.size() == 2U);  // M=1 K=1
        }
    }
    BOOST_TEST(kept_nothing == 2);
    BOOST_TEST(spatial_of_pe == 1);
    BOOST_TEST(once == 1);
}

BOOST_AUTO_TEST_CASE(fixed_factors_that_multiply_beyond_64_bits_are_told) {
    std::string text = R"(problem:
  shape: {dimensions: [M], data_spaces: [{name: Z, projection: [M], read_write: true}]}
  instance: {M: 65536}
arch:
  arithmetic: {instances: 1}
  storage:
)";
    std::string constraints = "mapspace:\n  targets:\n";
    for (const char* name : {"a", "b", "c", "d"}) {
        text += "  - {name: " + std::string(name) + ", entries: 65536, instances: 1}\n";
        constraints +=
            "  - {target: " + std::string(name) + ", type: temporal, factors: M=65536}\n";
    }
    const Document all = document(text + constraints);
    Warnings warnings;
    const Problem problem = read_problem(all, warnings);
    const Architecture arch = read_architecture(all, warnings);
    const Constraints read = read_constraints(all, problem, arch, warnings);
    BOOST_CHECK_EXCEPTION(
        MapSpace(problem, arch, read, FactorTemplate::uber), UserError, [](const UserError& error) {
            return std::string(error.what())
                       .find("multiply to 18446744073709551616, which does not") !=
                   std::string::npos;
        });
}

BOOST_AUTO_TEST_CASE(of_entries_and_depth_entries_count) {
    Warnings warnings;
    const Architecture read = read_architecture(
        document("arch:\n  arithmetic: {instances: 1}\n  storage:\n"
                 "  - {name: M, depth: 8, entries: 24, block-size: 4, instances: 1}\n"),
        warnings);
    BOOST_TEST(read.storage[0].size.value() == 24);
    BOOST_REQUIRE(warnings.size() == 1);
    BOOST_TEST((warnings[0].find("only that counts") != std::string::npos), warnings[0]);
}

BOOST_AUTO_TEST_CASE(a_split_that_counts_what_the_front_end_adds_is_warned_of) {
    const auto warnings_of = [](const std::string& spatial) {
        std::string all;
        const Document read = document(R"(problem:
  shape:
    dimensions: [N, R, P]
    data_spaces:
    - {name: A, projection: [N, R]}
    - {name: Z, projection: [P], read_write: true}
  instance: {N: 1, R: 3, P: 3}
architecture:
  version: 0.4
  nodes:
  - !Component {name: M, class: DRAM, attributes: {width: 8, datawidth: 8}}
  - !Container
    name: pe
    spatial: {meshX: 3, meshY: 3}
    constraints:
      spatial: )" + spatial + R"(
  - !Component {name: mac, class: intmac, attributes: {datawidth: 8}}
)");
        for (const std::string& warning : read.warnings) {
            all += warning + "\n";
        }
        return all;
    };
    const std::string told = warnings_of("{factors: [R=3, P=3], permutation: [R, P], split: 1}");
    for (const char* part : {"N along X, R, P along Y", "1 by 9 instances of 3 by 3",
                             "no mapping can fit", "permutation: [R, P, N]"}) {
        BOOST_TEST((told.find(part) != std::string::npos), told + " lacks " + part);
    }
    BOOST_TEST(warnings_of("{factors: [R=3, P=3], permutation: [R, P, N], split: 1}") == "");
    BOOST_TEST(warnings_of("{factors: [R=3, P=3], permutation: [R, P], split: 999}") == "");
    BOOST_TEST(warnings_of("{factors: [R=3, P=3], permutation: [R, P], split: 0}") == "");
    BOOST_TEST((warnings_of("{factors: [R=3], permutation: [R], split: 1}").find("no mapping") ==
                std::string::npos));
}

BOOST_AUTO_TEST_CASE(a_split_that_no_mapping_can_fit_is_told) {
    const auto warnings_of = [](const std::string& constraint) {
        const Document all = document(gemm + R"(arch:
  arithmetic: {instances: 9, meshX: 3, meshY: 3}
  storage:
  - {name: RF, entries: 64, instances: 1}
mapspace: {targets: [{target: RF, type: spatial, )" +
                                      constraint + "}]}\n");
        Warnings warnings;
        const Problem problem = read_problem(all, warnings);
        const Architecture arch = read_architecture(all, warnings);
        warnings.clear();
        read_constraints(all, problem, arch, warnings);
        std::string text;
        for (const std::string& warning : warnings) {
            text += warning + "\n";
        }
        return text;
    };
    const std::string told = warnings_of("factors: M3 N3 K1, permutation: KMN, split: 1");
    for (const char* part : {"split 1 sends factors of 9 along Y", "'RF' has 3 instances",
                             "no mapping can fit", "front end puts first"}) {
        BOOST_TEST((told.find(part) != std::string::npos), told + " lacks " + part);
    }
    BOOST_TEST(warnings_of("factors: M3 N3 K1, permutation: MKN, split: 1") == "");
    BOOST_TEST(warnings_of("factors: M3 N3 K1, permutation: M, split: 2") == "");
    BOOST_TEST((warnings_of("factors: M3 N3, permutation: MNK, split: 2").find("9 along X") !=
                std::string::npos));
}

BOOST_AUTO_TEST_SUITE_END()
