// Mappings of ZigZag as LoopTrees: one that ZigZag itself found, one by hand, what has no
// counterpart.
#include "mapping/zigzag.hpp"

#include <boost/test/unit_test.hpp>

#include "spec/reader.hpp"
#include "support/zigzag_layer.hpp"
#include "tessera/base/error.hpp"
#include "tessera/model/cost_model.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/spec/directives.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;

namespace {

struct Layer {
    workload::Workload workload;
    arch::Architecture architecture;

    explicit Layer(const std::string& size)
        : workload(workload::read_workload(
              spec::expand_document(spec::read_text(text(size), "layer.yaml"), {}))),
          architecture(spec::read_text(text(size), "layer.yaml"), {}) {}

    std::string converted(const std::string& json) const {
        return mapping::to_yaml(mapping::from_zigzag(json, "out.json", workload, architecture));
    }
    std::string refusal(const std::string& json) const {
        try {
            return "no error: " + converted(json);
        } catch (const UserError& error) {
            return error.what();
        }
    }

private:
    static std::string text(const std::string& size) {
        std::string text = testing::zigzag_spec;
        for (std::size_t at = 0; (at = text.find("SIZE", at)) != std::string::npos;) {
            text.replace(at, 4, size);
        }
        return text;
    }
};

bool says(const std::string& text, const std::string& what) {
    return text.find(what) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(zigzag)

// ZigZag 3.9.1 found this for a product of 128 x 128 x 128 on a machine with these memories: its
// counts at the outermost one are 256 words of 512 bits for each of O, I and W, its arithmetic
// takes 83 886.08 pJ.
BOOST_AUTO_TEST_CASE(a_mapping_that_zigzag_found_has_its_counts) {
    const std::string json = testing::zigzag_found();
    BOOST_TEST(mapping::is_zigzag(json));
    const Layer layer("128");
    const mapping::Mapping found =
        mapping::from_zigzag(json, "out.json", layer.workload, layer.architecture);
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const model::Report report =
        model->evaluate({&layer.workload, &layer.architecture, arch::Compat::none}, found);
    // 256 reads each of I and W, 256 writes of O; 16 000 and 24 000 pJ.
    const double wanted_j = 1e-12 * (256 * (16000 + 16000 + 24000) + 83886.08);
    BOOST_TEST(report.energy_j() == wanted_j, boost::test_tools::tolerance(1e-9));
    BOOST_TEST(report.latency_s() == 1e-9 * 128 * 128 * 128 / 512,
               boost::test_tools::tolerance(1e-9));
}

// Each operand has loops of its own at each memory; the loops of all of them are one nest. d0 16 =
// 2 * 8 on the array, d1 16 = 4 * 4, d2 16 = 2 * 8.
BOOST_AUTO_TEST_CASE(uneven_memories_are_holders_at_different_depths) {
    const std::string temporal =
        R"x({"O": [["(D2, 2)"], ["(D1, 4)", "(D0, 2)"], ["(D2, 8)", "(D1, 4)"]],
      "I": [["(D2, 2)", "(D1, 4)", "(D0, 2)", "(D2, 8)"], ["(D1, 4)"]],
      "W": [["(D2, 2)", "(D1, 4)"], ["(D0, 2)", "(D2, 8)", "(D1, 4)"]]})x";
    const std::string wanted = R"(mapping:
  nodes:
  - !Storage {tensors: [O], component: L3}
  - !Storage {tensors: [I], component: L3}
  - !Storage {tensors: [W], component: L3}
  - !Temporal {rank_variable: d1, tile_shape: 4}
  - !Storage {tensors: [I], component: L1}
  - !Temporal {rank_variable: d2, tile_shape: 2}
  - !Storage {tensors: [O], component: L1}
  - !Temporal {rank_variable: d0, tile_shape: 8}
  - !Storage {tensors: [W], component: L1}
  - !Temporal {rank_variable: d1, tile_shape: 1}
  - !Spatial {rank_variable: d0, tile_shape: 1, component: Rows, name: D1}
  - !Storage {tensors: [O], component: Reg}
  - !Temporal {rank_variable: d2, tile_shape: 1}
  - !Compute {einsum: Gemm, component: MAC}
)";
    const Layer layer("16");
    const mapping::Mapping by_hand =
        mapping::read_mapping(*spec::read_text(wanted, "wanted").find("mapping"));
    BOOST_TEST(layer.converted(testing::zigzag_document(temporal, R"({"D1": {"D0": 8}})")) ==
               mapping::to_yaml(by_hand));
}

BOOST_AUTO_TEST_CASE(what_has_no_counterpart_is_named) {
    const Layer layer("16");
    const auto with = [](const std::string& o, const std::string& i, const std::string& w) {
        return "{\"O\": " + o + ", \"I\": " + i + ", \"W\": " + w + "}";
    };
    const std::string all = R"x("(D0, 16)", "(D1, 16)", "(D2, 16)")x";
    const std::string good =
        with("[[], [" + all + "], []]", "[[" + all + "], []]", "[[" + all + "], []]");
    BOOST_TEST(says(layer.converted(testing::zigzag_document(good, "{}")), "Gemm"));
    BOOST_TEST(says(layer.refusal(testing::zigzag_document(good, R"({"D7": {"D0": 2}})")),
                    "out.json: array dimension D7 has no counterpart"));
    BOOST_TEST(
        says(layer.refusal(testing::zigzag_document(good, R"({"D1": {"D0": 2}})")), "2 trips"));
    const std::string short_of = R"x("(D0, 16)", "(D1, 16)")x";
    BOOST_TEST(says(layer.refusal(testing::zigzag_document(
                        with("[[], [" + short_of + "], []]", "[[" + short_of + "], []]",
                             "[[" + short_of + "], []]"),
                        "{}")),
                    "leave 16 iterations over"));
    BOOST_TEST(
        says(layer.refusal(testing::zigzag_document(
                 with("[[], [" + all + "], []]", R"x([["(D1, 16)", "(D0, 16)", "(D2, 16)"], []])x",
                      "[[" + all + "], []]"),
                 "{}")),
             "different orders"));
    BOOST_TEST(says(
        layer.refusal(testing::zigzag_document(with("[[], []]", "[[], []]", "[[], []]"), "{}")),
        "operand O has 3 memories and loops for 2"));
    std::string other = testing::zigzag_document(good, "{}");
    other.replace(other.find("instance=reg"), 12, "instance=xyz");
    BOOST_TEST(says(layer.refusal(other), "memory xyz has no counterpart"));
    for (const std::string cut : {"\"layer\"", "\"accelerator\"", "\"memory_operand_links\"",
                                  "\"user_spatial_mapping\"", "\"mem_hierarchy_dict\""}) {
        std::string without = testing::zigzag_document(good, "{}");
        without.replace(without.find(cut), cut.size(), "\"x\"");
        BOOST_TEST(says(layer.refusal(without), "is missing"), cut);
    }
    for (const std::string loop : {"(D0)", "(D0, x)", "(D0, 0)", "(D0, -4)", "(D9, 16)", ""}) {
        std::string wrong = testing::zigzag_document(good, "{}");
        for (std::size_t at = 0; (at = wrong.find("(D0, 16)", at)) != std::string::npos;) {
            wrong.replace(at, 8, loop);
        }
        BOOST_TEST(!says(layer.refusal(wrong), "no error"), loop);
    }
    BOOST_TEST(!mapping::is_zigzag("mapping: {nodes: []}"));
    BOOST_TEST(!mapping::is_zigzag("{\"temporal_mapping\": 1}"));
    BOOST_TEST(!mapping::is_zigzag("{\"inputs\": {\"temporal_mapping\""));
}

BOOST_AUTO_TEST_SUITE_END()
