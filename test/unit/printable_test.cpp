// Foreign text on its way to a terminal, into JSON, SVG and YAML.
#include "base/printable.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "io/json_text.hpp"
#include "spec/reader.hpp"
#include "tessera/mapping/mapping.hpp"

using namespace tessera;

namespace {

// Control characters, C1, bidirectional override, line ends, broken UTF-8.
const std::string hostile = "a\x1b]0;T\x07\x7f\xc2\x9b\xe2\x80\xae\xe2\x80\xa8\r\nb: #c\t\"\\'<&";
const std::string broken = "\xe9 \xc3 \xf0\x9f\x98 \xed\xa0\x80 \xc0\xaf";

bool is_obedient(const std::string& text) {
    const std::u32string orders = U"\x1b\x07\x7f\x9b\x202e\x2028\r";
    for (std::size_t at = 0; at < text.size();) {
        const char32_t c = base::next_code_point(text, at);
        if (c == base::no_code_point || orders.find(c) != orders.npos) {
            return true;
        }
    }
    return false;
}

mapping::Mapping named(const std::string& name) {
    mapping::Mapping mapping;
    mapping.root.kind = mapping::TreeKind::nested;
    mapping::TreeNode storage, compute;
    storage.kind = mapping::TreeKind::storage;
    storage.tensors = {name};
    storage.component = compute.component = compute.einsum = name;
    compute.kind = mapping::TreeKind::compute;
    mapping.root.children = {storage, compute};
    return mapping;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(printable)

BOOST_AUTO_TEST_CASE(what_a_terminal_obeys_is_shown) {
    BOOST_TEST(base::printable("a\x1b[31m\x07") == "a\\u001b[31m\\u0007");
    BOOST_TEST(base::printable("\xc2\x9b\xe2\x80\xae") == "\\u009b\\u202e");
    BOOST_TEST(base::printable("two\nlines\t") == "two\nlines\t");
    BOOST_TEST(base::one_line("two\nlines\t") == "two\\nlines\\u0009");
    BOOST_TEST(base::printable("caf\xe9") == "caf\\xe9");
    BOOST_TEST(base::printable("Gr\xc3\xb6\xc3\x9f"
                               "e \xe2\x86\x92 \xf0\x9f\x98\x80") ==
               "Gr\xc3\xb6\xc3\x9f"
               "e \xe2\x86\x92 \xf0\x9f\x98\x80");
    for (const std::string& text : {hostile, broken}) {
        BOOST_TEST(is_obedient(text));
        BOOST_TEST(!is_obedient(base::printable(text)));
    }
    BOOST_TEST(!base::is_utf8(broken));
    BOOST_TEST(base::is_utf8(hostile));
}

BOOST_AUTO_TEST_CASE(a_stream_shows_what_comes_in_pieces) {
    std::ostringstream out;
    const std::string text = "\xe2\x86\x92 caf\xe9\x1b \xf0\x9f\x98\x80\xc3";
    {
        const base::PrintableOutput filter(out);
        for (const char c : text) {
            out << c << std::flush;
        }
        base::write_unchanged(out, "\x1b[0m");
    }
    out << "\x07";
    BOOST_TEST(out.str() == "\xe2\x86\x92 caf\\xe9\\u001b \xf0\x9f\x98\x80\x1b[0m\\xc3\x07");
}

BOOST_AUTO_TEST_CASE(json_that_is_printed_stays_the_same_document) {
    const io::Json json = {{"name", hostile}};
    const io::ParsedJson read = io::ParsedJson::parse(base::printable(io::dumped(json)));
    BOOST_TEST((base::written(read) == json));
    BOOST_CHECK_NO_THROW(io::dumped({{"name", broken}}));
    for (const std::string& text : {hostile, broken, std::string("/plain/path"), std::string()}) {
        const io::ParsedJson stored = io::ParsedJson::parse(io::dumped(io::exact(text)));
        BOOST_TEST((io::exact_text(stored) == text));
    }
    for (const char* wrong :
         {"3", "{}", "{\"bytes\": 3}", "{\"bytes\": \"0\"}", "[\"x\"]", "{\"bytes\": \"0g\"}"}) {
        BOOST_TEST(!io::exact_text(io::ParsedJson::parse(wrong)).has_value(), wrong);
    }
}

BOOST_AUTO_TEST_CASE(a_mapping_with_hostile_names_is_read_back) {
    const std::string yaml = mapping::to_yaml(named(hostile));
    BOOST_TEST(!is_obedient(yaml));
    spec::Node root = spec::read_text(yaml, "mapping.yaml");
    spec::assign_paths(root);
    const mapping::Mapping back = mapping::read_mapping(*root.find("mapping"));
    BOOST_REQUIRE_EQUAL(back.root.children.size(), 2U);
    BOOST_TEST(back.root.children[0].component == hostile);
    BOOST_TEST(back.root.children[0].tensors.front() == hostile);
    BOOST_TEST(back.root.children[1].einsum == hostile);
    BOOST_TEST(mapping::to_yaml(back) == yaml);
}

BOOST_AUTO_TEST_CASE(drawings_and_trees_of_hostile_names_are_well_formed) {
    for (const std::string& text : {hostile, broken}) {
        const std::string svg = mapping::to_svg(named(text));
        BOOST_TEST(!is_obedient(svg));
        BOOST_TEST(svg.find("<&") == std::string::npos);
        const std::string tree = mapping::to_text(named(text));
        BOOST_TEST(!is_obedient(tree));
        BOOST_TEST(std::count(tree.begin(), tree.end(), '\n') == 2);
    }
}

BOOST_AUTO_TEST_SUITE_END()
