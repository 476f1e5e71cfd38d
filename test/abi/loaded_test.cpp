// Built-ins as shared objects of their own: the same program.
#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "abi/program.hpp"

using namespace tessera::abi_test;

namespace {

std::string loaded() {
    return (build() / "loaded/bin/tessera").string();
}

nlohmann::json components(const std::string& program) {
    const Ran ran = run(program + " plugins list --json");
    BOOST_TEST_REQUIRE(ran.code == 0);
    BOOST_TEST(ran.err == "");
    auto all = nlohmann::json::parse(ran.out)["plugins"];
    for (std::size_t i = all.size(); i-- > 0;) {  // of both programs
        if (!all[i]["file"].is_null() &&
            all[i]["file"].get<std::string>().find("/optional/") != std::string::npos) {
            all.erase(i);
        }
    }
    return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_built_in_component_comes_from_a_file) {
    const auto in_files = components(loaded()), linked = components(tool());
    BOOST_TEST_REQUIRE(in_files.size() == linked.size());
    for (std::size_t i = 0; i < linked.size(); ++i) {
        BOOST_TEST(in_files[i]["kind"] == linked[i]["kind"]);
        BOOST_TEST(in_files[i]["name"] == linked[i]["name"]);
        BOOST_TEST(linked[i]["file"].is_null());
        BOOST_TEST(in_files[i]["file"].get<std::string>().find("/loaded/lib/tessera/plugins/") !=
                   std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(results_are_the_same) {
    for (const char* mapper : {"ffm", "search", "exhaustive"}) {
        std::string options = " map -a snowcat -w matmuls -D N_EINSUMS=2 -q --json --mapper ";
        options += mapper;
        options += mapper == std::string("ffm") ? "" : " --max-evals 2000";
        const Ran a = run(loaded() + options), b = run(tool() + options);
        BOOST_TEST_REQUIRE(a.code == 0);
        BOOST_TEST_REQUIRE(b.code == 0);
        auto first = nlohmann::json::parse(a.out), second = nlohmann::json::parse(b.out);
        BOOST_TEST(first["mappings"] == second["mappings"]);
        BOOST_TEST(first["status"] == second["status"]);
    }
}

BOOST_AUTO_TEST_CASE(errors_cross_the_border) {
    const Ran none = run(loaded() + " map -a snowcat -w matmuls --mapper ffm --model looptrea");
    BOOST_TEST(none.code == 2);
    const Ran endless = run(loaded() + " map -a snowcat -w matmuls --mapper search -q");
    BOOST_TEST(endless.code == 2);
    BOOST_TEST(endless.err.find("never ends by itself") != std::string::npos);
}
