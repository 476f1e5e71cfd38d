// The map command around a mapper whose answers the test writes down: output, files, exit codes.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <csignal>
#include <stdexcept>

#include "cli/session.hpp"
#include "spec/reader.hpp"
#include "tessera/base/error.hpp"
#include "tessera/plugin/registry.hpp"

using namespace tessera;
using namespace tessera::cli_test;

namespace {

using Answer = std::function<mapper::Result(const model::Problem&, const model::CostModel&,
                                            const mapper::Options&)>;
Answer answer;

class Canned : public mapper::Mapper {
public:
    std::string name() const override {
        return "canned";
    }
    mapper::Result map(const model::Problem& problem, const model::CostModel& model,
                       const mapper::Options& options) override {
        return answer(problem, model, options);
    }
};

TESSERA_PLUGIN(mapper::Mapper, Canned, "canned", "returns what the test wrote down", "");

mapper::Solution solution(const model::Problem& problem, const model::CostModel& model,
                          const char* text) {
    spec::Node root = spec::read_text(text, "canned.yaml");
    spec::assign_paths(root);
    mapper::Solution result{mapping::read_mapping(*root.find("mapping")), {}};
    result.report = model.evaluate(problem, result.mapping);
    return result;
}

mapper::Result optimal(const model::Problem& problem, const model::CostModel& model,
                       const mapper::Options&) {
    mapper::Result result;
    result.status = mapper::Status::optimal;
    result.solutions = {solution(problem, model, fused_mapping)};
    result.bound = result.solutions.front().report.edp_js();
    result.statistics.mapspace_size = "123456789012345678901234567890";
    result.statistics.threads = 2;
    return result;
}

mapper::Result both(const model::Problem& problem, const model::CostModel& model,
                    const mapper::Options& options) {
    mapper::Result result = optimal(problem, model, options);
    result.solutions.push_back(solution(problem, model, unfused_mapping));
    result.bound.reset();
    return result;
}

/// result.json of a document on stdout: without what may differ between two runs.
std::string stored(Json root) {
    for (const char* key :
         {"wall_s", "cpu_s", "peak_rss_bytes", "evaluated", "pareto", "threads", "phases"}) {
        root["search"].erase(key);
    }
    return root.dump(2) + "\n";
}

struct Files : Folder {
    std::string arch = file("arch.yaml", small_arch);
    std::string workload = file("workload.yaml", small_workload);

    Outcome map(const std::vector<std::string>& more, Answer with = optimal) const {
        answer = std::move(with);
        std::vector<std::string> args = {"map", "-a", arch, "-w", workload, "--mapper", "canned"};
        args.insert(args.end(), more.begin(), more.end());
        return invoke(args);
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(text_names_costs_groups_tree_proof_and_effort) {
    const Files files;
    const Outcome outcome = files.map({"--tree"});
    BOOST_TEST(outcome.code == 0, outcome.err);
    for (const char* part :
         {"energy ", "latency ", "EDP ", "Y + Z", "LoopTree:", "for m in 16 / 1 (16 trips)",
          "Proven optimal for edp", "wall", "CPU", "MiB", "1.2e29"}) {
        BOOST_TEST(outcome.prints(part), part << " is missing in\n" << outcome.out);
    }
}

BOOST_AUTO_TEST_CASE(map_json_has_status_bound_gap_and_search) {
    const Files files;
    const Json root = files.map({"--json", "--seed", "7"}).json();
    BOOST_TEST(root["status"] == "optimal");
    BOOST_TEST(root["metric"] == "edp");
    BOOST_TEST(root["gap"] == 0.0);
    BOOST_TEST(root["bound"]["edp_js"] == root["mappings"][0]["edp_js"]);
    BOOST_TEST(root["search"]["seed"] == 7);
    BOOST_TEST(root["search"]["threads"] == 2);
    BOOST_TEST(root["search"]["mapspace_size"] == "123456789012345678901234567890");
}

BOOST_AUTO_TEST_CASE(a_stopped_search_tells_the_gap) {
    const Files files;
    const auto stopped = [](const model::Problem& problem, const model::CostModel& model,
                            const mapper::Options& options) {
        mapper::Result result = optimal(problem, model, options);
        result.status = mapper::Status::feasible;
        result.bound = result.solutions.front().report.energy_j() * 0.75;
        return result;
    };
    const Json root = files.map({"--json", "--metric", "energy"}, stopped).json();
    BOOST_TEST(root["status"] == "feasible");
    BOOST_TEST(root["gap"].get<double>() == 0.25, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(root["bound"].contains("energy_j"));
    BOOST_TEST(files.map({"--metric", "energy"}, stopped).prints("a gap of 25 %"));
}

BOOST_AUTO_TEST_CASE(what_is_proven_of_the_later_metric_is_said) {
    const Files files;
    for (const bool proven : {true, false}) {
        const auto told = [&](const model::Problem& problem, const model::CostModel& model,
                              const mapper::Options& options) {
            mapper::Result result = optimal(problem, model, options);
            result.bound = result.solutions.front().report.latency_s();
            result.later = mapper::LaterMetric{mapper::Metric::energy, proven, 2.5};
            return result;
        };
        const Json root = files.map({"--json", "--metric", "latency"}, told).json();
        BOOST_TEST(root["status"] == "optimal");
        BOOST_TEST(root["later"]["metric"] == "energy");
        BOOST_TEST(root["later"]["proven"] == proven);
        BOOST_TEST(root["later"]["bound"]["energy_j"] == 2.5);
        const Outcome text = files.map({"--metric", "latency"}, told);
        BOOST_TEST(text.prints(proven ? "Proven optimal for latency, and among those mappings for "
                                        "energy: no mapping of this space is better"
                                      : "Proven optimal for latency; energy among those mappings "
                                        "is not proven (at least 2.5"),
                   text.out);
    }
    BOOST_TEST(!files.map({"--json", "--metric", "latency"}).json().contains("later"));
}

BOOST_AUTO_TEST_CASE(several_metrics_give_the_whole_set) {
    const Files files;
    const Json root = files.map({"--json", "--metric", "energy,latency"}, both).json();
    BOOST_TEST(root["metric"] == "energy,latency");
    BOOST_TEST(root["mappings"].size() == 2U);
    BOOST_TEST(root["gap"] == 0.0);
    BOOST_TEST(root["bound"].empty());
    const auto open = [](const model::Problem& problem, const model::CostModel& model,
                         const mapper::Options& options) {
        mapper::Result result = both(problem, model, options);
        result.status = mapper::Status::feasible;
        return result;
    };
    BOOST_TEST(files.map({"--json", "--metric", "energy,latency"}, open).json()["gap"].is_null());
    BOOST_TEST(files.map({"--metric", "energy,latency"}, both).prints("Pareto set:"));
}

BOOST_AUTO_TEST_CASE(options_reach_the_mapper) {
    const Files files;
    mapper::Options seen;
    seen.mapspace = mapspace::MapSpaceOptions::accelforge();
    arch::Compat compat = arch::Compat::none;
    const auto spy = [&](const model::Problem& problem, const model::CostModel& model,
                         const mapper::Options& options) {
        seen = options;
        compat = problem.compat;
        return optimal(problem, model, options);
    };
    files.map({"--metric", "latency,energy", "--max-fused-loops", "3",
               "--max-fused-loops-per-rank-variable", "unlimited", "--imperfect-temporal",
               "--imperfect-spatial", "--unfused", "--max-time", "250ms", "--threads", "3"},
              spy);
    BOOST_TEST((seen.metrics ==
                std::vector<mapper::Metric>{mapper::Metric::latency, mapper::Metric::energy}));
    BOOST_TEST(seen.mapspace.max_fused_loops == 3);
    BOOST_TEST(seen.mapspace.max_fused_loops_per_rank_variable == -1);
    BOOST_TEST(seen.mapspace.imperfect_temporal);
    BOOST_TEST(seen.mapspace.imperfect_spatial);
    BOOST_TEST(seen.mapspace.unfused);
    BOOST_TEST(seen.budget.max_time_s == 0.25);
    BOOST_TEST(seen.threads == 3);
    BOOST_TEST((compat == arch::Compat::none));
    files.map({}, spy);
    BOOST_TEST(seen.mapspace.max_fused_loops == -1);
    BOOST_TEST(seen.mapspace.max_fused_loops_per_rank_variable == 1);
    BOOST_TEST((compat == arch::Compat::none));
    files.map({"--mapspace", "accelforge"}, spy);
    BOOST_TEST((compat == arch::Compat::accelforge));
    files.map({"--mapspace", "accelforge", "--compat", "none"}, spy);
    BOOST_TEST((compat == arch::Compat::none));
    files.map({"--compat", "accelforge"}, spy);
    BOOST_TEST((compat == arch::Compat::accelforge));
}

BOOST_AUTO_TEST_CASE(progress_goes_to_stderr_unless_quiet) {
    const Files files;
    const auto chatty = [](const model::Problem& problem, const model::CostModel& model,
                           const mapper::Options& options) {
        if (options.progress) {
            options.progress("step 1");
        }
        return optimal(problem, model, options);
    };
    const Outcome loud = files.map({"--json", "--ui", "json"}, chatty);
    BOOST_TEST(loud.says("\"step 1\""), loud.err);
    BOOST_TEST(loud.json()["status"] == "optimal");
    BOOST_TEST(files.map({"--json", "--quiet"}, chatty).err == "");
}

BOOST_AUTO_TEST_CASE(a_run_directory_holds_inputs_results_and_pictures) {
    const Files files;
    const Outcome outcome = files.map({"-o", files.at("runs/one"), "--json", "--seed", "3"});
    BOOST_REQUIRE_EQUAL(outcome.code, 0);
    BOOST_TEST(files.read("runs/one/result.json") == stored(outcome.json()));
    const Json run = Json::parse(files.read("runs/one/run.json"));
    BOOST_TEST(run["seed"] == 3);
    BOOST_TEST(run["inputs"].size() == 2U);
    BOOST_TEST(run["inputs"][0]["sha256"].get<std::string>().size() == 64U);
    BOOST_TEST(run["options"]["metric"] == "edp");
    BOOST_TEST(files.read("runs/one/looptree.svg").rfind("<svg", 0) == 0U);
    BOOST_TEST(files.has("runs/one/mapping.yaml"));
}

BOOST_AUTO_TEST_CASE(the_written_mapping_evaluates_to_the_same_bits) {
    const Files files;
    const Json mapped =
        files.map({"-o", files.at("run"), "--json", "--metric", "energy,latency"}, both).json();
    for (std::size_t i = 0; i < 2; ++i) {
        const std::string name = i == 0 ? "run/mapping.yaml" : "run/mapping-2.yaml";
        const Json evaluated = invoke({"model", "-a", files.arch, "-w", files.workload, "-m",
                                       files.at(name), "--json"})
                                   .json();
        BOOST_TEST(evaluated["mappings"][0].dump() == mapped["mappings"][i].dump());
    }
}

BOOST_AUTO_TEST_CASE(an_existing_folder_is_an_error_before_the_search) {
    const Files files;
    files.map({"-o", files.at("run")});
    bool searched = false;
    const auto spy = [&](const model::Problem& problem, const model::CostModel& model,
                         const mapper::Options& options) {
        searched = true;
        return optimal(problem, model, options);
    };
    const Outcome outcome = files.map({"-o", files.at("run")}, spy);
    BOOST_TEST(outcome.code == 2);
    BOOST_TEST(outcome.says("--force"));
    BOOST_TEST(!searched);
    BOOST_TEST(files.map({"-o", files.at("run"), "--force"}, spy).code == 0);
    BOOST_TEST(searched);
}

BOOST_AUTO_TEST_CASE(an_infeasible_problem_exits_1_with_the_reason) {
    const Files files;
    const auto none = [](const model::Problem&, const model::CostModel&,
                         const mapper::Options&) -> mapper::Result {
        throw NoLegalMapping("Einsum 'Y': 9 bits are needed, Buffer has 3");
    };
    const Outcome outcome = files.map({"--json", "-o", files.at("run")}, none);
    BOOST_TEST(outcome.code == 1);
    BOOST_TEST(outcome.says("9 bits are needed, Buffer has 3"));
    BOOST_TEST(outcome.json()["status"] == "infeasible");
    BOOST_TEST(outcome.json()["mappings"].empty());
    BOOST_TEST(outcome.json()["reasons"][0] == "Einsum 'Y': 9 bits are needed, Buffer has 3");
    BOOST_TEST(!files.has("run"));
}

BOOST_AUTO_TEST_CASE(a_limit_before_any_result_exits_5) {
    const Files files;
    const Outcome outcome = files.map({}, [](auto&&...) {
        mapper::Result result;
        result.status = mapper::Status::feasible;
        return result;
    });
    BOOST_TEST(outcome.code == 5);
    BOOST_TEST(outcome.says("--max-time"));
    // Which limit it was is told by the result, not by the clock.
    const Outcome memory = files.map({}, [](auto&&...) {
        mapper::Result result;
        result.status = mapper::Status::feasible;
        result.stopped_by = "max-memory";
        return result;
    });
    BOOST_TEST(memory.code == 5);
    BOOST_TEST(memory.says("a limit was hit before any mapping was found; raise --max-memory"),
               memory.err);
}

BOOST_AUTO_TEST_CASE(what_ended_a_search_is_said) {
    const Files files;
    const auto ended_by = [&](const std::string& reason) {
        return files.map({}, [&](const model::Problem& problem, const model::CostModel& model,
                                 const mapper::Options& options) {
            mapper::Result result = optimal(problem, model, options);
            result.status = mapper::Status::feasible;
            result.stopped_by = reason;
            result.bound = 0.0;
            return result;
        });
    };
    const Outcome gap = ended_by("gap");
    BOOST_TEST(gap.prints("--gap was reached"), gap.out);
    BOOST_TEST(gap.prints("No lower bound is known yet."), gap.out);
    const Outcome stopped = ended_by("stop");
    BOOST_TEST(stopped.prints("an interrupt stopped the search"), stopped.out);
}

BOOST_AUTO_TEST_CASE(ctrl_c_keeps_the_incumbent_and_exits_130) {
    const Files files;
    const auto interrupted = [](const model::Problem& problem, const model::CostModel& model,
                                const mapper::Options& options) {
        BOOST_TEST(!options.stop->load());
        std::raise(SIGINT);
        BOOST_TEST(options.stop->load());
        mapper::Result result = optimal(problem, model, options);
        result.status = mapper::Status::feasible;
        return result;
    };
    const Outcome outcome = files.map({"--json", "-o", files.at("run")}, interrupted);
    BOOST_TEST(outcome.code == 130);
    BOOST_TEST(outcome.json()["mappings"].size() == 1U);
    BOOST_TEST(files.read("run/result.json") == stored(outcome.json()));
    BOOST_TEST(files.map({}).code == 0);  // the next search starts afresh
}

BOOST_AUTO_TEST_CASE(errors_have_their_exit_codes) {
    const Files files;
    BOOST_TEST(files.map({}, [](auto&&...) -> mapper::Result { throw UserError("a"); }).code == 2);
    BOOST_TEST(files.map({}, [](auto&&...) -> mapper::Result { throw PluginError("b"); }).code ==
               3);
    BOOST_TEST(files.map({}, [](auto&&...) -> mapper::Result { throw LimitReached("c"); }).code ==
               5);
    const Outcome full = files.map({}, [](auto&&...) -> mapper::Result { throw std::bad_alloc(); });
    BOOST_TEST(full.code == 5);
    BOOST_TEST(full.says("--max-memory"), full.err);
    for (const Answer& broken :
         {Answer([](auto&&...) -> mapper::Result { throw Bug("d"); }),
          Answer([](auto&&...) -> mapper::Result { throw std::out_of_range("e"); }),
          Answer([](auto&&...) -> mapper::Result { throw 7; })}) {
        const Outcome outcome = files.map({"-o", files.at("run")}, broken);
        BOOST_TEST(outcome.code == 70);
        BOOST_TEST(outcome.says("Please report it"), outcome.err);
        BOOST_TEST(!files.has("run"));
    }
}
