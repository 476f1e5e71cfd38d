// kill -9 at any moment, then --resume: the same result, byte by byte, and nothing left over.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "run/process.hpp"

using namespace tessera::run_test;

namespace {

const Args ffm = {"map",         "-a", "tpu-v4i",    "-w",         "gpt3-6.7b", "-D",
                  "TOKENS=2048", "-q", "--mapspace", "accelforge", "--compat",  "none"};
const Args random_search = {"map",  "-a",          "simba",    "-w",     "matmuls",
                            "-D",   "N_EINSUMS=3", "--mapper", "random", "--max-evals",
                            "6000", "--seed",      "5",        "-q"};

const std::vector<std::string> results = {"events.jsonl", "looptree.svg", "looptree.txt",
                                          "mapping.yaml", "result.json",  "run.json",
                                          "status.json"};

/// Runs to the end, then again with kills at seeded random moments until it gets through.
void survives(const Args& command, int rounds, unsigned seed) {
    const Folder folder;
    const auto run_in = [&](const std::string& name, const Args& more) {
        return joined(joined(command, {"-o", (folder / name).string()}), more);
    };
    const auto start = Clock::now();
    Process whole(folder.path(), run_in("whole", {}));
    BOOST_REQUIRE_EQUAL(whole.wait(), 0);
    const double duration_s = seconds_since(start);
    // Its results and its inputs.
    const std::vector<std::string> finished = names_in(folder / "whole");
    BOOST_TEST(std::ranges::includes(finished, results));
    BOOST_TEST(std::ranges::count(finished, "input-1.yaml") == 1);
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> moment(0, duration_s);
    for (int round = 0; round < rounds; ++round) {
        const std::string name = "killed-" + std::to_string(round);
        const double at_s = moment(random);
        BOOST_TEST_CONTEXT("killed after " << at_s << " of " << duration_s << " s") {
            Process victim(folder.path(), run_in(name, {}));
            std::this_thread::sleep_for(std::chrono::duration<double>(at_s));
            victim.signal(SIGKILL);
            victim.wait();
            // What was found is there, whole.
            if (fs::exists(folder / name / "mapping.yaml")) {
                Process model(folder.path(),
                              {"model", "-a", command[2], "-w", command[4], "-D", command[6], "-m",
                               (folder / name / "mapping.yaml").string()});
                BOOST_TEST(model.wait() == 0, model.err());
            }
            Process again(folder.path(), run_in(name, {"--resume"}));
            BOOST_REQUIRE_EQUAL(again.wait(), 0);
            for (const char* file : {"result.json", "mapping.yaml", "looptree.svg"}) {
                BOOST_TEST((read(folder / name / file) == read(folder / "whole" / file)), file);
            }
            BOOST_TEST(names_in(folder / name) == finished, boost::test_tools::per_element());
        }
    }
    BOOST_TEST(names_in(folder.path()).size() == static_cast<std::size_t>(rounds) + 3);
}

}  // namespace

BOOST_AUTO_TEST_CASE(ffm_survives_kill_9) {
    survives(ffm, 4, 1);
}

BOOST_AUTO_TEST_CASE(random_search_survives_kill_9) {
    survives(random_search, 4, 2);
}

BOOST_AUTO_TEST_CASE(a_run_that_was_killed_before_its_inputs_were_kept_keeps_them_when_it_goes_on) {
    const Folder folder;
    const fs::path run = folder / "run";
    const Args command = joined(random_search, {"-o", run.string()});
    Process victim(folder.path(), command);
    BOOST_REQUIRE(eventually([&] { return fs::exists(run / "status.json"); }));
    victim.signal(SIGKILL);
    victim.wait();
    const std::string kept = read(run / "input-1.yaml");
    BOOST_REQUIRE(!kept.empty());
    for (const char* file : {"input-1.yaml", "checkpoint.json", "status.json"}) {
        fs::remove(run / file);
    }
    Process again(folder.path(), joined(command, {"--resume"}));
    BOOST_REQUIRE_EQUAL(again.wait(), 0);
    BOOST_TEST(read(run / "input-1.yaml") == kept);
}

BOOST_AUTO_TEST_CASE(a_run_is_resumed_without_its_options) {
    const Folder folder;
    const std::string run = (folder / "run").string();
    Process victim(folder.path(), joined(random_search, {"-o", run}));
    BOOST_REQUIRE(eventually([&] { return fs::exists(folder / "run" / "status.json"); }));
    victim.signal(SIGKILL);
    victim.wait();
    Process again(folder.path(), {"map", "--resume", "-o", run, "-q", "--json"});
    BOOST_REQUIRE_EQUAL(again.wait(), 0);
    Process rerun(folder.path(), {"rerun", run});
    BOOST_TEST(rerun.wait() == 0);
    BOOST_TEST(rerun.says("the result is the same as in"), rerun.err());
}

BOOST_AUTO_TEST_CASE(the_folder_of_a_run_that_is_gone_is_told_with_the_file_that_names_it) {
    const Folder folder;
    const fs::path run = folder / "run";
    Process first(folder.path(),
                  {"map", "-a", "simple", "-w", "matmuls", "-q", "-o", run.string()});
    BOOST_REQUIRE_EQUAL(first.wait(), 0);
    nlohmann::ordered_json description =
        nlohmann::ordered_json::parse(std::ifstream(run / "run.json"));
    description["directory"] = "/gone";
    std::ofstream(run / "run.json") << description;
    Process rerun(folder.path(), {"rerun", run.string(), "-o", "again"});
    BOOST_TEST(rerun.wait() == 2);
    BOOST_TEST(rerun.says("run/run.json: the run was started in '/gone', which cannot be entered"),
               rerun.err());
}

BOOST_AUTO_TEST_CASE(another_command_cannot_resume_a_run) {
    const Folder folder;
    const std::string run = (folder / "run").string();
    Process first(folder.path(), joined(random_search, {"-o", run}));
    BOOST_REQUIRE(eventually([&] { return fs::exists(folder / "run" / "status.json"); }));
    first.signal(SIGSTOP);  // whoever comes second waits for a moment
    Process second(folder.path(), joined(random_search, {"-o", run, "--resume"}));
    BOOST_TEST(second.wait() == 2);
    BOOST_TEST(second.says("is being written by another process"), second.err());
    first.signal(SIGKILL);
    first.wait();
    Args other = random_search;
    other[12] = "6";  // the seed
    Process third(folder.path(), joined(other, {"-o", run, "--resume"}));
    BOOST_TEST(third.wait() == 2);
    BOOST_TEST(third.says("another --seed"), third.err());
    Process fourth(folder.path(), joined(random_search, {"-o", run}));
    BOOST_TEST(fourth.wait() == 2);
    BOOST_TEST(fourth.says("--resume"), fourth.err());
}

// Earlier parts count: of the limit a second is left.
BOOST_AUTO_TEST_CASE(a_limit_on_time_is_one_of_all_parts) {
    const Folder folder;
    const std::string run = (folder / "run").string();
    const Args endless = {"map",      "-a",     "simba",      "-w", "matmuls", "-D", "N_EINSUMS=3",
                          "--mapper", "random", "--max-time", "1h", "-q",      "-o", run};
    Process victim(folder.path(), endless);
    BOOST_REQUIRE(eventually([&] { return fs::exists(folder / "run" / "mapping.yaml"); }));
    victim.signal(SIGKILL);
    victim.wait();
    std::string checkpoint = read(folder / "run" / "checkpoint.json");
    const std::string spent = "\"spent_s\": ";
    const std::size_t from = checkpoint.find(spent);
    BOOST_REQUIRE(from != std::string::npos);
    const std::size_t at = from + spent.size();
    checkpoint.replace(at, checkpoint.find_first_of(",\n", at) - at, "3599.0");
    std::ofstream(folder / "run" / "checkpoint.json") << checkpoint;
    Process again(folder.path(), joined(endless, {"--resume"}));
    BOOST_REQUIRE_EQUAL(again.wait(), 0);
    BOOST_TEST(read(folder / "run" / "result.json").find("max-time") != std::string::npos);
}
