// Malformed input: each line of the table changes one thing in files that are right otherwise.
// Every case must exit 2, print nothing on stdout, say where and what on stderr, and leave no
// folder.
#include <boost/test/unit_test.hpp>

#include "cli/session.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera::cli_test;

namespace {

enum class File { arch, workload, mapping };

struct Case {
    const char* name;
    File file;
    std::string from, to;              ///< replaced once; `from` empty: `to` is the whole file
    std::vector<std::string> message;  ///< parts of the message
};

std::string changed(const std::string& text, const Case& one) {
    if (one.from.empty()) {
        return one.to;
    }
    const std::size_t at = text.find(one.from);
    BOOST_REQUIRE(at != std::string::npos);
    return std::string(text).replace(at, one.from.size(), one.to);
}

const std::vector<Case>& cases() {
    static const std::vector<Case> all = {
        // Files as such.
        {"empty file", File::arch, "", "", {"arch.yaml", "empty"}},
        {"only a comment", File::workload, "", "# nothing\n", {"workload.yaml", "empty"}},
        {"not UTF-8",
         File::arch,
         "Buffer",
         "Buf\xff\xfe"
         "fer",
         {"arch.yaml:", "UTF-8"}},
        {"NUL byte", File::workload, "Y,", std::string("Y\0,", 3), {"workload.yaml:"}},
        {"truncated list", File::arch, "", "arch:\n  nodes: [{name: Main,", {"arch.yaml:"}},
        {"truncated text",
         File::workload,
         "",
         "workload:\n  rank_sizes: {M: \"16",
         {"workload.yaml:"}},
        {"tab as indentation", File::mapping, "  nodes:", "\tnodes:", {"mapping.yaml:2"}},
        {"a key twice",
         File::arch,
         "    size: 4096",
         "    size: 4096\n    size: 4097",
         {"arch.yaml:", "size"}},
        {"two documents",
         File::workload,
         "",
         std::string(small_workload) + "---\n" + small_workload,
         {"workload.yaml", "document"}},
        {"undefined alias", File::arch, "4096", "*nothing", {"arch.yaml:"}},
        {"a file that includes itself",
         File::arch,
         "arch:",
         "include: arch.yaml\narch:",
         {"arch.yaml", "includ"}},
        {"a missing include",
         File::workload,
         "workload:",
         "include: none.yaml\nworkload:",
         {"none.yaml"}},
        {"a list for the whole file", File::workload, "", "- 1\n- 2\n", {"workload.yaml"}},
        {"no such section", File::workload, "workload:", "workloads:", {"workload"}},
        // Architecture.
        {"typo in a key",
         File::arch,
         "    size: 4096",
         "    sise: 4096",
         {"arch.yaml:8:", "sise", "size"}},
        {"unknown tag", File::arch, "- !Compute", "- !Computer", {"arch.yaml:13:", "!Computer"}},
        {"negative size", File::arch, "4096", "-4096", {"arch.yaml:10:", "-4096"}},
        {"text for a number", File::arch, "4096", "large", {"arch.yaml:10:", "large"}},
        {"division by zero", File::arch, "4096", "4096 / 0", {"arch.yaml:10:", "4096 / 0"}},
        {"unbalanced parenthesis", File::arch, "4096", "(4096", {"arch.yaml:10:", "(4096"}},
        {"a list for a number", File::arch, "4096", "[1, 2]", {"arch.yaml:10:"}},
        {"negative energy", File::arch, "energy: 10", "energy: -10", {"arch.yaml:6:", "-10"}},
        {"throughput zero", File::arch, "throughput: 1}", "throughput: 0}", {"arch.yaml:6:"}},
        {"a component without a name",
         File::arch,
         "    name: Buffer\n",
         "",
         {"arch.yaml:", "name"}},
        {"a name twice", File::arch, "name: Buffer", "name: Main", {"arch.yaml:", "Main"}},
        {"unknown tensor in a set",
         File::arch,
         "keep: ~Intermediates",
         "keep: ~Intermediate",
         {"arch.yaml:7:", "Intermediate", "Intermediates"}},
        {"unknown action",
         File::arch,
         "name: compute,",
         "name: comput,",
         {"arch.yaml:15:", "comput"}},
        {"no compute",
         File::arch,
         "  - !Compute\n    name: MAC\n    actions: [{name: compute, energy: 1, throughput: 1}]\n",
         "",
         {"arch.yaml", "ompute"}},
        // Workload.
        {"unknown key",
         File::workload,
         "rank_sizes:",
         "rank_size:",
         {"workload.yaml:2:", "rank_size"}},
        {"missing rank size", File::workload, ", N: 4", "", {"workload.yaml", "N"}},
        {"rank size zero", File::workload, "N: 4", "N: 0", {"workload.yaml:2:"}},
        {"fractional rank size", File::workload, "N: 4", "N: 4.5", {"workload.yaml:2:", "4.5"}},
        {"unknown variable in a size",
         File::workload,
         "N: 4",
         "N: TOKENS",
         {"workload.yaml:2:", "TOKENS"}},
        {"an Einsum twice",
         File::workload,
         "{name: Z, tensor_accesses",
         "{name: Y, tensor_accesses",
         {"workload.yaml:", "Y"}},
        {"other ranks elsewhere",
         File::workload,
         "{name: Y, projection: [m, n]}, {name: Z",
         "{name: Y, projection: [m]}, {name: Z",
         {"workload.yaml:", "Y"}},
        {"no output",
         File::workload,
         "{name: Z, projection: [m, n], output: True}",
         "{name: Z, projection: [m, n]}",
         {"workload.yaml:", "Z"}},
        {"not affine",
         File::workload,
         "projection: [k, n]",
         "projection: {K: k * n}",
         {"workload.yaml:"}},
        {"width missing",
         File::workload,
         "  bits_per_value: {All: 1}\n",
         "",
         {"workload.yaml", "bits_per_value"}},
        {"negative width", File::workload, "{All: 1}", "{All: -1}", {"workload.yaml:3:", "-1"}},
        // Mapping.
        {"unknown tensor", File::mapping, "[X, W, Z]", "[X, W, ZZ]", {"mapping.yaml:3:", "ZZ"}},
        {"unknown component",
         File::mapping,
         "component: Buffer",
         "component: Bufer",
         {"mapping.yaml:5:", "did you mean 'Buffer'?"}},
        {"unknown Einsum", File::mapping, "einsum: Z", "einsum: ZZ", {"mapping.yaml:16:", "ZZ"}},
        {"unknown rank variable",
         File::mapping,
         "rank_variable: k",
         "rank_variable: q",
         {"mapping.yaml:11:", "'q'"}},
        {"tile shape zero",
         File::mapping,
         "tile_shape: 1",
         "tile_shape: 0",
         {"mapping.yaml:4:", "'0'"}},
        {"no compute at the end",
         File::mapping,
         "      - !Compute {einsum: Z, component: MAC}\n",
         "",
         {"mapping.yaml:15:", "compute"}},
        {"unknown kind of node",
         File::mapping,
         "!Temporal",
         "!Temproal",
         {"mapping.yaml:4:", "did you mean '!Temporal'?"}},
    };
    return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(there_are_forty) {
    BOOST_TEST(cases().size() >= 40U);
}

BOOST_AUTO_TEST_CASE(the_unchanged_files_are_right) {
    const Folder folder;
    const Outcome outcome = invoke({"model", "-a", folder.file("arch.yaml", small_arch), "-w",
                                    folder.file("workload.yaml", small_workload), "-m",
                                    folder.file("mapping.yaml", fused_mapping)});
    BOOST_TEST(outcome.code == 0, outcome.err);
}

BOOST_AUTO_TEST_CASE(each_is_refused_with_place_and_reason) {
    for (const Case& one : cases()) {
        const Folder folder;
        const auto text = [&](File file, const std::string& right) {
            return file == one.file ? changed(right, one) : right;
        };
        const std::string arch = folder.file("arch.yaml", text(File::arch, small_arch));
        const std::string workload =
            folder.file("workload.yaml", text(File::workload, small_workload));
        const std::string mapping = folder.file("mapping.yaml", text(File::mapping, fused_mapping));
        std::vector<std::vector<std::string>> commands = {
            {"model", "-a", arch, "-w", workload, "-m", mapping, "--json"}};
        if (one.file != File::mapping) {
            commands.push_back(
                {"map", "-a", arch, "-w", workload, "--json", "-o", folder.at("run")});
        }
        for (const std::vector<std::string>& command : commands) {
            const Outcome outcome = invoke(command);
            BOOST_TEST_CONTEXT(one.name << " (" << command.front() << "): " << outcome.err) {
                BOOST_TEST(outcome.code == 2);
                BOOST_TEST(outcome.json()["status"] == "error");
                for (const std::string& part : one.message) {
                    BOOST_TEST(outcome.says(part), "'" << part << "' is missing");
                }
                BOOST_TEST(folder.entries() == 3U);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(an_include_cycle_over_two_files_names_the_chain) {
    const Folder folder;
    const std::string one =
        folder.file("one.yaml", std::string("include: two.yaml\n") + small_arch);
    folder.file("two.yaml", "include: one.yaml\n");
    const Outcome outcome = invoke({"check", "-a", one});
    BOOST_TEST(outcome.code == 2);
    BOOST_TEST(outcome.says("one.yaml"));
    BOOST_TEST(outcome.says("two.yaml"));
}
