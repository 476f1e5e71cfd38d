// tessera train: what it leaves in its folder, resumed runs, refusals.
#include <boost/test/unit_test.hpp>

#include "cli/session.hpp"
#include "telemetry/snapshot.hpp"

using namespace tessera::cli_test;

namespace {

const Args small = {"train",
                    "-a",
                    "mind-mappings",
                    "-w",
                    "matmul",
                    "-D",
                    "M=2:16:2",
                    "-D",
                    "K=4,8",
                    "-D",
                    "L=4",
                    "--samples",
                    "1500",
                    "--per-problem",
                    "150",
                    "--hidden",
                    "32,16",
                    "--batch",
                    "32",
                    "--rate",
                    "0.05"};

Outcome train(const Args& more) {
    return invoke(joined(small, more));
}

std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

}  // namespace

BOOST_AUTO_TEST_CASE(train_makes_a_surrogate_and_says_how_good_it_is) {
    const Folder folder;
    const std::string one = folder.at("one"), two = folder.at("two");
    const Outcome outcome = train({"-o", one, "--epochs", "12", "--json"});
    BOOST_TEST_REQUIRE(outcome.code == 0, outcome.err);
    const Json result = outcome.json();
    BOOST_TEST(result["samples"] == 1350);
    BOOST_TEST(result["problems"] == 9);
    BOOST_TEST(result["unseen_rank_correlation"].get<double>() > 0.7);
    BOOST_TEST(result["unseen_loss"].get<double>() < 0.5);
    BOOST_TEST(outcome.says("epoch 12 of 12: loss"));
    // The same seed, another number of threads: the same bytes.
    BOOST_TEST(train({"-o", two, "--epochs", "12", "--threads", "2", "-q"}).err == "");
    BOOST_TEST(content(one + "/surrogate.bin") == content(two + "/surrogate.bin"));
    BOOST_TEST(content(one + "/losses.csv").starts_with("epoch,loss,unseen_loss\n1,"));
    BOOST_TEST(content(one + "/losses.svg").starts_with("<svg"));
}

BOOST_AUTO_TEST_CASE(a_surrogate_serves_a_search) {
    const Folder folder;
    BOOST_TEST(train({"-o", folder.at("run"), "--epochs", "8", "-q"}).code == 0);
    const Args problem = {"map", "-a",  "mind-mappings", "-w", "matmul", "-D",    "K=8",
                          "-D",  "L=4", "--threads",     "1",  "-q",     "--json"};
    const Args search = {
        "--mapper", "gradient", "--max-evals",
        "500",      "--knob",   "gradient.surrogate=" + folder.at("run") + "/surrogate.bin"};
    const Outcome optimum = invoke(joined(problem, {"-D", "M=12"}));
    const Outcome found = invoke(joined(joined(problem, {"-D", "M=12"}), search));
    BOOST_TEST_REQUIRE(found.code == 0, found.err);
    const auto edp = [](const Outcome& outcome) {
        return outcome.json()["mappings"][0]["edp_js"].get<double>();
    };
    BOOST_TEST(edp(found) >= edp(optimum) * (1 - 1e-9));
    BOOST_TEST(edp(found) <= edp(optimum) * 1.05);
    // A bound that was not trained for.
    const Outcome refused = invoke(joined(joined(problem, {"-D", "M=64"}), search));
    BOOST_TEST(refused.code != 0);
    BOOST_TEST(refused.says("'m' has 64 values; this surrogate is trained for 4 to 16"),
               refused.err);
}

BOOST_AUTO_TEST_CASE(preparation_is_charged_apart) {
    const Folder folder;
    BOOST_TEST(train({"-o", folder.at("run"), "--epochs", "2", "-q"}).code == 0);
    const std::string trained = "gradient[surrogate=" + folder.at("run") + "/surrogate.bin]";
    const Args options = {"--mapper",    trained + ",annealing[schedule=simanneal;probe=20],random",
                          "--max-evals", "600",
                          "--threads",   "1",
                          "-q",          "--model",
                          "looptree"};
    const Outcome outcome = invoke(joined(joined({"compare", "-a", "mind-mappings", "-w", "matmul",
                                              "-D", "K=8", "-D", "L=4", "-D", "M=12", "--json"},
                                             options),
                                        {}));
    BOOST_TEST_REQUIRE(outcome.code == 0, outcome.err);
    for (const Json& one : outcome.json()["contenders"]) {
        const Json& trial = one["trials"][0];
        const std::string name = one["name"];
        BOOST_TEST(trial["trained_on"] == (name == trained ? 1350 : 0), name);
        BOOST_TEST((trial["tuned_by"] > 0) == name.starts_with("annealing"), name);
        BOOST_TEST(trial["tuned_by"] <= 600);
        BOOST_TEST((trial["tuned_s"] > 0) == name.starts_with("annealing"), name);
    }
    const std::string instances = folder.file(
        "field.yaml",
        "- {name: one, arch: mind-mappings, workload: matmul, define: {K: 8, L: 4, M: 12}}\n");
    const Outcome field =
        invoke(joined({"compare", "--instances", instances, "-o", folder.at("field")}, options));
    BOOST_TEST_REQUIRE(field.code == 0, field.err);
    BOOST_TEST(field.out.find("charged apart: trained on 1350") != std::string::npos, field.out);
    BOOST_TEST(field.out.find("charged apart: set itself by ") != std::string::npos, field.out);
    BOOST_TEST(content(folder.at("field") + "/report.html").find("trained on 1350") !=
               std::string::npos);
    BOOST_TEST(content(folder.at("field") + "/trials.csv").find(",1350,0,0,") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(train_resumed_is_train_uninterrupted) {
    const Folder folder;
    const std::string whole = folder.at("whole"), cut = folder.at("cut");
    BOOST_TEST(train({"-o", whole, "--epochs", "4"}).code == 0);
    BOOST_TEST(train({"-o", cut, "--epochs", "4"}).code == 0);
    // As if it had been killed: in the midst of training, and before its samples were drawn.
    for (const Args& lost : {Args{"surrogate.bin", "samples-000.bin"},
                             Args{"surrogate.bin", "training.bin"}, Args{"surrogate.bin"}}) {
        for (const std::string& name : lost) {
            std::filesystem::remove(cut + "/" + name);
        }
        BOOST_TEST(train({"-o", cut, "--epochs", "4", "--resume"}).code == 0);
        BOOST_TEST(content(whole + "/surrogate.bin") == content(cut + "/surrogate.bin"));
    }
}

BOOST_AUTO_TEST_CASE(train_refuses_what_it_cannot_go_on_with) {
    const Folder folder;
    const std::string run = folder.at("run");
    BOOST_TEST(train({"-o", run, "--epochs", "1"}).code == 0);
    const Outcome again = train({"-o", run, "--epochs", "1"});
    BOOST_TEST(again.code == 2);
    BOOST_TEST(again.says("--resume goes on with it"));
    const Outcome other = train({"-o", run, "--epochs", "2", "--resume"});
    BOOST_TEST(other.code == 2);
    BOOST_TEST(other.says("has other options"));
    const std::string samples = content(run + "/samples-000.bin");
    folder.file("run/samples-000.bin", samples.substr(0, samples.size() / 2));
    const Outcome damaged = train({"-o", run, "--epochs", "1", "--resume"});
    BOOST_TEST(damaged.code == 2);
    BOOST_TEST(damaged.says("cut short"));
    folder.file("mine.txt", "");
    const Outcome foreign = train({"-o", folder.at(""), "--epochs", "1"});
    BOOST_TEST(foreign.code == 2);
    BOOST_TEST(foreign.says("is not empty"));
    BOOST_TEST(train({}).says("--output"));
    for (const Args& wrong :
         {Args{"--hidden", "3,x"}, Args{"--momentum", "1"}, Args{"--predict", "all"},
          Args{"--samples", "0"}, Args{"-D", "NOBODY=3"}}) {
        const Outcome outcome = train(joined({"-o", folder.at("new")}, wrong));
        BOOST_TEST(outcome.code == 2);
        BOOST_TEST(outcome.says(wrong[0] == "-D" ? "NOBODY" : wrong[0]), outcome.err);
    }
}

// The views of a search, with the curves of both losses in the place of what mappers have found.
BOOST_AUTO_TEST_CASE(train_is_watched_like_a_search) {
    const Folder folder;
    const Outcome outcome = train({"-o", folder.at("run"), "--epochs", "5", "--ui", "snapshots"});
    BOOST_TEST_REQUIRE(outcome.code == 0, outcome.err);
    std::istringstream lines(outcome.err);
    std::string line;
    tessera::telemetry::Snapshot last;
    while (std::getline(lines, line)) {
        last = tessera::telemetry::from_json(line);
    }
    BOOST_TEST((last.state == tessera::telemetry::RunState::finished));
    BOOST_TEST(last.run.mapper == "train");
    BOOST_TEST(last.run.command.at(1) == "train");
    BOOST_TEST(last.run.directory == folder.at("run"));
    BOOST_TEST(last.run.metrics == std::vector<std::string>{"loss"},
               boost::test_tools::per_element());
    BOOST_TEST_REQUIRE(last.phases.size() == 2u);
    BOOST_TEST(last.phases[0].name == "samples");
    BOOST_TEST(last.phases[0].done == last.phases[0].total);
    BOOST_TEST(last.phases[1].name == "epochs");
    BOOST_TEST(last.phases[1].done == 5u);
    BOOST_TEST_REQUIRE(last.comparison.size() == 2u);
    std::istringstream file(content(folder.at("run") + "/losses.csv"));
    std::getline(file, line);
    for (std::size_t i = 0; std::getline(file, line); ++i) {
        double epoch = 0, seen = 0, unseen = 0;
        char comma = 0;
        std::istringstream(line) >> epoch >> comma >> seen >> comma >> unseen;
        BOOST_TEST_REQUIRE(i < last.comparison[0].history.size());
        BOOST_TEST(last.comparison[0].history[i].value == seen, boost::test_tools::tolerance(1e-6));
        BOOST_TEST(last.comparison[1].history[i].value == unseen,
                   boost::test_tools::tolerance(1e-6));
    }
    BOOST_TEST(last.comparison[0].history.size() == 5u);
    BOOST_TEST(*last.best <= last.comparison[1].history.back().value);
    BOOST_TEST(last.log.back().text.starts_with("epoch 5 of 5: loss "));
}
