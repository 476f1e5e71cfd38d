#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

#include "spec/reader.hpp"
#include "tessera/mapping/mapping.hpp"

using namespace tessera;
using namespace tessera::mapping;

namespace {

Mapping read(const std::string& nodes) {
    spec::Node root = spec::read_text("mapping:\n  nodes:\n" + nodes, "m.yaml");
    spec::assign_paths(root);
    return read_mapping(*root.find("mapping"));
}

std::string error(const std::string& nodes) {
    try {
        read(nodes);
    } catch (const UserError& e) {
        return e.what();
    }
    return "no error";
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

const std::string compute = "  - !Compute {einsum: E, component: MAC}\n";

const std::string everything =
    "  - !Storage {tensors: [A, B], component: Main, persistent: True}\n"
    "  - !Storage {tensors: [A], component: Buffer, lower: False, einsums: [E]}\n"
    "  - !Temporal {rank_variable: {E: m, F: p}, tile_shape: {E: 4, F: 2}}\n"
    "  - !Temporal {rank_variable: {E: m, F: p}, tile_shape: 1}\n"
    "  - !Temporal {rank_variable: [m, n], tile_shape: 8}\n"
    "  - !Sequential\n"
    "    nodes:\n"
    "    - !Nested\n"
    "      nodes:\n"
    "      - !Toll {tensors: [A], component: Link, lower: False}\n"
    "      - !Spatial {rank_variable: n, tile_shape: 1, name: X, component: Array}\n"
    "      - !Compute {einsum: E, component: MAC}\n"
    "    - !Nested\n"
    "      nodes:\n"
    "      - !Compute {einsum: F, component: \"true\"}\n";

}  // namespace

BOOST_AUTO_TEST_CASE(every_kind_of_node_survives_reading_and_writing) {
    BOOST_TEST(to_yaml(read(everything)) == "mapping:\n  nodes:\n" + everything);
}

BOOST_AUTO_TEST_CASE(block_style_and_sets_of_variables_are_read) {
    const Mapping mapping = read(
        "  - !Temporal\n    rank_variable: !!set {? m, ? p}\n    tile_shape: 2 * 3\n" + compute);
    const TreeNode& loop = mapping.root.children.front();
    BOOST_TEST(loop.rank_variables.size() == 2U);
    BOOST_TEST(loop.tile_shape == 6);
    BOOST_TEST(loop.uses.empty());
    BOOST_TEST(loop.where.line == 3);
}

BOOST_AUTO_TEST_CASE(reservations_are_dropped) {
    const Mapping mapping = read("  - !Reservation {purposes: [A], resource: Main}\n" + compute);
    BOOST_TEST(mapping.root.children.size() == 1U);
}

BOOST_AUTO_TEST_CASE(an_unknown_key_names_the_nearest) {
    const std::string text = error("  - !Storage {tensor: [A], component: Main}\n" + compute);
    BOOST_TEST(contains(text, "m.yaml:3:15"), text);
    BOOST_TEST(contains(text, "mapping.nodes[0]"), text);
    BOOST_TEST(contains(text, "did you mean 'tensors'?"), text);
}

BOOST_AUTO_TEST_CASE(an_unknown_tag_names_the_nearest) {
    const std::string text = error("  - !Storge {tensors: [A], component: Main}\n" + compute);
    BOOST_TEST(contains(text, "'!Storge'"), text);
    BOOST_TEST(contains(text, "did you mean '!Storage'?"), text);
}

BOOST_AUTO_TEST_CASE(a_node_without_a_tag_is_refused) {
    BOOST_TEST(contains(error("  - {tensors: [A], component: Main}\n" + compute), "no tag"));
}

BOOST_AUTO_TEST_CASE(a_missing_key_is_named) {
    BOOST_TEST(contains(error("  - !Temporal {rank_variable: m}\n" + compute), "'tile_shape'"));
}

BOOST_AUTO_TEST_CASE(tile_shapes_are_positive_integers) {
    BOOST_TEST(contains(error("  - !Temporal {rank_variable: m, tile_shape: 0}\n" + compute),
                        "must be positive: '0'"));
    BOOST_TEST(error("  - !Temporal {rank_variable: m, tile_shape: 1.5}\n" + compute) !=
               "no error");
    BOOST_TEST(error("  - !Temporal {rank_variable: m, tile_shape: many}\n" + compute) !=
               "no error");
}

BOOST_AUTO_TEST_CASE(branches_of_a_pipeline_run_one_einsum_each) {
    BOOST_TEST(contains(error("  - !Pipeline {nodes: []}\n"), "!Pipeline has no branches"));
    const std::string branch = "    - !Nested\n      nodes:\n      - !Compute {einsum: ";
    const std::string two = "  - !Pipeline\n    nodes:\n" + branch + "A, component: X}\n" +
                            branch + "B, component: Y}\n";
    BOOST_TEST(error(two) == "no error");
    BOOST_TEST(contains(error("  - !Pipeline\n    nodes:\n    - !Nested\n      nodes:\n"
                              "      - !Sequential\n        nodes:\n        - !Nested\n"
                              "          nodes: [!Compute {einsum: A, component: X}]\n"),
                        "split again"));
}

BOOST_AUTO_TEST_CASE(every_branch_ends_with_a_compute) {
    const std::string loop = "  - !Temporal {rank_variable: m, tile_shape: 1}\n";
    BOOST_TEST(contains(error(loop), "ends without a compute"));
    BOOST_TEST(contains(error(compute + loop), "after the end of its branch"));
    BOOST_TEST(contains(error("  - !Sequential {nodes: []}\n"), "no branches"));
    BOOST_TEST(
        contains(error("  - !Sequential\n    nodes:\n    - !Nested {nodes: []}\n"), "empty"));
    BOOST_TEST(
        contains(error("  - !Sequential\n    nodes:\n    - !Compute {einsum: E, component: M}\n"),
                 "must be a !Nested node"));
}

BOOST_AUTO_TEST_CASE(an_einsum_is_computed_once) {
    const std::string branch = "    - !Nested {nodes: [!Compute {einsum: E, component: MAC}]}\n";
    BOOST_TEST(
        contains(error("  - !Sequential\n    nodes:\n" + branch + branch), "computed twice"));
}

BOOST_AUTO_TEST_CASE(variable_and_tile_must_name_the_same_einsums) {
    BOOST_TEST(contains(
        error("  - !Temporal {rank_variable: {E: m, F: p}, tile_shape: {E: 4, G: 2}}\n" + compute),
        "same Einsums"));
}

BOOST_AUTO_TEST_CASE(a_file_of_several_sections_is_read) {
    const auto path = std::filesystem::temp_directory_path() / "tessera_mapping_sections.yaml";
    std::ofstream(path) << "variables: {T: 4}\narch: {nodes: []}\nmapping:\n  nodes:\n"
                           "  - !Temporal {rank_variable: m, tile_shape: T / 2}\n"
                        << compute;
    BOOST_TEST(load_mapping(path.string()).root.children.front().tile_shape == 2);
    BOOST_TEST(load_mapping(path.string(), {{"T", "16"}}).root.children.front().tile_shape == 8);
    std::filesystem::remove(path);
}

BOOST_AUTO_TEST_CASE(a_file_without_a_mapping_says_what_it_has) {
    const auto path = std::filesystem::temp_directory_path() / "tessera_mapping_none.yaml";
    std::ofstream(path) << "maping: {nodes: []}\n";
    BOOST_CHECK_EXCEPTION(load_mapping(path.string()), UserError, [](const UserError& e) {
        return contains(e.what(), "did you mean 'mapping' instead of 'maping'?");
    });
    std::filesystem::remove(path);
}

BOOST_AUTO_TEST_CASE(text_and_drawing_show_every_node) {
    const Mapping mapping = read(everything);
    const std::string text = to_text(mapping);
    for (const char* part : {"Main holds A B (persistent)", "Buffer holds A (for E only)",
                             "Link passes A", "m in tiles of 4 (E), p in tiles of 2 (F)",
                             "spatial n in tiles of 1 over Array.X", "compute E on MAC"}) {
        BOOST_TEST(contains(text, part), part << " is missing in\n" << text);
    }
    const std::string svg = to_svg(mapping);
    BOOST_TEST(svg.rfind("<svg xmlns=", 0) == 0U);
    BOOST_TEST(contains(svg, "<ellipse"));
    BOOST_TEST(contains(svg, "Array.X"));
    BOOST_TEST(contains(svg, "</svg>"));
}
