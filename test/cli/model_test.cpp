#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "cli/session.hpp"

using namespace tessera::cli_test;

namespace {

struct Files : Folder {
    std::string arch = file("arch.yaml", small_arch);
    std::string workload = file("workload.yaml", small_workload);
    std::string fused = file("fused.yaml", fused_mapping);
    std::string unfused = file("unfused.yaml", unfused_mapping);

    Outcome run(const std::string& command, const std::string& mapping,
                const std::vector<std::string>& more = {}) const {
        std::vector<std::string> args = {command, "-a", arch, "-w", workload, "-m", mapping};
        args.insert(args.end(), more.begin(), more.end());
        return invoke(args);
    }
};

bool all_finite(const Json& json) {
    if (json.is_number_float()) {
        return std::isfinite(json.get<double>());
    }
    for (const Json& child : json) {
        if (json.is_structured() && !all_finite(child)) {
            return false;
        }
    }
    return true;
}

}  // namespace

BOOST_AUTO_TEST_CASE(json_has_the_promised_names) {
    const Files files;
    const Outcome outcome = files.run("model", files.fused, {"--json", "-q"});
    BOOST_REQUIRE_EQUAL(outcome.code, 0);
    BOOST_TEST(outcome.err == "");
    const Json root = outcome.json();
    BOOST_TEST(root["schema_version"] == 1);
    BOOST_TEST(root["status"] == "evaluated");
    BOOST_TEST(root["mappings"].size() == 1U);
    const Json& mapping = root["mappings"][0];
    const double energy = mapping["energy_j"], latency = mapping["latency_s"];
    BOOST_TEST(mapping["edp_js"].get<double>() == energy * latency);
    BOOST_TEST((mapping["fused_groups"] == Json::parse(R"([["Y","Z"]])")));
    BOOST_TEST(mapping["mapping"]["nodes"][1]["kind"] == "temporal");
    BOOST_TEST(mapping["peak_occupancy"].contains("Buffer"));
    for (const char* key : {"wall_s", "cpu_s", "peak_rss_bytes", "evaluated", "threads", "seed"}) {
        BOOST_TEST(root["search"][key].is_number());
    }
    BOOST_TEST(all_finite(root));
}

// Of Einsum Y: X, W and Y in Main, their tiles of four rows in Buffer.
BOOST_AUTO_TEST_CASE(a_mapping_of_zigzag_is_one_as_others_are) {
    const Files files;
    const std::string levels =
        R"x(["MemoryLevel(instance=buffer,operands=[], x)", "MemoryLevel(instance=main,operands=[], x)"])x";
    const std::string loops = R"x([["(N, 4)", "(K, 8)", "(M, 4)"], ["(M, 4)"]])x";
    const std::string zigzag = files.file(
        "Layer0_complete.json",
        R"x({"inputs": {"accelerator": {"mem_hierarchy_dict": {"O": )x" + levels + R"x(, "I1": )x" +
            levels + R"x(, "I2": )x" + levels +
            R"x(}}, "layer": {"memory_operand_links": {"Y": "O", "X": "I1", "W": "I2"}, )x" +
            R"x("user_spatial_mapping": {}}, "temporal_mapping": {"Y": )x" + loops +
            R"x(, "X": )x" + loops + R"x(, "W": )x" + loops + "}}}");
    const Outcome model = files.run("model", zigzag, {"--einsums", "Y", "--json"});
    BOOST_TEST_REQUIRE(model.code == 0, model.err);
    // Main: X once, Y once, W in each of four rounds; Buffer: the other side of that, and of each
    // compute X, W, and Y read and written (the first time written only).
    const double main_j = 10 * (128 + 64 + 4 * 32), fill_j = 128 + 64 + 4 * 32,
                 use_j = 512 + 512 + (512 - 64) + 512, compute_j = 512;
    BOOST_TEST(model.json()["mappings"][0]["energy_j"].get<double>() ==
                   main_j + fill_j + use_j + compute_j,
               model.out);
    const Outcome explained = files.run("explain", zigzag, {"--einsums", "Y"});
    BOOST_TEST(explained.code == 0, explained.err);
    const Outcome start = invoke({"compare", "-a", files.arch, "-w", files.workload, "--einsums",
                                  "Y", "--mapper", "ffm", "--start", zigzag, "-m", zigzag, "-q"});
    BOOST_TEST(start.code == 0, start.err);
    BOOST_TEST(start.out.find("Layer0_complete.json") != std::string::npos, start.out);
    const Outcome alone = files.run("model", zigzag);
    BOOST_TEST(alone.code == 2);
    BOOST_TEST(alone.says("it maps one layer, the workload has 2 Einsums"), alone.err);
}

BOOST_AUTO_TEST_CASE(counts_are_those_worked_out_by_hand) {
    const Files files;
    const Json root = files.run("model", files.fused, {"--json"}).json();
    const Json& einsum = root["mappings"][0]["einsums"]["Y"];
    const Json& main = einsum["components"]["Main"]["tensors"];
    // 16 x 4 x 8 multiply-accumulates, each with one X and one W from the main memory.
    BOOST_TEST(einsum["components"]["MAC"]["compute"]["actions"]["compute"] == 512);
    BOOST_TEST(main["X"]["actions"]["read"] == 512);
    BOOST_TEST(main["W"]["actions"]["read"] == 512);
    BOOST_TEST(main["X"]["energy_j"]["read"] == 5120);
    BOOST_TEST(!main.contains("Y"));
    // One row of Y at a time: 4 of 4096 bits.
    BOOST_TEST(einsum["components"]["Buffer"]["tensors"]["Y"]["occupancy"] == 4.0 / 4096);
    BOOST_TEST(root["mappings"][0]["peak_occupancy"]["Buffer"] == 4.0 / 4096);
}

BOOST_AUTO_TEST_CASE(components_add_up) {
    const Files files;
    const Json mapping = files.run("model", files.fused, {"--json"}).json()["mappings"][0];
    double total = 0;
    for (const auto& [name, einsum] : mapping["einsums"].items()) {
        double sum = 0;
        for (const auto& [component, report] : einsum["components"].items()) {
            sum += report["energy_j"].get<double>();
        }
        BOOST_TEST(sum == einsum["energy_j"].get<double>(), boost::test_tools::tolerance(1e-12));
        total += sum;
    }
    BOOST_TEST(total == mapping["energy_j"].get<double>(), boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(an_unfused_mapping_has_no_groups) {
    const Files files;
    const Json root = files.run("model", files.unfused, {"--json"}).json();
    BOOST_TEST(root["mappings"][0]["fused_groups"].empty());
}

BOOST_AUTO_TEST_CASE(text_has_units_unless_the_architecture_has_none) {
    const Files files;
    const Outcome with = files.run("model", files.fused);
    BOOST_TEST(with.code == 0);
    BOOST_TEST(with.prints("kJ"));
    BOOST_TEST(with.prints("Fused Einsums:\n  Y + Z\n"));
    const std::string arbitrary = files.file(
        "arbitrary.yaml", "arch:\n  units: arbitrary\n" + std::string(small_arch).substr(6));
    const Outcome without =
        invoke({"model", "-a", arbitrary, "-w", files.workload, "-m", files.fused});
    BOOST_TEST(without.code == 0);
    for (const char* unit : {" J", "kJ", " s\n", " J s"}) {
        BOOST_TEST(!without.prints(unit));
    }
}

BOOST_AUTO_TEST_CASE(one_file_may_hold_every_section) {
    const Files files;
    const std::string all =
        files.file("all.yaml", std::string(small_arch) + small_workload + fused_mapping);
    const Outcome one = invoke({"model", "-a", all, "-w", all, "-m", all, "--json"});
    BOOST_REQUIRE_EQUAL(one.code, 0);
    BOOST_TEST(
        (one.json()["mappings"] == files.run("model", files.fused, {"--json"}).json()["mappings"]));
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
    const Files files;
    const std::string tight =
        files.file("tight.yaml",
                   std::string(small_arch).replace(std::string(small_arch).find("4096"), 4, "3"));
    const Outcome outcome = invoke({"model", "-a", tight, "-w", files.workload, "-m", files.fused});
    BOOST_TEST(outcome.code == 1);
    BOOST_TEST(outcome.out == "");
    BOOST_TEST(outcome.says("Buffer"), outcome.err);
    BOOST_TEST(outcome.says("3 bits"), outcome.err);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_passes_by_where_the_memory_allows_it) {
    const Files files;
    std::string text = small_arch;
    text.replace(text.find("4096"), 4, "35\n    on_overflow: bypass");
    const std::string tight = files.file("tight.yaml", text);
    std::string with_weights = fused_mapping;
    const std::string first = "component: Main}\n";
    with_weights.insert(with_weights.find(first) + first.size(),
                        "  - !Storage {tensors: [W], component: Buffer}\n");
    const std::string given = files.file("given.yaml", with_weights);
    const auto run = [&](const std::string& command, const std::string& mapping,
                         std::vector<std::string> more = {}) {
        more.insert(more.begin(), {command, "-a", tight, "-w", files.workload, "-m", mapping});
        return invoke(more);
    };
    const char* const told = "'W' does not fit into 'Buffer' and passes it by";
    const Outcome outcome = run("model", given, {"--json"});
    BOOST_REQUIRE_EQUAL(outcome.code, 0);
    BOOST_TEST(outcome.says(told), outcome.err);
    BOOST_TEST(
        (outcome.json()["mappings"] == run("model", files.fused, {"--json"}).json()["mappings"]));
    BOOST_TEST(run("model", given, {"-q"}).err == "");
    const Outcome legal = run("explain", given);
    BOOST_TEST(legal.code == 0, legal.out);
    BOOST_TEST(legal.says(told), legal.err);
    BOOST_TEST(run("compare", given, {"--mapper", "random", "--max-evals", "10"}).says(told));
    const Outcome start = invoke({"map", "-a", tight, "-w", files.workload, "--start", given});
    BOOST_TEST(start.code == 0, start.err);
    BOOST_TEST(start.says(told), start.err);
}

BOOST_AUTO_TEST_CASE(violated_constraints_are_warnings_on_stderr) {
    const Files files;
    std::string text = small_arch;
    text.replace(text.find("tensors: {may_keep: All}"), 24, "tensors: {keep: X, may_keep: All}");
    const std::string keep = files.file("keep.yaml", text);
    const Outcome outcome =
        invoke({"model", "-a", keep, "-w", files.workload, "-m", files.fused, "--json"});
    BOOST_TEST(outcome.code == 0);
    BOOST_TEST(outcome.says("warning: "), outcome.err);
    BOOST_TEST(outcome.json()["warnings"].size() >= 1U);
}

BOOST_AUTO_TEST_CASE(check_describes_what_it_read) {
    const Files files;
    const Outcome outcome = files.run("check", files.fused);
    BOOST_TEST(outcome.code == 0, outcome.err);
    for (const char* text :
         {"2 Einsums", "Main, Buffer, MAC", "k=8 m=16 n=4", "Z runs on MAC", "ok\n"}) {
        BOOST_TEST(outcome.prints(text), outcome.out);
    }
    BOOST_TEST(invoke({"check", "-m", files.fused}).prints("mapping: 2 Einsums"));
}

BOOST_AUTO_TEST_CASE(explain_says_legal_or_names_rule_and_sides) {
    const Files files;
    const Outcome legal = files.run("explain", files.fused);
    BOOST_TEST(legal.code == 0, legal.out);
    BOOST_TEST(legal.out ==
               "legal\nlatency 1.088 ks\n  Y, 1024 s: Main busy 100 %, MAC 50 %\n"
               "  Z, 64 s: MAC busy 100 %, Main 100 %\n");
    std::string text = small_arch;
    text.replace(text.find("4096"), 4, "3");
    const std::string tight = files.file("tight.yaml", text);
    const Outcome illegal =
        invoke({"explain", "-a", tight, "-w", files.workload, "-m", files.fused});
    BOOST_TEST(illegal.code == 1);
    BOOST_TEST(illegal.prints("capacity"), illegal.out);
    BOOST_TEST(illegal.prints("3 bit"), illegal.out);
    BOOST_TEST(illegal.prints("tight.yaml:"), illegal.out);
}

// The input of a sum (m + k) has overlapping tiles: a first holder below the loop over m would get
// what they share from nowhere.
BOOST_AUTO_TEST_CASE(explain_says_which_rule_keeps_a_legal_mapping_out_of_the_mapspace) {
    const Folder files;
    const std::string arch = files.file("arch.yaml", R"(arch:
  nodes:
  - !Memory
    name: Main
    size: inf
    actions: [{name: read, energy: 32, throughput: inf}, {name: write, energy: 32, throughput: inf}]
    tensors: {keep: Nothing, may_keep: All}
  - !Memory
    name: Buf
    size: inf
    actions: [{name: read, energy: 1, throughput: inf}, {name: write, energy: 1, throughput: inf}]
    tensors: {keep: ~Main, may_keep: All}
  - !Compute
    name: MAC
    actions: [{name: compute, energy: 0, throughput: 1}]
)");
    const std::string workload =
        files.file("workload.yaml",
                   "workload:\n"
                   "  iteration_space_shape: {m: 0 <= m < 4, k: 0 <= k < 3}\n"
                   "  bits_per_value: {All: 1}\n"
                   "  einsums: ['Y[m] = T[D: m + k] * X[k]']\n");
    const auto explained = [&](const std::string& above, int m, std::vector<std::string> more) {
        const std::string mapping =
            files.file("mapping.yaml",
                       "mapping:\n  nodes:\n" + above +
                           "  - !Temporal {rank_variable: m, tile_shape: " + std::to_string(m) +
                           "}\n  - !Storage {tensors: [T, Y], component: Buf}\n"
                           "  - !Temporal {rank_variable: m, tile_shape: 1}\n"
                           "  - !Temporal {rank_variable: k, tile_shape: 1}\n"
                           "  - !Compute {einsum: Y, component: MAC}\n");
        more.insert(more.begin(), {"explain", "-a", arch, "-w", workload, "-m", mapping});
        return invoke(more);
    };
    const std::string x = "  - !Storage {tensors: [X], component: Buf}\n";
    const std::string all = "  - !Storage {tensors: [X, T, Y], component: Main}\n";
    const Outcome overlapping = explained(x, 1, {});
    BOOST_TEST(overlapping.code == 0);
    BOOST_TEST(overlapping.prints("outside the mapspace: rule L1 of docs/mapspace.md: Einsum 'Y': "
                                  "the temporal loop over 'm' (4 -> 1) stands above the first "
                                  "holder of tensor 'T'"),
               overlapping.out);
    BOOST_TEST(overlapping.prints("\nlegal, but outside the searched mapspace\n"), overlapping.out);
    const Json json = explained(x, 1, {"--json"}).json();
    BOOST_TEST(json["status"] == "legal");
    BOOST_TEST(json["violations"].empty());
    BOOST_REQUIRE(json["outside_mapspace"].size() == 1u);
    BOOST_TEST(json["outside_mapspace"][0]["mapspace_rule"] == "L1");
    const Outcome member = explained(all, 1, {});
    BOOST_TEST(member.out.starts_with("legal\n"), member.out);
    BOOST_TEST(explained(all, 1, {"--json"}).json()["outside_mapspace"].empty());
    BOOST_TEST(explained(x, 1, {"--unfused"}).prints("rule H1 of docs/mapspace.md"));
}

BOOST_AUTO_TEST_CASE(a_tensor_of_no_bits_takes_no_actions_and_no_room) {
    const Folder folder;
    std::string text = small_workload;
    text.replace(text.find("{All: 1}"), 8, "{W: 0, Other: 1}");
    const Args files = {"-a", folder.file("arch.yaml", small_arch), "-w",
                        folder.file("workload.yaml", text)};
    const Args given = {"-m", folder.file("mapping.yaml", unfused_mapping), "--json"};
    const Outcome with = invoke(joined(joined({"model"}, files), given));
    const Outcome before =
        invoke({"model", "-a", files[1], "-w", folder.file("before.yaml", small_workload), "-m",
                given[1], "--json"});
    BOOST_REQUIRE_MESSAGE(with.code == 0 && before.code == 0, with.err + before.err);
    // W of 8 x 4 is read 16 times from the outermost memory, at 10 J.
    const auto energy = [](const Outcome& outcome) {
        return outcome.json()["mappings"][0]["energy_j"].get<double>();
    };
    BOOST_TEST(energy(before) - energy(with) == 16 * 8 * 4 * 10);
    const Outcome mapped = invoke(joined({"map", "-q", "--json", "--threads", "1"}, files));
    BOOST_REQUIRE_MESSAGE(mapped.code == 0, mapped.err);
    BOOST_TEST(mapped.json()["status"] == "optimal");
    BOOST_TEST(energy(mapped) <= energy(with));
}
