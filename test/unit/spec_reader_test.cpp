#include "spec/reader.hpp"

#include <boost/test/unit_test.hpp>

using namespace tessera;
using namespace tessera::spec;

BOOST_AUTO_TEST_CASE(positions_paths_tags_and_quoting_are_kept) {
    const Node root = read_text(
        "arch:\n"
        "  nodes:\n"
        "  - !Memory\n"
        "    name: DRAM\n"
        "    size: 'inf'\n"
        "  - !Compute {name: MAC, spatial: [{name: X, fanout: 4}]}\n",
        "a.yaml");
    const Node& nodes = *root.find("arch")->find("nodes");
    BOOST_REQUIRE(nodes.items.size() == 2);
    BOOST_TEST(nodes.items[0].tag == "!Memory");
    BOOST_TEST(nodes.items[1].tag == "!Compute");
    BOOST_TEST(!nodes.items[0].find("name")->quoted);
    BOOST_TEST(nodes.items[0].find("size")->quoted);
    const Node& fanout = *nodes.items[1].find("spatial")->items[0].find("fanout");
    BOOST_TEST(fanout.path == "arch.nodes[1].spatial[0].fanout");
    BOOST_TEST(fanout.position.text() == "a.yaml:6:54");
    BOOST_TEST(nodes.items[0].find_entry("size")->key_position.text() == "a.yaml:5:5");
}

BOOST_AUTO_TEST_CASE(merge_keys_are_shallow_and_explicit_keys_win) {
    const Node root = read_text(
        "base: &base {a: 1, b: {x: 1, y: 2}}\n"
        "more: &more {a: 5, c: 6}\n"
        "use:\n"
        "  <<: [*base, *more]\n"
        "  b: {x: 3}\n",
        "a.yaml");
    const Node& use = *root.find("use");
    BOOST_TEST(use.find("a")->text == "1");
    BOOST_TEST(use.find("c")->text == "6");
    BOOST_TEST(use.find("b")->find("x")->text == "3");
    BOOST_TEST(use.find("b")->find("y") == nullptr);
    // What came by merging keeps the place where it was written.
    BOOST_TEST(use.find("c")->position.line == 2);
    BOOST_TEST(use.find("c")->path == "use.c");
}

BOOST_AUTO_TEST_CASE(null_is_not_the_complement_operator) {
    const Node root = read_text("a: ~\nb: ~Intermediates\nc:\n", "a.yaml");
    BOOST_TEST(root.find("a")->is_null());
    BOOST_TEST(root.find("b")->text == "~Intermediates");
    BOOST_TEST(root.find("c")->is_null());
}

BOOST_AUTO_TEST_CASE(aliases_cannot_expand_without_bound) {
    std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 9; ++i) {
        const std::string before = "*a" + std::to_string(i - 1);
        text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
        for (int j = 0; j < 10; ++j) {
            text += before + ", ";
        }
        text += "]\n";
    }
    BOOST_CHECK_THROW(read_text(text, "bomb.yaml"), UserError);
}

BOOST_AUTO_TEST_CASE(deep_nesting_is_refused) {
    BOOST_CHECK_THROW(read_text(std::string(100000, '['), "deep.yaml"), UserError);
}

namespace {

std::string refusal(const std::string& text) {
    try {
        read_text(text, "a.yaml");
    } catch (const UserError& error) {
        return error.what();
    }
    return "";
}

std::string times(int count, const std::string& text) {
    std::string result;
    for (int i = 0; i < count; ++i) {
        result += text;
    }
    return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_map_has_an_end) {
    std::string text;
    for (int i = 0; i < 200'000; ++i) {
        text += "k" + std::to_string(i) + ": 1\n";
    }
    BOOST_TEST(refusal(text) == "a.yaml:10001:1: a map has more than 10000 keys: 'k10000'");
}

BOOST_AUTO_TEST_CASE(nested_anchors_do_not_multiply_what_is_below_them) {
    std::string text = "a: ";
    for (int i = 0; i < 300; ++i) {
        text += "[&a" + std::to_string(i) + " ";
    }
    text += "[" + times(20'000, "1, ") + "1]" + times(300, "]");
    BOOST_TEST(refusal(text).find("250000 values") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(paths_stay_short) {
    const Node root = read_text(times(900, "k") + ": {a: [1, {b: 2}]}\n", "a.yaml");
    const Node& last = *root.entries[0].value.find("a")->items[1].find("b");
    BOOST_TEST(last.path.size() < 300u);
    BOOST_TEST(last.path.ends_with("kkk.a[1].b"));
}

BOOST_AUTO_TEST_CASE(messages_quote_long_values_in_part) {
    const std::string text = times(300, "\xc3\xa4");
    const std::string message = complaint_text("a", {"no", text, "", ""});
    BOOST_TEST(message == "a: no: '" + text.substr(0, 200) + "...'");
    BOOST_TEST(complaint_text("", {"no", "x" + text, "", ""}) ==
               "no: 'x" + text.substr(0, 198) + "...'");
}
