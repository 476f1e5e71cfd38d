// The map command with the real search: threads, round trip, limits.
#include <boost/test/unit_test.hpp>
#include <chrono>

#include "cli/session.hpp"

using namespace tessera::cli_test;

namespace {

const std::vector<Args>& problems() {
    static const std::vector<Args> all = {
        {"-a", "simple", "-w", "matmuls", "-D", "N_EINSUMS=3", "-D", "M=24", "-D", "KN=20"},
        {"-a", "simple", "-w", "matmuls", "-D", "N_EINSUMS=2", "-D", "M=64", "-D", "KN=16", "-D",
         "GLOBAL_BUFFER_SIZE=600"},
        {"-a", "snowcat", "-w", "three-matmuls"},
        {"-a", "eyeriss", "-w", "matmuls", "-D", "M=96", "-D", "KN=48"},
        {"-a", "tpu-v4i", "-w", "gpt3-6.7b", "-D", "TOKENS=64"},
    };
    return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(thread_counts_do_not_change_the_answer) {
    for (const Args& problem : problems()) {
        for (const char* metric : {"edp", "energy,latency"}) {
            const Args args =
                joined(joined({"map"}, problem), {"--json", "-q", "--metric", metric, "--threads"});
            Json one = invoke(joined(args, {"1"})).json(), two = invoke(joined(args, {"2"})).json();
            BOOST_TEST(one["status"] == "optimal");
            one.erase("search");
            two.erase("search");
            BOOST_TEST(one.dump() == two.dump());
        }
    }
}

BOOST_AUTO_TEST_CASE(what_map_writes_model_evaluates_to_the_same_bits) {
    for (const Args& problem : problems()) {
        for (const char* compat : {"none", "accelforge"}) {
            const Folder folder;
            const Json mapped = invoke(joined(joined({"map"}, problem),
                                              {"--json", "-q", "--metric", "energy,latency",
                                               "--compat", compat, "-o", folder.at("run")}))
                                    .json();
            for (std::size_t i = 0; i < mapped["mappings"].size() && i < 5; ++i) {
                const std::string name =
                    i == 0 ? "run/mapping.yaml" : "run/mapping-" + std::to_string(i + 1) + ".yaml";
                const Outcome evaluated =
                    invoke(joined(joined({"model"}, problem),
                                  {"--json", "--compat", compat, "-m", folder.at(name)}));
                BOOST_REQUIRE_EQUAL(evaluated.code, 0);
                BOOST_TEST(!evaluated.says("must keep"), evaluated.err);
                BOOST_TEST(evaluated.json()["mappings"][0].dump() == mapped["mappings"][i].dump());
            }
        }
    }
}

// What runs at once is in the mapping: model, explain and a search that begins with it read it.
BOOST_AUTO_TEST_CASE(mappings_with_pipelines_are_evaluated_as_they_were_found) {
    const Args problem = {"-a",          "simple", "-w",  "matmuls", "-D",
                          "N_EINSUMS=2", "-D",     "M=8", "-D",      "KN=4"};
    const Folder folder;
    const Args search = joined(joined({"map"}, problem), {"--json", "-q", "--metric", "latency"});
    const Json in_turn = invoke(search).json();
    const Json found =
        invoke(joined(search, {"--overlap", "pipeline", "-o", folder.at("run")})).json();
    BOOST_TEST(found["mappings"][0]["latency_s"].get<double>() <=
               in_turn["mappings"][0]["latency_s"].get<double>());
    const Args given = {"-m", folder.at("run/mapping.yaml")};
    const Outcome evaluated = invoke(joined(joined(joined({"model"}, problem), given), {"--json"}));
    BOOST_TEST(evaluated.json()["mappings"][0].dump() == found["mappings"][0].dump());
    BOOST_TEST(invoke(joined(joined({"explain"}, problem), given)).out.rfind("legal\n", 0) == 0);
}

// Only a search of pipelines can go on from one, and it loses nothing of it when a limit ends it at
// once.
BOOST_AUTO_TEST_CASE(searches_with_pipelines_begin_with_pipelines) {
    const Folder folder;
    const auto memory = [](const std::string& name, const std::string& rest) {
        return "  - !Memory {name: " + name + ", " + rest +
               ", actions: [{name: read, energy: 1, throughput: inf},"
               " {name: write, energy: 1, throughput: inf}]}\n";
    };
    const auto compute = [](const std::string& name, const std::string& operation) {
        return "- !Compute {name: " + name + ", operations: [" + operation +
               "], actions: [{name: compute, energy: 1, throughput: 1}]}\n";
    };
    const std::string arch = folder.file(
        "arch.yaml",
        "arch:\n  nodes:\n" +
            memory("Main", "size: inf, tensors: {keep: ~Intermediates, may_keep: All}") +
            memory("Buffer", "size: 8, tensors: {keep: ~Main, may_keep: All}") +
            "  - !Fork\n    nodes:\n    " + compute("X", "exp") + "  " + compute("Y", "add"));
    const std::string workload =
        folder.file("workload.yaml",
                    "workload:\n  rank_sizes: {M: 8}\n  bits_per_value: {All: 1}\n  einsums:\n"
                    "  - {einsum: \"T[m] = A[m]\", operation: exp}\n"
                    "  - {einsum: \"Z[m] = T[m]\", operation: add}\n");
    const Args search = {"map", "-a", arch, "-w", workload, "--json", "-q", "--metric", "latency"};
    const Args overlap = {"--overlap", "pipeline"};
    const Json found = invoke(joined(joined(search, overlap), {"-o", folder.at("run")})).json();
    BOOST_TEST_REQUIRE(folder.read("run/mapping.yaml").find("!Pipeline") != std::string::npos);
    const Args start = {"--start", folder.at("run/mapping.yaml")};
    for (const Args& limit :
         {Args(), Args({"--max-evals", "1"}), Args({"--max-cpu-time", "1ms"})}) {
        const Outcome again = invoke(joined(joined(joined(search, overlap), start), limit));
        BOOST_TEST_REQUIRE(again.code == 0, again.err);
        BOOST_TEST(again.json()["mappings"][0]["latency_s"] == found["mappings"][0]["latency_s"]);
    }
    const Outcome refused = invoke(joined(search, start));
    BOOST_TEST(refused.code == 2);
    BOOST_TEST(refused.says("runs branches at once, and mapper 'ffm' as it is set here runs them "
                            "in turn"),
               refused.err);
}

BOOST_AUTO_TEST_CASE(every_returned_mapping_is_legal) {
    for (const Args& problem : problems()) {
        const Folder folder;
        invoke(joined(joined({"map"}, problem), {"-q", "-o", folder.at("run")}));
        const Outcome outcome =
            invoke(joined(joined({"explain"}, problem), {"-m", folder.at("run/mapping.yaml")}));
        BOOST_TEST(outcome.out.rfind("legal\nlatency ", 0) == 0);
    }
}

// Fifteen readers of one tensor: 2^15 sets of them can come first. A single metric would be proven
// by its lower bound, which holds for all orders.
BOOST_AUTO_TEST_CASE(einsum_orders_that_are_too_many_are_named_in_the_statement) {
    std::string workload =
        "workload:\n  iteration_space_shape: {m: 0 <= m < 2}\n  bits_per_value: {All: 1}\n"
        "  einsums:\n";
    for (int i = 0; i < 15; ++i) {
        const std::string n = std::to_string(i);
        workload += "  - {name: E" + n +
                    ", tensor_accesses: [{name: A, projection: [m]}, {name: B" + n +
                    ", projection: [m], output: True}]}\n";
    }
    const Folder folder;
    const std::string file = folder.file("many.yaml", workload);
    Args args = {"map", "-a",         "simple", "-w",       file,
                 "-q",  "--mapspace", "full",   "--metric", "energy,latency"};
    BOOST_TEST(invoke(args).prints("Einsums in file order, other orders were not searched"));
    args.insert(args.end(), {"--einsum-orders", "file"});
    BOOST_TEST(invoke(args).prints(", Einsums in file order."));
    BOOST_TEST(invoke(joined(joined({"map"}, problems()[0]), {"-q", "--mapspace", "full"}))
                   .prints("all Einsum orders."));
}

BOOST_AUTO_TEST_CASE(unfused_puts_every_tensor_into_the_outermost_memory) {
    const Args args = {"map",         "-a", "snowcat", "-w",       "matmuls", "-D",
                       "N_EINSUMS=2", "-q", "--json",  "--metric", "energy"};
    const Json fused = invoke(args).json()["mappings"][0];
    const Json unfused = invoke(joined(args, {"--unfused"})).json()["mappings"][0];
    BOOST_TEST(fused["fused_groups"].size() == 1U);
    BOOST_TEST(unfused["fused_groups"].empty());
    BOOST_TEST(fused["energy_j"].get<double>() < unfused["energy_j"].get<double>());
}

BOOST_AUTO_TEST_CASE(no_legal_mapping_names_both_sides) {
    const Folder folder;
    std::string text = small_arch;
    text.replace(text.find("4096"), 4, "2");
    text.replace(text.find("tensors: {may_keep: All}"), 24, "tensors: {keep: All}");
    const Outcome outcome = invoke({"map", "-a", folder.file("arch.yaml", text), "-w",
                                    folder.file("workload.yaml", small_workload), "-q", "--json"});
    BOOST_TEST(outcome.code == 1);
    BOOST_TEST(outcome.says("size of 'Buffer': 2 bits, but at least"), outcome.err);
    BOOST_TEST(outcome.says("keep of 'Buffer': it must hold"), outcome.err);
    BOOST_TEST(outcome.json()["status"] == "infeasible");
    BOOST_TEST(outcome.json()["reasons"].size() == 3U);
}

BOOST_AUTO_TEST_CASE(strategies_say_which_einsums_do_not_fit_together) {
    const Folder folder;
    std::string text = small_arch;
    text.replace(text.find("4096"), 4, "4");
    text.replace(text.find(", may_keep: All}"), 16, "}");
    const Args files = {"-a",
                        folder.file("arch.yaml", text),
                        "-w",
                        folder.file("workload.yaml", R"(workload:
  rank_sizes: {M: 8, K: 8, N: 8}
  bits_per_value: {All: 1}
  einsums:
  - {name: T, tensor_accesses: [{name: X, projection: [m, k]}, {name: W, projection: [k, n]},
     {name: T, projection: [m, n], output: True}]}
  - {name: S, tensor_accesses: [{name: T, projection: [m, n]},
     {name: S, projection: [m], output: True}]}
  - {name: Y, tensor_accesses: [{name: T, projection: [m, n]}, {name: S, projection: [m]},
     {name: Y, projection: [m, n], output: True}]}
)"),
                        "-q",
                        "--json",
                        "--max-time",
                        "60s"};
    // One that works on many candidates at a time, one on few.
    for (const char* mapper : {"random", "genetic", "annealing"}) {
        const Outcome outcome = invoke(joined({"map", "--mapper", mapper}, files));
        BOOST_TEST(outcome.code == 1, mapper << ": " << outcome.err);
        BOOST_TEST(outcome.json()["status"] == "infeasible");
        BOOST_TEST(outcome.says("each has mappings alone, but together"), outcome.err);
        BOOST_TEST(outcome.says("size of 'Buffer': 4 bits, but at least 9 bits are needed"),
                   outcome.err);
    }
}

BOOST_AUTO_TEST_CASE(every_mapper_names_the_constraint_that_cannot_be_met) {
    const Folder folder;
    std::string text = small_arch;
    text.replace(text.find("  - !Compute"), 0,
                 "  - !Container\n    name: Array\n    spatial:\n"
                 "    - {name: x, fanout: 64, loop_bounds: [{expression: m, operator: \"==\", "
                 "value: 32}]}\n");
    const std::string arch = folder.file("arch.yaml", text),
                      workload = folder.file("workload.yaml", small_workload);
    const Args files = {"-a", arch, "-w", workload, "-q"};
    const Args limited = {"--max-time", "5s"};
    const std::string place =
        arch + ":" +
        std::to_string(std::count(text.begin(),
                                  text.begin() + static_cast<long>(text.find("loop_bounds")),
                                  '\n') +
                       1) +
        ":";
    for (const Args& choice :
         {Args{"--mapper", "ffm"}, Args{"--mapper", "exhaustive"}, Args{"--mapper", "annealing"},
          Args{"--mapper", "portfolio"}, Args{"--mapper", "random", "--mapspace", "full"}}) {
        BOOST_TEST_CONTEXT(choice[1]) {
            const Outcome outcome =
                invoke(joined(joined(joined({"map", "--json"}, files), choice), limited));
            BOOST_TEST(outcome.code == 1, outcome.err);
            BOOST_TEST(outcome.says(place), outcome.err);
            BOOST_TEST(outcome.says("loop_bounds of dimension 'x' of 'Array': trips of m == 32"),
                       outcome.err);
            BOOST_REQUIRE(outcome.json()["reasons"].size() == 1U);
            const std::string reason = outcome.json()["reasons"][0];
            BOOST_TEST(outcome.says(reason));
            BOOST_TEST(reason.find("has 16 values") != std::string::npos, reason);
        }
    }
    const Outcome compared = invoke(
        joined(joined({"compare", "--mapper", "ffm", "--mapper", "exhaustive", "--json"}, files),
               limited));
    BOOST_TEST(compared.code == 1, compared.err);
    for (const Json& contender : compared.json()["contenders"]) {
        const Json& trial = contender["trials"][0];
        BOOST_TEST(trial["status"] == "infeasible");
        BOOST_REQUIRE(trial["reasons"].size() == 1U);
        BOOST_TEST(trial["reasons"][0].get<std::string>().find(place) != std::string::npos);
    }
    const Outcome table = invoke(
        joined(joined({"compare", "--mapper", "ffm", "--mapper", "exhaustive"}, files), limited));
    BOOST_TEST(table.prints("ffm, exhaustive: no legal mapping\n  Einsum"), table.out);
    BOOST_TEST(table.prints(place), table.out);
}

BOOST_AUTO_TEST_CASE(a_rank_of_a_thousand_million_is_legal) {
    const Folder folder;
    std::string text = small_workload;
    text.replace(text.find("M: 16"), 5, "M: 1000000000");
    const Outcome outcome = invoke({"map", "-a", folder.file("arch.yaml", small_arch), "-w",
                                    folder.file("workload.yaml", text), "-q", "--json"});
    BOOST_REQUIRE_EQUAL(outcome.code, 0);
    BOOST_TEST(outcome.json()["status"] == "optimal");
#ifndef __SANITIZE_THREAD__  // which keeps several words for each
    BOOST_TEST(outcome.json()["search"]["peak_rss_bytes"].get<double>() < 2e9);
#endif
}

BOOST_AUTO_TEST_CASE(a_known_mapping_is_begun_with) {
    const Folder folder;
    const Args problem = {"map", "-a", "simple", "-w", "matmuls", "-D", "N_EINSUMS=2", "-q"};
    const Json best = invoke(joined(problem, {"--json", "-o", folder.at("best")})).json();
    const double edp_js = best["mappings"][0]["edp_js"].get<double>();
    const std::string known = folder.at("best/mapping.yaml");
    for (const Args& more : {Args{}, Args{"--mapper", "random", "--max-evals", "3"},
                             Args{"--mapper", "annealing", "--max-evals", "3"}}) {
        const Outcome again =
            invoke(joined(joined(problem, more), {"--json", "--start", known, "--start", known}));
        BOOST_REQUIRE_EQUAL(again.code, 0);
        BOOST_TEST(again.json()["mappings"][0]["edp_js"].get<double>() <= edp_js * (1 + 1e-9));
    }
    // What cannot be begun with is told with its file.
    const auto refused = [&](const Args& more, const std::string& why) {
        const Outcome outcome = invoke(joined(problem, more));
        BOOST_TEST(outcome.code == 2);
        BOOST_TEST(outcome.says(why), outcome.err);
        BOOST_TEST(outcome.out == "");
    };
    refused({"--start", folder.at("gone.yaml")}, "gone.yaml");
    refused({"--start", folder.file("odd.yaml", "mapping: 3\n")}, "odd.yaml:1:10");
    std::string broken = folder.read("best/mapping.yaml");
    broken.replace(broken.find("tile_shape: 1"), 13, "tile_shape: 3");
    refused({"--start", folder.file("broken.yaml", broken)}, "broken.yaml");
    refused({"--start", known, "--mapper", "timeloop", "--unfused", "--max-evals", "3"},
            "leave out --start");
}

// With partial tiles the search without them comes first, and its bound (35.8) lies above the best
// mapping of all (26.8): no line may call it the bound.
BOOST_AUTO_TEST_CASE(bounds_of_a_search_within_the_search_are_told_apart) {
    const Folder folder;
    const Outcome outcome = invoke({"map", "-a", "simba", "-w", "gpt3-6.7b", "--imperfect-temporal",
                                    "--imperfect-spatial", "--max-evals", "3000000", "-q", "--json",
                                    "-o", folder.at("run")});
    BOOST_REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    const double best = outcome.json()["mappings"][0]["edp_js"];
    int within = 0;
    std::istringstream events(folder.read("run/events.jsonl"));
    for (std::string line; std::getline(events, line);) {
        const Json event = Json::parse(line);
        const std::string text = event.value("text", "");
        const std::size_t at = text.find("class bounds: bound ");
        if (at == std::string::npos) {
            continue;
        }
        const double bound = std::stod(text.substr(at + 20));
        const bool inner = text.rfind("without partial tiles: ", 0) == 0;
        within += inner && bound > best ? 1 : 0;
        BOOST_TEST((inner || bound <= best), text);
    }
    BOOST_TEST(within == 1);
}
// Eight loops over two dimensions have 8! orders, of which one is searched; four have 24.
BOOST_AUTO_TEST_CASE(too_many_orders_below_a_network_are_told) {
    const Folder folder;
    const std::string arch = folder.file("arch.yaml", R"(arch:
  nodes:
  - !Memory
    name: Main
    size: inf
    tensors: {keep: All}
    actions: [{name: read, energy: 1, throughput: inf}, {name: write, energy: 1, throughput: inf}]
  - !Network
    name: Net
    total_latency: 0
    actions: [{name: hop, energy: 1, latency: 0, throughput: inf}]
  - !Container
    name: Units
    spatial: [{name: X, fanout: 2}, {name: Y, fanout: 2}]
  - !Compute
    name: Unit
    actions: [{name: compute, energy: 0, throughput: 1}]
)");
    const auto searched = [&](const std::string& sizes, const std::string& einsum) {
        const std::string workload = folder.file(
            "workload.yaml", "workload:\n  rank_sizes: " + sizes +
                                 "\n  bits_per_value: {All: 1}\n  einsums: [\"" + einsum + "\"]\n");
        return invoke({"map", "-a", arch, "-w", workload, "--metric", "energy", "-q"});
    };
    const std::string told = "loops below a network in one order where their orders are too many";
    const Outcome many = searched("{A: 2, B: 2, C: 2, D: 2}", "Z[a, b, c, d] = I[a, b, c, d]");
    BOOST_TEST(many.code == 0, many.err);
    BOOST_TEST(many.prints(told), many.out);
    const Outcome few = searched("{A: 2, B: 2}", "Z[a, b] = I[a, b]");
    BOOST_TEST(few.code == 0, few.err);
    BOOST_TEST(!few.prints(told), few.out);
}

// The first legal mapping that comes along is 100 times the best.
BOOST_AUTO_TEST_CASE(one_layer_with_many_tile_shapes_has_a_good_mapping_at_once) {
    const auto edp_js = [](const char* mapper, const char* evaluations) {
        const Json found =
            invoke({"map", "-a", "mind-mappings", "-w", "cnn-layer", "--mapper", mapper,
                    "--max-evals", evaluations, "--threads", "1", "--json", "-q"})
                .json();
        return found["mappings"][0]["edp_js"].get<double>();
    };
    BOOST_TEST(edp_js("ffm", "200000") <= 1.1 * edp_js("search", "20000"));
}

// The example of docs/ffm.md.
BOOST_AUTO_TEST_CASE(the_worked_example_is_as_told) {
    const Args problem = {"map",      "-a",          "simple", "-w",    "matmuls",
                          "-D",       "N_EINSUMS=2", "-D",     "M=8",   "-D",
                          "KN=4",     "-D",          "BITS=1", "-D",    "MAIN_MEMORY_ENERGY=10",
                          "--metric", "energy",      "-q",     "--json"};
    const auto energy_j = [&](const char* bits, const Args& more = {}) {
        const Json found =
            invoke(joined(joined(problem, {"-D", std::string("GLOBAL_BUFFER_SIZE=") + bits}), more))
                .json();
        BOOST_TEST(found["status"] == "optimal");
        return found["mappings"][0]["energy_j"].get<double>();
    };
    BOOST_TEST(energy_j("24", {"--unfused"}) == 2976);
    BOOST_TEST(energy_j("5") == 4224);
    BOOST_TEST(energy_j("11") == 3328);
    BOOST_TEST(energy_j("20") > 2624);
    BOOST_TEST(energy_j("21") == 2624);
    BOOST_TEST(energy_j("24") == 2624);
    BOOST_TEST(energy_j("37") == 2272);
}

BOOST_AUTO_TEST_CASE(a_latency_that_falls_with_the_actions_is_refused_by_every_search) {
    const Folder files;
    std::string text = small_arch;
    const std::string name = "    name: Main\n";
    text.insert(text.find(name) + name.size(),
                "    total_latency: 1000 - sum(a.n_calls for a in actions)\n");
    const std::string arch = files.file("arch.yaml", text);
    const std::string workload = files.file("workload.yaml", small_workload);
    for (const char* mapper : {"ffm", "exhaustive", "random", "annealing", "genetic", "mcts"}) {
        const Outcome refused = invoke({"map", "-a", arch, "-w", workload, "--mapper", mapper,
                                        "--max-time", "1s", "-q", "-o", files.at(mapper)});
        BOOST_TEST(refused.code == 2, mapper);
        BOOST_TEST(refused.says(arch + ":3:5: component 'Main', key 'total_latency': the time of "
                                       "Einsum 'Y' falls from 1000 to 999 s where the count of "
                                       "'read' grows from 0 to 1"),
                   mapper << ": " << refused.err);
        BOOST_TEST(!files.has(mapper));
    }
    // A given mapping is costed all the same.
    const std::string mapping = files.file("mapping.yaml", unfused_mapping);
    BOOST_TEST(invoke({"model", "-a", arch, "-w", workload, "-m", mapping}).code == 0);
}

// Joins of promising templates, which begin once there is a bound, took minutes here, and
// gigabytes.
BOOST_AUTO_TEST_CASE(a_limit_is_heard_while_promising_templates_are_joined) {
    const auto start = std::chrono::steady_clock::now();
    const Outcome outcome = invoke(
        {"map", "-a", "edge", "-w", "u-net", "--threads", "2", "--max-time", "7s", "--json", "-q"});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    BOOST_REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    BOOST_TEST(outcome.json()["status"] == "feasible");
    BOOST_TEST(took.count() < 20);
}

// The first bound leaves no place for a loop over n, so the second one asks for nothing.
BOOST_AUTO_TEST_CASE(a_bound_on_a_loop_that_another_bound_forbids_asks_for_nothing) {
    const Folder files;
    const std::string spec = files.file("spec.yaml", R"(arch:
  nodes:
  - !Memory {name: Main, size: inf, leak_power: 0, area: 0, tensors: {keep: All}, actions: [
      {name: read, energy: 1, throughput: inf}, {name: write, energy: 1, throughput: inf}]}
  - !Container
    name: Array
    spatial:
    - name: rows
      fanout: 4
      loop_bounds:
      - {expression: n, operator: "<=", value: 1}
      - {expression: n, operator: "==", value: 8}
  - !Compute {name: MAC, leak_power: 0, area: 0, actions: [
      {name: compute, energy: 1, throughput: 1}]}
workload:
  rank_sizes: {M: 4, N: 4}
  bits_per_value: {All: 8}
  einsums: ["Y[m, n] = X[m, n]"]
)");
    for (const char* mapper : {"ffm", "exhaustive", "random"}) {
        const Outcome outcome = invoke({"map", "-a", spec, "-w", spec, "--mapper", mapper, "--json",
                                        "-q", "--max-evals", "1000"});
        BOOST_TEST(outcome.code == 0, outcome.err);
    }
}
