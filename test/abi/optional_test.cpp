// Plugins that are loaded once they are named, and those that were left out of the build.
#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "abi/program.hpp"

using namespace tessera::abi_test;

namespace {

/// A program of its own, with a folder of optional plugins.
struct Elsewhere {
    Elsewhere() {
        fs::copy_file(tool(), folder / "tessera");
        fs::create_directory(folder / "optional");
    }
    Ran run(const std::string& arguments) const {
        return tessera::abi_test::run((folder / "tessera").string() + " " + arguments);
    }
    Folder folder;
};

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_absent_is_listed_and_told_when_it_is_asked_for) {
    const Elsewhere program;
    std::ofstream(program.folder / "optional/ghost.absent") << "libghost\n";
    const Ran listed = program.run("plugins list");
    BOOST_TEST(listed.code == 0);
    BOOST_TEST(listed.out.find("absent: ghost was not built: libghost is missing\n") !=
               std::string::npos);
    const auto json = nlohmann::json::parse(program.run("plugins list --json").out);
    BOOST_TEST_REQUIRE(json["absent"].size() == 1u);
    BOOST_TEST(json["absent"][0]["name"] == "ghost");
    BOOST_TEST(json["absent"][0]["needs"] == "libghost");
    const Ran asked = program.run("map -a snowcat -w matmuls --mapper ghost");
    BOOST_TEST(asked.code == 2);
    BOOST_TEST(asked.err.find("'ghost' was left out when this program was built: libghost is "
                              "missing (make deps)") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(it_is_loaded_when_it_is_named) {
    const Elsewhere program;
    fs::copy_file(plugin("corpus"), program.folder / "optional/tessera-corpus.so");
    const std::string telling = "TESSERA_PLUGIN_VERBOSE=1 ";
    const std::string loaded = "loaded " + (program.folder / "optional/tessera-corpus.so").string();
    const std::string tessera = telling + (program.folder / "tessera").string();
    const Ran other = run(tessera + " plugins info random");
    BOOST_TEST(other.err.find(loaded) == std::string::npos);
    const Ran named = run(tessera + " plugins info corpus");
    BOOST_TEST(named.code == 0);
    BOOST_TEST(named.err.find(loaded) != std::string::npos);
    const Ran found = program.run(
        "map -a snowcat -w matmuls -D N_EINSUMS=1 --mapper corpus --max-evals 10 -q --json");
    BOOST_TEST(found.code == 0);
    BOOST_TEST(program.run("plugins list").out.find(loaded.substr(7)) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_loaded_is_refused_when_it_is_asked_for) {
    const Elsewhere program;
    std::ofstream(program.folder / "optional/tessera-broken.so") << "nothing\n";
    BOOST_TEST(program.run("plugins info random").err == "");
    const Ran listed = program.run("plugins list");
    BOOST_TEST(listed.code == 0);
    BOOST_TEST(listed.out.find("refused: ") != std::string::npos);
    const Ran asked = program.run("map -a snowcat -w matmuls --mapper broken");
    BOOST_TEST(asked.code == 3);
    BOOST_TEST(asked.err.find("cannot load ") != std::string::npos);
}
