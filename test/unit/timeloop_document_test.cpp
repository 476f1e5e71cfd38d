// Timeloop's input files as one tree: merging, spellings, libconfig, dialects, templates.
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "spec/reader.hpp"
#include "support/paths.hpp"
#include "tessera/arch/architecture.hpp"
#include "tessera/base/error.hpp"
#include "timeloop/read.hpp"

namespace {

using namespace tessera;
using namespace tessera::timeloop;

/// Files in a folder that disappears.
class Files {
public:
    Files()
        : folder_(std::filesystem::temp_directory_path() /
                  ("tessera-document-" + std::to_string(::getpid()))) {
        std::filesystem::create_directories(folder_);
    }
    ~Files() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    std::string add(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name) << text;
        return (folder_ / name).string();
    }

private:
    std::filesystem::path folder_;
};

std::string message(const std::vector<std::string>& files) {
    try {
        Warnings warnings;
        const Document document = read_document(files);
        read_problem(document, warnings);
        read_architecture(document, warnings);
    } catch (const UserError& error) {
        return error.what();
    }
    return "";
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

const char* const hyphens = R"(problem:
  shape:
    dimensions: [M, N, K]
    data-spaces:
    - {name: A, projection: [M, K]}
    - {name: B, projection: [K, N]}
    - {name: Z, projection: [[[M]], [[N]]], read-write: true}
  instance: {M: 4, N: 6, K: 8}
arch:
  arithmetic: {instances: 4, word-bits: 8}
  storage:
  - {name: RF, entries: 16, instances: 4, word-bits: 8, block-size: 2}
  - {name: DRAM, technology: DRAM, instances: 1, word-bits: 8, energy-per-hop: 0.5}
)";

const char* const libconfig_text = R"(# The same in libconfig.
problem = {
  shape = {
    dimensions = [ "M", "N", "K" ];
    data-spaces = ( { name = "A"; projection = [ "M", "K" ]; },
                    { name = "B"; projection = [ "K", "N" ]; },
                    { name = "Z"; projection = ( ( ("M") ), ( ("N") ) ); read-write = true; } );
  };
  instance = { M = 4; N = 6; K = 8; };
};
arch = {
  arithmetic = { instances = 4; word-bits = 8; };
  storage = ( { name = "RF"; entries = 16L; instances = 4; word-bits = 0x8; block-size = 2; },
              { name = "DRAM"; technology = "DRAM"; instances = 1; word-bits = 8;
                energy-per-hop = 0.5; } );
};
)";

void expect_gemm(const Document& document) {
    Warnings warnings;
    const Problem problem = read_problem(document, warnings);
    const Architecture arch = read_architecture(document, warnings);
    BOOST_TEST(problem.computes() == 192);
    BOOST_TEST(problem.data_spaces[2].read_write);
    double size = 1;
    for (const auto& rank : problem.data_spaces[1].ranks) {
        size *= rank_extent<double>(
            rank, [&](int d) { return static_cast<double>(problem.dimensions[d].bound - 1); });
    }
    BOOST_TEST(size == 48);
    BOOST_TEST(arch.arithmetic.word_bits == 8);
    BOOST_TEST(arch.storage[0].block_size == 2);
    BOOST_TEST(arch.storage[0].size.value() == 16);
    BOOST_TEST((arch.storage[1].technology == Technology::dram));
    BOOST_TEST(arch.storage[1].network.energy_per_hop_pj.value() == 0.5);
    BOOST_TEST(warnings.empty());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(timeloop_document)

BOOST_AUTO_TEST_CASE(c2_the_first_of_equal_keys_counts) {
    const Files files;
    const std::string first = files.add("a.yaml", "variables: {X: 1}\nmapper: {timeout: 7}\n");
    const std::string second = files.add("b.yaml", std::string("mapper: {timeout: 9}\n") + hyphens);
    const Document document = read_document({first, second});
    BOOST_TEST(document.root.find("mapper")->find("timeout")->text == "7");
    BOOST_TEST(document.warnings.empty());
    expect_gemm(document);
}

BOOST_AUTO_TEST_CASE(c2_anchors_of_one_file_serve_in_the_next) {
    const Files files;
    const std::string first = files.add("a.yaml", "base: &sizes {M: 4, N: 6, K: 8}\n");
    std::string text = hyphens;
    text.replace(text.find("{M: 4, N: 6, K: 8}"), 18, "*sizes");
    expect_gemm(read_document({first, files.add("b.yaml", text)}));
}

BOOST_AUTO_TEST_CASE(c2_places_name_the_file_they_are_in) {
    const Files files;
    const std::string first = files.add("a.yaml", "mapper: {}\n");
    std::string text = hyphens;
    text.replace(text.find("entries: 16"), 11, "entries: abc");
    const std::string second = files.add("b.yaml", text);
    BOOST_TEST(contains(message({first, second}), "b.yaml:12:"), message({first, second}));
    BOOST_TEST(contains(message({first, second}), "arch.storage[0].entries"));
}

BOOST_AUTO_TEST_CASE(c2_a_second_yaml_document_is_left_out_with_a_warning) {
    const Files files;
    const Document document =
        read_document({files.add("a.yaml", std::string("---\n") + hyphens + "---\nmapper: {}\n")});
    BOOST_TEST(document.root.find("mapper") == nullptr);
    BOOST_REQUIRE(document.warnings.size() == 1);
    BOOST_TEST(contains(document.warnings[0], "a.yaml:15:1"), document.warnings[0]);
}

BOOST_AUTO_TEST_CASE(c2_both_spellings_mean_the_same) {
    std::string text = hyphens;
    for (const auto& [from, to] :
         {std::pair{"data-spaces", "data_spaces"}, std::pair{"read-write", "read_write"},
          std::pair{"word-bits", "word_bits"}, std::pair{"block-size", "block_size"},
          std::pair{"energy-per-hop", "energy_per_hop"}}) {
        for (std::size_t at; (at = text.find(from)) != std::string::npos;) {
            text.replace(at, std::string(from).size(), to);
        }
    }
    expect_gemm(read_document_text(text, "a.yaml"));
    expect_gemm(read_document_text(hyphens, "a.yaml"));
}

BOOST_AUTO_TEST_CASE(c2_variables_stand_for_values) {
    std::string text = hyphens;
    text.replace(text.find("entries: 16"), 11, "entries: ROWS * 2");
    text.replace(text.find("M: 4"), 4, "M: ROWS / 2");
    text += "variables: {ROWS: 8}\n";
    expect_gemm(read_document_text(text, "a.yaml"));
}

BOOST_AUTO_TEST_CASE(c3_libconfig_means_the_same_as_yaml) {
    expect_gemm(read_document_text(libconfig_text, "a.cfg"));
}

BOOST_AUTO_TEST_CASE(c3_values_in_libconfig_have_places) {
    const Files files;
    std::string text = libconfig_text;
    text.replace(text.find("word-bits = 0x8"), 15, "word-bits = \"x\"");
    const std::string said = message({files.add("a.cfg", text)});
    BOOST_TEST(contains(said, "a.cfg:13:72: arch.storage[0].word-bits"), said);
    BOOST_TEST(contains(message({files.add("b.cfg", "problem = {\n  shape = ;\n")}), "b.cfg:2"));
}

BOOST_AUTO_TEST_CASE(native_files_may_be_libconfig) {
    const std::string yaml = R"(arch:
  name: tiny
  nodes:
  - !Memory
    name: M
    size: 2 * 8
    values: [1, 2.5, true]
)";
    const std::string cfg = R"(arch = {
  name = "tiny";
  nodes = ( { tag = "Memory"; name = "M"; size = "2 * 8"; values = [ 1.0, 2.5 ]; } );
};
)";
    const spec::Node from_yaml = spec::read_text(yaml, "a.yaml");
    const spec::Node from_cfg = spec::read_libconfig(cfg, "a.cfg");
    const spec::Node& one = from_yaml.find("arch")->find("nodes")->items[0];
    const spec::Node& other = from_cfg.find("arch")->find("nodes")->items[0];
    BOOST_TEST(one.tag == other.tag);
    BOOST_TEST(one.find("size")->text == other.find("size")->text);
    BOOST_TEST(other.find("size")->path == "arch.nodes[0].size");
    BOOST_TEST(other.find("size")->position.text() == "a.cfg:3:50");
    BOOST_TEST(other.find("values")->items[1].text == "2.5");
}

BOOST_AUTO_TEST_CASE(a_native_architecture_is_read_from_libconfig) {
    const Files files;
    const std::string path = files.add("chip.cfg", R"(variables = { WORDS = 1024; };
arch = {
  name = "chip";
  nodes = (
    { tag = "Memory"; name = "Main"; size = "inf"; leak_power = 0; area = 0;
      tensors = { keep = "All"; };
      actions = ( { name = "read"; energy = 1e-12; throughput = 1e9; },
                  { name = "write"; energy = 1e-12; throughput = 1e9; } ); },
    { tag = "Compute"; name = "MAC"; leak_power = 0; area = 0;
      actions = ( { name = "compute"; energy = 1e-12; throughput = 1e9; } ); } );
};
)");
    const arch::Architecture architecture = arch::load_architecture(path, {});
    BOOST_TEST(architecture.component_names().size() == 2U);
}

BOOST_AUTO_TEST_CASE(the_dialect_follows_the_spelling) {
    ::unsetenv("TESSERA_TIMELOOP_DIALECT");
    const auto dialect = [](const std::string& text) {
        return read_document_text(text, "a.yaml").dialect;
    };
    BOOST_TEST((dialect(hyphens) == Dialect::v3_0_3));
    BOOST_TEST((dialect("mapper: {num_threads: 1}\n") == Dialect::master));
    BOOST_TEST((dialect("mapper: {num_threads: 1, live-status: false}\n") == Dialect::v3_0_3));
    BOOST_TEST((dialect("mapper: {timeout: 1}\n") == Dialect::v3_0_3));
    BOOST_TEST((dialect("problem: {version: 0.4}\n") == Dialect::master));
    const Files files;
    const std::string path = files.add("parsed-processed-input.yaml", hyphens);
    BOOST_TEST((read_document({path}).dialect == Dialect::master));
}

BOOST_AUTO_TEST_CASE(the_environment_decides_the_dialect_first) {
    ::setenv("TESSERA_TIMELOOP_DIALECT", "master", 1);
    BOOST_TEST((read_document_text(hyphens, "a.yaml").dialect == Dialect::master));
    ::setenv("TESSERA_TIMELOOP_DIALECT", "2.0", 1);
    BOOST_CHECK_THROW(read_document_text(hyphens, "a.yaml"), UserError);
    ::unsetenv("TESSERA_TIMELOOP_DIALECT");
}

BOOST_AUTO_TEST_CASE(other_files_are_included_as_in_the_exercises) {
    const Files files;
    files.add("base.yaml", "ignored: &base\n  shape: {a: 1}\n  instance: {C: 1, M: 1}\n");
    const std::string path = files.add("layer.yaml", R"({{include_text('base.yaml')}}
problem:
  <<<: *base
  instance: {C: 8, list: [1]}
)");
    const Document document = read_document({path});
    const spec::Node& problem = *document.root.find("problem");
    BOOST_TEST(problem.find("instance")->find("C")->text == "8");
    BOOST_TEST(problem.find("instance")->find("M")->text == "1");
    BOOST_TEST(problem.find("shape")->find("a")->text == "1");
    BOOST_TEST(contains(problem.find("instance")->find("C")->position.text(), "layer.yaml:4:"));
    BOOST_TEST(contains(problem.find("instance")->find("M")->position.text(), "base.yaml:3:"));
}

BOOST_AUTO_TEST_CASE(includes_cannot_multiply_without_bound) {
    const Files files;
    for (int i = 0; i < 8; ++i) {
        std::string text;
        for (int j = 0; j < 20; ++j) {
            text += "{{include_text('n" + std::to_string(i + 1) + ".yaml')}}\n";
        }
        files.add("n" + std::to_string(i) + ".yaml", text);
    }
    files.add("n8.yaml", "# nothing\n");
    const std::string said = message({files.add("a.yaml", "{{include_text('n0.yaml')}}\n")});
    BOOST_TEST(contains(said, "more than 1000 files"), said);
}

BOOST_AUTO_TEST_CASE(a_permutation_keeps_its_place) {
    const std::string path = test::test_folder() + "/reference/timeloop/front_end/";
    std::string text = spec::read_bytes(path + "gemm-bypass/spec.yaml");
    const std::size_t at = text.find("permutation:");
    BOOST_REQUIRE(at != std::string::npos);
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<long>(at), '\n');
    text.replace(at, text.find_first_of(",}\n", at) - at, "permutation: Xx");
    const Files files;
    try {
        Warnings warnings;
        const Document document = read_document({files.add("spec.yaml", text)});
        const Problem problem = read_problem(document, warnings);
        const Architecture architecture = read_architecture(document, warnings);
        read_mapping(document, problem, architecture, warnings);
        BOOST_ERROR("accepted");
    } catch (const UserError& error) {
        BOOST_TEST(contains(error.what(), "spec.yaml:" + std::to_string(line) + ":"), error.what());
    }
}

BOOST_AUTO_TEST_CASE(other_templates_are_refused_with_their_place) {
    const Files files;
    const std::string said = message({files.add("a.yaml", "problem:\n  a: {{ size }}\n")});
    BOOST_TEST(contains(said, "a.yaml:2:6"), said);
    BOOST_TEST(contains(said, "parsed-processed-input.yaml"), said);
}

BOOST_AUTO_TEST_CASE(timeloops_files_are_told_from_native_ones) {
    const Files files;
    BOOST_TEST(is_timeloop_file(files.add("a.yaml", hyphens)));
    BOOST_TEST(is_timeloop_file(files.add("a.cfg", libconfig_text)));
    BOOST_TEST(is_timeloop_file(files.add("m.yaml", "mapping:\n- {target: A, type: temporal}\n")));
    BOOST_TEST(!is_timeloop_file(files.add("n.yaml", "arch: {name: x, nodes: []}\n")));
    BOOST_TEST(!is_timeloop_file(files.add("w.yaml", "workload: {einsums: []}\n")));
    BOOST_TEST(!is_timeloop_file("no/such/file.yaml"));
}

BOOST_AUTO_TEST_SUITE_END()
