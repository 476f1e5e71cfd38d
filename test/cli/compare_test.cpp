// tessera compare: mappers whose answers the test writes down, real ones, and Timeloop's inputs.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <csignal>

#include "cli/compare/comparison_report.hpp"
#include "cli/session.hpp"
#include "spec/reader.hpp"
#include "support/paths.hpp"
#include "tessera/base/error.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/telemetry/recorder.hpp"

using namespace tessera;
using namespace tessera::cli_test;

namespace {

mapper::Solution solution(const model::Problem& problem, const model::CostModel& model,
                          const char* text) {
    spec::Node root = spec::read_text(text, "written.yaml");
    spec::assign_paths(root);
    mapper::Solution result{mapping::read_mapping(*root.find("mapping")), {}};
    result.report = model.evaluate(problem, result.mapping);
    return result;
}

/// First the worse mapping, then, with an odd seed, the better one.
class Slow : public mapper::Mapper {
public:
    std::string name() const override {
        return "slow";
    }
    mapper::Result map(const model::Problem& problem, const model::CostModel& model,
                       const mapper::Options& options) override {
        mapper::Result result;
        result.status = mapper::Status::feasible;
        result.solutions = {solution(problem, model, unfused_mapping)};
        telemetry::Incumbent found;
        found.value = result.solutions.front().report.edp_js();
        options.recorder->worker(0, "slow").evaluated(10);
        options.recorder->incumbent(found);
        if (options.seed % 2 == 1) {
            result.solutions = {solution(problem, model, fused_mapping)};
            found.value = result.solutions.front().report.edp_js();
            options.recorder->incumbent(found);
        }
        result.bound = result.solutions.front().report.edp_js() / 2;
        result.stopped_by = "max-evals";
        return result;
    }
};
TESSERA_PLUGIN(mapper::Mapper, Slow, "slow", "finds more with odd seeds", "");

/// Says that its mapping costs half of what it does.
class Liar : public mapper::Mapper {
public:
    std::string name() const override {
        return "liar";
    }
    mapper::Result map(const model::Problem& problem, const model::CostModel& model,
                       const mapper::Options&) override {
        mapper::Result result;
        result.status = mapper::Status::optimal;
        result.solutions = {solution(problem, model, fused_mapping)};
        for (model::EinsumReport& einsum : result.solutions.front().report.einsums) {
            einsum.dynamic_energy_j /= 2;
        }
        return result;
    }
};
TESSERA_PLUGIN(mapper::Mapper, Liar, "liar", "claims too much", "");

/// A Ctrl-C comes while it searches.
class Disturbed : public mapper::Mapper {
public:
    std::string name() const override {
        return "disturbed";
    }
    mapper::Result map(const model::Problem& problem, const model::CostModel& model,
                       const mapper::Options&) override {
        ::raise(SIGINT);
        mapper::Result result;
        result.status = mapper::Status::feasible;
        result.solutions = {solution(problem, model, unfused_mapping)};
        return result;
    }
};
TESSERA_PLUGIN(mapper::Mapper, Disturbed, "disturbed", "is interrupted", "");

struct Files : Folder {
    std::string arch = file("arch.yaml", small_arch);
    std::string workload = file("workload.yaml", small_workload);

    Outcome compare(const std::vector<std::string>& more) const {
        std::vector<std::string> args = {"compare", "-a", arch, "-w", workload, "-q"};
        args.insert(args.end(), more.begin(), more.end());
        return invoke(args);
    }
};

const Json& contender(const Json& document, const std::string& name) {
    for (const Json& one : document["contenders"]) {
        if (one["name"] == name) {
            return one;
        }
    }
    throw std::runtime_error("no contender " + name);
}

const std::string bench = test::test_folder() + "/../bench/timeloop/";

}  // namespace

BOOST_AUTO_TEST_SUITE(compare)

BOOST_AUTO_TEST_CASE(the_best_comes_first_and_ratios_are_to_it) {
    const Files files;
    const Outcome outcome = files.compare({"--mapper", "slow,ffm", "--json"});
    BOOST_TEST(outcome.code == 0, outcome.err);
    const Json json = outcome.json();
    BOOST_TEST(json["status"] == "compared");
    BOOST_TEST(json["contenders"][0]["name"] == "ffm");
    BOOST_TEST(json["contenders"][0]["ratio"] == 1.0);
    const Json& best = json["contenders"][0]["trials"][0];
    BOOST_TEST(best["status"] == "optimal");
    BOOST_TEST(best["gap"] == 0.0);
    BOOST_TEST(best["value"] == json["best"]);
    const Json& slow = contender(json, "slow");
    const Json& trial = slow["trials"][0];
    BOOST_TEST(slow["ratio"].get<double>() ==
               trial["value"].get<double>() / json["best"].get<double>());
    BOOST_TEST(slow["ratio"].get<double>() > 1);
    BOOST_TEST(trial["gap"] == 0.5);
    BOOST_TEST(trial["evaluated"] == 10);
    BOOST_TEST(trial["stopped_by"] == "max-evals");
    BOOST_TEST(trial["value"].get<double>() ==
               trial["energy_j"].get<double>() * trial["latency_s"].get<double>());
    const Outcome map = invoke({"map", "-a", files.arch, "-w", files.workload, "-q", "--json"});
    BOOST_TEST(map.json()["mappings"][0]["edp_js"] == json["best"]);
}

// What is compared on some Einsums is what map finds for them.
BOOST_AUTO_TEST_CASE(some_einsums_of_a_workload_are_compared) {
    const std::vector<std::string> what = {"-a",        "simba",         "-w", "gpt3-6.7b",
                                           "--einsums", "QK,QK_softmax", "-q", "--json"};
    std::vector<std::string> args = {"compare", "--mapper", "ffm"};
    args.insert(args.end(), what.begin(), what.end());
    const Outcome outcome = invoke(args);
    BOOST_REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    args = {"map"};
    args.insert(args.end(), what.begin(), what.end());
    const Json map = invoke(args).json();
    BOOST_TEST(contender(outcome.json(), "ffm")["trials"][0]["value"] ==
               map["mappings"][0]["edp_js"]);
    args = {"map", "-a", "simba", "-w", "gpt3-6.7b", "-q", "--json"};
    BOOST_TEST(outcome.json()["best"] != invoke(args).json()["mappings"][0]["edp_js"]);
    BOOST_TEST(invoke({"compare", "--instances", "x.yaml", "--einsums", "QK", "-o", "x"})
                   .says("exclude each other"));
}

BOOST_AUTO_TEST_CASE(seeds_give_medians_wins_and_a_test) {
    const Files files;
    const Json json = files.compare({"--mapper", "slow,ffm", "--seeds", "6", "--json"}).json();
    const Json& slow = contender(json, "slow");
    BOOST_TEST(slow["trials"].size() == 6U);
    BOOST_TEST(slow["trials"][3]["seed"] == 3);
    const double even = slow["trials"][0]["value"], odd = slow["trials"][1]["value"];
    BOOST_TEST(odd < even);
    BOOST_TEST(slow["value"]["least"] == odd);
    BOOST_TEST(slow["value"]["most"] == even);
    BOOST_TEST(slow["value"]["median"] == (odd + even) / 2);
    BOOST_TEST(slow["wins"].get<double>() + contender(json, "ffm")["wins"].get<double>() == 6);
    BOOST_TEST(contender(json, "ffm")["p"].is_null());
    BOOST_TEST(slow["p"].get<double>() > 0);
    // Both points of the curve, in order.
    const Json& curve = slow["trials"][1]["curve"];
    BOOST_TEST(curve.size() == 2U);
    BOOST_TEST(curve[0][1] == even);
    BOOST_TEST(curve[1][1] == odd);
    BOOST_TEST(curve[0][0].get<double>() <= curve[1][0].get<double>());
    const Outcome text = files.compare({"--mapper", "slow,ffm", "--seeds", "6"});
    BOOST_TEST(text.prints("6 seeds, medians"));
    BOOST_TEST(text.prints("than first"));
    BOOST_TEST(text.prints("Best edp at equal times (medians):"), text.out);
}

BOOST_AUTO_TEST_CASE(given_mappings_take_part) {
    const Files files;
    const std::string given = files.file("hand.yaml", fused_mapping);
    const Json json = files.compare({"--mapper", "ffm", "-m", given, "--json"}).json();
    const Json& hand = contender(json, "hand.yaml");
    BOOST_TEST(hand["kind"] == "mapping");
    BOOST_TEST(hand["trials"][0]["status"] == "evaluated");
    const Outcome model =
        invoke({"model", "-a", files.arch, "-w", files.workload, "-m", given, "-q", "--json"});
    BOOST_TEST(hand["trials"][0]["value"] == model.json()["mappings"][0]["edp_js"]);
}

BOOST_AUTO_TEST_CASE(what_fails_is_told_and_the_others_are_compared) {
    const Files files;
    std::string text = fused_mapping;
    text.replace(text.find("tensors: [X, W, Z]"), 18, "tensors: [X, Z]");
    const std::string bad = files.file("bad.yaml", text);
    const Outcome outcome = files.compare({"--mapper", "liar,slow", "-m", bad, "--json"});
    BOOST_TEST(outcome.code == 4);
    const Json json = outcome.json();
    BOOST_TEST(json["contenders"][0]["name"] == "slow");
    const std::string liar = contender(json, "liar")["trials"][0]["error"];
    BOOST_TEST(liar.find("the mapper says that its mapping costs") != std::string::npos, liar);
    const std::string illegal = contender(json, "bad.yaml")["trials"][0]["error"];
    BOOST_TEST(illegal.find("the mapping is illegal: ") != std::string::npos, illegal);
    BOOST_TEST(files.compare({"--mapper", "liar,slow"}).prints("liar: the mapper says"));
}

BOOST_AUTO_TEST_CASE(wrong_input_ends_it_before_anything_runs) {
    const Files files;
    const std::pair<std::vector<std::string>, const char*> cases[] = {
        {{"--mapper", "ffn"}, "unknown mapper 'ffn'; did you mean 'ffm'?"},
        {{"--mapper", "ffm,ffm"}, "'ffm' is compared with itself"},
        {{"--mapper", "ffm,,random"}, "--mapper: 'ffm,,random' is not understood"},
        {{"--metric", "energy,latency"}, "--metric: 'energy,latency' is not understood"},
        {{"--seeds", "0"}, "--seeds: '0' is not understood"},
        {{"--mapper", "ffm", "--knob", "random.batch=3"}, "none of those compared uses it"},
        {{"--force"}, "option '--force' needs the folder"},
        {{"-m", files.at("none.yaml")}, "none.yaml"},
    };
    for (const auto& [args, message] : cases) {
        std::vector<std::string> all = args;
        all.insert(all.end(), {"-o", files.at("out")});
        const Outcome outcome =
            args.front() == "--force" ? files.compare(args) : files.compare(all);
        BOOST_TEST(outcome.code == 2, message);
        BOOST_TEST(outcome.says(message), outcome.err);
        BOOST_TEST(outcome.out == "");
        BOOST_TEST(!files.has("out"), message);
    }
    BOOST_TEST(invoke({"compare", "-a", files.arch}).code == 2);
}

BOOST_AUTO_TEST_CASE(files_hold_the_document_the_curves_and_the_mappings) {
    const Files files;
    const std::string folder = files.at("comparison");
    const Outcome outcome =
        files.compare({"--mapper", "slow,ffm", "--seeds", "2", "-o", folder, "--json"});
    BOOST_TEST(outcome.code == 0, outcome.err);
    BOOST_TEST(files.read("comparison/result.json") == outcome.out);
    BOOST_TEST(files.read("comparison/curves.csv")
                   .rfind("mapper,seed,time_s,evaluated,value,cpu_s,charged\n", 0) == 0U);
    BOOST_TEST((files.read("comparison/curves.csv").find("\nslow,1,") != std::string::npos));
    const Json run = Json::parse(files.read("comparison/run.json"));
    BOOST_TEST(run["command"][1] == "compare");
    BOOST_TEST(run["inputs"].size() == 2U);
    const Outcome model = invoke({"model", "-a", files.arch, "-w", files.workload, "-m",
                                  folder + "/ffm.mapping.yaml", "-q", "--json"});
    BOOST_TEST(model.json()["mappings"][0]["edp_js"] == outcome.json()["best"]);
    BOOST_TEST(files.compare({"--mapper", "ffm", "-o", folder}).code == 2);
    const Outcome rerun = invoke({"rerun", folder});
    BOOST_TEST(rerun.code == 2);
    BOOST_TEST(rerun.says("holds a comparison"), rerun.err);
    BOOST_TEST(files.compare({"--mapper", "ffm", "-o", folder, "--force"}).code == 0);
}

BOOST_AUTO_TEST_CASE(an_interrupt_ends_it_with_what_there_is) {
    const Files files;
    const Outcome outcome = files.compare({"--mapper", "slow,disturbed,ffm", "--json"});
    BOOST_TEST(outcome.code == 130);
    const Json json = outcome.json();
    BOOST_TEST(contender(json, "disturbed")["trials"][0]["status"] == "feasible");
    BOOST_TEST(contender(json, "ffm")["trials"][0]["status"] == "not run");
    BOOST_TEST(!json["best"].is_null());
}

BOOST_AUTO_TEST_CASE(a_budget_counts_for_each_alone) {
    const Files files;
    const Json json =
        files.compare({"--mapper", "random,search:exhaustive", "--max-evals", "7", "--json"})
            .json();
    BOOST_TEST(json["limits"]["max_evals"] == 7);
    for (const Json& one : json["contenders"]) {
        BOOST_TEST(one["trials"][0]["evaluated"] == 7, one.dump());
        BOOST_TEST(one["trials"][0]["stopped_by"] == "max-evals");
    }
}

// Of mappings that are equal by the metric, the later one decides.
BOOST_AUTO_TEST_CASE(equal_values_are_ranked_by_the_later_metric) {
    class Written : public cli::Contender {
    public:
        Written(const char* name, double latency, double energy_j) : Contender(name) {
            cli::Trial trial;
            trial.status = cli::Trial::Status::feasible;
            trial.value = trial.latency = latency;
            trial.energy_j = energy_j;
            trials.push_back(trial);
        }
        void run(const Start&, cli::Trial&) override {}
    };
    cli::Comparison comparison;
    comparison.run.metrics = {"latency"};
    comparison.contenders.push_back(std::make_unique<Written>("slow", 3, 1));
    comparison.contenders.push_back(std::make_unique<Written>("hot", 2, 8));
    comparison.contenders.push_back(std::make_unique<Written>("cool", 2 + 1e-12, 4));
    comparison.contenders.push_back(std::make_unique<Written>("as cool", 2, 4 + 1e-12));
    const std::vector<cli::Standing> all = cli::standings(comparison);
    std::vector<std::pair<std::string, int>> found;
    for (const cli::Standing& s : all) {
        found.emplace_back(s.contender->name(), s.rank);
    }
    const std::vector<std::pair<std::string, int>> expected{
        {"cool", 1}, {"as cool", 1}, {"hot", 3}, {"slow", 4}};
    BOOST_TEST((found == expected));
    BOOST_TEST(all[0].wins == 0.5);
    BOOST_TEST(all[2].wins == 0);
    BOOST_TEST((all[0].tied && all[1].tied && !all[2].tied));
    // By energy, latency decides.
    comparison.run.metrics = {"energy"};
    for (const auto& contender : comparison.contenders) {
        cli::Trial& trial = contender->trials.front();
        std::swap(trial.latency, trial.energy_j);
    }
    BOOST_TEST(cli::standings(comparison).front().contender->name() == "cool");
}

BOOST_AUTO_TEST_CASE(the_test_of_two_contenders_is_mann_and_whitneys) {
    // 1..5 against 6..10: U = 25, mean 12.5, variance 25 * 11 / 12; z = 12 / 4.787.
    cli::Comparison comparison;
    class Written : public cli::Contender {
    public:
        Written(const char* name, double first) : Contender(name) {
            for (int i = 0; i < 5; ++i) {
                cli::Trial trial;
                trial.status = cli::Trial::Status::feasible;
                trial.value = first + i;
                trials.push_back(trial);
            }
        }
        void run(const Start&, cli::Trial&) override {}
    };
    comparison.contenders.push_back(std::make_unique<Written>("a", 6));
    comparison.contenders.push_back(std::make_unique<Written>("b", 1));
    comparison.n_seeds = 5;
    const std::vector<cli::Standing> all = cli::standings(comparison);
    BOOST_TEST(all[0].contender->name() == "b");
    BOOST_TEST(all[0].wins == 5);
    BOOST_TEST(std::abs(*all[1].p - std::erfc(12 / std::sqrt(2 * 25 * 11 / 12.0))) < 1e-12);
    comparison.contenders.push_back(std::make_unique<Written>("c", 1));
    BOOST_TEST(*cli::standings(comparison)[1].p == 1);
}

// Mappers add up costs in orders of their own, so that equal mappings differ in the last bits.
BOOST_AUTO_TEST_CASE(equal_values_share_a_rank_proven_or_not) {
    class Written : public cli::Contender {
    public:
        Written(const char* name, double value, cli::Trial::Status status, double best_s)
            : Contender(name) {
            for (int i = 0; i < 5; ++i) {
                cli::Trial trial;
                trial.status = status;
                trial.value = value;
                trial.curve.push_back({best_s, value, 1});
                trials.push_back(trial);
            }
        }
        void run(const Start&, cli::Trial&) override {}
    };
    using Status = cli::Trial::Status;
    cli::Comparison comparison;
    comparison.n_seeds = 5;
    comparison.contenders.push_back(std::make_unique<Written>("worse", 3, Status::feasible, 1));
    comparison.contenders.push_back(
        std::make_unique<Written>("heuristic", 2 + 1e-12, Status::feasible, 2));
    comparison.contenders.push_back(std::make_unique<Written>("proof", 2, Status::optimal, 1));
    const std::vector<cli::Standing> all = cli::standings(comparison);
    BOOST_TEST(all[0].contender->name() == "heuristic");  // as given
    BOOST_TEST(all[1].contender->name() == "proof");
    BOOST_TEST(all[2].contender->name() == "worse");
    BOOST_TEST(all[0].rank == 1);
    BOOST_TEST(all[1].rank == 1);
    BOOST_TEST(all[2].rank == 3);
    BOOST_TEST(all[0].wins == 2.5);
    BOOST_TEST(*all[1].p == 1);
    BOOST_TEST(*all[2].p < 0.05);
    std::ostringstream text;
    cli::print_comparison(text, comparison,
                          {"w", "a", "m", "s", "edp", "J s", "J", "s", "edp_js", "latency_s", 1});
    BOOST_TEST(text.str().find("  1=    heuristic  no bound") != std::string::npos, text.str());
    BOOST_TEST(text.str().find("  1=    proof      proven optimal") != std::string::npos,
               text.str());
    BOOST_TEST(text.str().find("  3     worse") != std::string::npos, text.str());
    const cli::ComparisonSubject subject{"w", "a", "m",      "s",         "edp", "J s",
                                         "J", "s", "edp_js", "latency_s", 1};
    const Json json = Json::parse(cli::comparison_json(comparison, subject).dump());
    BOOST_TEST(json["contenders"][1]["rank"] == 1);
}

BOOST_AUTO_TEST_CASE(timeloops_algorithms_are_compared_on_its_inputs) {
    const Folder folder;
    const std::string input = bench + "eyeriss_like-default_problem.yaml";
    const Outcome outcome =
        invoke({"compare", "-a", input, "-w", input, "--mapper", "optimal,random", "--threads", "1",
                "--max-evals", "2000", "-q", "--json", "-o", folder.at("comparison")});
    BOOST_TEST(outcome.code == 0, outcome.err);
    const Json json = outcome.json();
    BOOST_TEST(json["model"] == "timeloop");
    BOOST_TEST(json["value_key"] == "edp_j_cycles");
    const Json& optimal = contender(json, "optimal");
    BOOST_TEST(json["contenders"][0]["name"] == "optimal");
    BOOST_TEST(optimal["bound"].get<double>() <= optimal["value"]["median"].get<double>());
    BOOST_TEST(contender(json, "random")["trials"][0]["stopped_by"] == "max-evals");
    BOOST_TEST(contender(json, "random")["trials"][0]["curve"].size() > 1U);
    // Its mapping, given, costs what it cost.
    const std::string map = folder.at("comparison/random.map.yaml");
    const Json again = invoke({"compare", "-a", input, "-w", input, "--mapper", "random", "-m", map,
                               "--max-evals", "10", "-q", "--json"})
                           .json();
    BOOST_TEST(contender(again, "random.map.yaml")["value"]["median"] ==
               contender(json, "random")["value"]["median"]);
    const Outcome wrong =
        invoke({"compare", "-a", input, "-w", input, "--mapper", "optimal,rondom", "-q"});
    BOOST_TEST(wrong.code == 2);
    BOOST_TEST(wrong.says("unknown mapper 'rondom'"), wrong.err);
    BOOST_TEST(wrong.says("did you mean 'random'?"), wrong.err);
}

BOOST_AUTO_TEST_SUITE_END()
