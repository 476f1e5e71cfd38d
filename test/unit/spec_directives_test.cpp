#include "tessera/spec/directives.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

#include "spec/reader.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;
using namespace tessera::spec;
namespace fs = std::filesystem;

namespace {

Document expand(const std::string& text, const Defines& defines = {}) {
    return expand_document(read_text(text, "t.yaml"), defines);
}

std::string texts(const Node& list) {
    std::string result;
    for (const Node& item : list.items) {
        result +=
            (result.empty() ? "" : " ") + (item.is_map() ? item.find("name")->text : item.brief());
    }
    return result;
}

/// A folder of its own that is removed at the end.
struct Folder {
    fs::path path =
        fs::temp_directory_path() / fs::path("tessera-spec-" + std::to_string(::getpid()));
    Folder() {
        fs::create_directories(path / "sub");
    }
    ~Folder() {
        fs::remove_all(path);
    }
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(path / name) << text;
        return (path / name).string();
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(variables_refer_to_each_other_and_are_overridden) {
    const std::string text = "variables: {A: B * 2, B: 3}\nworkload: {}\n";
    BOOST_TEST(Expression::parse_text("A", {}).number(expand(text).variables) == 6);
    BOOST_TEST(Expression::parse_text("A", {}).number(expand(text, {{"B", "2 ** 3"}}).variables) ==
               16);
    BOOST_TEST(Expression::parse_text("A", {}).number(expand(text, {{"A", "1"}}).variables) == 1);
}

BOOST_AUTO_TEST_CASE(repeat_in_lists_and_maps) {
    const Document document = expand(
        "variables: {N: 3}\n"
        "workload:\n"
        "  rank_sizes:\n"
        "    M: 5\n"
        "    repeat: {variable: i, from: 0, to: N, body: {'N{i}': 'KN{i}'}}\n"
        "  einsums:\n"
        "  - name: first\n"
        "  - repeat:\n"
        "      variable: i\n"
        "      to: N - 1\n"
        "      body:\n"
        "      - {name: 'T{i+1}', source: 'T{i}'}\n"
        "      - {name: 'U{2*i}'}\n"
        "  - repeat: {variable: i, from: 2, to: 1, body: [{name: none}]}\n");
    const Node& workload = *document.root.find("workload");
    BOOST_TEST(texts(*workload.find("einsums")) == "first T1 U0 T2 U2 T3 U4");
    BOOST_TEST(workload.find("einsums")->items[3].find("source")->text == "T1");
    BOOST_TEST(workload.find("einsums")->items[3].path == "workload.einsums[3]");
    BOOST_TEST(name_list(workload.find("rank_sizes")->keys()) == "M, N0, N1, N2, N3");
    BOOST_TEST(workload.find("rank_sizes")->find("N2")->text == "KN2");
}

BOOST_AUTO_TEST_CASE(repeats_nest) {
    const Document document = expand(
        "workload:\n"
        "  einsums:\n"
        "  - repeat:\n"
        "      variable: i\n"
        "      to: 1\n"
        "      body:\n"
        "      - repeat: {variable: j, to: i, body: [{name: 'E{i}_{j}'}]}\n");
    BOOST_TEST(texts(*document.root.find("workload")->find("einsums")) == "E0_0 E1_0 E1_1");
}

BOOST_AUTO_TEST_CASE(when_drops_items_and_entries) {
    const std::string text =
        "variables: {DECODE: False}\n"
        "workload:\n"
        "  einsums:\n"
        "  - {when: DECODE, name: K_cache}\n"
        "  - {when: not DECODE, name: K}\n"
        "  - when: DECODE\n"
        "    body:\n"
        "    - name: P\n"
        "    - name: Q\n"
        "  extra: {when: DECODE, x: 1}\n";
    const Document prefill = expand(text);
    BOOST_TEST(texts(*prefill.root.find("workload")->find("einsums")) == "K");
    BOOST_TEST(prefill.root.find("workload")->find("extra") == nullptr);
    const Document decode = expand(text, {{"DECODE", "1"}});
    BOOST_TEST(texts(*decode.root.find("workload")->find("einsums")) == "K_cache P Q");
    BOOST_TEST(name_list(decode.root.find("workload")->find("extra")->keys()) == "x");
}

BOOST_AUTO_TEST_CASE(include_merges_maps_and_splices_lists) {
    const Folder folder;
    folder.write("sub/base.yaml", "variables: {A: 1, B: 2}\nworkload: {bits: 8}\n");
    folder.write("sub/items.yaml", "- name: x\n- name: y\n");
    folder.write("sub/next.yaml", "include: base.yaml\nextra: 1\n");
    const std::string main = folder.write("main.yaml",
                                          "include: [sub/next.yaml]\n"
                                          "variables: {B: 5}\n"
                                          "list:\n- include: sub/items.yaml\n- name: z\n");
    const Document document = load_document({main}, {});
    BOOST_TEST(Expression::parse_text("A + B", {}).number(document.variables) == 6);
    BOOST_TEST(document.root.find("workload")->find("bits")->text == "8");
    BOOST_TEST(document.root.find("workload")->position.file ==
               (folder.path / "sub/base.yaml").string());
    BOOST_TEST(texts(*document.root.find("list")) == "x y z");
}

BOOST_AUTO_TEST_CASE(a_cycle_of_includes_names_the_chain) {
    const Folder folder;
    const std::string a = folder.write("a.yaml", "include: sub/b.yaml\n");
    folder.write("sub/b.yaml", "include: ../a.yaml\n");
    try {
        load_document({a}, {});
        BOOST_ERROR("no error");
    } catch (const UserError& error) {
        const std::string message = error.what();
        BOOST_TEST(message.find("cycle: " + a + " -> ") != std::string::npos, message);
        BOOST_TEST(message.find("sub/b.yaml:1:10") != std::string::npos, message);
    }
}

BOOST_AUTO_TEST_CASE(of_several_files_the_first_definition_counts) {
    const Folder folder;
    const std::string a = folder.write("a.yaml", "arch: {x: 1}\n");
    const std::string b = folder.write("b.yaml", "arch: {x: 2, y: 3}\nworkload: {z: 4}\n");
    const Document document = load_document({a, b}, {});
    BOOST_TEST(document.root.find("arch")->find("x")->text == "1");
    BOOST_TEST(document.root.find("arch")->find("y") == nullptr);
    BOOST_TEST(document.root.find("workload")->find("z")->text == "4");
}

BOOST_AUTO_TEST_CASE(undeclared_defines_name_the_nearest) {
    const Node root =
        read_text("variables: {BATCH: 1, TOKENS: 2}\narch: {variables: {BITS: 8}}\n", "t");
    const auto declared = declared_variables(root);
    check_defines({{"BITS", "16"}, {"BATCH", "2"}}, declared);
    BOOST_CHECK_EXCEPTION(
        check_defines({{"BATCHES", "2"}}, declared), UserError, [](const UserError& e) {
            return std::string(e.what()).find("did you mean 'BATCH'?") != std::string::npos;
        });
}

BOOST_AUTO_TEST_CASE(nested_repeats_cannot_run_without_end) {
    BOOST_CHECK_THROW(expand("workload:\n"
                             "  einsums:\n"
                             "  - repeat:\n"
                             "      variable: i\n"
                             "      to: 999999\n"
                             "      body: [{repeat: {variable: j, to: 999999, body: []}}]\n"),
                      UserError);
}
