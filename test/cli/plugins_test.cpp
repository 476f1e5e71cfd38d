// tessera plugins, and how tessera map chooses mappers, strategies and knobs.
#include <boost/test/unit_test.hpp>
#include <set>

#include "cli/plugins/components.hpp"
#include "cli/run/stored_run.hpp"
#include "cli/session.hpp"

using namespace tessera::cli;
using namespace tessera::cli_test;

namespace {

Outcome map(std::vector<std::string> more) {
    std::vector<std::string> args = {"map", "-a", "snowcat", "-w", "matmuls", "-q"};
    args.insert(args.end(), more.begin(), more.end());
    return invoke(args);
}

}  // namespace

BOOST_AUTO_TEST_CASE(plugins_are_listed_by_kind_and_name) {
    const Outcome listed = invoke({"plugins", "list", "--json"});
    BOOST_TEST_REQUIRE(listed.code == 0);
    std::set<std::string> seen;
    const Json document = listed.json();
    for (const Json& entry : document["plugins"]) {
        const std::string kind = entry["kind"], name = entry["name"];
        BOOST_TEST(seen.insert(kind + "/" + name).second);
        BOOST_TEST(!entry["summary"].get<std::string>().empty());
    }
    for (const char* name : {"mapper/ffm", "mapper/search", "strategy/random",
                             "strategy/exhaustive", "model/looptree"}) {
        BOOST_TEST(seen.count(name) == 1u);
    }
    BOOST_TEST(document["refused"].empty());
    BOOST_TEST(invoke({"plugins", "list"}).prints("independent random legal mappings"));
}

// A stored run goes on in the folder it was started in, which its run.json names.
BOOST_AUTO_TEST_CASE(a_plugin_that_is_named_for_a_stored_run_is_the_one_beside_the_user) {
    options::Description known;
    add_components(known, true);
    known.add_options()("output,o", options::text(), "");
    const std::string here = std::filesystem::current_path().string();
    const std::vector<std::string> expected = {"--plugin", here + "/a.so", "--plugin", "/b.so",
                                               "--output", here + "/run",  "--model",  "x"};
    BOOST_TEST(with_absolute({"--plugin=a.so", "--plugin", "/b.so", "-o", "run", "--model", "x"},
                             known) == expected,
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(plugins_tell_about_themselves) {
    BOOST_TEST(invoke({"plugins", "info", "ffm"}).prints("FFM"));
    BOOST_TEST(invoke({"plugins", "help", "search"}).prints("whole number from 1 to 1048576"));
    const Outcome schema = invoke({"plugins", "schema", "search"});
    BOOST_TEST(schema.json()["properties"]["batch"]["default"] == 1024);
    const Outcome info = invoke({"plugins", "info", "strategy/random", "--json"});
    BOOST_TEST(info.json()["knobs"]["properties"].empty());
}

BOOST_AUTO_TEST_CASE(wrong_words_after_plugins_are_explained) {
    BOOST_TEST(invoke({"plugins"}).code == 2);
    BOOST_TEST(invoke({"plugins", "--help"}).code == 0);
    BOOST_TEST(invoke({"plugins", "lst"}).says("did you mean"));
    BOOST_TEST(invoke({"plugins", "list", "ffm"}).says("takes no name"));
    BOOST_TEST(invoke({"plugins", "info"}).says("takes one name"));
    BOOST_TEST(invoke({"plugins", "new", "search"}).says("takes a kind and a name"));
    BOOST_TEST(invoke({"plugins", "info", "fmf"}).says("no plugin is called 'fmf'"));
    BOOST_TEST(invoke({"plugins", "check", "nobody"}).code == 2);
    BOOST_TEST(invoke({"plugins", "check", "random", "--only", "nothing"}).code == 2);
}

BOOST_AUTO_TEST_CASE(a_check_reports_every_test) {
    const Outcome checked = invoke({"plugins", "check", "random", "--json", "--seed", "3"});
    BOOST_TEST(checked.code == 0);
    const Json document = checked.json();
    BOOST_TEST(document["seed"] == 3);
    BOOST_TEST(document["failed"] == 0);
    BOOST_TEST(document["passed"] == document["tests"].size());
    BOOST_TEST(document["tests"].size() >= 10u);
}

BOOST_AUTO_TEST_CASE(strategies_and_mappers_share_their_names) {
    const Outcome whole = map({"--mapper", "search", "--strategy", "random", "--max-evals", "64",
                               "--seed", "5", "--json"});
    BOOST_TEST_REQUIRE(whole.code == 0);
    for (const auto& spelling : {std::vector<std::string>{"--mapper", "random"},
                                 {"--mapper", "search:random"},
                                 {"--strategy", "random"},
                                 {"--mapper", "search", "--knob", "search.strategy=random"}}) {
        std::vector<std::string> args = {"--max-evals", "64", "--seed", "5", "--json"};
        args.insert(args.end(), spelling.begin(), spelling.end());
        const Outcome same = map(args);
        BOOST_TEST_REQUIRE(same.code == 0);
        BOOST_TEST(same.json()["mappings"] == whole.json()["mappings"]);
        BOOST_TEST(same.json()["search"]["evaluated"] == 64);
    }
}

BOOST_AUTO_TEST_CASE(wrong_choices_are_explained) {
    BOOST_TEST(map({"--mapper", "randm"}).says("did you mean 'random'?"));
    BOOST_TEST(map({"--strategy", "randm"}).says("unknown search strategy 'randm'"));
    BOOST_TEST(map({"--mapper", "ffm", "--strategy", "random"}).says("--mapper search"));
    BOOST_TEST(map({"--mapper", "random", "--strategy", "exhaustive"}).code == 2);
    BOOST_TEST(map({"--mapper", "random"}).says("never ends by itself"));
    BOOST_TEST(map({"--model", "looptrees"}).says("did you mean 'looptree'?"));
    BOOST_TEST(map({"--plugin", "/nonexistent.so"}).code == 3);
}

BOOST_AUTO_TEST_CASE(wrong_knobs_are_explained) {
    const auto with = [](const std::string& knob) {
        return map({"--mapper", "random", "--max-evals", "5", "--knob", knob});
    };
    BOOST_TEST(with("search.batch=16").code == 0);
    BOOST_TEST(with("search.batch=0").says("expected whole number from 1 to 1048576"));
    BOOST_TEST(with("search.bacth=1").says("did you mean 'batch'?"));
    BOOST_TEST(with("random.size=1").says("--knob: 'random' has no knob 'size'; it has none"));
    BOOST_TEST(with("search.batch=").says("--knob: knob search.batch: '' is not understood"));
    // The mapper of that name has the knob, the model has not.
    BOOST_TEST(map({"--mapper", "timeloop", "--model", "timeloop", "--max-evals", "5", "--knob",
                    "timeloop.search_size="})
                   .says("--knob: knob timeloop.search_size: ''"));
    BOOST_TEST(map({"--mapper", "ffm", "--model", "timeloop", "--knob", "timeloop.search_size=1"})
                   .says("--knob: 'timeloop' has no knob"));
    BOOST_TEST(with("ffm.beam=1").says("'ffm' is not used here"));
    BOOST_TEST(with("batch=1").says("expected COMPONENT.KNOB=VALUE"));
    BOOST_TEST(with("search.strategy=exhaustive").says("disagree"));
}

BOOST_AUTO_TEST_CASE(knobs_come_from_a_file_too) {
    const Folder folder;
    const auto with = [&](const std::string& text, std::vector<std::string> more = {}) {
        std::vector<std::string> args = {"--mapper", "random", "--max-evals", "5"};
        args.insert(args.end(), {"--knobs", folder.file("knobs.yaml", text)});
        args.insert(args.end(), {"-o", folder.at("run"), "--force"});
        args.insert(args.end(), more.begin(), more.end());
        return map(args);
    };
    const auto batch = [&] {
        return Json::parse(folder.read("run/run.json"))["options"]["knobs"]["search"]["batch"];
    };
    BOOST_TEST(with("search: {batch: 16}\nffm: {}\n").code == 0);
    BOOST_TEST(batch() == "16");
    BOOST_TEST(with("search: {batch: 16}\n", {"--knob", "search.batch=8"}).code == 0);
    BOOST_TEST(batch() == "8");
    BOOST_TEST(with("search: {batch: 0}\n").says("expected whole number from 1 to 1048576"));
    BOOST_TEST(with("search:\n  bacth: 1\n").says("knobs.yaml:2"));
    BOOST_TEST(with("search:\n  bacth: 1\n").says("did you mean 'batch'?"));
    BOOST_TEST(with("serch: {batch: 1}\n").says("did you mean 'search'?"));
    BOOST_TEST(with("search: 5\n").code == 2);
    BOOST_TEST(with("[1]\n").code == 2);
}

BOOST_AUTO_TEST_CASE(exhaustive_search_proves_the_optimum) {
    const Outcome all = map({"--mapper", "exhaustive", "--metric", "energy", "--json"});
    BOOST_TEST_REQUIRE(all.code == 0);
    BOOST_TEST(all.json()["status"] == "optimal");
    const Outcome ffm = map({"--metric", "energy", "--json"});
    BOOST_TEST(all.json()["mappings"][0]["energy_j"] == ffm.json()["mappings"][0]["energy_j"]);
}
