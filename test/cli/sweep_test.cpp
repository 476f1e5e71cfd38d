// tessera sweep: which points there are, one bad point, a kill in the middle, parts of a sweep.
#include <sys/wait.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <thread>

#include "cli/session.hpp"
#include "cli/sweep/sweep_plan.hpp"
#include "spec/reader.hpp"
#include "tessera/base/error.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;
using namespace tessera::cli_test;

namespace {

constexpr const char* variable_workload = R"(variables: {ROWS: 16, UNUSED: 1, OTHER: 0}
workload:
  rank_sizes: {M: ROWS, K: 8, N: 4}
  bits_per_value: {All: 1}
  einsums:
  - {name: Y, tensor_accesses: [{name: X, projection: [m, k]}, {name: W, projection: [k, n]},
     {name: Y, projection: [m, n], output: True}]}
  - {name: Z, when: OTHER == 0, tensor_accesses: [{name: Y, projection: [m, n]},
     {name: Z, projection: [m, n], output: True}]}
)";

mapper::Solution unfused(const model::Problem& problem, const model::CostModel& model) {
    spec::Node root = spec::read_text(unfused_mapping, "written.yaml");
    spec::assign_paths(root);
    mapper::Solution result{mapping::read_mapping(*root.find("mapping")), {}};
    result.report = model.evaluate(problem, result.mapping);
    return result;
}

std::int64_t rows(const model::Problem& problem) {
    const int m = problem.workload->find_rank_variable("m");
    return problem.workload->rank_variables.at(static_cast<std::size_t>(m)).bound;
}

/// Crashes with 13 rows, never ends with 11, eats no time otherwise.
class Fragile : public mapper::Mapper {
public:
    std::string name() const override {
        return "fragile";
    }
    mapper::Result map(const model::Problem& problem, const model::CostModel& model,
                       const mapper::Options&) override {
        if (rows(problem) == 13) {
            ::signal(SIGSEGV, SIG_DFL);
            ::raise(SIGSEGV);
        }
        mapper::Result result;
        result.status = mapper::Status::optimal;
        result.solutions = {unfused(problem, model)};
        result.bound = result.solutions.front().report.edp_js();
        return result;
    }
};
TESSERA_PLUGIN(mapper::Mapper, Fragile, "fragile", "crashes with 13 rows", "");

class Sleepy : public Fragile {
public:
    std::string name() const override {
        return "sleepy";
    }
    mapper::Result map(const model::Problem& problem, const model::CostModel& model,
                       const mapper::Options& options) override {
        std::this_thread::sleep_for(std::chrono::milliseconds(150));
        return Fragile::map(problem, model, options);
    }
};
TESSERA_PLUGIN(mapper::Mapper, Sleepy, "sleepy", "takes a moment", "");

struct Files : Folder {
    std::string arch = file("arch.yaml", small_arch);
    std::string workload = file("workload.yaml", variable_workload);

    std::vector<std::string> command(const std::vector<std::string>& more) const {
        std::vector<std::string> args = {"sweep", "-a", arch, "-w", workload, "-q"};
        args.insert(args.end(), more.begin(), more.end());
        return args;
    }
    Outcome sweep(const std::vector<std::string>& more) const {
        return invoke(command(more));
    }
};

std::string values(const Json& point) {
    std::string text;
    for (const auto& [name, value] : point["values"].items()) {
        text += (text.empty() ? "" : " ") + name + "=" + value.get<std::string>();
    }
    return text;
}

std::size_t lines(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sweep)

BOOST_AUTO_TEST_CASE(a_grid_has_every_combination_and_the_last_axis_changes_fastest) {
    const Files files;
    const Outcome outcome = files.sweep(
        {"-D", "ROWS=8,16", "--set", "arch.Buffer.size=64:256:*4", "--json", "--jobs", "2"});
    BOOST_TEST(outcome.code == 0, outcome.err);
    const Json json = outcome.json();
    BOOST_TEST(json["status"] == "swept");
    BOOST_REQUIRE(json["points"].size() == 4U);
    BOOST_TEST(values(json["points"][0]) == "ROWS=8 arch.Buffer.size=64");
    BOOST_TEST(values(json["points"][1]) == "ROWS=8 arch.Buffer.size=256");
    BOOST_TEST(values(json["points"][2]) == "ROWS=16 arch.Buffer.size=64");
    BOOST_TEST(values(json["points"][3]) == "ROWS=16 arch.Buffer.size=256");
    for (const Json& point : json["points"]) {
        BOOST_TEST(point["status"] == "optimal");
        BOOST_TEST(point["gap"] == 0.0);
    }
}

BOOST_AUTO_TEST_CASE(a_point_is_what_map_finds_for_files_with_that_value) {
    const Files files;
    std::string other = small_arch;
    other.replace(other.find("size: 4096"), 10, "size: 16");
    const std::string arch = files.file("other.yaml", other);
    const Json map =
        invoke({"map", "-a", arch, "-w", files.workload, "-D", "ROWS=8", "-q", "--json"}).json();
    const Json json =
        files.sweep({"-D", "ROWS=8", "--set", "arch.Buffer.size=16,4096", "--json"}).json();
    BOOST_TEST(json["points"][0]["edp_js"] == map["mappings"][0]["edp_js"]);
    BOOST_TEST(json["points"][0]["edp_js"].get<double>() >
               json["points"][1]["edp_js"].get<double>());
    BOOST_TEST(json["fixed"]["ROWS"] == "8");
}

BOOST_AUTO_TEST_CASE(zip_takes_values_together_and_a_file_has_points_of_its_own) {
    const Files files;
    const Json zip = files
                         .sweep({"--zip", "--mapper", "fragile", "-D", "ROWS=8,16", "--set",
                                 "arch.Main.actions.read.energy=1,2", "--json"})
                         .json();
    BOOST_REQUIRE(zip["points"].size() == 2U);
    BOOST_TEST(values(zip["points"][1]) == "ROWS=16 arch.Main.actions.read.energy=2");
    const std::string csv = files.file(
        "points.csv", "ROWS,arch.Main.actions.read.energy\r\n8,1\n\"16\",\"max(1, 2)\"\n");
    const Json from_csv = files.sweep({"--mapper", "fragile", "--points", csv, "--json"}).json();
    BOOST_REQUIRE(from_csv["points"].size() == 2U);
    for (int i = 0; i < 2; ++i) {
        BOOST_TEST(from_csv["points"][i]["edp_js"] == zip["points"][i]["edp_js"]);
    }
    const std::string yaml = files.file("points.yaml",
                                        "- {ROWS: 8, arch.Main.actions.read.energy: 1}\n"
                                        "- {ROWS: 16, arch.Main.actions.read.energy: 2}\n");
    const Json from_yaml = files.sweep({"--mapper", "fragile", "--points", yaml, "--json"}).json();
    BOOST_TEST(from_yaml["points"][1]["edp_js"] == zip["points"][1]["edp_js"]);
}

BOOST_AUTO_TEST_CASE(wrong_input_ends_it_before_anything_runs) {
    const Files files;
    const std::string ragged = files.file("ragged.csv", "ROWS,UNUSED\n8,1\n16\n");
    const std::string twice = files.file("twice.csv", "ROWS,UNUSED,ROWS\n8,1,1\n");
    const std::string open = files.file("open.csv", "ROWS\n8\n\"16\n");
    const std::string holes = files.file("holes.yaml", "- {ROWS: 8, UNUSED: 1}\n- {ROWS: 8}\n");
    const std::pair<std::vector<std::string>, std::string> cases[] = {
        {{"-D", "ROW=8,16"}, "did you mean 'ROWS'?"},
        {{"-D", "ROWS=8,,16"}, "-D ROWS: '8,,16' is not understood: a value is missing"},
        {{"-D", "ROWS=8:2:1"}, "the step does not lead from FROM to TO"},
        {{"-D", "ROWS=8:x:1"}, "'x' in the range is no number"},
        {{"-D", "ROWS=0:8:*2"}, "FROM must be above 0"},
        {{"-D", "ROWS=8:64:*1"}, "the factor above 1"},
        {{"-D", "ROWS=1:1000000"}, "more than 100000"},
        {{"-D", "ROWS=1:1000", "-D", "UNUSED=1:1000"}, "more than 100000 points"},
        {{"-D", "ROWS=1,2", "-D", "ROWS=3"}, "-D ROWS is given twice"},
        {{"--set", "arch.Bufer.size=1,2"}, "did you mean 'Buffer'?"},
        {{"--set", "arch.Buffer"}, "expected PATH=VALUES"},
        {{"--set", "arch..size=1"}, "is no path of a value"},
        {{"--set", "arhc.Buffer.size=1"}, "did you mean 'arch'?"},
        {{"--set", "variables.ROWS=1"}, "set it with -D"},
        {{"--set", "arch.nodes[7].size=1"}, "there is no '[7]'"},
        {{"--set", "arch.nodes[x].size=1"}, "is no place in a list"},
        {{"--set", "arch.read.energy=1"}, "items are named 'read'"},
        {{"--zip", "-D", "ROWS=8,16", "-D", "UNUSED=1,2,3"}, "ROWS has 2 values and UNUSED has 3"},
        {{"--points", ragged}, "ragged.csv:3:1: 1 values for 2 names"},
        {{"--points", twice}, "twice.csv:1:13: 'ROWS' is there twice"},
        {{"--points", open}, "open.csv:3:1: the quoted value does not end"},
        {{"--points", holes}, "holes.yaml:2:3: [1]: a point has no value of 'UNUSED'"},
        {{"--points", ragged, "-D", "ROWS=1,2"}, "put several into the file"},
        {{"--points", files.at("none.csv")}, "none.csv"},
        {{"-D", "ROWS=8", "--pareto", "energy"}, "two columns separated by a comma"},
        {{"-D", "ROWS=8,9", "--pareto", "energy,ROW"}, "did you mean 'ROWS'?"},
        {{"--metric", "energy,latency"}, "each point is one search"},
        {{"--shard", "3/2"}, "I/N with I from 1 to N"},
        {{"--shard", "1"}, "I/N with I from 1 to N"},
        {{"--jobs", "0"}, "--jobs: '0' is not understood"},
        {{"--ui", "json"}, "a sweep has no dashboard"},
        {{"--knob", "random.batch=3"}, "'random' is not used here"},
    };
    for (const auto& [args, message] : cases) {
        std::vector<std::string> all = args;
        all.insert(all.end(), {"-o", files.at("out")});
        const Outcome outcome = files.sweep(all);
        BOOST_TEST(outcome.code == 2, message);
        BOOST_TEST(outcome.says(message), message + " <> " + outcome.err);
        BOOST_TEST(outcome.out == "");
        BOOST_TEST(!files.has("out"), message);
    }
    BOOST_TEST(files.sweep({"--resume"}).says("option '--resume' needs the folder"));
    BOOST_TEST(invoke({"sweep", "-a", files.arch}).code == 2);
    BOOST_TEST(invoke({"sweep", "--merge", files.at("none")}).code == 2);
}

BOOST_AUTO_TEST_CASE(a_bad_value_a_crash_and_an_infeasible_point_end_no_other) {
    const Files files;
    const Outcome outcome = files.sweep(
        {"--mapper", "fragile", "-D", "ROWS=16,13,1/0,8", "--json", "-o", files.at("out")});
    BOOST_TEST(outcome.code == 4);
    const Json json = outcome.json();
    BOOST_TEST(json["points"][0]["status"] == "optimal");
    BOOST_TEST(json["points"][1]["status"] == "failed");
    BOOST_TEST(json["points"][1]["message"].get<std::string>().find("signal 11") !=
               std::string::npos);
    BOOST_TEST(json["points"][2]["status"] == "failed");
    BOOST_TEST(json["points"][2]["message"].get<std::string>().find("-D ROWS=1/0") == 0U,
               json["points"][2].dump());
    BOOST_TEST(json["points"][3]["status"] == "optimal");
    BOOST_TEST(files.read("out/result.json") == outcome.out);
    BOOST_TEST(files.sweep({"--mapper", "fragile", "-D", "ROWS=13,1/0"}).code == 2);
    // No mapping is legal where nothing may keep the input.
    const Outcome none =
        files.sweep({"--set", "arch.Main.tensors.may_keep=Nothing,All", "--set",
                     "arch.Main.tensors.keep=Nothing", "--set", "arch.Buffer.size=1", "--json"});
    BOOST_TEST(none.code == 0, none.err);
    BOOST_TEST(none.json()["points"][0]["status"] == "infeasible", none.out);
    const std::string message = none.json()["points"][0]["message"];
    BOOST_TEST(message.find("no mapping meets") != std::string::npos, message);
    BOOST_TEST(message.find("may_keep of 'Main'") != std::string::npos, message);
    BOOST_TEST(message.find('\n') == std::string::npos, message);
    BOOST_TEST(none.json()["points"][1]["status"] == "optimal");
}

BOOST_AUTO_TEST_CASE(equal_problems_are_searched_once) {
    const Files files;
    const Outcome outcome = files.sweep({"--mapper", "fragile", "-D", "ROWS=16,8*2,8", "-D",
                                         "UNUSED=1,2", "--json", "-o", files.at("out")});
    const Json json = outcome.json();
    const Json expected = Json::parse("[null, 0, 0, 0, null, 4]");
    for (std::size_t i = 0; i < 6; ++i) {
        BOOST_TEST(json["points"][i]["same_as"] == expected[i], json["points"][i].dump());
        BOOST_TEST(!json["points"][i]["edp_js"].is_null());
    }
    BOOST_TEST(lines(files.read("out/times.csv")) == 3U);
    BOOST_TEST(lines(files.read("out/result.csv")) == 7U);
    // A variable that decides what the workload holds is no such case.
    const Json other =
        files.sweep({"-D", "OTHER=0,1", "--set", "arch.Buffer.size=64,2*32", "--json"}).json();
    BOOST_TEST(other["points"][1]["same_as"] == 0);
    BOOST_TEST(other["points"][2]["same_as"].is_null());
    BOOST_TEST(other["points"][0]["edp_js"] != other["points"][2]["edp_js"]);
}

BOOST_AUTO_TEST_CASE(killed_and_resumed_it_gives_the_same_files) {
    const Files files;
    const std::vector<std::string> points = {"--mapper",  "sleepy", "-D",
                                             "ROWS=1:10", "--jobs", "2"};
    const auto with = [&](const std::string& folder, const std::string& more = "") {
        std::vector<std::string> args = points;
        args.insert(args.end(), {"-o", folder});
        if (!more.empty()) {
            args.push_back(more);
        }
        return args;
    };
    const std::string whole = files.at("whole"), cut = files.at("cut");
    BOOST_TEST(files.sweep(with(whole)).code == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        files.sweep(with(cut));
        ::_exit(0);
    }
    for (int i = 0; i < 500 && lines(files.read("cut/points.jsonl")) < 3; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    BOOST_TEST(WIFSIGNALED(status));
    BOOST_TEST(!files.has("cut/result.json"));
    const std::size_t before = lines(files.read("cut/points.jsonl"));
    BOOST_TEST(before >= 3U);
    BOOST_TEST(before < 10U);
    // The kill came in the middle of a line.
    std::ofstream(cut + "/points.jsonl", std::ios::app) << R"({"point": 9, "status": "opt)";
    BOOST_TEST(files.sweep(with(cut)).says("go on with --resume"));
    const Outcome resumed = files.sweep(with(cut, "--resume"));
    BOOST_TEST(resumed.code == 0, resumed.err);
    BOOST_TEST(lines(files.read("cut/points.jsonl")) == 10U);
    for (const char* name : {"result.csv", "result.json", "pareto.svg", "axis-1.svg"}) {
        BOOST_TEST(files.read(std::string("cut/") + name) ==
                   files.read(std::string("whole/") + name));
        BOOST_TEST(files.read(std::string("whole/") + name) != "");
    }
    BOOST_TEST(!files.has("cut/checkpoint.json"));
    std::vector<std::string> other = with(cut, "--resume");
    other.insert(other.end(), {"--seed", "3"});
    const Outcome refused = files.sweep(other);
    BOOST_TEST(refused.code == 2);
    BOOST_TEST(refused.says("holds another sweep (seed differ)"), refused.err);
}

BOOST_AUTO_TEST_CASE(processes_share_a_sweep_and_one_that_is_killed_loses_only_its_point) {
    const Files files;
    const std::string whole = files.at("whole"), shared = files.at("shared");
    const auto with = [&](const std::string& folder, std::vector<std::string> more) {
        more.insert(more.end(),
                    {"--mapper", "sleepy", "-D", "ROWS=1:12", "--jobs", "1", "-o", folder});
        return more;
    };
    BOOST_TEST(files.sweep(with(whole, {})).code == 0);
    const auto found = [&] {
        std::size_t n = 0;
        std::error_code ignored;
        for (const auto& file : std::filesystem::directory_iterator(shared, ignored)) {
            const std::string name = file.path().filename().string();
            n += name.starts_with("points-") ? lines(files.read("shared/" + name)) : 0;
        }
        return n;
    };
    std::vector<pid_t> children;
    for (int i = 0; i < 3; ++i) {
        children.push_back(::fork());
        if (children.back() == 0) {
            ::_exit(files.sweep(with(shared, {"--share"})).code);
        }
    }
    for (int i = 0; i < 1000 && found() < 4; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    // Others that do not share must not touch it, and those of another sweep neither.
    BOOST_TEST(files.sweep(with(shared, {"--resume"})).says("being written by another process"));
    const Outcome other = files.sweep(with(shared, {"--share", "--seed", "3"}));
    BOOST_TEST(other.code == 2);
    BOOST_TEST(other.says("holds another sweep (seed differ)"), other.err);
    ::kill(children[0], SIGKILL);
    for (std::size_t i = 0; i < children.size(); ++i) {
        int status = 0;
        ::waitpid(children[i], &status, 0);
        BOOST_TEST((i == 0 ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0));
    }
    BOOST_TEST(found() == 12u);
    for (const char* name : {"result.csv", "result.json", "pareto.svg", "axis-1.svg"}) {
        BOOST_TEST(files.read(std::string("shared/") + name) ==
                   files.read(std::string("whole/") + name));
    }
    BOOST_TEST(!files.has("shared/checkpoint.json"));
    const Outcome late = files.sweep(with(shared, {"--share"}));
    BOOST_TEST(late.code == 0, late.err);
    BOOST_TEST(late.says("0 searches of the sweep here; another process has written its result"),
               late.err);
}

BOOST_AUTO_TEST_CASE(a_shared_sweep_goes_on_from_journals_that_were_cut_off) {
    const Files files;
    const std::vector<std::string> args = {"-D", "ROWS=1:6", "-o", files.at("out"), "--share"};
    BOOST_TEST(files.sweep(args).code == 0);
    const std::string csv = files.read("out/result.csv");
    // Each process has one of its own, with the same number too: a host may have another's name.
    const auto own_journal = [&] {
        std::string name;
        for (const auto& file : std::filesystem::directory_iterator(files.at("out"))) {
            const std::string one = file.path().filename().string();
            name = one.starts_with("points-") && !one.ends_with("elsewhere-7.jsonl") ? one : name;
        }
        return name;
    };
    const std::string name = own_journal();
    const std::string text = files.read("out/" + name);
    std::ofstream(files.at("out/" + name)) << text.substr(0, text.find('\n') + 20);
    std::filesystem::rename(files.at("out/" + name), files.at("out/points-elsewhere-7.jsonl"));
    std::filesystem::remove(files.at("out/result.json"));
    std::filesystem::remove(files.at("out/result.csv"));
    std::ofstream(files.at("out/checkpoint.json")) << "{}";
    const Outcome again = files.sweep(args);
    BOOST_TEST(again.code == 0, again.err);
    BOOST_TEST(files.read("out/result.csv") == csv);
    BOOST_TEST(own_journal() != name);
    BOOST_TEST(lines(files.read("out/" + own_journal())) == 5u);
    // Journals of any process count when one goes on alone.
    std::filesystem::remove(files.at("out/result.json"));
    std::ofstream(files.at("out/checkpoint.json")) << "{}";
    std::vector<std::string> alone = {"-D", "ROWS=1:6", "-o", files.at("out"), "--resume"};
    BOOST_TEST(files.sweep(alone).code == 0);
    BOOST_TEST(lines(files.read("out/points.jsonl")) == 0u);
    BOOST_TEST(files.read("out/result.csv") == csv);
    BOOST_TEST(files.sweep({"-D", "ROWS=1", "--share"}).says("needs the folder: -o DIR"));
    alone.push_back("--share");
    BOOST_TEST(files.sweep(alone).says("'--resume' and '--share' exclude each other"));
    std::vector<std::string> part = args;
    part.insert(part.end(), {"--shard", "1/2"});
    BOOST_TEST(files.sweep(part).says("'--share' and '--shard' exclude each other"));
}

BOOST_AUTO_TEST_CASE(an_interrupt_keeps_what_there_is) {
    const Files files;
    const std::vector<std::string> args = {"--mapper", "sleepy", "-D", "ROWS=1:8",
                                           "--jobs",   "1",      "-o", files.at("out")};
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(files.sweep(args).code);
    }
    for (int i = 0; i < 500 && lines(files.read("out/points.jsonl")) < 2; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ::kill(child, SIGINT);
    int status = 0;
    ::waitpid(child, &status, 0);
    BOOST_REQUIRE(WIFEXITED(status));
    BOOST_TEST(WEXITSTATUS(status) == 130);
    const Json json = Json::parse(files.read("out/result.json"));
    BOOST_TEST(json["status"] == "unfinished");
    BOOST_TEST(json["points"][0]["status"] == "optimal");
    BOOST_TEST(json["points"][7]["status"] == "not run");
    std::vector<std::string> again = args;
    again.push_back("--resume");
    BOOST_TEST(files.sweep(again).code == 0);
    BOOST_TEST(Json::parse(files.read("out/result.json"))["status"] == "swept");
}

BOOST_AUTO_TEST_CASE(parts_of_a_sweep_join_to_the_same_files) {
    const Files files;
    const std::vector<std::string> points = {"-D", "ROWS=1:5", "-D", "UNUSED=1,2"};
    const auto run = [&](const std::string& folder, const std::string& shard) {
        std::vector<std::string> args = points;
        args.insert(args.end(), {"-o", files.at(folder)});
        if (!shard.empty()) {
            args.insert(args.end(), {"--shard", shard});
        }
        return files.sweep(args).code;
    };
    BOOST_TEST(run("whole", "") == 0);
    BOOST_TEST(run("one", "1/2") == 0);
    BOOST_TEST(run("two", "2/2") == 0);
    BOOST_TEST(lines(files.read("one/points.jsonl")) == 3U);
    BOOST_TEST(lines(files.read("two/points.jsonl")) == 2U);
    const Outcome part = invoke({"sweep", "--merge", files.at("one"), "-q", "--json"});
    BOOST_TEST(part.code == 4);
    BOOST_TEST(part.json()["points"][2]["status"] == "not run");
    const Outcome merged = invoke(
        {"sweep", "--merge", files.at("one"), files.at("two"), "-o", files.at("merged"), "-q"});
    BOOST_TEST(merged.code == 0, merged.err);
    BOOST_TEST(files.read("merged/result.csv") == files.read("whole/result.csv"));
    BOOST_TEST(files.read("merged/result.json") == files.read("whole/result.json"));
    BOOST_TEST(files.sweep({"-D", "ROWS=1,2", "-o", files.at("other")}).code == 0);
    const Outcome mixed = invoke({"sweep", "--merge", files.at("one"), files.at("other"), "-q"});
    BOOST_TEST(mixed.code == 2);
    BOOST_TEST(mixed.says("holds another sweep"), mixed.err);
}

BOOST_AUTO_TEST_CASE(the_front_holds_what_nothing_is_better_than) {
    cli::SweepPlan plan;
    plan.x = "energy_j";
    plan.y = "SIZE";
    plan.space.axes = {{"SIZE", false, {}}};
    // The second is beaten by the first, the fifth equals the fourth, the last has no number.
    plan.space.points = {{"8"}, {"9"}, {"4"}, {"2"}, {"2"}, {"1"}, {"x"}};
    std::vector<cli::SweepOutcome> outcomes(7);
    const double energies[] = {1, 1, 2, 5, 5, 9, 0.1};
    for (std::size_t i = 0; i < 7; ++i) {
        outcomes[i].status = "optimal";
        outcomes[i].energy_j = outcomes[i].latency_s = outcomes[i].edp_js = energies[i];
    }
    outcomes[5] = {};
    const std::vector<std::size_t> expected = {0, 2, 3};
    BOOST_TEST(cli::pareto_of(plan, outcomes) == expected);
}

BOOST_AUTO_TEST_CASE(its_folder_is_told_from_that_of_a_run) {
    const Files files;
    BOOST_TEST(files.sweep({"-D", "ROWS=1,2", "-o", files.at("out"), "--all-mappings"}).code == 0);
    BOOST_TEST(files.has("out/point-000000.mapping.yaml"));
    BOOST_TEST(files.has("out/point-000001.mapping.yaml"));
    const Outcome model = invoke({"model", "-a", files.arch, "-w", files.workload, "-D", "ROWS=2",
                                  "-m", files.at("out/point-000001.mapping.yaml"), "-q", "--json"});
    const Json json = Json::parse(files.read("out/result.json"));
    BOOST_TEST(model.json()["mappings"][0]["edp_js"] == json["points"][1]["edp_js"]);
    const Outcome rerun = invoke({"rerun", files.at("out")});
    BOOST_TEST(rerun.code == 2);
    BOOST_TEST(rerun.says("holds a sweep"), rerun.err);
    BOOST_TEST(files.sweep({"-D", "ROWS=3,4", "-o", files.at("out"), "--force"}).code == 0);
    BOOST_TEST(!files.has("out/point-000001.mapping.yaml"));
}

BOOST_AUTO_TEST_SUITE_END()
