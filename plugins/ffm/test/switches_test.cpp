// Every idea that can be switched off is tested without, and proven.
#include "../switches.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "support/paths.hpp"
#include "tessera/base/error.hpp"

using namespace tessera;

namespace {

std::string text_of(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_switch_has_a_test_and_a_proof) {
    const std::filesystem::path root = test::test_folder() + "/..";
    std::string tests;
    for (const auto& entry : std::filesystem::directory_iterator(root / "test/oracle")) {
        tests += text_of(entry.path());
    }
    const std::string proofs = text_of(root / "docs/ffm-proofs.md");
    BOOST_TEST_REQUIRE(!proofs.empty());
    for (const std::string& name : ffm::switch_names()) {
        BOOST_TEST(tests.find('"' + name + '"') != std::string::npos, name << " has no test");
        BOOST_TEST(proofs.find('`' + name + '`') != std::string::npos, name << " has no proof");
    }
}

BOOST_AUTO_TEST_CASE(every_switch_has_a_name_of_its_own) {
    const std::vector<std::string>& names = ffm::switch_names();
    BOOST_TEST(std::set<std::string>(names.begin(), names.end()).size() == names.size());
    BOOST_CHECK_NO_THROW(ffm::switches_without(names));
    BOOST_CHECK_THROW(ffm::switches_without({"no-such-idea"}), UserError);
}
