// The drop-in programs timeloop-model and timeloop-mapper, and Timeloop's files in tessera's
// commands.
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "cli/session.hpp"
#include "cli/timeloop/timeloop.hpp"
#include "support/paths.hpp"
#include "support/reference_cases.hpp"

using namespace tessera;
using namespace tessera::cli_test;

namespace {

const std::string data = test::test_folder() + "/reference/timeloop/drop-in/";

Outcome run(const std::string& name, const std::vector<std::string>& args) {
    std::ostringstream out, err;
    Outcome outcome;
    outcome.code = cli::run_timeloop(name, args, out, err);
    outcome.out = out.str();
    outcome.err = err.str();
    return outcome;
}

std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// Equal bytes; says where the first difference is.
void equal_files(const std::string& ours, const std::string& theirs) {
    std::istringstream left(read(ours)), right(read(theirs));
    BOOST_TEST(!right.str().empty());
    int line = 0;
    for (std::string a, b; std::getline(left, a) && std::getline(right, b); ++line) {
        if (a != b) {
            BOOST_TEST(a == b, "line " << line + 1 << " of " << ours << "\n  " << a << "\n  " << b);
            return;
        }
    }
    BOOST_TEST(read(ours).size() == read(theirs).size(), ours);
}

const std::string small = R"(problem:
  shape:
    dimensions: [M, N, K]
    data-spaces:
    - {name: A, projection: [M, K]}
    - {name: B, projection: [K, N]}
    - {name: Z, projection: [M, N], read-write: true}
  instance: {M: 8, N: 8, K: 8}
arch:
  arithmetic: {instances: 4, word-bits: 16}
  storage:
  - {name: RF, entries: 6, instances: 4, word-bits: 16}
  - {name: GB, entries: 128, instances: 1, word-bits: 16}
  - {name: DRAM, technology: DRAM, instances: 1, word-bits: 16}
)";
const std::string keep_all = R"(mapspace_constraints:
- {target: RF, type: bypass, keep: [A, B, Z]}
- {target: GB, type: bypass, keep: [A, B, Z]}
)";

}  // namespace

BOOST_AUTO_TEST_SUITE(timeloop)

BOOST_AUTO_TEST_CASE(c1_arguments_and_exit_codes) {
    const Folder folder;
    BOOST_TEST(run("timeloop-model", {}).code == 1);
    BOOST_TEST(run("timeloop-model", {"--help"}).code == 0);
    const Outcome missing = run("timeloop-model", {"-o", folder.at("nowhere"), data + "gemm.yaml"});
    BOOST_TEST(missing.code == 1);
    BOOST_TEST(missing.says("ERROR: -o: '"));
    const Outcome unread = run("timeloop-mapper", {folder.at("none.yaml")});
    BOOST_TEST(unread.code == 1);
    BOOST_TEST(unread.says("none.yaml: cannot read the file"));
    const Outcome no_mapper = run("timeloop-mapper", {"-o", folder.at(""), data + "gemm.yaml"});
    BOOST_TEST(no_mapper.code == 1);
    BOOST_TEST(no_mapper.says("lacks the key 'mapper'"));
}

BOOST_AUTO_TEST_CASE(c1_the_result_line_comes_after_the_names_of_the_files) {
    const Folder folder;
    const std::string input = data + "gemm.yaml";
    const Outcome outcome =
        run("timeloop-model", {input, "timeloop-mapper.map.yaml", "-o", folder.at("")});
    BOOST_TEST(outcome.code == 0);
    BOOST_TEST(outcome.out ==
               "input file: " + input + "\nUtilization = 0.57 | pJ/Compute =  183.086\n");
    BOOST_TEST(outcome.says("WARNING: found timeloop-mapper.map.yaml in input file list"));
}

BOOST_AUTO_TEST_CASE(c1_a_mapping_that_does_not_fit_exits_with_1_and_writes_nothing) {
    const Folder folder;
    std::string text = read(data + "gemm.yaml");
    text.replace(text.find("entries: 16"), 11, "entries: 7");
    const Outcome outcome =
        run("timeloop-model", {folder.file("in.yaml", text), "-o", folder.at("")});
    BOOST_TEST(outcome.code == 1);
    BOOST_TEST(outcome.says("ERROR: couldn't map level"), outcome.err);
    BOOST_TEST(outcome.says("RF"));
    BOOST_TEST(read(folder.at("timeloop-model.stats.txt")).empty());
}

BOOST_AUTO_TEST_CASE(c4_the_model_writes_the_bytes_of_timeloop_3_0_3) {
    const Folder folder;
    BOOST_TEST(run("timeloop-model", {data + "gemm.yaml", "-o", folder.at("")}).code == 0);
    for (const char* ending : {".stats.txt", ".map.txt", ".map.tenssella.txt", ".map+stats.xml"}) {
        equal_files(folder.at(std::string("timeloop-model") + ending),
                    data + "gemm-model" + ending);
    }
}

BOOST_AUTO_TEST_CASE(c4_the_archive_of_a_sparse_design_has_the_bytes_of_timeloop_3_0_3) {
    const Folder folder;
    std::string text = read(test::test_folder() + "/../examples/timeloop/sparse-gemm.yaml");
    const std::string of_a = "A: { distribution: fixed-structured";
    BOOST_REQUIRE(text.find(of_a) != std::string::npos);
    text.replace(text.find(of_a), of_a.size(), "A: { distribution: hypergeometric");
    const std::string input = folder.file("in.yaml", text);
    BOOST_TEST(run("timeloop-model", {input, "-o", folder.at("")}).code == 0);
    equal_files(folder.at("timeloop-model.map+stats.xml"), data + "sparse-model.map+stats.xml");
}

BOOST_AUTO_TEST_CASE(c4_the_mapper_writes_the_bytes_of_timeloop_3_0_3) {
    const Folder folder;
    const std::string mapper = folder.file(
        "mapper.yaml",
        "mapper: {algorithm: random, num-threads: 1, victory-condition: 20, timeout: 100}\n");
    const Outcome outcome =
        run("timeloop-mapper", {data + "gemm.yaml", mapper, "-o", folder.at("")});
    BOOST_TEST(outcome.code == 0);
    BOOST_TEST(
        outcome.prints("Summary stats for best mapping found by mapper:\n"
                       "  Utilization = 0.25 | pJ/Compute =  130.519\n"));
    for (const char* ending : {".stats.txt", ".map.txt", ".map.tenssella.txt", ".map.yaml"}) {
        equal_files(folder.at(std::string("timeloop-mapper") + ending),
                    data + "gemm-random" + ending);
    }
    BOOST_TEST(std::filesystem::exists(folder.at("timeloop-mapper.oaves.csv")));
}

BOOST_AUTO_TEST_CASE(c4_dialect_master_writes_the_published_bytes) {
    testing::for_each_case(data + "../exercises.jsonl.gz", [&](const YAML::Node& node) {
        if (node["name"].as<std::string>() != "ed-eyeriss_like") {
            return;
        }
        const Folder folder;
        const std::string input =
            folder.file("parsed-processed-input.yaml", node["input"].as<std::string>());
        const Outcome outcome = run("timeloop-model", {input, "-o", folder.at("")});
        BOOST_TEST(outcome.code == 0, outcome.err);
        BOOST_TEST(outcome.prints(" | Cycles = "));
        equal_files(folder.at("timeloop-model.stats.txt"), data + "eyeriss-master.stats.txt");
        equal_files(folder.at("timeloop-model.map.txt"), data + "eyeriss-master.map.txt");
        BOOST_TEST(std::filesystem::exists(folder.at("timeloop-model.map.tensella.txt")));
    });
}

BOOST_AUTO_TEST_CASE(c4_float_style_follows_the_environment) {
    const Folder folder;
    ::setenv("TIMELOOP_OUTPUT_STAT_SCIENTIFIC", "1", 1);
    run("timeloop-model", {data + "gemm.yaml", "-o", folder.at("")});
    ::unsetenv("TIMELOOP_OUTPUT_STAT_SCIENTIFIC");
    BOOST_TEST((read(folder.at("timeloop-model.stats.txt")).find("Utilization: 5.71e-01") !=
                std::string::npos));
}

BOOST_AUTO_TEST_CASE(c3_libconfig_in_libconfig_out) {
    const Folder folder;
    const std::string input = folder.file("in.cfg", R"(problem = {
  shape = { dimensions = [ "M", "N", "K" ];
    data-spaces = ( { name = "A"; projection = [ "M", "K" ]; },
                    { name = "B"; projection = [ "K", "N" ]; },
                    { name = "Z"; projection = [ "M", "N" ]; read-write = true; } ); };
  instance = { M = 8; N = 8; K = 8; };
};
arch = {
  arithmetic = { instances = 4; word-bits = 16; };
  storage = ( { name = "RF"; entries = 6; instances = 4; word-bits = 16; },
              { name = "GB"; entries = 128; instances = 1; word-bits = 16; },
              { name = "DRAM"; technology = "DRAM"; instances = 1; word-bits = 16; } );
};
mapper = { optimization-metric = "energy"; num-threads = 1; };
)");
    const Outcome cfg = run("timeloop-mapper", {input, "-o", folder.at("")});
    BOOST_TEST(cfg.code == 0, cfg.err);
    const std::string stats = read(folder.at("timeloop-mapper.stats.txt"));
    const std::string yaml =
        folder.file("in.yaml", small + "mapper: {optimization-metric: energy, num-threads: 1}\n");
    run("timeloop-mapper", {yaml, "-o", folder.at("")});
    BOOST_TEST(read(folder.at("timeloop-mapper.stats.txt")) == stats);
    // The configuration with the mapping is an input of the model.
    const Outcome again =
        run("timeloop-model", {folder.at("timeloop-mapper.map.cfg"), "-o", folder.at("")});
    BOOST_TEST(again.code == 0, again.err);
    BOOST_TEST(read(folder.at("timeloop-model.stats.txt")) == stats);
}

BOOST_AUTO_TEST_CASE(c7_the_mappers_mapping_has_the_mappers_cost_in_the_model) {
    const Folder folder;
    const std::string input = folder.file("in.yaml", small);
    const std::string mapper = folder.file("mapper.yaml", "mapper: {num-threads: 1}\n");
    const Outcome found = run("timeloop-mapper", {input, mapper, "-o", folder.at("")});
    BOOST_TEST(found.code == 0, found.err);
    const std::string map = folder.file("map.yaml", read(folder.at("timeloop-mapper.map.yaml")));
    BOOST_TEST(run("timeloop-model", {map, input, "-o", folder.at("")}).code == 0);
    equal_files(folder.at("timeloop-model.stats.txt"), folder.at("timeloop-mapper.stats.txt"));
    equal_files(folder.at("timeloop-model.map.txt"), folder.at("timeloop-mapper.map.txt"));
}

BOOST_AUTO_TEST_CASE(c10_ctrl_c_brings_outputs_within_a_second) {
    const Folder folder;
    std::string text = small;
    text.replace(text.find("{M: 8, N: 8, K: 8}"), 18, "{M: 5040, N: 5040, K: 5040}");
    const std::string input = folder.file("in.yaml", text + R"(mapper:
  {algorithm: random, timeout: 0, victory-condition: 0, num-threads: 2, optimization-metric: edp}
)");
    std::chrono::steady_clock::time_point pressed;
    std::thread finger([&] {
        // Not before the program listens.
        struct sigaction now {};
        do {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            ::sigaction(SIGINT, nullptr, &now);
        } while (now.sa_handler == SIG_DFL);
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        pressed = std::chrono::steady_clock::now();
        ::raise(SIGINT);
    });
    // Blocked here, the signal reaches the finger's thread in any case; the handler is the
    // search's.
    const Outcome outcome = run("timeloop-mapper", {input, "-o", folder.at("")});
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - pressed).count();
    finger.join();
    BOOST_TEST(outcome.code == 0, outcome.err);
    BOOST_TEST(seconds < 1);
    BOOST_TEST(!read(folder.at("timeloop-mapper.stats.txt")).empty());
    BOOST_TEST(!read(folder.at("timeloop-mapper.map.yaml")).empty());
}

BOOST_AUTO_TEST_CASE(c11_no_valid_mapping_is_explained) {
    const Folder folder;
    std::string text = small + keep_all;
    text.replace(text.find("entries: 6"), 10, "entries: 2");
    const std::string input =
        folder.file("in.yaml", text + "mapper: {num-threads: 1, optimization-metric: edp}\n");
    const Outcome outcome = run("timeloop-mapper", {input, "-o", folder.at("")});
    BOOST_TEST(outcome.code == 0);
    BOOST_TEST(outcome.prints("MESSAGE: no valid mappings found"));
    BOOST_TEST(outcome.prints("level 'RF' must hold at least 3 words (A 1, B 1, Z 1) but has room "
                              "for 2; it lacks 1"),
               outcome.out);
    BOOST_TEST(outcome.prints("No mapping is valid"), outcome.out);
    BOOST_TEST(run("timeloop-mapper", {input, "--strict", "-o", folder.at("")}).code == 1);
    BOOST_TEST(std::filesystem::exists(folder.at("timeloop-mapper.map.yaml")));
    BOOST_TEST(!std::filesystem::exists(folder.at("timeloop-mapper.stats.txt")));
    const Json json = Json::parse(read(folder.at("timeloop-mapper.json")));
    BOOST_TEST(json["status"] == "no valid mapping");
    BOOST_TEST(json["search"]["proof"] == "infeasible");
}

BOOST_AUTO_TEST_CASE(c11_demands_beyond_a_fan_out_are_named) {
    const Folder folder;
    const std::string input =
        folder.file("in.yaml", small +
                                   "mapper: {num-threads: 1, optimization-metric: edp}\n"
                                   "mapspace:\n- {target: GB, type: spatial, factors: M=4 N=2}\n");
    const Outcome outcome = run("timeloop-mapper", {input, "-o", folder.at("")});
    BOOST_TEST(outcome.code == 0, outcome.err);
    BOOST_TEST(outcome.prints("level 'GB' must spread over at least 8 instances (M 4, N 2) but "
                              "there are 4"),
               outcome.out);
}

BOOST_AUTO_TEST_CASE(c13_accelergy_is_called_if_it_is_there) {
    const Folder folder, tools;
    const std::string tree = R"(problem: {shape: gemm-ABZ, M: 2, N: 2, K: 2}
architecture:
  version: 0.3
  subtree:
  - name: chip
    local:
    - {name: DRAM, class: DRAM, attributes: {width: 16, word-bits: 16}}
    - {name: mac, class: intmac, attributes: {word-bits: 16}}
mapping:
- {target: DRAM, type: temporal, factors: M0 N0 K0}
)";
    const std::string input = folder.file("in.yaml", tree);
    const std::string before = std::getenv("PATH");
    // Called as Timeloop calls it: FILES --oprefix NAME. -o DIR/
    const std::string fake = tools.file("accelergy", R"(#!/bin/sh
test "$2" = --oprefix && test "$4" = -o || exit 1
cat > "$5$3"ERT.yaml <<END
ERT: {version: 0.3, tables: [{name: chip.DRAM, actions: [{name: read, energy: 7}, {name: write, energy: 9}]},
  {name: chip.mac, actions: [{name: compute, energy: 3}]}]}
END
echo 'ART: {version: 0.3, tables: [{name: chip.mac, area: 5}]}' > "$5$3"ART.yaml
)");
    std::filesystem::permissions(fake, std::filesystem::perms::owner_all);
    ::setenv("PATH", (tools.at("") + ":" + before).c_str(), 1);
    const Outcome with = run("timeloop-model", {input, "-o", folder.at("")});
    ::setenv("PATH", before.c_str(), 1);
    BOOST_TEST(with.code == 0, with.err);
    BOOST_TEST(with.err == "");
    const std::string stats = read(folder.at("timeloop-model.stats.txt"));
    BOOST_TEST((stats.find("Vector access energy        : 9.00 pJ") != std::string::npos));
    BOOST_TEST((stats.find("Compute energy        : 3.00 pJ") != std::string::npos));
    BOOST_TEST(std::filesystem::exists(folder.at("timeloop-model.accelergy.log")));
    if (before.find("accelergy") == std::string::npos) {
        const Outcome without = run("timeloop-model", {input, "-o", folder.at("")});
        BOOST_TEST(without.says("level 'DRAM': energies from the built-in table 'pat'"));
        BOOST_TEST(without.says("level 'mac': energy from the built-in table 'pat'"));
    }
}

// The fields that Timeloop's own script for this file asks for.
BOOST_AUTO_TEST_CASE(c16_the_archive_has_the_fields_that_scripts_read) {
    const Folder folder;
    run("timeloop-model", {data + "gemm.yaml", "-o", folder.at("")});
    const std::string xml = read(folder.at("timeloop-model.map+stats.xml"));
    for (const char* part :
         {"<workload_", "<factorized_bounds_", "class_name=\"model::ArithmeticUnits\"",
          "class_name=\"model::BufferLevel\"", "<cycles_>32</cycles_>",
          "<utilized_instances_>4</utilized_instances_>", "<level_name>GB</level_name>",
          "<first>GB &lt;==&gt; RF</first>", "<energy_per_access>", "<addr_gen_energy>",
          "<spatial_reduction_energy>", "<distributed_multicast>"}) {
        BOOST_TEST((xml.find(part) != std::string::npos), part);
    }
}

BOOST_AUTO_TEST_CASE(f1_forgotten_data_is_warned_about) {
    const Folder folder;
    const std::string input =
        folder.file("in.yaml", read(data + "gemm.yaml") +
                                   "- {target: DRAM, type: datatype, keep: [A, B], bypass: [Z]}\n");
    const Outcome outcome = run("timeloop-model", {input, "-o", folder.at("")});
    BOOST_TEST(outcome.code == 0);
    BOOST_TEST(outcome.prints("158.086"));
    BOOST_TEST(outcome.says("GB"), outcome.err);
    BOOST_TEST(outcome.says("the figures leave out the traffic"), outcome.err);
}

BOOST_AUTO_TEST_CASE(miscounted_computes_are_warned_about) {
    const Folder folder;
    std::string text = small;
    text.replace(text.find("N: 8"), 4, "N: 6");
    const std::string input = folder.file("in.yaml", text + R"(mapping:
- {target: DRAM, type: temporal, factors: M8 N2 K8}
- {target: GB, type: spatial, factors: "N4,2"}
- {target: GB, type: temporal, factors: N1}
- {target: RF, type: temporal, factors: N1}
)");
    const Outcome outcome = run("timeloop-model", {input, "-o", folder.at("")});
    BOOST_TEST(outcome.code == 0, outcome.err);
    BOOST_TEST(outcome.says("counts 512 computes"), outcome.err);
    BOOST_TEST(outcome.says("the problem has 384"), outcome.err);
    BOOST_TEST(outcome.says("utilization of 1.00, 0.75 is work"), outcome.err);
    BOOST_TEST(
        (read(folder.at("timeloop-model.stats.txt")).find("Computes = 512") != std::string::npos));
    BOOST_TEST((read(folder.at("timeloop-model.json")).find("\"problem_computes\": 384") !=
                std::string::npos));
}

BOOST_AUTO_TEST_CASE(sizes_beyond_128_bits_are_told_as_such) {
    const Folder folder;
    std::string text = R"(problem:
  shape:
    dimensions: [A, B, C, D, E, F, G, H]
    data-spaces: [{name: Z, projection: [A, B, C, D, E, F, G, H], read-write: true}]
  instance: {A: 1, B: 1, C: 1, D: 1, E: 1, F: 1, G: 1, H: 2}
mapper: {num-threads: 1, optimization-metric: edp}
arch:
  arithmetic: {instances: 1}
  storage:
)";
    for (int level = 0; level < 10; ++level) {
        text += "  - {name: L" + std::to_string(level) + ", entries: 64, instances: 1}\n";
    }
    const Outcome outcome =
        run("timeloop-mapper", {folder.file("in.yaml", text), "-o", folder.at("")});
    BOOST_TEST(outcome.code == 0, outcome.err);
    BOOST_TEST(outcome.prints("[LoopPermutation] Size: more than 2^128"), outcome.out);
    const std::string named =
        folder.file("mapper.yaml", "mapper: {algorithm: hybrid, num-threads: 1}\n");
    const Outcome refused =
        run("timeloop-mapper", {named, folder.at("in.yaml"), "-o", folder.at("")});
    BOOST_TEST(refused.code == 1, refused.out);
    BOOST_TEST(refused.says("leave `algorithm` out to use the optimal search"));
}

BOOST_AUTO_TEST_CASE(unknown_keys_are_named_by_every_command) {
    const Folder folder;
    const std::string chip = folder.file("chip.yaml", small + "mapper: {num-threads: 1}\n");
    const std::string top = folder.file("top.yaml",
                                        "mapspace_constraint:\n"
                                        "- {target: RF, type: bypass, keep: [A]}\n");
    const std::string given = folder.file(
        "map.yaml",
        "mapping:\n- {target: DRAM, type: temporal, factors: M8 N8 K8, permutations: MNK}\n");
    const auto warned = [&](const Outcome& outcome, const std::string& file, const char* near) {
        BOOST_TEST(outcome.code == 0, outcome.err);
        BOOST_TEST(outcome.says(file + ":"), outcome.err);
        BOOST_TEST(outcome.says("did you mean '" + std::string(near) + "'?"), outcome.err);
    };
    warned(run("timeloop-mapper", {chip, top, "-o", folder.at("")}), top, "mapspace_constraints");
    warned(run("timeloop-model", {chip, given, "-o", folder.at("")}), given, "permutation");
    const Outcome checked = invoke({"check", "-a", chip, "-w", top});
    warned(checked, top, "mapspace_constraints");
    BOOST_TEST(!checked.prints("constraints"), checked.out);
    warned(invoke({"model", "-a", chip, "-m", given}), given, "permutation");
    warned(invoke({"explain", "-a", chip, "-m", given}), given, "permutation");
    warned(invoke({"map", "-a", chip, "-w", top, "--plain", "--max-time", "1s"}), top,
           "mapspace_constraints");
    const std::string good = folder.file("good.yaml",
                                         "mapspace_constraints:\n"
                                         "- {target: RF, type: bypass, keep: [A]}\n");
    BOOST_TEST(invoke({"check", "-a", chip, "-w", good}).prints("constraints: ok"));
}

BOOST_AUTO_TEST_CASE(f4_json_holds_counts_sources_and_the_bottleneck) {
    const Folder folder;
    const std::string input =
        folder.file("in.yaml", small + "mapper: {num-threads: 1, optimization-metric: edp}\n");
    BOOST_TEST(run("timeloop-mapper", {input, "-o", folder.at("")}).code == 0);
    const Json json = Json::parse(read(folder.at("timeloop-mapper.json")));
    BOOST_TEST(json["schema_version"] == 1);
    for (const char* key : {"dialect", "inputs", "status", "energies", "energy_j", "cycles",
                            "edp_j_cycles", "utilization", "computes", "bottleneck", "levels",
                            "networks", "mapping", "search", "warnings"}) {
        BOOST_TEST(json.contains(key), key);
    }
    BOOST_TEST(json["levels"].size() == 4U);
    BOOST_TEST(json["levels"][0]["kind"] == "arithmetic");
    for (const Json& level : json["levels"]) {
        BOOST_TEST((level["energy_source"] == "PAT"));
        BOOST_TEST(level["energy_j"].is_number());
    }
    BOOST_TEST(json["levels"][3]["data_spaces"]["A"]["reads_per_instance"].is_number_unsigned());
    for (const char* key : {"proof", "time_to_best_s", "wall_s", "mappings_valid", "gap"}) {
        BOOST_TEST(json["search"].contains(key), key);
    }
}

// Command line and files of the Python front end, which reads what the program leaves behind.
BOOST_AUTO_TEST_CASE(the_python_front_end_can_call_the_mapper) {
    const Folder folder;
    const std::string input =
        folder.file("parsed-processed-input.yaml", R"(dumped_by_timeloop_front_end: true
architecture:
  version: '0.4'
  subtree:
  - name: system_top_level
    attributes: {version: '0.4', technology: "45nm", power_gated_at: null}
    local:
    - name: DRAM[1..1]
      class: DRAM
      attributes: {width: 64, datawidth: 8, has_power_gating: false, n_banks: 2, cluster_size: 1, reduction_supported: true, multiple_buffering: 1, min_utilization: 0, allow_overbooking: false, meshX: 1, meshY: 1, power_gated_at: null}
      required_actions: [leak, read, write, update]
      enabled: true
    - name: buffer[1..1]
      class: smartbuffer_SRAM
      attributes: {depth: 64, width: 16, datawidth: 8, cluster_size: 1, reduction_supported: true, meshX: 1, meshY: 1, power_gated_at: null}
    - name: inter_PE_spatial[1..1]
      class: dummy_storage
      attributes: {width: 1, depth: 1, datawidth: 1, technology: -1, meshX: 1, meshY: 1}
    - name: mac[1..4]
      class: intmac
      attributes: {multiplier_width: 8, meshX: 4, meshY: 1}
architecture_constraints:
  targets:
  - {type: temporal, target: inter_PE_spatial, factors: "M=1,N=1,K=1", permutation: MNK}
  - {type: bypass, target: inter_PE_spatial, bypass: [A, B, Z]}
  - {type: spatial, target: inter_PE_spatial, factors: "K=1", permutation: K, split: 999}
problem:
  version: '0.4'
  shape:
    name: gemm
    dimensions: [M, N, K]
    data_spaces:
    - {name: A, projection: [[[M]], [[K]]], read_write: false}
    - {name: B, projection: [[[K]], [[N]]], read_write: false}
    - {name: Z, projection: [[[M]], [[N]]], read_write: true}
    coefficients: []
  instance: {M: 16, N: 16, K: 16, densities: {}}
mapping: []
mapper: {optimization_metrics: [edp], optimization_metric: [], version: '0.4', live_status: false, num_threads: 2, timeout: 1000, victory_condition: null, search_size: null, algorithm: random, diagnostics: false, out_prefix: timeloop-mapper}
mapspace: {version: '0.4', template: uber}
compound_components: {version: '0.4', classes: []}
globals: {version: '0.4', environment_variables: {}}
)");
    const auto here = std::filesystem::current_path();
    std::filesystem::current_path(folder.at(""));
    const Outcome outcome = run("timeloop-mapper", {input});
    std::filesystem::current_path(here);
    BOOST_TEST(outcome.code == 0, outcome.err);
    // As its parser goes through stats.txt.
    std::istringstream stats(read(folder.at("timeloop-mapper.stats.txt")));
    double utilization = -1, cycles = -1, computes = -1, energy = 0;
    for (std::string line; std::getline(stats, line);) {
        const std::string last = line.substr(line.rfind(' ') + 1);
        if (computes >= 0) {
            const std::size_t equals = line.rfind('=');
            if (equals != std::string::npos && line.find("Total") == std::string::npos) {
                energy += std::stod(line.substr(equals + 1)) * computes / 1e15;
            }
        } else if (line.find("Computes =") != std::string::npos) {
            computes = std::stod(last);
        } else if (line.find("Cycles: ") != std::string::npos) {
            cycles = std::stod(last);
        } else if (line.find("Utilization") != std::string::npos) {
            BOOST_TEST(last.back() == '%');
            utilization = std::stod(last.substr(0, last.size() - 1));
        }
    }
    const Json json = Json::parse(read(folder.at("timeloop-mapper.json")));
    BOOST_TEST(computes == 4096);
    BOOST_TEST(cycles == json["cycles"].get<double>());
    BOOST_TEST(std::abs(utilization / 100 - json["utilization"].get<double>()) < 1e-4);
    BOOST_TEST(std::abs(energy / json["energy_j"].get<double>() - 1) < 1e-4);
    const std::string areas = read(folder.at("timeloop-mapper.ART.yaml"));
    BOOST_TEST((areas.find("name: system.mac[1..4]") != std::string::npos), areas);
    BOOST_TEST(
        (read(folder.at("timeloop-mapper.map.txt")).find("<< Compute >>") != std::string::npos));
}

BOOST_AUTO_TEST_CASE(tessera_reads_timeloops_files_too) {
    const Folder folder;
    const std::string problem = folder.file("prob.yaml", small.substr(0, small.find("arch:")));
    const std::string arch = folder.file("arch.yaml", small.substr(small.find("arch:")));
    const Outcome found = invoke({"map", "-a", arch, "-w", problem, "--metric", "edp", "-q",
                                  "--threads", "1", "-o", folder.at(""), "--json"});
    BOOST_TEST(found.code == 0, found.err);
    const std::string map = folder.at("timeloop-mapper.map.yaml");
    const Outcome cost = invoke({"model", "-a", arch, "-w", problem, "-m", map, "--json", "-q"});
    BOOST_TEST(cost.code == 0, cost.err);
    BOOST_TEST(cost.json()["energy_j"] == found.json()["energy_j"]);
    BOOST_TEST(invoke({"model", "-a", arch, "-w", problem, "-m", map}).prints("bottleneck"));
    BOOST_TEST(invoke({"explain", "-a", arch, "-w", problem, "-m", map}).out == "legal\n");
    // What is missing has no place.
    BOOST_TEST(invoke({"map", "-a", arch, "-w", problem, "--max-evals", "1"})
                   .says("warning: no optimization metric is given"));
    const Outcome check = invoke({"check", "-a", arch, "-w", problem, "-m", map});
    BOOST_TEST(check.out == "problem: ok\narchitecture: ok\nmapping: ok\nok\n");
}

BOOST_AUTO_TEST_CASE(variables_of_timeloops_files_can_be_defined) {
    const Folder folder;
    std::string text = small + "variables: {size: 128}\n";
    text.replace(text.find("entries: 128"), 12, "entries: size");
    const std::string input = folder.file("in.yaml", text);
    const auto energy = [&](const std::vector<std::string>& more) {
        std::vector<std::string> args = {"map",    "-a", input,    "-w",        input, "--metric",
                                         "energy", "-q", "--json", "--threads", "1"};
        args.insert(args.end(), more.begin(), more.end());
        const Outcome outcome = invoke(args);
        BOOST_TEST(outcome.code == 0, outcome.err);
        return outcome.json()["energy_j"].get<double>();
    };
    BOOST_TEST(energy({"-D", "size=128"}) == energy({}));
    BOOST_TEST(energy({"-D", "size=4096"}) != energy({}));
    const Outcome wrong = invoke({"map", "-a", input, "-w", input, "-D", "sise=4096"});
    BOOST_TEST(wrong.code == 2);
    BOOST_TEST(wrong.says("no file declares this variable"), wrong.err);
    BOOST_TEST(wrong.says("did you mean 'size'?"), wrong.err);
    const std::string none = folder.file("none.yaml", small);
    BOOST_TEST(invoke({"check", "-a", none, "-w", none, "-D", "size=1"}).code == 2);
}

BOOST_AUTO_TEST_CASE(tessera_map_runs_any_algorithm_on_timeloops_files_and_shows_it) {
    const Folder folder;
    const std::string input = folder.file("in.yaml", small);
    const auto map = [&](const std::vector<std::string>& more) {
        std::vector<std::string> args = {"map", "-a", input, "-w", input, "--threads", "1"};
        args.insert(args.end(), more.begin(), more.end());
        return invoke(args);
    };
    const Outcome random = map({"--algorithm", "random", "--max-evals", "500", "--json", "-q"});
    BOOST_TEST(random.code == 0, random.err);
    BOOST_TEST(random.json()["search"]["proof"] == "none");
    const Outcome best = map({"--json", "-q"});
    BOOST_TEST(best.json()["search"]["proof"] == "optimal");
    BOOST_TEST(best.json()["edp_j_cycles"].get<double>() <=
               random.json()["edp_j_cycles"].get<double>());
    BOOST_TEST(map({"--ui", "line"}).says("best edp"));
    BOOST_TEST(map({"--ui", "json"}).says("\"incumbent\""));
    const Outcome near = map({"--target", "1e9", "--json", "-q"});
    BOOST_TEST(near.json()["search"]["mappings_valid"].get<int>() <
               best.json()["search"]["mappings_valid"].get<int>());
    const Outcome wrong = map({"--algorithm", "randon"});
    BOOST_TEST(wrong.code == 2);
    BOOST_TEST(wrong.says("did you mean 'random'?"), wrong.err);
    BOOST_TEST(map({"--mapper", "ffm"}).code == 2);
}

BOOST_AUTO_TEST_CASE(search_strategies_run_on_timeloops_files) {
    const Folder folder;
    const std::string input = folder.file("in.yaml", small);
    const auto map = [&](const std::vector<std::string>& more) {
        std::vector<std::string> args = {"map", "-a",        input, "-w",    input,
                                         "-q",  "--threads", "1",   "--json"};
        args.insert(args.end(), more.begin(), more.end());
        return invoke(args);
    };
    const double best = map({}).json()["edp_j_cycles"].get<double>();
    for (const char* strategy : {"annealing", "genetic", "mcts", "es", "random"}) {
        const Outcome found = map({"--strategy", strategy, "--max-evals", "3000"});
        BOOST_TEST_REQUIRE(found.code == 0, found.err);
        BOOST_TEST(found.json()["edp_j_cycles"].get<double>() >= best, strategy);
        BOOST_TEST(found.json()["search"]["mappings_valid"].get<int>() == 3000, strategy);
    }
    const Outcome annealed = map({"--mapper", "annealing", "--knob", "annealing.accept=greedy",
                                  "--knob", "search.islands=2", "--max-evals", "3000"});
    BOOST_TEST(annealed.json()["edp_j_cycles"].get<double>() <= 1.1 * best);
    BOOST_TEST(invoke({"map", "-a", input, "-w", input, "--strategy", "annealing", "--max-evals",
                       "1000", "--ui", "json"})
                   .says("\"found_by\":\"search:annealing\""));

    // Its mapping is what others begin with.
    BOOST_TEST(map({"-o", folder.at("")}).code == 0);
    const std::string given = folder.at("timeloop-mapper.map.yaml");
    const Outcome started = map({"--strategy", "annealing", "--start", given, "--max-evals", "4"});
    BOOST_TEST_REQUIRE(started.code == 0, started.err);
    BOOST_TEST(started.json()["edp_j_cycles"].get<double>() == best);

    // What the constraints forbid begins no search.
    const std::string narrow = folder.file("narrow.yaml", small + R"(mapspace_constraints:
- {target: GB, type: bypass, bypass: [A, B, Z]}
)");
    const Outcome forbidden = invoke({"map", "-a", narrow, "-w", narrow, "-q", "--strategy",
                                      "annealing", "--start", given, "--max-evals", "4"});
    BOOST_TEST(forbidden.code == 2);
    BOOST_TEST(forbidden.says("timeloop-mapper.map.yaml: not in the mapspace that is searched: "),
               forbidden.err);

    const Outcome unknown = map({"--strategy", "anealing"});
    BOOST_TEST(unknown.code == 2);
    BOOST_TEST(unknown.says("did you mean 'annealing'?"), unknown.err);
    const Outcome mapper = map({"--mapper", "ffm"});
    BOOST_TEST(mapper.code == 2);
    BOOST_TEST(mapper.says("maps Tessera's own inputs"), mapper.err);
    const Outcome knob = map({"--knob", "annealing.t0=1"});
    BOOST_TEST(knob.code == 2);
    BOOST_TEST(knob.says("name one with --strategy"), knob.err);
    BOOST_TEST(map({"--start", given}).says("name one with --strategy"));
    BOOST_TEST(map({"--strategy", "annealing", "--knob", "annealing.t7=1"}).code == 2);
    const Outcome templates = map({"--strategy", "loma", "--max-evals", "5"});
    BOOST_TEST(templates.code != 0);
    BOOST_TEST(templates.says("which this mapspace has not"), templates.err);
}

BOOST_AUTO_TEST_CASE(nothing_found_before_a_limit_is_not_called_infeasible) {
    const Folder folder;
    std::string text = small + keep_all;
    text.replace(text.find("entries: 6"), 10, "entries: 2");
    const std::string input = folder.file("in.yaml", text);
    const std::vector<std::string> map = {"map", "-a", input, "-w", input, "-q", "--threads", "1"};
    const auto with = [&](const std::vector<std::string>& more) {
        std::vector<std::string> args = map;
        args.insert(args.end(), more.begin(), more.end());
        return invoke(args);
    };
    const Outcome proven = with({});
    BOOST_TEST(proven.code == 1);
    BOOST_TEST(proven.says("no mapping of the mapspace is valid"), proven.err);
    const Outcome early = with({"--strategy", "random", "--max-evals", "20"});
    BOOST_TEST(early.code == 5);
    BOOST_TEST(early.says("no valid mapping was found before a limit"), early.err);
    BOOST_TEST(early.says("the search ended at --max-evals"), early.err);
    BOOST_TEST(early.says("raise it"), early.err);
    // The limits of the input are named as the input writes them.
    text.replace(text.find("entries: 2"), 10, "entries: 3");  // one word of each fits
    const auto walk = [&](const std::string& limit) {
        return run("timeloop-mapper",
                   {folder.file("walk.yaml", text + "mapper: {num-threads: 1, algorithm: random, " +
                                                 limit + "}\n"),
                    "-o", folder.at("")});
    };
    const Outcome timeout = walk("timeout: 3, victory-condition: 0");
    BOOST_TEST(timeout.prints("(1) The search ended at timeout after 3 of "), timeout.out);
    BOOST_TEST(timeout.prints("raise it or leave 'algorithm' out"), timeout.out);
    BOOST_TEST(!timeout.prints("search-size"), timeout.out);
}

// The 32 x 32 x 32 matrix multiplication on 16 units: one number of cycles, many energies.
BOOST_AUTO_TEST_CASE(later_metrics_are_searched_and_proven) {
    const Folder folder;
    const std::string design = R"(problem:
  shape:
    dimensions: [M, N, K]
    data-spaces:
    - {name: A, projection: [M, K]}
    - {name: B, projection: [K, N]}
    - {name: Z, projection: [M, N], read-write: true}
  instance: {M: 32, N: 32, K: 32}
arch:
  arithmetic: {instances: 16, meshX: 4, word-bits: 16}
  storage:
  - {name: Reg, instances: 16, meshX: 4, word-bits: 16, entries: 8}
  - {name: Buf, instances: 1, word-bits: 16, entries: 512}
  - {name: DRAM, technology: DRAM, instances: 1, word-bits: 16}
)";
    const auto with = [&](const std::string& mapper) {
        return folder.file("in.yaml", design + "mapper: {num-threads: 1, " + mapper + "}\n");
    };
    const auto figures = [&](const std::string& mapper) {
        const Outcome found = run("timeloop-mapper", {"-o", folder.at(""), with(mapper)});
        BOOST_TEST_REQUIRE(found.code == 0, found.err);
        BOOST_TEST(found.says("no mapping of the mapspace is better (proven)"), found.err);
        return Json::parse(read(folder.at("timeloop-mapper.json")));
    };
    const Json fastest = figures("optimization-metrics: [delay, energy]");
    BOOST_TEST(fastest["cycles"] == 2048);
    BOOST_TEST(fastest["search"]["proven_metrics"] == 2);
    // Full arrays are here the ones of least energy, too.
    const Json cheapest = figures("optimization-metrics: [energy, delay]");
    BOOST_TEST(cheapest["energy_j"].get<double>() <= fastest["energy_j"].get<double>());
    const Json product = figures("optimization-metrics: [edp]");
    BOOST_TEST(product["edp_j_cycles"].get<double>() <= fastest["edp_j_cycles"].get<double>());
    if (product["cycles"] == 2048) {
        BOOST_TEST(product["energy_j"].get<double>() == fastest["energy_j"].get<double>(),
                   boost::test_tools::tolerance(1e-9));
    }
    // A limit: what is proven and what is not.
    const Outcome early =
        run("timeloop-mapper",
            {"-o", folder.at(""), with("optimization-metrics: [delay, energy], target: 2048")});
    BOOST_TEST(early.says("no mapping of the mapspace is better in delay (proven)"), early.err);
    BOOST_TEST(early.says("nothing is proven of energy"), early.err);
    const Json cut = Json::parse(read(folder.at("timeloop-mapper.json")));
    BOOST_TEST(cut["search"]["proof"] == "none");
    BOOST_TEST(cut["search"]["limits"][0] == "target");
}

BOOST_AUTO_TEST_CASE(timeloop_mapper_runs_search_strategies) {
    const Folder folder;
    const std::string input = folder.file("in.yaml", small + "mapper: {search-size: 3000}\n");
    const Outcome found = run("timeloop-mapper", {"-o", folder.at(""), input, "--strategy",
                                                  "annealing", "--knob=search.islands=2"});
    BOOST_TEST_REQUIRE(found.code == 0, found.err);
    BOOST_TEST(found.prints("Summary stats for best mapping found by mapper"));
    const Json strategy = Json::parse(read(folder.at("timeloop-mapper.json")));
    const Json optimal = invoke({"map", "-a", input, "-w", input, "-q", "--json"}).json();
    BOOST_TEST(strategy["edp_j_cycles"] == optimal["edp_j_cycles"]);
    BOOST_TEST(strategy["search"]["mappings_valid"] == 3000);
    BOOST_TEST(run("timeloop-mapper", {"--help"}).prints("--strategy NAME"));
    const Outcome model = run("timeloop-model", {input, "--strategy", "annealing"});
    BOOST_TEST(model.code == 1);
    BOOST_TEST(model.says("belongs to timeloop-mapper"), model.err);
    BOOST_TEST(run("timeloop-mapper", {input, "--strategy"}).says("lacks its value"));
    BOOST_TEST(run("timeloop-mapper", {input, "--knob", "annealing.t0=1"})
                   .says("needs a search strategy"));
    BOOST_TEST(run("timeloop-mapper", {input, "--strategy", "no"}).code == 1);
}

BOOST_AUTO_TEST_CASE(strategies_are_compared_with_timeloops_algorithms) {
    const Folder folder;
    const std::string input = folder.file("in.yaml", small);
    const Outcome compared =
        invoke({"compare", "-a", input, "-w", input, "-q", "--json", "--mapper",
                "optimal,hybrid,annealing[accept=greedy],search:random", "--max-evals", "2000",
                "--knob", "search.islands=2"});
    BOOST_TEST_REQUIRE(compared.code == 0, compared.err);
    const Json contenders = compared.json()["contenders"];
    BOOST_TEST(contenders.size() == 4u);
    for (const Json& contender : contenders) {
        BOOST_TEST(contender["trials"][0]["value"].get<double>() >=
                   contenders[0]["trials"][0]["value"].get<double>());
    }
    const Outcome unused = invoke({"compare", "-a", input, "-w", input, "--mapper",
                                   "optimal,annealing", "--knob", "genetic.population=3"});
    BOOST_TEST(unused.code == 2);
    BOOST_TEST(unused.says("none of those compared uses it"), unused.err);
}

BOOST_AUTO_TEST_CASE(tessera_explains_mappings_of_timeloops_files) {
    const Folder folder;
    std::string text = read(data + "gemm.yaml");
    text.replace(text.find("entries: 16"), 11, "entries: 7");
    const std::string input = folder.file("in.yaml", text);
    const Outcome outcome = invoke({"explain", "-a", input, "-w", input, "-m", input});
    BOOST_TEST(outcome.code == 1);
    BOOST_TEST(outcome.prints("impossible: "));
    BOOST_TEST(outcome.prints("RF"), outcome.out);
    BOOST_TEST(invoke({"model", "-a", input, "-w", input, "-m", input}).code == 1);
}

BOOST_AUTO_TEST_SUITE_END()
