// --set: single values of the files, said on the command line.
#include <boost/test/unit_test.hpp>

#include "cli/session.hpp"

using namespace tessera::cli_test;

namespace {

struct Given : Folder {
    std::string arch = file("arch.yaml", small_arch);
    std::string workload = file("workload.yaml", small_workload);
    std::string run = at("run");

    Args inputs(const std::string& command, const Args& more = {}) const {
        return joined({command, "-a", arch, "-w", workload}, more);
    }
    /// The architecture with another energy.
    std::string edited(const std::string& energy) const {
        std::string text = small_arch;
        return file("edited.yaml", text.replace(text.find("energy: 10"), 10, "energy: " + energy));
    }
    /// The first `energy: 10` of the architecture.
    std::string path() const {
        const std::string text = small_arch;
        const std::string before = text.substr(0, text.find("energy: 10"));
        const std::size_t memory = before.rfind("name: ", before.rfind("actions"));
        const std::size_t action = before.rfind("name: ");
        const auto word = [&](std::size_t at) {
            return before.substr(at + 6, before.find_first_of(",\n}", at) - at - 6);
        };
        return "arch." + word(memory) + ".actions." + word(action) + ".energy";
    }
};

double energy(const Outcome& outcome) {
    return outcome.json()["mappings"][0]["energy_j"].get<double>();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(set)

BOOST_AUTO_TEST_CASE(a_value_that_is_set_is_that_of_an_edited_file) {
    const Given given;
    const std::string set = given.path() + "=99";
    const Outcome as_set = invoke(
        given.inputs("map", {"--metric", "energy", "--json", "--set", set, "-o", given.run}));
    BOOST_REQUIRE_MESSAGE(as_set.code == 0, as_set.err);
    const Outcome as_edited = invoke(
        {"map", "-a", given.edited("99"), "-w", given.workload, "--metric", "energy", "--json"});
    const Outcome plain = invoke(given.inputs("map", {"--metric", "energy", "--json"}));
    BOOST_TEST(energy(as_set) == energy(as_edited));
    BOOST_TEST(energy(as_set) != energy(plain));
    BOOST_TEST(as_set.json()["settings"] == Json::array({set}));
    BOOST_TEST(!plain.json().contains("settings"));
    BOOST_TEST(Json::parse(given.read("run/run.json"))["settings"] == Json::array({set}));

    const std::string mapping = given.at("run/mapping.yaml");
    const auto modelled = [&](const Args& more) {
        return energy(invoke(joined(given.inputs("model", {"-m", mapping, "--json"}), more)));
    };
    BOOST_TEST(modelled({"--set", set}) == energy(as_set));
    BOOST_TEST(modelled({}) != energy(as_set));
    BOOST_TEST(invoke(given.inputs("explain", {"-m", mapping, "--set", set})).code == 0);
    BOOST_TEST(invoke(given.inputs("check", {"--set", set})).code == 0);
    const Outcome compared = invoke(given.inputs(
        "compare", {"--mapper", "ffm,exhaustive", "--metric", "energy", "--set", set, "--json"}));
    BOOST_REQUIRE_MESSAGE(compared.code == 0, compared.err);
    BOOST_TEST(compared.json()["best"].get<double>() == energy(as_set));
}

BOOST_AUTO_TEST_CASE(a_run_goes_on_with_the_same_values_alone) {
    const Given given;
    const std::string set = given.path() + "=99";
    const Args run = given.inputs("map", {"--metric", "energy", "-q", "-o", given.run});
    BOOST_REQUIRE_EQUAL(invoke(joined(run, {"--set", set})).code, 0);
    BOOST_TEST(invoke(joined(run, {"--set", set, "--resume"})).code == 0);
    const Outcome other = invoke(joined(run, {"--resume"}));
    BOOST_TEST(other.code == 2);
    BOOST_TEST(other.says("other values (--set)"), other.err);
    const Outcome again = invoke({"rerun", given.run});
    BOOST_TEST(again.code == 0, again.err);
    BOOST_TEST(again.says("the result is the same as"), again.err);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_set_is_said) {
    const Given given;
    const auto refused = [&](const Args& more, const std::string& why) {
        const Outcome outcome = invoke(given.inputs("map", more));
        BOOST_TEST(outcome.code == 2);
        BOOST_TEST(outcome.says(why), outcome.err);
    };
    refused({"--set", "arch.Nowhere.size=1"}, "--set arch.Nowhere.size");
    refused({"--set", "size=1"}, "--set size");
    refused({"--set", "arch.x"}, "expected PATH=VALUE");
    refused({"--set", given.path() + "=1", "--set", given.path() + "=2"}, "is given twice");
    refused({"--set", given.path() + "=many"}, "--set " + given.path() + "=many");
    const Outcome alone = invoke({"check", "-a", given.arch, "--set", "workload.rank_sizes.M=2"});
    BOOST_TEST(alone.code == 2);
    BOOST_TEST(alone.says("there is no workload to set it in; give one with -w"), alone.err);
    const Outcome field = invoke({"compare", "--instances", given.arch, "--set", "arch.x.y=1"});
    BOOST_TEST(field.code == 2);
    BOOST_TEST(field.says("'--instances' and '--set' exclude each other"), field.err);
}

BOOST_AUTO_TEST_SUITE_END()
