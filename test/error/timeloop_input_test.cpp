// Wrong and unsupported inputs of Timeloop's kind: one message each, with place, key and remedy.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "tessera/base/error.hpp"
#include "timeloop/read.hpp"

namespace {

using namespace tessera;

const std::string problem = R"(problem:
  shape:
    dimensions: [M, K]
    data-spaces:
    - {name: A, projection: [M, K]}
    - {name: Z, projection: [M], read-write: true}
  instance: {M: 4, K: 8}
)";
const std::string arch = R"(arch:
  arithmetic: {instances: 4, word-bits: 16}
  storage:
  - {name: RF, entries: 16, instances: 4}
  - {name: DRAM, technology: DRAM, instances: 1}
)";
const std::string whole = R"(mapping:
- {target: DRAM, type: temporal, factors: M0 K0}
)";

/// Everything that reading, constraints, settings and mapping say about an input.
std::string said(const std::string& text, const std::string& name = "in.yaml") {
    try {
        const timeloop::Input input =
            timeloop::load_input(timeloop::read_document_text(text, name));
        timeloop::Warnings warnings;
        timeloop::check_document(input.document, warnings);
    } catch (const UserError& error) {
        return error.what();
    }
    return "nothing";
}

void wrong(const std::string& text, std::initializer_list<const char*> parts) {
    const std::string message = said(text);
    for (const char* part : parts) {
        BOOST_TEST((message.find(part) != std::string::npos), message + "\n  lacks: " + part);
    }
    BOOST_TEST((message.find('\n') == std::string::npos));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    BOOST_REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(timeloop_input)

BOOST_AUTO_TEST_CASE(good_input_says_nothing) {
    BOOST_TEST(said(problem + arch + whole) == "nothing");
}

BOOST_AUTO_TEST_CASE(missing_sections_and_keys_are_named) {
    wrong(arch, {"in.yaml:1:1", "lacks the key 'problem'"});
    wrong(problem, {"in.yaml:1:1", "lacks the key 'architecture'"});
    wrong(problem + "arch: {storage: []}\n", {"in.yaml:8:7", "lacks the key 'arithmetic'"});
    wrong(replaced(problem, ", K: 8", "") + arch, {"in.yaml:7:", "bound of dimension 'K'"});
    wrong(replaced(problem, "dimensions:", "dimension:") + arch,
          {"is 'dimension' meant to be 'dimensions'?"});
    wrong(problem + replaced(arch, "instances: 4, word-bits: 16", "word-bits: 16"),
          {"number of instances", "add 'instances'"});
}

BOOST_AUTO_TEST_CASE(wrong_values_are_shown) {
    wrong(replaced(problem, "M: 4", "M: 0") + arch, {"in.yaml:7:17", "problem.instance.M", "'0'"});
    wrong(replaced(problem, "M: 4", "M: four") + arch, {"'four'", "variables"});
    wrong(replaced(problem, "M: 4", "M: 4.5") + arch, {"no whole number: '4.5'"});
    wrong(replaced(problem, "[M, K]}", "[M, L]}") + arch, {"unknown dimension: 'L'", "M, K"});
    wrong(problem + replaced(arch, "entries: 16", "entries: -1"), {"arch.storage[0].entries"});
    wrong(problem + replaced(arch, "entries: 16", "entries: 16, sizeKB: 1"), {"given twice"});
    wrong(problem + replaced(arch, "entries: 16", "depth: 16, sizeKB: 1"), {"given twice"});
    wrong(problem + replaced(arch, "entries: 16", "width: 24"), {"no multiple", "'24'"});
    wrong(problem + replaced(arch, "instances: 4}", "instances: 4, meshX: 3}"),
          {"'RF'", "3 by 1", "4 instances"});
    wrong(problem + replaced(arch, "instances: 4, word", "instances: 6, word"), {"RF"});
    wrong(problem + replaced(arch, "instances: 4, word", "meshX: 9e15, meshY: 9e15, word"),
          {"in.yaml:", "more than 9e15", "9000000000000000 times 9000000000000000"});
    wrong(replaced(problem, "M: 4", "M: 2147483648") + arch,
          {"in.yaml:7:", "'2147483648'", "from 1 to 2147483647"});
    wrong(replaced(replaced(problem, "M: 4", "M: 2e9"), "[M, K]}", "[[[M, 9e15]], K]}") + arch,
          {"in.yaml:7:", "data space 'A' has more than 9e15 coordinates"});
}

BOOST_AUTO_TEST_CASE(unknown_names_suggest_the_nearest) {
    wrong(problem + arch + "mapping:\n- {target: RFF, type: temporal}\n",
          {"in.yaml:14:12", "unknown storage level: 'RFF'", "did you mean 'RF'?"});
    wrong(problem + arch + "mapping:\n- {target: RF, type: temporel}\n",
          {"did you mean 'temporal'?"});
    wrong(problem + arch + "mapping:\n- {target: RF, type: bypass, keep: [B]}\n",
          {"unknown data space: 'B'"});
    wrong(problem + arch + "mapper: {algorithm: hybird}\n", {"did you mean 'hybrid'?"});
    wrong(problem + arch + "mapper: {optimization-metric: enrgy}\n", {"did you mean 'energy'?"});
    wrong(replaced(problem, "shape:\n", "shape: gemm-ABY\n  unused:\n") + arch,
          {"unknown problem shape: 'gemm-ABY'", "gemm-ABZ"});
}

BOOST_AUTO_TEST_CASE(factors_must_multiply_to_the_bounds) {
    wrong(problem + arch + "mapping:\n- {target: DRAM, type: temporal, factors: M=2 K=0}\n",
          {"in.yaml:14:1", "M 2 instead of 4"});
    wrong(problem + arch + "mapping:\n- {target: DRAM, type: temporal, factors: M=5 K=0}\n",
          {"a factor of 'M'", "from 1 to 4"});
    wrong(problem + arch + "mapping:\n- {target: DRAM, type: temporal, factors: M= K=0}\n",
          {"a number is missing"});
    wrong(problem + arch + "mapping:\n- {target: RF, type: spatial, factors: M=1}\n",
          {"spatial directive for level 'RF'", "nothing is repeated"});
}

BOOST_AUTO_TEST_CASE(imperfect_factors_are_explained) {
    const std::string inner = "- {target: GB, type: spatial, factors: M=";
    const std::string three = R"(arch:
  arithmetic: {instances: 4, word-bits: 16}
  storage:
  - {name: RF, entries: 16, instances: 4}
  - {name: GB, entries: 64, instances: 1}
)";
    const std::string seven = replaced(problem, "M: 4", "M: 7") + three;
    const std::string outer = "mapping:\n- {target: GB, type: temporal, factors: M=2 K=0}\n";
    wrong(seven + outer + inner + "4}\n",
          {"'M 8 instead of 7'", "behind a comma", "M=4,3 (spatial, GB)"});
    BOOST_TEST(said(seven + outer + replaced(inner, "M=", "\"M=") + "4,3\"}\n") == "nothing");
    // Too few iterations: no remainders help.
    wrong(seven + outer + inner + "3}\n", {"'M 6 instead of 7'", "as in M=4,3"});
    wrong(seven + outer + "- {target: GB, type: spatial, factors: [M=4,3]}\n",
          {"stands without a dimension", "in quotes within a list"});
}

BOOST_AUTO_TEST_CASE(the_version_is_named_where_it_does_not_fit_the_form) {
    const std::string tree = R"(  subtree:
  - name: s
    local:
    - {name: M, class: DRAM}
    - {name: mac, class: intmac}
)";
    for (const char* version : {"0.1", "1.0", "v0.3", "0.30"}) {
        wrong(problem + "architecture:\n  version: " + version + "\n" + tree,
              {"in.yaml:9:12", "architecture.version", "version of the architecture",
               "version 0.2, 0.3 or 0.4", version});
    }
    wrong(problem + "architecture:\n" + tree,
          {"in.yaml:9:3", "version of the architecture is missing", "write 'version: 0.4'"});
    wrong(problem + replaced(arch, "arch:\n", "arch:\n  version: 0.3\n"),
          {"in.yaml:9:12", "'0.3'", "list of levels", "remove the key 'version'"});
    for (const char* version : {"0.2", "0.3", "0.4"}) {
        BOOST_TEST(said(problem + "architecture:\n  version: " + version + "\n" + tree) ==
                   "nothing");
    }
}

BOOST_AUTO_TEST_CASE(numbers_beyond_the_counters_are_refused) {
    const auto cube = [](const std::string& bound) {
        return "problem:\n  shape:\n    dimensions: [M, N, K]\n    data-spaces:\n"
               "    - {name: A, projection: [M, K]}\n    - {name: B, projection: [K, N]}\n"
               "    - {name: Z, projection: [M, N], read-write: true}\n  instance: {M: " +
               bound + ", N: " + bound + ", K: " + bound + "}\n" + arch;
    };
    wrong(cube("3000017"), {"in.yaml:8:", "problem.instance", "more points than words", "M=3000017",
                            "27000459002601005056", "at most 1024819115206086144"});
    wrong(cube("4194304"), {"more points than words", "73786976294838206464"});
    BOOST_TEST(said(cube("900000")) == "nothing");
    wrong(replaced(cube("2000000000"), "[M, K]}", "[[[M, 4000000]], [[K, 4000000]]]}"),
          {"in.yaml:8:", "in 64 bits"});
    for (const char* value : {"0", "-8", "1000001", "9223372036854775808"}) {
        wrong(problem +
                  replaced(arch, "entries: 16", "entries: 16, datawidth: " + std::string(value)),
              {"in.yaml:", "arch.storage[0].datawidth", value, "from 1 to 1e+06"});
    }
    for (const char* key : {"block-size", "cluster-size", "width", "meshX", "num-banks"}) {
        for (const char* value : {"0", "-1", "1e30"}) {
            wrong(problem + replaced(arch, "entries: 16",
                                     "entries: 16, " + std::string(key) + ": " + value),
                  {"in.yaml:", key, value, "out of range"});
        }
    }
    wrong(problem + replaced(arch, "entries: 16", "depth: 9e15, block-size: 2"),
          {"in.yaml:", "more than 9e15", "9000000000000000 times 2"});
    wrong(problem + replaced(arch, "entries: 16", "entries: 9e15, multiple-buffering: 1e-3"),
          {"in.yaml:", "multiple-buffering", "1e-3"});
    wrong(problem + replaced(arch, "entries: 16", "entries: 16, read_bandwidth: 1e25"),
          {"read_bandwidth", "1e25", "out of range"});
    wrong(problem + arch +
              "mapping:\n- {target: DRAM, type: temporal, factors: M=9223372036854775808}\n",
          {"in.yaml:", "out of range", "9223372036854775808"});
    wrong(problem + arch +
              "mapspace: {targets: [{target: RF, type: temporal, split: 1, factors: "
              "M=99999999999999999999}]}\n",
          {"in.yaml:", "out of range"});
    // Each level but the first does nothing, and is counted.
    std::string nest = "mapping:\n- {target: RF, type: temporal, factors: M0 K0}\n";
    nest += "- {target: DRAM, type: temporal, factors: \"M=2000000,1 K=2000000,1\"}\n";
    wrong(replaced(problem, "M: 4, K: 8", "M: 2000000, K: 2000000") +
              replaced(arch, "entries: 16, ", "") + nest,
          {"in.yaml:14:1", "1.6e+25 iterations", "overflow above"});
}

BOOST_AUTO_TEST_CASE(remainders_are_those_of_their_factors) {
    for (const char* factor : {"M=2,3", "M=2,0", "M<=2,1", "M=0,5"}) {
        wrong(problem + arch + "mapspace: {targets: [{target: RF, type: temporal, factors: \"" +
                  factor + "\"}]}\n",
              {"in.yaml:13:60", "a remainder of a factor of 'M'", "the last pass"});
    }
    BOOST_TEST(said(problem + arch +
                    "mapspace: {targets: [{target: RF, type: temporal, factors: \"M=2,1\"}]}\n") ==
               "nothing");
}

BOOST_AUTO_TEST_CASE(c12_what_no_model_costs_is_refused) {
    const char* refused = "not supported; no figures are given rather than wrong ones";
    wrong(problem + arch + "layout:\n- {target: RF, type: interline, factors: M=1 K=1}\n",
          {"in.yaml:14:1", "layout", refused});
    BOOST_TEST(said(problem + arch + "layout: []\n") == "nothing");
    wrong(problem + replaced(arch, "entries: 16", "entries: 16, network-type: M:N"),
          {"arch.storage[0].network-type", "M:N", refused});
    wrong(problem + replaced(arch, "entries: 16", "entries: 16, network_fill: noc"),
          {"networks of the user's own", refused});
    wrong(problem + replaced(arch, "entries: 16", "entries: 16, allow_overbooking: true"),
          {"overbooked", refused});
    for (const char* scale : {"[1, 0.5]", "0.5"}) {
        const std::string key = "entries: 16, per_dataspace_bandwidth_consumption_scale: ";
        wrong(problem + replaced(arch, "entries: 16", key + scale),
              {"in.yaml:", "bandwidths are scaled by a map", "{DATA_SPACE: NUMBER, ...}"});
    }
    wrong(problem + replaced(arch, "entries: 16",
                             "entries: 16, per_dataspace_bandwidth_consumption_scale: {Y: 2}"),
          {"level RF", "per_dataspace_bandwidth_consumption_scale names Y", "no data space"});
    wrong(replaced(problem, "  instance",
                   "    flatten: [{name: X, dimensions: [M, K]}]\n  instance") +
              arch,
          {"flattened dimensions", refused});
    wrong(problem + arch + "mapping:\n- {target: DRAM, type: skew, terms: []}\n",
          {"skewed loops", refused});
    wrong(problem + R"(architecture:
  version: 0.2
  subtree:
  - name: s
    local:
    - {name: M, class: DRAM}
    - {name: noc, class: XY_NoC}
    - {name: mac, class: intmac}
)",
          {"in.yaml:14:7", "class XY_NoC", refused});
    wrong(problem + arch +
              "mapping:\n- {target: DRAM, type: temporal, factors: M0 K0, rmw_first_update: [Y]}\n",
          {"in.yaml:14:68", "unknown data space: 'Y'"});
}

BOOST_AUTO_TEST_CASE(c12_factors_of_minus_one_are_free) {
    const std::string free = "mapspace_constraints:\n- {target: DRAM, type: temporal, factors: \"";
    const timeloop::Document document =
        timeloop::read_document_text(problem + arch + free + "M=-1 K=2\"}\n", "in.yaml");
    timeloop::Warnings warnings;
    timeloop::check_document(document, warnings);
    BOOST_TEST(std::count(warnings.begin(), warnings.end(),
                          "a factor of -1 says nothing, as in Timeloop: the dimension is free") ==
               1);
    wrong(problem + arch + free + "M=-2\"}\n", {"factors that cannot be read", "M=-2"});
    wrong(problem + arch + free + "M=-12\"}\n", {"factors that cannot be read", "M=-12"});
}

BOOST_AUTO_TEST_CASE(nodes_are_checked) {
    const std::string head = problem + "architecture:\n  version: 0.4\n  nodes:\n";
    wrong(head + "  - !Memory {name: M}\n", {"in.yaml:11:5", "unknown kind of node: '!Memory'"});
    wrong(head + "  - !Component {name: M, class: DRAM}\n", {"no compute component"});
    wrong(head + R"(  - !Parallel
    nodes:
    - !Component {name: B, class: SRAM, constraints: {dataspace: {keep: [A, Z]}}}
    - !Component {name: C, class: SRAM, constraints: {dataspace: {keep: [A]}}}
)",
          {"kept in two branches", "'A'"});
    wrong(head + "  - !Component {name: m, class: intmac}\nconstraints: {targets: [{target: x}]}\n",
          {"no node of the architecture has this name: 'x'"});
    wrong(head +
              "  - !Component {name: m, class: intmac}\nconstraints:\n  targets:\n"
              "  - {target: m, type: spatail}\n",
          {"in.yaml:14:23", "unknown type of constraint: 'spatail'", "did you mean 'spatial'?"});
    wrong(head + R"(  - !Component
    name: M
    class: DRAM
    constraints: {temporal: {maximize_dims: [[M]]}}
)",
          {"in.yaml:14:45", "maximize_dims"});
}

BOOST_AUTO_TEST_CASE(files_that_are_none_of_timeloops) {
    wrong("a: [1\n", {"in.yaml", "not valid YAML"});
    wrong("[1, 2]\n", {"holds a list"});
    BOOST_CHECK_THROW(timeloop::read_document({"no/such.yaml"}), UserError);
    BOOST_CHECK_THROW(timeloop::read_document_text(problem, "problem.txt"), UserError);
    timeloop::Warnings warnings;
    BOOST_CHECK_THROW(
        timeloop::check_document(timeloop::read_document_text("x: 1\n", "a.yaml"), warnings),
        UserError);
}

BOOST_AUTO_TEST_CASE(sparse_optimizations_say_what_is_wrong) {
    const char* refused = "not supported; no figures are given rather than wrong ones";
    const std::string gemm = R"(problem:
  shape:
    dimensions: [M, K]
    data-spaces:
    - {name: A, projection: [M, K]}
    - {name: B, projection: [K]}
    - {name: Z, projection: [M], read-write: true}
  instance: {M: 4, K: 8, densities: {A: {distribution: hypergeometric, density: 0.5}}}
)";
    const std::string wide =
        replaced(arch, "entries: 16", "entries: 16, metadata_storage_width: 8");
    const auto with = [&](const std::string& target) {
        return gemm + wide + "sparse_optimizations: {targets: [" + target + "]}\n";
    };
    const auto ranks = [&](const std::string& list) {
        return with("{name: RF, representation-format: {data-spaces: [{name: A, ranks: [" + list +
                    "]}]}}");
    };
    BOOST_TEST(said(ranks("{format: UOP}, {format: CP}")) == "nothing");
    wrong(replaced(gemm, "hypergeometric", "hypergeometrical") + wide,
          {"unknown distribution", "hypergeometrical", "banded"});
    wrong(with("{name: RG, action-optimization: []}"), {"unknown storage level", "RG", "RF"});
    wrong(with("{name: RF, compute-optimization: []}"), {"only the arithmetic level"});
    wrong(with("{name: __ARITH__, compute-optimization: [{type: gate}]}"), {"gating or skipping"});
    wrong(with("{name: RF, action-optimization: [{type: skip, target: A, condition-on: [B]}]}"),
          {"unknown action optimization", "skip", "skipping_spatial"});
    wrong(with("{name: RF, action-optimization: [{type: gating, target: A, condition-on: [C]}]}"),
          {"data space", "C"});
    wrong(with("{name: RF, action-optimization: [{type: skipping-spatial, target: Z, "
               "condition-on: [A, B]}]}"),
          {"spatial skipping with several", refused});
    wrong(ranks("{format: CSR}"), {"unknown format", "CSR", "UOP"});
    wrong(ranks("{format: CP}, {format: UOP}"), {"compressed rank above one that is not"});
    wrong(ranks("{format: CP, metadata-word-bits: 9}"), {"wider than the metadata storage", "8"});
    wrong(ranks("{format: CP, flattened-rankIDs: [[M, X]]}"), {"X"});
    wrong(problem + wide +
              "sparse_optimizations: {targets: [{name: __ARITH__, "
              "compute-optimization: [{type: gating}]}]}\n",
          {"1 read-only data spaces", refused});
    wrong(gemm + replaced(arch, "entries: 16", "entries: 16, tile_partition_supported: true"),
          {"partitioned at run time", refused});
}

BOOST_AUTO_TEST_SUITE_END()
