#include "spec/fields.hpp"

#include <boost/test/unit_test.hpp>
#include <functional>

#include "spec/reader.hpp"

using namespace tessera;
using namespace tessera::spec;

namespace {

std::string error_of(const std::string& text, const std::function<void(Fields&)>& read) {
    const Node root = read_text(text, "t.yaml");
    try {
        Fields fields(*root.find("node"), "a memory");
        read(fields);
        fields.finish();
    } catch (const UserError& error) {
        return error.what();
    }
    return "no error";
}

void read_size(Fields& fields) {
    fields.number("size", {}, Range::above(0).or_infinite());
    fields.optional("fanout");
}

}  // namespace

BOOST_AUTO_TEST_CASE(unknown_keys_name_the_nearest) {
    BOOST_TEST(
        error_of("node:\n  size: 1\n  fanuot: 2\n", read_size) ==
        "t.yaml:3:3: node.fanuot: unknown key of a memory: 'fanuot' (expected one of fanout, "
        "size); did you mean 'fanout'?");
    BOOST_TEST(error_of("node: {size: inf}\n", read_size) == "no error");
}

BOOST_AUTO_TEST_CASE(missing_keys_name_a_misspelt_one) {
    BOOST_TEST(error_of("node: {sise: 1}\n", read_size) ==
               "t.yaml:1:7: node: a memory lacks the key 'size'; is 'sise' meant to be 'size'?");
    BOOST_TEST(error_of("node: {size: }\n", read_size) ==
               "t.yaml:1:8: node.size: the value is missing; write one");
}

BOOST_AUTO_TEST_CASE(numbers_are_checked) {
    BOOST_TEST(error_of("node: {size: -3}\n", read_size) ==
               "t.yaml:1:14: node.size: out of range: '-3' (expected a number or inf > 0); correct "
               "the value");
    BOOST_TEST(error_of("node: {size: 2 - 3}\n", read_size).find("(it evaluates to -1)") !=
               std::string::npos);
    BOOST_TEST(error_of("node: {size: [1]}\n", read_size).find("this is a list") !=
               std::string::npos);
    BOOST_TEST(error_of("node: {size: {a: 1}}\n", read_size).find("not a map") !=
               std::string::npos);
    BOOST_TEST(error_of("node: {size: 1.5}\n", [](Fields& f) {
                   f.integer("size", {}, {});
               }).find("not an integer") != std::string::npos);
    BOOST_TEST(error_of("node: {size: 1}\n", [](Fields& f) {
                   f.integer("size", {}, Range::at_least(2));
               }).find("expected an integer >= 2") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(choices_and_lists) {
    BOOST_TEST(error_of("node: {topology: meesh}\n", [](Fields& f) {
                   f.choice("topology", {"mesh", "all_to_all"}, "mesh");
               }).find("(expected mesh, all_to_all); did you mean 'mesh'?") != std::string::npos);
    BOOST_TEST(error_of("node: {spatial: 3}\n", [](Fields& f) {
                   f.list("spatial");
               }).find("a list is needed here") != std::string::npos);
    BOOST_TEST(error_of("node: [1]\n", [](Fields&) {}).find("written as a map, not as a list") !=
               std::string::npos);
}
