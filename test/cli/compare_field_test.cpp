// tessera compare --instances: searches in processes of their own, what they say together.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "cli/field/field_results.hpp"
#include "cli/session.hpp"
#include "support/paths.hpp"

using namespace tessera;
using namespace tessera::cli_test;

namespace {

constexpr const char* rows_workload = R"(variables: {ROWS: 16}
workload:
  rank_sizes: {M: ROWS, K: 8, N: 4}
  bits_per_value: {All: 1}
  einsums:
  - {name: Y, tensor_accesses: [{name: X, projection: [m, k]}, {name: W, projection: [k, n]},
     {name: Y, projection: [m, n], output: True}]}
  - {name: Z, tensor_accesses: [{name: Y, projection: [m, n]}, {name: Z, projection: [m, n], output: True}]}
)";

struct Files : Folder {
    std::string arch = file("arch.yaml", small_arch);
    std::string workload = file("workload.yaml", rows_workload);

    std::string instances(const std::vector<std::string>& rows) const {
        std::string text;
        for (const std::string& one : rows) {
            text += "- {name: rows " + one + ", arch: " + arch + ", workload: " + workload +
                    ", define: {ROWS: " + one + "}}\n";
        }
        return file("instances.yaml", text);
    }
    Outcome compare(const std::vector<std::string>& more) const {
        std::vector<std::string> args = {"compare", "-q"};
        args.insert(args.end(), more.begin(), more.end());
        return invoke(args);
    }
};

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        lines.push_back(line);
    }
    return lines;
}

/// Of a line of CSV without quotes.
std::string cell(const std::string& row, int column) {
    std::istringstream cells(row);
    std::string text;
    for (int i = 0; i <= column; ++i) {
        std::getline(cells, text, ',');
    }
    return text;
}

cli::Trial trial(double value, double time_s) {
    cli::Trial result;
    result.status = cli::Trial::Status::feasible;
    result.value = value;
    result.wall_s = 1;
    result.curve = {{time_s / 2, 2 * value, 1}, {time_s, value, 2}};
    return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(compare_field)

BOOST_AUTO_TEST_CASE(every_search_is_one_of_compare) {
    const Files files;
    const std::string list = files.instances({"8", "16"});
    const Outcome outcome =
        files.compare({"--instances", list, "--mapper", "ffm,random", "--seeds", "3", "--max-evals",
                       "20", "--jobs", "2", "-o", files.at("out"), "--json"});
    BOOST_TEST(outcome.code == 0, outcome.err);
    const Json json = outcome.json();
    BOOST_TEST(json["mappers"].size() == 2U);
    BOOST_TEST(json["mappers"][0]["ran"] == 6);
    BOOST_TEST(json["pairs"].size() == 1U);
    BOOST_TEST(files.read("out/result.json") == outcome.out);
    const Json single =
        invoke({"compare", "-a", files.arch, "-w", files.workload, "-D", "ROWS=8", "--mapper",
                "random", "--max-evals", "20", "--seed", "2", "--threads", "1", "-q", "--json"})
            .json();
    const std::vector<std::string> rows = lines_of(files.read("out/trials.csv"));
    BOOST_REQUIRE(rows.size() == 13U);
    std::ostringstream value;
    value << ",feasible," << single["contenders"][0]["trials"][0]["value"].get<std::int64_t>()
          << ",";
    BOOST_TEST(rows[6].rfind("rows 8,random,2,", 0) == 0U, rows[6]);
    BOOST_TEST(rows[6].find(value.str()) != std::string::npos, rows[6] + value.str());
    const std::string page = files.read("out/report.html");
    BOOST_TEST(page.size() < (1U << 20));
    BOOST_TEST(page.find("<svg") != std::string::npos);
    BOOST_TEST(page.find("http://www.w3.org/2000/svg") != std::string::npos);
    BOOST_TEST(page.find("<script") == std::string::npos);
    BOOST_TEST(page.find("src=") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_mapper_is_compared_with_itself_under_other_knobs) {
    const Files files;
    const std::vector<std::string> both = {"--mapper", "mcts,mcts[variant=tileseek;rollouts=2]",
                                           "--max-evals", "30", "--json"};
    std::vector<std::string> args = {"--instances", files.instances({"8"}), "-o", files.at("out")};
    args.insert(args.end(), both.begin(), both.end());
    const Outcome outcome = files.compare(args);
    BOOST_TEST(outcome.code == 0, outcome.err);
    BOOST_TEST(outcome.json()["mappers"].size() == 2U);
    const std::vector<std::string> rows = lines_of(files.read("out/trials.csv"));
    BOOST_REQUIRE(rows.size() == 3U);
    BOOST_TEST(rows[2].find(",mcts[variant=tileseek;rollouts=2],0,feasible,") != std::string::npos);
    // The knob is its own alone, in a comparison on one problem, too.
    std::vector<std::string> one = {"-a", files.arch, "-w", files.workload, "--threads", "1"};
    one.insert(one.end(), both.begin(), both.end());
    const Json json = files.compare(one).json();
    BOOST_REQUIRE(json["contenders"].size() == 2U);
    const Json set = files
                         .compare({"-a", files.arch, "-w", files.workload, "--threads", "1",
                                   "--mapper", "mcts", "--knob", "mcts.variant=tileseek", "--knob",
                                   "mcts.rollouts=2", "--max-evals", "30", "--json"})
                         .json();
    const auto value = [](const Json& document, const std::string& name) {
        for (const auto& contender : document["contenders"]) {
            if (contender["name"] == name) {
                return contender["trials"][0]["value"].get<double>();
            }
        }
        return -1.0;
    };
    BOOST_TEST(value(json, "mcts[variant=tileseek;rollouts=2]") == value(set, "mcts"));
    BOOST_TEST(files.compare({"-a", files.arch, "-w", files.workload, "--mapper", "mcts[variant]"})
                   .says("expected NAME or NAME[KNOB=VALUE;KNOB=VALUE]"));
    BOOST_TEST(files.compare({"-a", files.arch, "-w", files.workload, "--mapper", "none"})
                   .says("nothing is compared"));
}

BOOST_AUTO_TEST_CASE(mappings_of_others_are_costed_again) {
    const Files files;
    const std::string problem = ", arch: " + files.arch + ", workload: " + files.workload;
    BOOST_TEST(
        invoke({"map", "-a", files.arch, "-w", files.workload, "-q", "-o", files.at("map")}).code ==
        0);
    const std::string mapping = files.at("map") + "/mapping.yaml";
    const std::string list = files.file(
        "list.yaml", "- {name: a" + problem + ", given: {other: {file: " + mapping +
                         ", time_s: 2.5}}}\n- {name: b" + problem + ", start: " + mapping + "}\n");
    const Outcome outcome = files.compare({"--instances", list, "--mapper", "random", "--max-evals",
                                           "1", "-o", files.at("out"), "--json"});
    BOOST_TEST(outcome.code == 0, outcome.err);
    const std::vector<std::string> rows = lines_of(files.read("out/trials.csv"));
    BOOST_REQUIRE(rows.size() == 5U);
    BOOST_TEST(rows[1].rfind("a,random,0,feasible,", 0) == 0U, rows[1]);
    BOOST_TEST(rows[2].rfind("a,other,0,evaluated,", 0) == 0U, rows[2]);
    // Begun from the optimum a search has it; nothing is given for the second instance.
    BOOST_TEST(rows[3].rfind("b,random,0,feasible,", 0) == 0U, rows[3]);
    BOOST_TEST(rows[4].rfind("b,other,0,not run,", 0) == 0U, rows[4]);
    BOOST_TEST(cell(rows[3], 4) == cell(rows[2], 4));
    BOOST_TEST(files.read("out/curves.csv").find("0,other,0,2.5,") != std::string::npos);
    // Where the rival's mapping is wrong, its row says so.
    const std::string wrong = files.file("wrong.yaml", "mapping: {nodes: []}\n");
    const std::string refused =
        files.file("refused.yaml", "- {name: a" + problem + ", given: {other: " + wrong + "}}\n");
    BOOST_TEST(files.compare({"--instances", refused, "--mapper", "none"}).code == 4);
    BOOST_TEST(files
                   .compare({"--instances",
                             files.file("typo.yaml", "- {name: a" + problem + ", givne: {}}\n")})
                   .says("did you mean 'given'"));
}

BOOST_AUTO_TEST_CASE(timeloops_inputs_are_instances) {
    const Files files;
    const std::string input =
        test::test_folder() + "/../bench/timeloop/eyeriss_like-default_problem.yaml";
    const std::vector<std::string> limits = {"--max-evals", "500", "--threads", "1"};
    std::vector<std::string> single = {
        "-a",       input, "-w",     input, "--mapper",        "random",
        "--metric", "edp", "--json", "-o",  files.at("single")};
    single.insert(single.end(), limits.begin(), limits.end());
    const Json alone = files.compare(single).json();
    const std::string list = files.file(
        "list.yaml", "- {name: a, arch: " + input + ", workload: " + input +
                         ", given: {timeloop: " + files.at("single/random.map.yaml") + "}}\n");
    std::vector<std::string> args = {"--instances", list, "--mapper",
                                     "random",      "-o", files.at("out")};
    args.insert(args.end(), limits.begin(), limits.end());
    const Outcome outcome = files.compare(args);
    BOOST_TEST(outcome.code == 0, outcome.err + outcome.out);
    const std::vector<std::string> rows = lines_of(files.read("out/trials.csv"));
    BOOST_REQUIRE(rows.size() == 3U);
    BOOST_TEST(rows[1].rfind("a,random,0,feasible,", 0) == 0U, rows[1]);
    BOOST_TEST(rows[2].rfind("a,timeloop,0,evaluated,", 0) == 0U, rows[2]);
    const auto found = alone["contenders"][0]["trials"][0]["value"].get<double>();
    BOOST_TEST(std::stod(cell(rows[1], 4)) == found, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(std::stod(cell(rows[2], 4)) == found, boost::test_tools::tolerance(1e-12));
    const std::string mixed = files.file(
        "mixed.yaml", "- {name: a, arch: " + input + ", workload: " + files.workload + "}\n");
    BOOST_TEST(files.compare({"--instances", mixed}).says("cannot be mixed"));
}

BOOST_AUTO_TEST_CASE(a_crash_ends_no_other_search) {
    const Files files;
    const std::string list = files.instances({"8", "13"});
    const Outcome outcome =
        files.compare({"--instances", list, "--mapper", "fragile,ffm", "-o", files.at("out")});
    BOOST_TEST(outcome.code == 4, outcome.err);
    const std::vector<std::string> rows = lines_of(files.read("out/trials.csv"));
    BOOST_REQUIRE(rows.size() == 5U);
    BOOST_TEST(rows[1].rfind("rows 8,fragile,0,optimal,", 0) == 0U, rows[1]);
    BOOST_TEST(rows[3].rfind("rows 13,fragile,0,failed,", 0) == 0U, rows[3]);
    BOOST_TEST(rows[3].find("signal 11") != std::string::npos, rows[3]);
    BOOST_TEST(rows[4].rfind("rows 13,ffm,0,optimal,", 0) == 0U, rows[4]);
    BOOST_TEST(outcome.prints("fragile on rows 13: its process was ended by signal 11"));
}

BOOST_AUTO_TEST_CASE(resumed_it_keeps_what_is_known) {
    const Files files;
    const std::string list = files.instances({"8", "16"});
    const std::vector<std::string> args = {"--instances", list, "--mapper", "ffm,slow",
                                           "--seeds",     "2",  "-o",       files.at("out")};
    BOOST_TEST(files.compare(args).code == 0);
    const std::vector<std::string> all = lines_of(files.read("out/points.jsonl"));
    BOOST_REQUIRE(all.size() == 8U);
    // As a kill leaves it: three searches, and half a line.
    files.file("out/points.jsonl", all[0] + "\n" + all[1] + "\n" + all[2] + "\n{\"search\": 5, ");
    files.file("out/checkpoint.json", "{}\n");
    BOOST_TEST(files.compare(args).says("go on with --resume"));
    std::vector<std::string> again = args;
    again.push_back("--resume");
    BOOST_TEST(files.compare(again).code == 0);
    const std::vector<std::string> now = lines_of(files.read("out/points.jsonl"));
    BOOST_REQUIRE(now.size() == 8U);
    for (std::size_t i = 0; i < 3; ++i) {
        BOOST_TEST(now[i] == all[i]);
    }
    BOOST_TEST(Json::parse(files.read("out/result.json"))["mappers"][0]["ran"] == 4);
    again.insert(again.end(), {"--seed", "7"});
    BOOST_TEST(files.compare(again).says("holds another comparison"));
}

BOOST_AUTO_TEST_CASE(wrong_input_is_told_with_its_place) {
    const Files files;
    const std::string good = files.instances({"8"});
    const std::string base = "- {arch: " + files.arch + ", workload: " + files.workload;
    const auto list = [&](const std::string& name, const std::string& text) {
        return files.file(name, text);
    };
    const std::pair<std::vector<std::string>, std::string> cases[] = {
        {{"--instances", list("a.yaml", "- {arch: x}\n")},
         "a.yaml:1:3: [0]: an instance needs 'wor"},
        {{"--instances", list("b.yaml", base + ", defnie: {}}\n")}, "did you mean 'define'?"},
        {{"--instances", list("c.yaml", base + ", define: {ROW: 3}}\n")}, "did you mean 'ROWS'?"},
        {{"--instances", list("d.yaml", base + "}\n" + base + "}\n")}, "d.yaml:2:3: "},
        {{"--instances", list("e.yaml", "arch: x\n")}, "e.yaml:1:1"},
        {{"--instances", good, "-a", files.arch}, "'--instances' and '--arch' exclude"},
        {{"--instances", good, "--mapper", "ffn"}, "unknown mapper 'ffn'; did you mean 'ffm'?"},
        {{"--instances", good, "--mapper", "ffm,ffm"}, "'ffm' is compared with itself"},
        {{"--instances", good, "--knob", "gamma.x=3"}, "none of those compared uses it"},
        {{"--instances", good, "--jobs", "x"}, "--jobs: 'x' is not understood"},
        {{"-a", files.arch, "-w", files.workload, "--jobs", "2"},
         "'--jobs' belongs to --instances"},
    };
    for (const auto& [args, message] : cases) {
        std::vector<std::string> all = args;
        all.insert(all.end(), {"-o", files.at("out")});
        const Outcome outcome = files.compare(all);
        BOOST_TEST(outcome.code == 2, message);
        BOOST_TEST(outcome.says(message), message + " <> " + outcome.err);
        BOOST_TEST(!files.has("out"), message);
    }
}

BOOST_AUTO_TEST_CASE(standings_are_those_worked_out_by_hand) {
    cli::Field field;
    field.mappers = {"late", "good"};
    field.instances = {{"one", "", "", {}}, {"two", "", "", {}}, {"three", "", "", {}}};
    field.n_seeds = 2;
    field.metric = "edp";
    // `good` finds 10 after 0.1 s, `late` 40 on the first two instances; on the third both find 10.
    for (int instance = 0; instance < 3; ++instance) {
        for (int seed = 0; seed < 2; ++seed) {
            field.trials.push_back(trial(instance < 2 ? 40 : 10 * (1 + 1e-12), 0.5));
        }
        for (int seed = 0; seed < 2; ++seed) {
            field.trials.push_back(trial(10, 0.1));
        }
    }
    const std::vector<cli::FieldStanding> all = cli::field_standings(field);
    BOOST_TEST(all[0].mapper == 1U);
    BOOST_TEST(all[0].ratio == 1);
    BOOST_TEST(all[0].best == 6U);
    BOOST_TEST(std::abs(all[0].within_s[0] - 0.1) < 1e-12);
    BOOST_TEST(all[0].reached[0] == 1);
    // Four of six at 4, two at 1: 4^(2/3).
    BOOST_TEST(std::abs(all[1].ratio - std::pow(4, 2.0 / 3)) < 1e-9);
    BOOST_TEST(all[1].best == 2U);
    BOOST_TEST(std::abs(all[1].reached[0] - 1.0 / 3) < 1e-12);
    // Not reached counts as the longest search, 1 s: (1.1^4 * 0.6^2)^(1/6) - 0.1.
    const double expected = std::pow(std::pow(1.1, 4) * 0.36, 1.0 / 6) - 0.1;
    BOOST_TEST(std::abs(all[1].within_s[0] - expected) < 1e-12);
    BOOST_TEST(std::isinf(all[1].gap));
    const auto wins = cli::win_matrix(field);
    BOOST_TEST(std::abs(wins[1][0] - 2.0 / 3) < 1e-12);
    BOOST_TEST(wins[0][1] == 0);
    // Values: four equal differences of one sign, 2 / 2^4. Times: six, 2 / 2^6.
    const std::vector<cli::FieldPair> pairs = cli::field_pairs(field);
    const cli::FieldTests &value = pairs[0].value, &time = pairs[0].time;
    BOOST_TEST(value.searches.ranks.n == 4U);
    BOOST_TEST(std::abs(value.searches.p_holm - 0.125) < 1e-12);
    BOOST_TEST(cli::quality(value.searches) == "no evidence");
    BOOST_TEST(std::abs(time.searches.p_holm - 1.0 / 32) < 1e-12);
    BOOST_TEST(cli::speed(time.searches) == "slower");
    // Over instances by medians: two and three of one sign.
    BOOST_TEST(value.instances.ranks.n == 2U);
    BOOST_TEST(std::abs(value.instances.p_holm - 0.5) < 1e-12);
    BOOST_TEST(time.instances.ranks.n == 3U);
    BOOST_TEST(std::abs(time.instances.p_holm - 0.25) < 1e-12);
    BOOST_TEST(cli::speed(time.instances) == "no evidence");
    field.trials[2].bound = 8;
    field.trials[0].bound = 5;
    BOOST_TEST(*field.bound(0) == 8);
    std::ostringstream text;
    cli::print_field(text, field);
    BOOST_TEST(text.str().find("late than good: value no evidence (p 0.125), over instances no "
                               "evidence (p 0.5); time to 1 % slower (p 0.03125), over instances "
                               "no evidence (p 0.25)\n") != std::string::npos,
               text.str());
    const Json json = Json::parse(cli::field_json(field).dump());
    BOOST_TEST(json["pairs"][0]["time_to_1%"]["p_holm"] == time.searches.p_holm);
    BOOST_TEST(json["pairs"][0]["time_to_1%"]["over_instances"]["p_holm"] == time.instances.p_holm);
}

BOOST_AUTO_TEST_CASE(who_finds_nothing_is_last) {
    // On eight instances `never` finds nothing, `bad` finds a thousand times the best or, on the
    // last, nothing, `good` the best.
    cli::Field field;
    field.mappers = {"never", "bad", "good"};
    field.metric = "edp";
    for (int instance = 0; instance < 8; ++instance) {
        field.instances.push_back({"i" + std::to_string(instance), "", "", {}});
        cli::Trial nothing = trial(0, 0);
        nothing.value.reset();
        nothing.curve.clear();
        nothing.status = cli::Trial::Status::nothing;
        field.trials.push_back(nothing);
        field.trials.push_back(instance < 7 ? trial(1000, 0.1) : nothing);
        field.trials.push_back(trial(1, 0.1));
    }
    const std::vector<cli::FieldStanding> all = cli::field_standings(field);
    BOOST_TEST(all[0].mapper == 2U);
    BOOST_TEST(all[1].mapper == 1U);  // infinite as the next one, but it found seven
    BOOST_TEST(all[2].mapper == 0U);
    BOOST_TEST(std::isinf(all[1].ratio));
    BOOST_TEST(std::isinf(all[2].ratio));
    const std::vector<cli::FieldPair> pairs = cli::field_pairs(field);
    const auto says = [&](std::size_t pair) {
        const cli::FieldTests& tests = pairs[pair].value;
        BOOST_TEST(cli::quality(tests.searches) == cli::quality(tests.instances));
        return std::string(cli::quality(tests.instances));
    };
    BOOST_TEST(says(0) == "worse");  // never than bad: seven of one sign, nothing on the last
    BOOST_TEST(says(1) == "worse");  // never than good
    BOOST_TEST(says(2) == "worse");  // bad than good
    BOOST_TEST(pairs[1].value.instances.ranks.effect == 1);
    BOOST_TEST(cli::win_matrix(field)[2][0] == 1);
    BOOST_TEST(cli::win_matrix(field)[0][1] == 0);
}

BOOST_AUTO_TEST_CASE(times_are_of_cpu_where_the_limit_is) {
    cli::Field field;
    field.mappers = {"one"};
    field.instances = {{"an instance", "", "", {}}};
    field.metric = "edp";
    field.trials = {trial(10, 0.5)};
    field.trials[0].curve.back().cpu_s = 0.2;
    BOOST_TEST(cli::field_standings(field)[0].within_s[0] == 0.5,
               boost::test_tools::tolerance(1e-9));
    field.cpu_time = true;
    BOOST_TEST(cli::field_standings(field)[0].within_s[0] == 0.2,
               boost::test_tools::tolerance(1e-9));
    BOOST_TEST((cli::field_json(field)["time_of"] == "cpu"));
    BOOST_TEST(cli::field_html(field).find("to 1 %, CPU") != std::string::npos);
    BOOST_TEST(cli::trials_csv(field).find(",0.2,0.2,0.2,") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_page_draws_24_mappers_and_says_so_if_there_are_more) {
    cli::Field field;
    field.instances = {{"an instance", "", "", {}}};
    field.metric = "edp";
    const auto times = [](const std::string& page, const std::string& text) {
        int n = 0;
        for (std::size_t at = page.find(text); at != std::string::npos;
             at = page.find(text, at + 1)) {
            ++n;
        }
        return n;
    };
    for (int m = 0; m < 24; ++m) {
        field.mappers.push_back("mapper" + std::to_string(m) + ".");
        field.trials.push_back(trial(10 + m, 0.5));
        field.trials.back().cpu_s = 1;
        field.trials.back().evaluated = 2;
    }
    const std::string page = cli::field_html(field);
    // In the profile, and over time and evaluations.
    BOOST_TEST(times(page, ">mapper23.</text>") == 3);
    BOOST_TEST(page.find("Drawn are") == std::string::npos);
    field.mappers.push_back("mapper24.");
    field.trials.push_back(trial(34, 0.5));
    const std::string longer = cli::field_html(field);
    BOOST_TEST(times(longer, ">mapper24.</text>") == 0);
    BOOST_TEST(longer.find("Drawn are the first 24 of 25 mappers") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(names_are_harmless_in_a_page) {
    cli::Field field;
    field.mappers = {"<script>alert(1)</script>"};
    field.instances = {{"\"><img src=x>", "", "", {}}};
    field.metric = "edp";
    field.trials = {trial(1, 1)};
    const std::string page = cli::field_html(field);
    BOOST_TEST(page.find("<script") == std::string::npos);
    BOOST_TEST(page.find("<img") == std::string::npos);
    BOOST_TEST(page.find("&lt;script&gt;") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
