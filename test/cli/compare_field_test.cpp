// tessera compare --instances: searches in processes of their own, what they say together.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "cli/field_results.hpp"
#include "cli/session.hpp"

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
    BOOST_TEST(pairs[0].value.n == 4U);
    BOOST_TEST(std::abs(pairs[0].value_p - 0.125) < 1e-12);
    BOOST_TEST(pairs[0].quality() == "no evidence");
    BOOST_TEST(std::abs(pairs[0].time_p - 1.0 / 32) < 1e-12);
    BOOST_TEST(pairs[0].speed() == "slower");
    field.trials[2].bound = 8;
    field.trials[0].bound = 5;
    BOOST_TEST(*field.bound(0) == 8);
    std::ostringstream text;
    cli::print_field(text, field);
    BOOST_TEST(text.str().find("late than good: value no evidence (p 0.125), time to 1 % slower") !=
                   std::string::npos,
               text.str());
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
