// Malformed input: every case is refused with exit code 2 and a message that names the place, the
// value and the remedy.

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

#include "tessera/arch/architecture.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;
namespace data = boost::unit_test::data;
namespace fs = std::filesystem;

namespace {

/// A valid pair of files; every case changes one place.
const std::string good_arch =
    "arch:\n"                                                      // 1
    "  nodes:\n"                                                   // 2
    "  - !Memory\n"                                                // 3
    "    name: DRAM\n"                                             // 4
    "    size: inf\n"                                              // 5
    "    leak_power: 0\n"                                          // 6
    "    actions:\n"                                               // 7
    "    - {name: read, energy: 1, throughput: inf}\n"             // 8
    "    - {name: write, energy: 1, throughput: inf}\n"            // 9
    "    tensors: {keep: ~Intermediates, may_keep: All}\n"         // 10
    "  - !Container\n"                                             // 11
    "    name: PE\n"                                               // 12
    "    spatial:\n"                                               // 13
    "    - {name: X, fanout: 4, may_reuse: input}\n"               // 14
    "  - !Compute\n"                                               // 15
    "    name: MAC\n"                                              // 16
    "    actions: [{name: compute, energy: 1, throughput: 1}]\n";  // 17

const std::string good_workload =
    "variables: {SIZE: 8}\n"                               // 1
    "workload:\n"                                          // 2
    "  rank_sizes: {M: SIZE, K: 8, N: 16}\n"               // 3
    "  bits_per_value: {All: 8}\n"                         // 4
    "  einsums:\n"                                         // 5
    "  - name: Matmul\n"                                   // 6
    "    tensor_accesses:\n"                               // 7
    "    - {name: A, projection: [m, k]}\n"                // 8
    "    - {name: W, projection: [k, n]}\n"                // 9
    "    - {name: Z, projection: [m, n], output: True}\n"  // 10
    "    renames: {input: A, weight: W, output: Z}\n";     // 11

/// `text` so often, each with its number in place of #.
std::string numbered(int times, const std::string& text) {
    std::string out;
    for (int i = 0; i < times; ++i) {
        for (const char c : text) {
            out += c == '#' ? std::to_string(i) : std::string(1, c);
        }
    }
    return out;
}

struct Case {
    const char* name;
    bool arch;         ///< which of the two files is changed
    std::string from;  ///< text to replace (once); "*" replaces everything
    std::string to;
    std::vector<std::string> parts;  ///< of the message; FILE stands for the file's path
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.name;
}

const std::vector<Case> cases = {
    // Bytes and YAML.
    {"empty file", true, "*", "", {"FILE: the file is empty", "a map such as 'arch:'"}},
    {"only comments", false, "*", "# nothing\n", {"FILE: the file is empty"}},
    {"nul byte",
     true,
     "*",
     std::string("arch:\n  a\0b: 1\n", 15),
     {"FILE:2:4: the file holds a NUL byte"}},
    {"not UTF-8",
     false,
     "Matmul",
     "Mat\xff",
     {"FILE:6:14: the file is not valid UTF-8: 'byte 0xff'", "iconv"}},
    {"overlong UTF-8",
     false,
     "Matmul",
     "\xc0\xaf",
     {"FILE:6:11: the file is not valid UTF-8: 'byte 0xc0'"}},
    {"truncated in a bracket",
     true,
     "MAC\n    actions: [{name: compute, energy: 1, throughput: 1}]\n",
     "MAC\n    actions: [{name: compute",
     {"FILE:17:", "not valid YAML", "brackets"}},
    {"truncated in quotes", false, "Matmul", "'Matmul", {"FILE:6:11: a quote is not closed"}},
    {"truncated in double quotes",
     true,
     "name: MAC",
     "name: \"MAC \\\"",
     {"FILE:16:11: a quote is not closed"}},
    {"tab indentation", true, "  nodes:", "\tnodes:", {"FILE:2:7: not valid YAML"}},
    {"wrong indentation",
     false,
     "  einsums:\n  - name",
     "  einsums:\n - name",
     {"FILE:6:", "not valid YAML"}},
    {"two documents",
     true,
     "  - !Container",
     "---\n  - !Container",
     {"FILE:12:", "second YAML document"}},
    {"duplicate key",
     true,
     "    leak_power: 0\n",
     "    size: 3\n",
     {"FILE:6:5: duplicate key: 'size'", "FILE:5:5; remove one of them"}},
    {"undefined alias", true, "size: inf", "size: *none", {"FILE:5:", "not valid YAML"}},
    {"alias inside itself",
     true,
     "*",
     "arch: &a [*a]\n",
     {"FILE:1:", "alias refers to the collection that contains it"}},
    {"a list instead of a map", false, "*", "- 1\n- 2\n", {"FILE:1:1: the file holds a list"}},
    {"plain text", true, "*", "hello\n", {"FILE:1:1: the file holds the text 'hello'"}},
    // Keys.
    {"typo in a section",
     true,
     "arch:",
     "arhc:",
     {"FILE:1:1: arhc: unknown key of a spec file: 'arhc'", "did you mean 'arch'?"}},
    {"section missing", false, "*", "arch: {nodes: []}\n", {"FILE:1:1: the file has no workload"}},
    {"typo in a component key",
     true,
     "leak_power",
     "leek_power",
     {"FILE:6:5: arch.nodes[0].leek_power: unknown key of a memory: 'leek_power'",
      "did you mean 'leak_power'?"}},
    {"typo in a spatial key",
     true,
     "fanout",
     "fanuot",
     {"FILE:14:7: arch.nodes[1].spatial[0]: a spatial dimension lacks the key 'fanout'; is "
      "'fanuot' meant"}},
    {"typo in an Einsum key",
     false,
     "renames",
     "renams",
     {"FILE:11:5: workload.einsums[0].renams: unknown key of an Einsum: 'renams'",
      "did you mean 'renames'?"}},
    {"unknown node kind",
     true,
     "!Memory",
     "!Memmory",
     {"FILE:3:", "arch.nodes[0]: unknown kind of node: '!Memmory'", "did you mean '!Memory'?"}},
    {"untagged node",
     true,
     "  - !Memory\n    name",
     "  - name",
     {"FILE:3:5: arch.nodes[0]: the node has no kind"}},
    {"missing name",
     true,
     "    name: PE\n",
     "",
     {"FILE:", "arch.nodes[1]: a container lacks the key 'name'"}},
    {"missing value",
     true,
     "size: inf",
     "size:",
     {"FILE:5:5: arch.nodes[0].size: the value is missing"}},
    // Values.
    {"negative size",
     true,
     "size: inf",
     "size: -64",
     {"FILE:5:11: arch.nodes[0].size: out of range: '-64' (expected a number or inf from 0 to "
      "1e+24)"}},
    {"text for a number",
     true,
     "size: inf",
     "size: 'big'",
     {"FILE:5:11: arch.nodes[0].size: this is text: 'big' (expected a number)"}},
    {"a list for a number",
     true,
     "leak_power: 0",
     "leak_power: [1, 2]",
     {"FILE:6:17: arch.nodes[0].leak_power: this is a list"}},
    {"a map for a number",
     true,
     "leak_power: 0",
     "leak_power: {a: 1}",
     {"FILE:6:17: arch.nodes[0].leak_power: a value is needed here, not a map"}},
    {"infinite energy",
     true,
     "read, energy: 1",
     "read, energy: inf",
     {"FILE:8:28: arch.nodes[0].actions[0].energy: out of range: 'inf'"}},
    {"zero throughput",
     true,
     "throughput: 1}",
     "throughput: 0}",
     {"FILE:17:", "throughput: out of range: '0'", "from 1e-24"}},
    {"more dimensions than are told apart",
     true,
     "    - {name: X, fanout: 4, may_reuse: input}\n",
     numbered(17, "    - {name: X#, fanout: 2}\n"),
     {"FILE:30:7: arch.nodes[1].spatial[16]: ", "'X16'", "at most 16", "!Container"}},
    {"more levels than are told apart",
     true,
     "  - !Compute\n",
     numbered(126, "  - !Container {name: C#, spatial: [{name: Y, fanout: 1}]}\n") +
         "  - !Compute\n",
     {"FILE:140:5: arch.nodes[127]: more levels stand above compute 'MAC'", "'C125'",
      "at most 127"}},
    {"fractional fanout",
     true,
     "fanout: 4",
     "fanout: 7 / 2",
     {"FILE:14:25: arch.nodes[1].spatial[0].fanout: not an integer (it evaluates to 3.5): '7 / "
      "2'"}},
    {"division by zero",
     true,
     "fanout: 4",
     "fanout: 4 // 0",
     {"FILE:14:25: arch.nodes[1].spatial[0].fanout: division by zero: '4 // 0'"}},
    {"syntax error in an expression",
     true,
     "leak_power: 0",
     "leak_power: 2 * (3 + 1",
     {"FILE:6:17: arch.nodes[0].leak_power: not an expression: expected ')'"}},
    {"unknown variable",
     false,
     "M: SIZE",
     "M: SISE",
     {"FILE:3:19: workload.rank_sizes.M: unknown name 'SISE'; did you mean 'SIZE'?"}},
    {"cycle of variables",
     false,
     "{SIZE: 8}",
     "{SIZE: OTHER + 1, OTHER: SIZE}",
     {"FILE:1:", "is defined by itself"}},
    {"cycle of rank sizes",
     false,
     "K: 8, N: 16",
     "K: N, N: K + 1",
     {"is defined by itself", "FILE:3:"}},
    // Workload.
    {"missing rank size",
     false,
     "K: 8, ",
     "",
     {"FILE:8:33: workload.einsums[0].tensor_accesses[0].projection[1]: the bound of rank variable "
      "'k' of Einsum 'Matmul'",
      "add the size of rank K to rank_sizes"}},
    {"misspelt rank size",
     false,
     "rank_sizes: {M: SIZE, K: 8",
     "rank_sizes: {M: SIZE, Kay: 8",
     {"the bound of rank variable 'k'"}},
    {"zero rank size",
     false,
     "K: 8",
     "K: 0",
     {"FILE:3:28: workload.rank_sizes.K: out of range: '0' (expected an integer >= 1)"}},
    {"rank size in lower case",
     false,
     "K: 8",
     "k: 8",
     {"FILE:3:25: workload.rank_sizes.k: the name of a rank begins with an upper-case letter: 'k'; "
      "write 'K'"}},
    {"unknown tensor in a rename",
     false,
     "input: A",
     "input: B",
     {"FILE:11:22: workload.einsums[0].renames.input: unknown name 'B'"}},
    {"no output",
     false,
     ", output: True",
     "",
     {"FILE:6:5: workload.einsums[0]: the Einsum has no output: 'Matmul'", "output: True"}},
    {"tensor twice",
     false,
     "name: W",
     "name: A",
     {"FILE:9:14: workload.einsums[0].tensor_accesses[1].name: the Einsum accesses this tensor "
      "twice: 'A'"}},
    {"no affine projection",
     false,
     "projection: [k, n]",
     "projection: {K: k * n}",
     {"FILE:9:33: workload.einsums[0].tensor_accesses[1].projection.K: not an affine expression: "
      "'k * n'"}},
    {"expression in a list projection",
     false,
     "[k, n]",
     "[k + n]",
     {"FILE:9:30:", "a list of rank variables cannot hold this: 'k + n'", "as a map"}},
    {"width missing",
     false,
     "{All: 8}",
     "{A | W: 8}",
     {"FILE:10:7: workload.einsums[0].tensor_accesses[2]: no width is given for tensor 'Z' in "
      "Einsum 'Matmul'"}},
    {"overlapping widths",
     false,
     "{All: 8}",
     "{All: 8, W: 4}",
     {"FILE:4:28: workload.bits_per_value.W: tensor 'W' is in two keys of this map"}},
    {"empty iteration space",
     false,
     "    renames",
     "    iteration_space_shape: [m > 20]\n    renames",
     {"FILE:", "the iteration space is empty"}},
    {"unbounded text shape",
     false,
     "    renames",
     "    iteration_space_shape: [m + 20]\n    renames",
     {"FILE:11:29: workload.einsums[0].iteration_space_shape[0]: not a description of an iteration "
      "space: 'm + 20'"}},
    // Architecture.
    {"two nodes of one name",
     true,
     "name: PE",
     "name: DRAM",
     {"FILE:12:11: arch.nodes[1].name: two nodes have this name: 'DRAM'"}},
    {"no compute", true, "!Compute", "!Memory", {"FILE:", "arch.nodes[2]"}},
    {"unknown set in may_reuse",
     true,
     "may_reuse: input",
     "may_reuse: inputs",
     {"FILE:14:39: arch.nodes[1].spatial[0].may_reuse: unknown name 'inputs'; did you mean "
      "'Inputs'?"}},
    {"unknown set in keep",
     true,
     "~Intermediates",
     "~Intermediate",
     {"FILE:10:21: arch.nodes[0].tensors.keep: unknown name 'Intermediate'",
      "did you mean 'Intermediates'?"}},
    {"unknown action",
     true,
     "name: write",
     "name: wriet",
     {"FILE:9:14: arch.nodes[0].actions[1].name: a memory has no such action: 'wriet'",
      "did you mean 'write'?"}},
    // Numbers that are too large.
    {"rank variable of 2^31 values",
     false,
     "SIZE: 8",
     "SIZE: 2147483648",
     {"FILE:8:30: workload.einsums[0].tensor_accesses[0].projection[0]: rank variable 'm' of "
      "Einsum "
      "'Matmul' runs over 2147483648 values",
      "(expected at most 2147483647); write it as two"}},
    {"too many points",
     false,
     "M: SIZE, K: 8, N: 16",
     "M: 2000000000, K: 2000000000, N: 3",
     {"FILE:6:5: workload.einsums[0]: Einsum 'Matmul' has too many points with all its instances: "
      "'1.2e+19' (expected at most 2^63)"}},
    {"coefficient beyond 2^53",
     false,
     "projection: [k, n]",
     "projection: {K: k, N: n + 1e30}",
     {"FILE:9:", "a coefficient or constant is larger than 2^53: 'n + 1e30'"}},
    {"width that overflows costs",
     false,
     "{All: 8}",
     "{All: 1e300}",
     {"FILE:4:25: workload.bits_per_value.All: out of range (it evaluates to 1e+300): '1e300' "
      "(expected a finite number "
      "from "
      "0 to 1e+24)"}},
    {"energy that overflows",
     true,
     "name: read, energy: 1,",
     "name: read, energy: 1e308,",
     {"FILE:8:28: arch.nodes[0].actions[0].energy: out of range (it evaluates to 1e+308): '1e308' "
      "(expected a finite number "
      "from 0 to 1e+24)"}},
    {"scales that overflow together",
     true,
     "energy: 1, throughput: inf}\n    - {name: write",
     "energy: 1e10, energy_scale: 1e20, throughput: inf}\n    - {name: write",
     {"FILE:8:7: arch.nodes[0]: the energy (J) of action 'read' of 'DRAM' is too large with all "
      "its "
      "scales: '1e+30' (expected at most 1e+24)"}},
    {"throughput that overflows time",
     true,
     "compute, energy: 1, throughput: 1}",
     "compute, energy: 1, throughput: 1e-300}",
     {"FILE:17:", "throughput: out of range: '1e-300' (expected a number or inf from 1e-24"}},
    {"latency factor that overflows",
     true,
     "    leak_power: 0\n",
     "    total_latency: 1e300 * max(a.n_calls for a in actions)\n",
     {"FILE:6:20: arch.nodes[0].total_latency: the latency has the factor 1e+300",
      "numbers up to 1e+24"}},
    {"fan-out of 2^31",
     true,
     "fanout: 4",
     "fanout: 2147483648",
     {"FILE:14:25: arch.nodes[1].spatial[0].fanout: out of range: '2147483648' (expected an "
      "integer "
      "from 1 to 2147483647)"}},
    {"too many instances",
     true,
     "{name: X, fanout: 4, may_reuse: input}",
     "{name: X, fanout: 2000000000}\n    - {name: Y, fanout: 2000000000}",
     {"FILE:15:", "the dimensions down to 'Y' have too many instances: '4e+18'", "at most 2^53"}},
    {"latency of an unknown action",
     true,
     "    leak_power: 0\n",
     "    total_latency: actions[\"raed\"].n_calls\n",
     {"FILE:6:20: arch.nodes[0].total_latency: there is no element 'raed'",
      "elements: read, write"}},
};

/// A folder that is removed at the end.
struct Folder {
    fs::path path;
    Folder() : path(fs::temp_directory_path() / ("tessera-error-" + std::to_string(::getpid()))) {
        fs::create_directories(path);
    }
    ~Folder() {
        fs::remove_all(path);
    }
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(path / name, std::ios::binary) << text;
        return (path / name).string();
    }
};

std::string replaced(const std::string& text, const std::string& from, const std::string& to) {
    if (from == "*") {
        return to;
    }
    const auto at = text.find(from);
    BOOST_REQUIRE_MESSAGE(at != std::string::npos, "the case replaces nothing");
    return text.substr(0, at) + to + text.substr(at + from.size());
}

/// Reads both files and evaluates every path. Returns the message, or "" if all is well.
std::string load(const std::string& arch_file, const std::string& workload_file) {
    try {
        const auto workload = workload::load_workload(workload_file, {});
        const auto architecture = arch::load_architecture(arch_file, {});
        for (const std::string& compute : architecture.compute_names()) {
            architecture.path(workload, 0, compute, arch::Compat::none);
        }
    } catch (const UserError& error) {
        BOOST_TEST(error.exit_code() == 2);
        return error.what();
    }
    return "";
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_unchanged_files_are_fine) {
    const Folder folder;
    BOOST_TEST(load(folder.write("a.yaml", good_arch), folder.write("w.yaml", good_workload)) ==
               "");
}

BOOST_AUTO_TEST_CASE(there_are_forty_cases_or_more) {
    BOOST_TEST(cases.size() >= 40);
}

BOOST_DATA_TEST_CASE(malformed_input_is_refused, data::make(cases), c) {
    const Folder folder;
    const std::string arch_file =
        folder.write("a.yaml", c.arch ? replaced(good_arch, c.from, c.to) : good_arch);
    const std::string workload_file =
        folder.write("w.yaml", c.arch ? good_workload : replaced(good_workload, c.from, c.to));
    const std::string message = load(arch_file, workload_file);
    for (std::string part : c.parts) {
        const std::string& file = c.arch ? arch_file : workload_file;
        for (auto at = part.find("FILE"); at != std::string::npos; at = part.find("FILE")) {
            part.replace(at, 4, file);
        }
        BOOST_TEST(message.find(part) != std::string::npos,
                   "missing: " << part << "\n  message: " << message);
    }
}

BOOST_AUTO_TEST_CASE(includes_that_fail_are_named) {
    const Folder folder;
    const std::string workload = folder.write("w.yaml", good_workload);
    const auto check = [&](const std::string& text, const std::string& part) {
        const std::string message = load(folder.write("a.yaml", text), workload);
        BOOST_TEST(message.find(part) != std::string::npos, message);
    };
    folder.write("b.yaml", "include: c.yaml\n");
    folder.write("c.yaml", "include: ./b.yaml\n");
    check("include: b.yaml\n", "c.yaml:1:10: include: the files include each other in a cycle: ");
    check("include: a.yaml\n", "cycle");
    check("include: none.yaml\n", "a.yaml:1:10: include: the included file does not exist");
    check("include: {a: 1}\n", "include needs a file name");
    folder.write("list.yaml", "- 1\n");
    check("include: list.yaml\n", "the included file holds a list");
    // Few files, yet each is included by the one before many times over.
    for (int i = 0; i < 8; ++i) {
        const std::string next = "n" + std::to_string(i + 1) + ".yaml";
        std::string text = "include: [" + next;
        for (int j = 0; j < 20; ++j) {
            text += ", " + next;
        }
        folder.write("n" + std::to_string(i) + ".yaml", text + "]\n");
    }
    folder.write("n8.yaml", "variables: {A: 1}\n");
    check("include: n0.yaml\n", "the includes bring more than 10000 files or 250000 values");
    // Each includes the next one.
    for (int i = 0; i < 5000; ++i) {
        folder.write("d" + std::to_string(i) + ".yaml",
                     "include: d" + std::to_string(i + 1) + ".yaml\n");
    }
    check("include: d0.yaml\n", "more than 100 files include each other");
}

BOOST_AUTO_TEST_CASE(directives_that_fail_are_named) {
    const Folder folder;
    const std::string arch = folder.write("a.yaml", good_arch);
    const auto check = [&](const std::string& item, const std::string& part) {
        const std::string text =
            replaced(good_workload, "  - name: Matmul", item + "\n  - name: Matmul");
        const std::string message = load(arch, folder.write("w.yaml", text));
        BOOST_TEST(message.find(part) != std::string::npos, message);
    };
    check("  - repeat: {variable: i, to: 1}",
          "w.yaml:6:13: workload.einsums[0].repeat: a repeat lacks the key 'body'");
    check("  - repeat: {variable: i, to: 1e8, body: []}", "more than a million repeats");
    check("  - repeat: {variable: i, to: 90000, body: [1, 2, 3, 4]}",
          "repeats expand to more than 250000 values");
    check("  - {name: E, repeat: {variable: i, to: 90000, body: {'E{i}': 1}}}",
          "a map has more than 10000 keys after expansion");
    check("  - repeat: {variable: i, to: 1, body: ['E{j}']}", "unknown name 'j'");
    check("  - repeat: {variable: i, to: 1, body: ['E{i']}", "a '{' is not closed");
    check("  - {when: MISSING, name: E}", "workload.einsums[0].when: unknown name 'MISSING'");
    check("  - repeat: {variable: i, too: 1, body: []}", "is 'too' meant to be 'to'?");
}

BOOST_AUTO_TEST_CASE(unreadable_files_are_named) {
    const Folder folder;
    const std::string workload = folder.write("w.yaml", good_workload);
    const std::string message = load((folder.path / "none.yaml").string(), workload);
    BOOST_TEST(message.find("none.yaml") != std::string::npos, message);
    BOOST_TEST(load(folder.path.string(), workload) != "");
    BOOST_CHECK_THROW(workload::load_workload((folder.path / "none").string(), {}), UserError);
}
