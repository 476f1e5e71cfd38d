// Where energy and time go: every list adds up, the limits are those of closed forms.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "cli/session.hpp"

using namespace tessera::cli_test;

namespace {

double sum(const Json& entries, const char* key) {
    double total = 0;
    for (const auto& [name, entry] : entries.items()) {
        total += entry.value(key, 0.0);
    }
    return total;
}

void check_sums(const Json& mapping) {
    const auto close = boost::test_tools::tolerance(1e-12);
    const Json& s = mapping["summary"];
    const double energy_j = mapping["energy_j"], latency_s = mapping["latency_s"];
    BOOST_TEST(sum(s["components"], "energy_j") == energy_j, close);
    BOOST_TEST(sum(s["tensors"], "energy_j") == energy_j, close);
    BOOST_TEST(sum(mapping["einsums"], "energy_j") == energy_j, close);
    BOOST_TEST(sum(mapping["einsums"], "latency_s") == latency_s, close);
    BOOST_TEST(sum(s["components"], "limits_s") == latency_s, close);
    BOOST_TEST(s["einsums"].size() == mapping["einsums"].size());
    BOOST_TEST(s["compute_use"].get<double>() <= 1 + 1e-12);
    BOOST_TEST(mapping["traffic_words"].get<double>() >=
               s["least_traffic_words"].get<double>() * (1 - 1e-12));
}

/// One product of 8 x 8 x 8 words of 8 bits: Main moves 192 words, Buffer 1728 (A: 64 reads; B and
/// C: 512 reads each, less what is zero at first; fills of 64 words, 512 updates of C); 512
/// computes on an array of which the variable l takes 8.
std::string chip(const std::string& main, const std::string& buffer, int fanout) {
    const auto memory = [](const std::string& name, const std::string& throughput,
                           const std::string& energy) {
        const std::string costs = ", energy: " + energy + ", throughput: " + throughput + "}";
        return "name: " + name + ", bits_per_action: 8, tensors: {keep: All}, actions: [" +
               "{name: read" + costs + ", {name: write" + costs + "]}\n";
    };
    return "arch:\n  nodes:\n  - !Memory {size: inf, " + memory("Main", main, "2e-12") +
           "  - !Memory {size: 4096, " + memory("Buffer", buffer, "0") +
           "  - !Container {name: PE, spatial: [{name: X, fanout: " + std::to_string(fanout) +
           "}]}\n  - !Compute {name: MAC, actions: [{name: compute, energy: 1e-12, "
           "throughput: 1e9}]}\n";
}

constexpr const char* product_mapping = R"(mapping:
  nodes:
  - !Storage {tensors: [A, B, C], component: Main}
  - !Storage {tensors: [A, B, C], component: Buffer}
  - !Temporal {rank_variable: m, tile_shape: 1}
  - !Spatial {rank_variable: l, tile_shape: 1, component: PE, name: X}
  - !Temporal {rank_variable: k, tile_shape: 1}
  - !Compute {einsum: Matmul, component: MAC}
)";

Args product_on(const Folder& folder, const std::string& chip) {
    return {"model",
            "-a",
            folder.file("chip.yaml", chip),
            "-w",
            "matmul",
            "-D",
            "M=8",
            "-D",
            "K=8",
            "-D",
            "L=8",
            "-m",
            folder.file("m.yaml", product_mapping)};
}

Json evaluated(Args args) {
    args.push_back("--json");
    const Outcome outcome = invoke(args);
    BOOST_REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    return outcome.json()["mappings"][0];
}

}  // namespace

BOOST_AUTO_TEST_CASE(summaries_add_up_to_the_totals) {
    const std::vector<Args> pairs = {
        {"-a", "tpu-v4i", "-w", "gpt3-6.7b", "-D", "TOKENS=256"},
        {"-a", "simba", "-w", "matmuls", "-D", "N_EINSUMS=3"},
        {"-a", "edge", "-w", "llama3-8b", "-D", "TOKENS=64"},
        {"-a", "snowcat", "-w", "three-matmuls"},
        {"-a", "one-buffer", "-w", "attention", "--metric", "traffic"}};
    for (Args args : pairs) {
        args.insert(args.begin(), "map");
        args.insert(args.end(), {"-q", "--json", "--max-time", "20s"});
        BOOST_TEST_CONTEXT(args[2] << " " << args[4]) {
            const Outcome outcome = invoke(args);
            BOOST_REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
            check_sums(outcome.json()["mappings"][0]);
        }
    }
}

// Four products, each of its own tensors.
BOOST_AUTO_TEST_CASE(the_least_traffic_counts_every_instance_of_an_einsum) {
    const Folder folder;
    const auto words = [&](int instances) {
        Args args = product_on(folder, chip("1e12", "1e12", 8));
        args[4] = folder.file("w.yaml",
                              "workload:\n  rank_sizes: {M: 8, K: 8, L: 8}\n"
                              "  bits_per_value: {All: 8}\n  einsums:\n"
                              "  - {name: Matmul, einsum: \"C[m, l] = A[m, k] * B[k, l]\", "
                              "n_instances: " +
                                  std::to_string(instances) + "}\n");
        args.erase(args.begin() + 5, args.end() - 2);
        const Json got = evaluated(args);
        BOOST_TEST(got["traffic_words"] == 192 * instances);
        return got["summary"]["least_traffic_words"].get<double>();
    };
    BOOST_TEST(words(1) == 192);
    BOOST_TEST(words(4) == 4 * 192);
}

// Two arrays work at the same time; neither is in use more than always.
BOOST_AUTO_TEST_CASE(computes_of_a_pipeline_are_in_use_at_most_always) {
    const Json mapping =
        evaluated({"map", "-a", "transfusion-cloud", "-w", "transfusion-bert", "-D", "TOKENS=1024",
                   "--model", "transfusion", "--metric", "latency", "--mapper", "transfusion"});
    const double use = mapping["summary"]["compute_use"];
    BOOST_TEST(use > 0.5);
    BOOST_TEST(use <= 1);
}

// What the dashboard shows of the best mapping begins with its charts; explain says what limits it.
BOOST_AUTO_TEST_CASE(pipelines_are_shown_and_explained) {
    const Folder folder;
    const std::string run = folder.at("run");
    const std::vector<std::string> layer = {"-a", "transfusion-edge", "-w",      "transfusion-t5",
                                            "-D", "TOKENS=64",        "-D",      "KEY_TILE=16",
                                            "-D", "BATCH=2",          "--model", "transfusion"};
    std::vector<std::string> search = {"map",         "--metric", "latency", "--mapper",
                                       "transfusion", "-q",       "-o",      run};
    search.insert(search.end(), layer.begin(), layer.end());
    BOOST_REQUIRE_EQUAL(invoke(search).code, 0);
    const Json status = Json::parse(folder.read("run/status.json"));
    std::string shown;
    for (const auto& line : status["mapping"]["lines"]) {
        shown += line.get<std::string>() + "\n";
    }
    const std::size_t chart = shown.find("QK to AV at once");
    BOOST_TEST_REQUIRE((chart != std::string::npos), shown);
    BOOST_TEST((shown.find("Array2D |") < shown.find("MainMemory holds")));

    std::vector<std::string> explain = {"explain", "-m", run + "/mapping.yaml"};
    explain.insert(explain.end(), layer.begin(), layer.end());
    const Outcome text = invoke(explain);
    BOOST_REQUIRE_EQUAL(text.code, 0);
    BOOST_TEST((text.out.find("legal\nlatency ") == 0), text.out);
    BOOST_TEST((text.out.find("  QK to AV at once, ") != std::string::npos), text.out);
    explain.push_back("--json");
    const Json parts = invoke(explain).json()["latency"];
    double sum_s = 0;
    for (const Json& part : parts) {
        sum_s += part["latency_s"].get<double>();
        for (const auto& [component, busy_s] : part["busy_s"].items()) {
            BOOST_TEST(busy_s.get<double>() <= part["latency_s"].get<double>() * (1 + 1e-12),
                       component);
        }
    }
    const double best_s = status["best"];
    BOOST_TEST(sum_s == best_s, boost::test_tools::tolerance(1e-9));
}

// Four limits of one product, by hand.
BOOST_AUTO_TEST_CASE(bottlenecks_and_use_of_a_product_are_those_of_closed_forms) {
    struct Case {
        const char *main, *buffer;
        int fanout;
        const char* limit;
        double latency_s, use, dim_use;
    };
    const auto close = boost::test_tools::tolerance(1e-12);
    const Folder folder;
    for (const Case& c : {Case{"1e8", "1e12", 16, "Main", 192 / 1e8, 512 / 1.92e-6 / 16e9, 0.5},
                          Case{"1e12", "1e12", 16, "MAC", 64e-9, 0.5, 0.5},
                          Case{"1e12", "1e9", 8, "Buffer", 1728e-9, 512 / 1728e-9 / 8e9, 1},
                          Case{"1e12", "1e12", 8, "MAC", 64e-9, 1, 1}}) {
        BOOST_TEST_CONTEXT(c.main << " " << c.buffer << " " << c.fanout) {
            const Json got = evaluated(product_on(folder, chip(c.main, c.buffer, c.fanout)));
            const Json& s = got["summary"];
            BOOST_TEST(s["einsums"]["Matmul"]["limit"] == c.limit);
            BOOST_TEST(got["latency_s"].get<double>() == c.latency_s, close);
            BOOST_TEST(s["components"][c.limit]["limits_s"].get<double>() == c.latency_s, close);
            BOOST_TEST(s["compute_use"].get<double>() == c.use, close);
            BOOST_TEST(s["components"]["PE"]["spatial"]["X"]["use"].get<double>() == c.dim_use);
            BOOST_TEST(s["components"]["PE"]["spatial"]["X"]["instances"] == c.fanout);
            // The roofline: 512 computes for 192 bytes, below both roofs and on that of the limit.
            const Json& e = s["einsums"]["Matmul"];
            BOOST_TEST(e["computes"] == 512);
            BOOST_TEST(e["traffic_bytes"] == 192);
            const double peak = 1e9 * c.fanout, bytes_per_s = std::stod(c.main);
            BOOST_TEST(e["peak_computes_per_s"].get<double>() == peak, close);
            BOOST_TEST(e["memory_bytes_per_s"].get<double>() == bytes_per_s, close);
            const double reached = 512 / c.latency_s, slope = 512 / 192.0 * bytes_per_s;
            if (c.limit == std::string("Main")) {
                BOOST_TEST(reached == slope, close);
            } else if (c.dim_use == 1 && c.limit == std::string("MAC")) {
                BOOST_TEST(reached == peak, close);
            } else {
                BOOST_TEST(reached < std::min(peak, slope));
            }
            BOOST_TEST(s["components"]["Main"]["energy_j"].get<double>() == 384e-12, close);
            BOOST_TEST(s["components"]["MAC"]["energy_j"].get<double>() == 512e-12, close);
            BOOST_TEST(s["components"]["Buffer"]["occupancy"].get<double>() == 136 / 512.0, close);
            BOOST_TEST(s["components"]["Buffer"]["size_bytes"] == 512);
            BOOST_TEST(s["tensors"]["A"]["energy_j"].get<double>() == 128e-12, close);
            BOOST_TEST(s["traffic"]["Buffer"]["C"]["reads"] == 512);
            BOOST_TEST(s["least_traffic_words"] == 192);
            BOOST_TEST(got["traffic_words"] == 192);
        }
    }
}

// A product of 3 x 2 x 7 on 4 places: tiles of 4 and 3 of 7 columns, 42 computes in 2 * 3 * 2
// steps. Buffer gives 42 words of A where copies cannot be shared, not 48, and 12 where they can.
BOOST_AUTO_TEST_CASE(use_and_roofs_of_partial_tiles_are_those_of_closed_forms) {
    const Folder folder;
    std::string tiled = product_mapping;
    const std::string spatial =
        "  - !Spatial {rank_variable: l, tile_shape: 1, component: PE, name: X}\n";
    tiled.replace(tiled.find(spatial), spatial.size(), "");
    tiled.insert(tiled.find("  - !Temporal"), "  - !Temporal {rank_variable: l, tile_shape: 4}\n");
    tiled.insert(tiled.find("  - !Compute"), spatial);
    for (const bool shared : {true, false}) {
        std::string arch = chip("1e12", "1e12", 4);
        arch.replace(arch.find("fanout: 4"), 9,
                     shared ? "fanout: 4" : "fanout: 4, may_reuse: Nothing");
        Args args = product_on(folder, arch);
        args = {"model",
                "-a",
                args[2],
                "-w",
                "matmul",
                "-D",
                "M=3",
                "-D",
                "K=2",
                "-D",
                "L=7",
                "-m",
                folder.file("tiled.yaml", tiled)};
        const Json got = evaluated(args);
        const Json& s = got["summary"];
        const auto close = boost::test_tools::tolerance(1e-12);
        BOOST_TEST(got["latency_s"].get<double>() == 12e-9, close);
        BOOST_TEST(s["compute_use"].get<double>() == 0.875, close);
        BOOST_TEST(s["einsums"]["Matmul"]["compute_use"].get<double>() == 0.875, close);
        BOOST_TEST(s["einsums"]["Matmul"]["peak_computes_per_s"].get<double>() == 4e9, close);
        BOOST_TEST(s["components"]["PE"]["spatial"]["X"]["use"].get<double>() == 0.875, close);
        BOOST_TEST(s["traffic"]["Buffer"]["A"]["reads"] == (shared ? 12 : 42));
        BOOST_TEST(invoke(args).prints("  computes 87.5 % in use\n"));
    }
}

// Y = X W takes 1024 words of Main at 1.5 a second and 512 computes; Z = f(Y) 64 and 64.
BOOST_AUTO_TEST_CASE(bottlenecks_of_two_fused_einsums_are_those_of_the_closed_form) {
    const Folder folder;
    const std::string slow = "energy: 10, throughput: 1", arch = small_arch;
    std::string faster;
    for (std::size_t i = 0; i < arch.size(); ++i) {
        faster += arch[i];
        faster += faster.ends_with(slow) ? ".5" : "";
    }
    const Args with = {
        "model", "-a", folder.file("a.yaml", faster), "-w", folder.file("w.yaml", small_workload),
        "-m"};
    Args fused = with, unfused = with;
    fused.push_back(folder.file("fused.yaml", fused_mapping));
    unfused.push_back(folder.file("unfused.yaml", unfused_mapping));
    const auto close = boost::test_tools::tolerance(1e-12);
    const Json got = evaluated(fused);
    const Json& s = got["summary"];
    BOOST_TEST(s["einsums"]["Y"]["limit"] == "Main");
    BOOST_TEST(s["einsums"]["Z"]["limit"] == "MAC");
    BOOST_TEST(s["components"]["Main"]["limits_s"].get<double>() == 1024 / 1.5, close);
    BOOST_TEST(s["components"]["MAC"]["limits_s"].get<double>() == 64, close);
    BOOST_TEST(s["compute_use"].get<double>() == 576 / (1024 / 1.5 + 64), close);
    // Y, 64 words, is neither written to Main nor read from it.
    BOOST_TEST(s["fusion"]["tensors"] == Json({"Y"}));
    BOOST_TEST(s["fusion"]["saved_words"] == 128);
    BOOST_TEST(s["fusion"]["saved_energy_j"].get<double>() == 1280, close);
    BOOST_TEST(evaluated(unfused)["summary"]["fusion"]["saved_words"] == 0);
    fused.emplace_back("--tree");
    const Outcome text = invoke(fused);
    BOOST_TEST(text.prints("  fusion   keeps 128 words or more from Main (1.28 kJ)\n"), text.out);
    BOOST_TEST(text.prints("  for m in 16 / 1 (16 trips)\n"), text.out);
    BOOST_TEST(text.prints("Buffer holds Y 4 words (4 bit)\n"), text.out);
}

// The tree says how often loops run and how large tiles are, in text and in JSON.
BOOST_AUTO_TEST_CASE(trees_tell_trips_and_tiles) {
    const Folder folder;
    const Args args = product_on(folder, chip("1e8", "1e12", 16));
    Args with_tree = args;
    with_tree.emplace_back("-v");
    const Outcome text = invoke(with_tree);
    for (const char* line :
         {"LoopTree:\n  Main holds A 64 words (64 B), B 64 words (64 B), C 64 words (64 B)\n",
          "  Buffer holds A 64 words (64 B), B 64 words (64 B), C 8 words (8 B)\n",
          "  for m in 8 / 1 (8 trips)\n",
          "    spatial l in 8 / 1 (8 of 16 instances) over PE.X\n"}) {
        BOOST_TEST(text.prints(line), text.out);
    }
    const Json nodes = evaluated(args)["mapping"]["nodes"];
    BOOST_TEST(nodes[1]["tiles"]["C"]["words"] == 8);
    BOOST_TEST(nodes[1]["tiles"]["C"]["bytes"] == 8);
    BOOST_TEST(nodes[1]["tiles"]["C"]["reads"] == 512);
    BOOST_TEST(nodes[0]["tiles"]["A"]["energy_j"].get<double>() == 128e-12,
               boost::test_tools::tolerance(1e-12));
    BOOST_TEST(nodes[2]["size"] == 8);
    BOOST_TEST(nodes[3]["trips"] == 8);
}

BOOST_AUTO_TEST_CASE(summary_is_text_with_tables_on_request) {
    const Args map = {"map", "-a", "snowcat", "-w", "three-matmuls", "-q"};
    const auto with = [&](const Args& more) {
        Args args = map;
        args.insert(args.end(), more.begin(), more.end());
        return invoke(args);
    };
    const Outcome plain = with({});
    BOOST_TEST(plain.prints("  spent in "));
    BOOST_TEST(plain.prints(" for each compute\n"));
    BOOST_TEST(plain.prints(" times the least (each input and result once)\n"));
    BOOST_TEST(!plain.prints("Components:"));
    const Outcome tables = with({"--by", "component,einsum,tensor", "--top", "2"});
    BOOST_TEST(tables.prints("Einsums (2 of 3):"));
    BOOST_TEST(tables.prints("Tensors (2 of "));
    BOOST_TEST(tables.prints("limited by"));
    const Outcome more = with({"--by", "memory,traffic,spatial", "--top", "1"});
    BOOST_TEST(more.prints("Memories (1 of 2):"), more.out);
    BOOST_TEST(more.prints("Traffic (1 of "), more.out);
    const Outcome wrong = with({"--by", "layer"});
    BOOST_TEST(wrong.code == 2);
    BOOST_TEST(wrong.says("component, einsum, tensor"));
    BOOST_TEST(with({"--top", "-1"}).code == 2);
}
