// show, init, completion, man; single layers of a network; layers that name no roles.
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/session.hpp"
#include "cli/timeloop/timeloop.hpp"
#include "support/paths.hpp"
#include "telemetry/snapshot.hpp"

using namespace tessera::cli_test;
using tessera::cli::command_table;

namespace {

/// What a program of the system prints; empty: there is none.
std::string printed_by(const std::string& command) {
    std::string text;
    FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
    char part[4096];
    while (pipe != nullptr && std::fgets(part, sizeof part, pipe) != nullptr) {
        text += part;
    }
    if (pipe != nullptr) {
        ::pclose(pipe);
    }
    return text;
}

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++n;
    }
    return n;
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// A layer of a user: nothing says which tensor is the weight.
constexpr const char* bare_layer = R"(workload:
  iteration_space_shape: {m: 0 <= m < 8, k: 0 <= k < 8, n: 0 <= n < 16, l: 0 <= l < 8}
  bits_per_value: {All: 8}
  einsums:
  - {name: First, einsum: "T[m, n] = A[m, k] * B[k, n]"}
  - {name: Second, einsum: "C[m, l] = V[n, l] * T[m, n]"}
)";

}  // namespace

BOOST_AUTO_TEST_CASE(show_lists_all_and_tells_equations_and_sizes) {
    const Outcome all = invoke({"show"});
    for (const char* name : {"tpu-v4i", "eyeriss", "gpt3-6.7b", "mobilenet-28"}) {
        BOOST_TEST(all.prints(std::string("  ") + name), all.out);
    }
    const Outcome product = invoke({"show", "matmul", "-D", "M=16", "-D", "K=8", "-D", "L=4"});
    BOOST_TEST(product.prints("Matmul: C[m, l] = A[m, k] * B[k, l]\n"), product.out);
    BOOST_TEST(product.prints("k=8 l=4 m=16; 512 computes"), product.out);
    BOOST_TEST(product.prints("128 B"), product.out);
    const Outcome network = invoke({"show", "mobilenet-28", "--einsums", "Depthwise0"});
    BOOST_TEST(network.prints("TA0[P0: p1 + r0, Q0: q1 + s0, t0, b]"), network.out);
    BOOST_TEST(!network.prints("PiecewiseA0"), network.out);
    const Outcome chip = invoke({"show", "eyeriss"});
    BOOST_TEST(chip.prints("GlobalBuffer"), chip.out);
    BOOST_TEST(chip.prints("128 KiB"), chip.out);
    BOOST_TEST(chip.prints("14 reuse_weight x 12 reuse_output"), chip.out);
    BOOST_TEST(chip.prints("168 of MAC in all"), chip.out);
    const Outcome wrong = invoke({"show", "eyeris"});
    BOOST_TEST(wrong.code == 2);
    BOOST_TEST(wrong.says("eyeriss"), wrong.err);
}

BOOST_AUTO_TEST_CASE(files_of_init_pass_check_and_map) {
    const Folder folder;
    const std::string arch = folder.at("a.yaml"), shape = folder.at("w.yaml");
    BOOST_TEST(invoke({"init", "arch", arch}).code == 0);
    BOOST_TEST(invoke({"init", "workload", shape}).code == 0);
    const Outcome checked = invoke({"check", "-a", arch, "-w", shape});
    BOOST_TEST(checked.code == 0, checked.err);
    const Outcome mapped = invoke({"map", "-a", arch, "-w", shape, "-D", "SIZE=4", "-D",
                                   "CHANNELS=4", "-q", "--max-time", "20s"});
    BOOST_TEST(mapped.code == 0, mapped.err);
    BOOST_TEST(invoke({"check", "-a", "eyeriss", "-w", shape}).code == 0);
    BOOST_TEST(invoke({"init", "arch", arch}).says("--force"));
    BOOST_TEST(invoke({"init", "arch"}).out == folder.read("a.yaml"));
    BOOST_TEST(invoke({"init", "chip"}).code == 2);
}

// The order in which an Einsum reads does not matter where another makes one of them.
BOOST_AUTO_TEST_CASE(layers_without_renames_get_the_customary_ones_and_a_line_says_so) {
    const Folder folder;
    const std::string bare = folder.file("bare.yaml", bare_layer);
    std::string named = bare_layer;
    const auto insert = [&](const std::string& after, const std::string& text) {
        named.insert(named.find(after) + after.size(), text);
    };
    insert("B[k, n]\"", ", renames: {input: A, weight: B, output: T}");
    insert("T[m, n]\"}", "");
    insert("V[n, l] * T[m, n]\"", ", renames: {input: T, weight: V, output: C}");
    const std::string full = folder.file("full.yaml", named);
    for (const char* arch : {"eyeriss", "simba", "tpu-v4i", "nvdla"}) {
        BOOST_TEST_CONTEXT(arch) {
            const Outcome got = invoke({"map", "-a", arch, "-w", bare, "--json"});
            BOOST_REQUIRE_MESSAGE(got.code == 0, got.err);
            BOOST_TEST(got.says("First: input A, weight B, output T; and 1 more alike"), got.err);
            const Outcome same = invoke({"map", "-a", arch, "-w", full, "--json"});
            BOOST_REQUIRE_MESSAGE(same.code == 0, same.err);
            BOOST_TEST(!same.says("more alike"));
            BOOST_TEST(got.json()["mappings"] == same.json()["mappings"]);
        }
    }
    // Each role has a line in `check`, and in documents.
    const std::vector<std::string> lines = {"First: input is A",   "First: weight is B",
                                            "First: output is T",  "Second: input is T",
                                            "Second: weight is V", "Second: output is C"};
    const Outcome text = invoke({"check", "-a", "eyeriss", "-w", bare});
    for (const std::string& line : lines) {
        BOOST_TEST(text.prints("\n  " + line + "\n"), text.out);
    }
    BOOST_TEST(invoke({"check", "-a", "eyeriss", "-w", bare, "--json"}).json()["guessed_roles"] ==
               Json(lines));
    BOOST_TEST(invoke({"map", "-a", "eyeriss", "-w", bare, "-o", folder.at("run"), "-q"}).code ==
               0);
    BOOST_TEST(Json::parse(folder.read("run/result.json"))["guessed_roles"] == Json(lines));
    BOOST_TEST(invoke({"model", "-a", "eyeriss", "-w", bare, "-m", folder.at("run/mapping.yaml"),
                       "--json"})
                   .json()["guessed_roles"] == Json(lines));
    BOOST_TEST(invoke({"check", "-a", "eyeriss", "-w", full, "--json"}).json()["guessed_roles"] ==
               Json::array());
    // A terminal does not obey a name.
    std::string hostile = bare_layer;
    for (std::size_t at = 0; (at = hostile.find("V[", at)) != std::string::npos; at += 2) {
        hostile.replace(at, 1, "V\u202e");
    }
    const Outcome shown =
        invoke({"check", "-a", "eyeriss", "-w", folder.file("hostile.yaml", hostile), "--json"});
    BOOST_TEST(shown.prints("Second: weight is V\\\\u202e"), shown.out);
    // Who asks for no roles hears nothing; who writes some of them means it.
    BOOST_TEST(!invoke({"map", "-a", "simple", "-w", bare}).says("alike"));
    std::string half = bare_layer;
    half.insert(half.find("B[k, n]\"") + 8, ", renames: {input: A}");
    BOOST_TEST(invoke({"map", "-a", "eyeriss", "-w", folder.file("half.yaml", half)}).code == 2);
}

// A sum is an addition: it runs where additions run, and its second operand is no weight there.
BOOST_AUTO_TEST_CASE(operators_are_printed_and_choose_the_compute) {
    const std::string machine = R"(arch:
  nodes:
  - !Memory
    name: Main
    size: inf
    actions: [{name: read, energy: 1, throughput: 1}, {name: write, energy: 1, throughput: 1}]
    tensors: {keep: All}
  - !Fork
    nodes:
    - !Compute
      name: Vector
      operations: [OPERATION]
      actions: [{name: compute, energy: 9, throughput: 1}]
  - !Compute
    name: Array
    operations: [mac]
    actions: [{name: compute, energy: 1, throughput: 1}]
)";
    const auto with = [&](const std::string& operation) {
        std::string text = machine;
        return text.replace(text.find("OPERATION"), 9, operation);
    };
    const Folder folder;
    const std::string adds = folder.file("adds.yaml", with("add")),
                      subtracts = folder.file("subtracts.yaml", with("subtract"));
    const auto shape = [&](const std::string& name, const std::string& einsum) {
        return folder.file(name,
                           "workload:\n  rank_sizes: {M: 4}\n  bits_per_value: {All: 8}\n"
                           "  einsums:\n  - " +
                               einsum + "\n");
    };
    const std::string sum = shape("sum.yaml", "\"Y[m] = A[m] + B[m]\""),
                      given =
                          shape("given.yaml", "{einsum: \"Y[m] = A[m] * B[m]\", operation: add}"),
                      product = shape("product.yaml", "\"Y[m] = A[m] * B[m]\"");
    BOOST_TEST(invoke({"show", sum}).prints("Y: Y[m] = A[m] + B[m]\n"));
    BOOST_TEST(invoke({"show", product}).prints("Y: Y[m] = A[m] * B[m]\n"));
    const Outcome text = invoke({"check", "-a", adds, "-w", sum});
    BOOST_TEST(text.prints("  Y runs on Vector: add, by its text\n"), text.out);
    const Json einsum =
        invoke({"check", "-a", adds, "-w", sum, "--json"}).json()["workload"]["einsums"][0];
    BOOST_TEST(einsum["computes"] == Json({"Vector"}));
    BOOST_TEST(einsum["operations"]["add"] == 1);
    BOOST_TEST(einsum["operations_by_text"] == true);
    BOOST_TEST(invoke({"check", "-a", adds, "-w", product}).prints("  Y runs on Vector Array\n"));
    const Outcome nowhere = invoke({"check", "-a", subtracts, "-w", sum});
    BOOST_TEST(nowhere.code == 2);
    BOOST_TEST(nowhere.says("'Y'"), nowhere.err);
    BOOST_TEST(nowhere.says("'Vector' has no operation add"), nowhere.err);
    BOOST_TEST(nowhere.says("'Array' has no operation add"), nowhere.err);
    const auto mapped = [&](const std::string& file) {
        return invoke({"map", "-a", adds, "-w", file, "--json", "-q"}).json()["mappings"];
    };
    BOOST_TEST(mapped(sum) == mapped(given));
}

BOOST_AUTO_TEST_CASE(specs_are_shown_as_documents) {
    const Json all = invoke({"show", "--json"}).json();
    BOOST_TEST(all["schema_version"] == 1);
    BOOST_TEST(all["architectures"].size() > 5u);
    BOOST_TEST(all["workloads"][0].contains("about"));
    const Json product =
        invoke({"show", "matmul", "-D", "M=16", "-D", "K=8", "-D", "L=4", "--json"}).json();
    BOOST_TEST(product["einsums"][0]["computes"] == 16 * 8 * 4);
    BOOST_TEST(product["einsums"][0]["bounds"].size() == 3u);
    double words = 0;
    for (const Json& tensor : product["tensors"]) {
        words += tensor["words"].get<double>();
    }
    BOOST_TEST(words == 16 * 8 + 8 * 4 + 16 * 4);
    const Json chip = invoke({"show", "eyeriss", "--json"}).json();
    const Json& levels = chip["computes"][0]["levels"];
    BOOST_TEST(levels[0]["kind"] == "memory");
    BOOST_TEST(levels[0]["size_bits"].is_null());
    double instances = 1;
    for (const Json& level : levels) {
        for (const Json& fan : level["fanouts"]) {
            instances *= fan["instances"].get<double>();
        }
    }
    BOOST_TEST(chip["computes"][0]["instances"].get<double>() == instances);
}

// A program that reads documents learns from one what ended the command, and where.
BOOST_AUTO_TEST_CASE(errors_are_documents_for_those_who_ask_for_them) {
    const Folder folder;
    const std::string file = folder.file("arch.yaml", "arch:\n  nodes: 3\n");
    for (const char* command : {"map", "model", "check", "compare", "sweep", "explain"}) {
        const Outcome told = invoke({command, "-a", file, "-w", "matmul", "--json"});
        BOOST_TEST(told.code == 2);
        const Json document = told.json();
        BOOST_TEST(document["status"] == "error");
        BOOST_TEST(document["exit_code"] == 2);
        BOOST_TEST(told.says(document["error"]["message"].get<std::string>().substr(0, 40)),
                   told.err);
    }
    const Json placed = invoke({"check", "-a", file, "--json"}).json()["error"];
    BOOST_TEST(placed["file"] == file);
    BOOST_TEST(placed["line"] == 2);
    const Outcome silent = invoke({"map", "-a", file, "-w", "matmul"});
    BOOST_TEST(silent.out == "");
}

BOOST_AUTO_TEST_CASE(single_layers_of_a_network_are_mapped_alone) {
    const std::vector<std::string> map = {"map",          "-a", "simba", "-w",
                                          "mobilenet-28", "-q", "--json"};
    std::vector<std::string> one = map, none = map;
    one.insert(one.end(), {"--einsums", "PiecewiseB0"});
    none.insert(none.end(), {"--einsums", "PiecewiseB7"});
    const Outcome got = invoke(one);
    BOOST_REQUIRE_MESSAGE(got.code == 0, got.err);
    const Json best = got.json()["mappings"][0];
    BOOST_TEST(best["einsums"].size() == 1u);
    // 28 x 28 x 192 words in, 192 x 24 weights, 28 x 28 x 24 words out.
    BOOST_TEST(best["summary"]["least_traffic_words"] == 28 * 28 * 192 + 192 * 24 + 28 * 28 * 24);
    const Outcome wrong = invoke(none);
    BOOST_TEST(wrong.code == 2);
    BOOST_TEST(wrong.says("no Einsum 'PiecewiseB7'"), wrong.err);
}

BOOST_AUTO_TEST_CASE(manual_pages_have_every_option_and_are_clean) {
    const Folder folder;
    BOOST_REQUIRE(contains(printed_by("mandoc -T lint /dev/null"), "missing date"));
    for (const auto& command : command_table()) {
        BOOST_TEST_CONTEXT(command.name) {
            const Outcome page = invoke({"man", command.name});
            BOOST_REQUIRE(page.code == 0);
            const auto text = command.text();
            for (const auto& option : text.options.options()) {
                std::string name;
                for (const char c : option.name) {
                    name += c == '-' ? "\\-" : std::string(1, c);
                }
                BOOST_TEST(page.prints("\\-\\-" + name + "\\fR"), option.name);
            }
            const std::string file = folder.file(std::string(command.name) + ".1", page.out);
            const std::string found = printed_by("mandoc -T lint -W warning " + file);
            // A page made of tables has no date of its own.
            BOOST_TEST(count(found, "WARNING") == count(found, "missing date"), found);
            BOOST_TEST(!contains(found, "ERROR"), found);
            // As `man -l` shows it: without what makes letters bold.
            std::string shown = printed_by("MANPAGER=cat mman -l " + file);
            for (std::size_t at; (at = shown.find('\b')) != std::string::npos && at > 0;) {
                shown.erase(at - 1, 2);
            }
            BOOST_TEST(contains(shown, "tessera-" + std::string(command.name) + " - "), shown);
            for (const auto& option : text.options.options()) {
                BOOST_TEST(contains(shown, "--" + option.name), option.name);
                // Long names of two letters are no letters.
                BOOST_TEST(!contains(shown, " " + option.name + ", --"), shown);
            }
        }
    }
    BOOST_TEST(invoke({"man"}).prints(".SH COMMANDS"));
    BOOST_TEST(invoke({"man", "nothing"}).code == 2);
}

// In bash: a table of what is typed and what is offered. The function asks `tessera` for names, so
// a stand-in with that name prints some.
BOOST_AUTO_TEST_CASE(bash_completes_commands_options_and_names) {
    const Folder folder;
    const std::string script = folder.file("tessera.bash", invoke({"completion", "bash"}).out);
    const auto offered = [&](const std::string& words) {
        return printed_by("bash -c '. " + script +
                          "; tessera() { [ \"$2\" = words ] && echo \"name-of-$3\"; }; "
                          "COMP_WORDS=(" +
                          words +
                          "); COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 )); _tessera; "
                          "printf \"%s\\n\" \"${COMPREPLY[@]}\"'");
    };
    BOOST_TEST(offered("tessera ma") == "map\nman\n");
    BOOST_TEST(offered("tessera map --mapp") == "--mapper\n");
    BOOST_TEST(offered("tessera map --max-ev") == "--max-evals\n");
    BOOST_TEST(offered("tessera map -a name") == "name-of-arch\n");
    BOOST_TEST(offered("tessera model --workload name") == "name-of-workload\n");
    BOOST_TEST(offered("tessera map --mapper n") == "name-of-mapper\n");
    BOOST_TEST(offered("tessera map --metric ed") == "edp\n");
    BOOST_TEST(offered("tessera map --metric energy,lat") == "energy,latency\n");
    BOOST_TEST(offered("tessera model --by component,einsum,te") == "component,einsum,tensor\n");
    BOOST_TEST(offered("tessera model b") == "\n");
    BOOST_TEST(offered("tessera map --einsum-orders f") == "file\n");
    BOOST_TEST(offered("tessera map --knob n") == "name-of-knob\n");
    BOOST_TEST(offered("tessera map --knob search.strategy = ") == "name-of-value\n");
    BOOST_TEST(offered("tessera map --knob search.strategy = n") == "name-of-value\n");
    BOOST_TEST(offered("tessera map -D n") == "name-of-define\n");
    BOOST_TEST(offered("tessera init wo") == "workload\n");
    BOOST_TEST(offered("tessera help sh") == "show\n");
    for (const char* shell : {"zsh", "fish"}) {
        const std::string text = invoke({"completion", shell}).out;
        for (const auto& command : command_table()) {
            const auto own = command.text();
            for (const auto& option : own.options.options()) {
                BOOST_TEST(contains(text, option.name), shell << option.name);
            }
        }
    }
    BOOST_TEST(invoke({"completion", "words", "arch"}).prints("eyeriss\n"));
    BOOST_TEST(invoke({"completion", "words", "mapper"}).prints("ffm\n"));
    BOOST_TEST(invoke({"completion", "words", "knob"}).prints("annealing."));
    BOOST_TEST(invoke({"completion", "words", "value", "transfusion.tiles"}).out ==
               "free\ntileseek\n");
    const Outcome values = invoke({"completion", "words", "knob-values"});
    BOOST_TEST(values.prints("transfusion.tiles=\ntransfusion.tiles=free\n"));
    const Outcome defines = invoke(
        {"completion", "words", "define", "tessera", "map", "-a", "tpu-v4i", "-w", "gpt3-6.7b"});
    BOOST_TEST(defines.prints("TOKENS=\n"), defines.out);
    BOOST_TEST(invoke({"completion", "words", "define", "map", "-a", "none", "-w"}).out == "");
    BOOST_TEST(invoke({"completion", "csh"}).code == 2);
}

// The commands of examples/README.md.
BOOST_AUTO_TEST_CASE(the_timeloop_example_costs_what_its_readme_says) {
    const Folder folder;
    const std::string from = tessera::test::test_folder() + "/../examples/timeloop/";
    const auto run = [&](const char* program, const char* last, const char* out) {
        std::filesystem::create_directories(folder.at(out));
        std::ostringstream text, err;
        const int code = tessera::cli::run_timeloop(
            program, {"-o", folder.at(out), from + "arch.yaml", from + "conv.yaml", from + last},
            text, err);
        BOOST_TEST(code == 0, err.str());
        return folder.read(std::string(out) + "/" + program + ".stats.txt");
    };
    // 8 x 8 x 3 x 3 x 16 x 32 computes on 16 elements. From DRAM, 200 pJ a word: 4608 weights
    // for each of 8 rows, 3 rows of 10 x 16 inputs each, 2048 outputs.
    const std::string model = run("timeloop-model", "mapping.yaml", "model");
    BOOST_TEST(contains(model, "Computes = 294912\n"));
    BOOST_TEST(contains(model, "Cycles: 18432\n"));
    const double dram_fj = 2e5 * (4608 * 8 + 8 * 3 * 10 * 16 + 2048) / 294912;
    char line[64];
    std::snprintf(line, sizeof line, "DRAM                     = %.2f", dram_fj);
    BOOST_TEST(contains(model, line), model);
    BOOST_TEST(contains(model, "Energy: 10.52 uJ"));
    const std::string mapper = run("timeloop-mapper", "mapper.yaml", "mapper");
    BOOST_TEST(contains(mapper, "Energy: 2.66 uJ"), mapper.substr(mapper.find("Summary")));
}

BOOST_AUTO_TEST_CASE(the_study_of_a_chip_of_ones_own_runs) {
    const Folder folder;
    const std::string chip = tessera::test::test_folder() + "/../examples/study/chip.yaml";
    const std::vector<std::string> on = {"-a",          chip, "-w",    "matmuls", "-D",
                                         "N_EINSUMS=3", "-D", "M=512", "-D",      "KN=512"};
    std::vector<std::string> sweep = {"sweep"}, fused = {"map", "-q"};
    sweep.insert(sweep.end(), on.begin(), on.end());
    sweep.insert(sweep.end(),
                 {"-D", "BUFFER_SIZE=262144:4194304:*4", "-D", "ROWS=8,16,32", "-q", "--json"});
    const Outcome swept = invoke(sweep);
    BOOST_REQUIRE_MESSAGE(swept.code == 0, swept.err);
    BOOST_TEST(swept.json()["points"].size() == 9u);
    fused.insert(fused.end(), on.begin(), on.end());
    std::vector<std::string> apart = fused;
    apart.insert(apart.end(), {"--unfused", "-o", folder.at("apart")});
    fused.insert(fused.end(), {"-o", folder.at("fused")});
    BOOST_TEST(invoke(fused).code == 0);
    BOOST_TEST(invoke(apart).code == 0);
    BOOST_TEST(invoke({"report", folder.at("fused"), folder.at("apart")}).code == 0);
}

// The time left is a range, or nothing where none is known; a total that is passed already is not
// shown.
BOOST_AUTO_TEST_CASE(progress_on_the_screen_is_what_one_can_trust) {
    const Folder folder;
    const auto shown = [&](std::uint64_t done, std::uint64_t total, double seconds, int passes,
                           tessera::telemetry::RestView rest = {}) {
        tessera::telemetry::Snapshot s;
        s.run.id = "test";
        s.run.metrics = {"edp"};
        s.state = tessera::telemetry::RunState::finished;
        s.phases.push_back({"search", "templates", done, total, seconds, passes, true});
        s.rest = rest;
        folder.file("status.json", tessera::telemetry::to_json(s) + "\n");
        return invoke({"top", "--once", "--size", "80x24", folder.at("")}).out;
    };
    const std::string known = shown(10, 40, 20, 1, {30.0, 120.0});
    BOOST_TEST(contains(known, "search 10/40, 25.0%"), known);
    BOOST_TEST(contains(known, "left   30s to 2m"), known);
    BOOST_TEST(contains(shown(46, 46, 60, 1), "search 46/46"));
    for (const std::string& frame : {shown(46, 46, 60, 1), shown(39, 40, 10, 1),
                                     shown(10, 40, 20, 3), shown(110, 46, 60, 1)}) {
        BOOST_TEST(!contains(frame, "left "), frame);
    }
    BOOST_TEST(contains(shown(110, 46, 60, 1), "search 110 templates"));
    BOOST_TEST(!contains(shown(110, 46, 60, 1), "110/46"));
    BOOST_TEST(contains(shown(10, 40, 20, 3), "pass 3"));
}
