// Ctrl-C in three stages, and the other signals.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/cli.hpp"
#include "run/process.hpp"
#include "spec/reader.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/telemetry/recorder.hpp"

using namespace tessera;
using namespace tessera::run_test;
using Json = nlohmann::ordered_json;

namespace {

constexpr const char* mapping_text = R"(mapping:
  nodes:
  - !Storage {tensors: [X, W, Y], component: Main}
  - !Temporal {rank_variable: m, tile_shape: 1}
  - !Temporal {rank_variable: n, tile_shape: 1}
  - !Temporal {rank_variable: k, tile_shape: 1}
  - !Compute {einsum: Y, component: MAC}
)";

/// Finds one mapping and then never comes back, whatever it is asked.
class Deaf : public mapper::Mapper {
public:
    std::string name() const override {
        return "deaf";
    }
    mapper::Result map(const model::Problem& problem, const model::CostModel& model,
                       const mapper::Options& options) override {
        spec::Node root = spec::read_text(mapping_text, "deaf.yaml");
        spec::assign_paths(root);
        const mapping::Mapping mapping = mapping::read_mapping(*root.find("mapping"));
        const model::Report report = model.evaluate(problem, mapping);
        telemetry::Incumbent found;
        found.value = report.edp_js();
        found.energy_j = report.energy_j();
        found.latency_s = report.latency_s();
        found.found_by = "deaf";
        found.mapping = [mapping] { return mapping::to_yaml(mapping); };
        options.recorder->begin_phase("sleep");
        options.recorder->incumbent(std::move(found));
        for (;;) {
            pause_ms(1000);
        }
    }
};

TESSERA_PLUGIN(mapper::Mapper, Deaf, "deaf", "never stops", "");

constexpr const char* small_arch = R"(arch:
  nodes:
  - !Memory
    name: Main
    size: inf
    actions: [{name: read, energy: 10, throughput: 1}, {name: write, energy: 10, throughput: 1}]
    tensors: {keep: All}
  - !Compute
    name: MAC
    actions: [{name: compute, energy: 1, throughput: 1}]
)";
constexpr const char* small_workload = R"(workload:
  rank_sizes: {M: 4, K: 4, N: 4}
  bits_per_value: {All: 1}
  einsums:
  - {name: Y, tensor_accesses: [{name: X, projection: [m, k]}, {name: W, projection: [k, n]},
     {name: Y, projection: [m, n], output: True}]}
)";

/// The command line in a child of this test, where mapper `deaf` is known.
struct DeafRun {
    explicit DeafRun(const Args& more, bool keep = false) {
        std::ofstream(folder / "arch.yaml") << small_arch;
        std::ofstream(folder / "workload.yaml") << small_workload;
        Args args = joined({"map", "-a", (folder / "arch.yaml").string(), "-w",
                            (folder / "workload.yaml").string(), "--mapper", "deaf"},
                           more);
        if (keep) {
            args = joined(args, {"-o", (folder / "run").string()});
        }
        Process::How how;
        how.instead = [args] { return cli::run(args, std::cout, std::cerr); };
        process.emplace(folder.path(), Args{}, how);
        BOOST_REQUIRE(eventually([&] { return process->says("deaf"); }));
    }
    Folder folder;
    std::optional<Process> process;
};

const Args endless = {"map",         "-a",       "simba",  "-w",         "matmuls", "-D",
                      "N_EINSUMS=2", "--mapper", "random", "--max-time", "100s",    "--json"};

}  // namespace

BOOST_AUTO_TEST_CASE(the_first_ctrl_c_ends_the_search_with_its_result) {
    for (const int signal : {SIGINT, SIGTERM}) {
        const Folder folder;
        const std::string run = (folder / "run").string();
        Process search(folder.path(), joined(endless, {"-o", run}));
        BOOST_REQUIRE(eventually([&] { return fs::exists(folder / "run" / "mapping.yaml"); }));
        const auto start = Clock::now();
        search.signal(signal);
        BOOST_TEST(search.wait() == 130);
        BOOST_TEST(seconds_since(start) < 5);
        BOOST_TEST(
            search.says("interrupted (" + std::string(signal == SIGINT ? "Ctrl-C" : "SIGTERM")),
            search.err());
        const Json root = Json::parse(search.out());
        BOOST_TEST(root["status"] == "feasible");
        BOOST_TEST(root["search"]["stopped_by"] == "stop");
        BOOST_TEST(fs::exists(folder / "run" / "result.json"));
        BOOST_TEST(fs::exists(folder / "run" / "checkpoint.json"));  // --resume can go on
    }
}

BOOST_AUTO_TEST_CASE(the_second_ctrl_c_ends_a_deaf_search_within_a_second) {
    DeafRun run({"--json"}, true);
    Process& process = *run.process;
    process.signal(SIGINT);
    BOOST_REQUIRE(eventually([&] { return process.says("(pending: sleep)"); }));
    BOOST_TEST(process.wait(1.5) == -1);  // it does not hear the first one
    const auto start = Clock::now();
    process.signal(SIGINT);
    BOOST_TEST(process.wait() == 130);
    BOOST_TEST(seconds_since(start) < 1.5);
    BOOST_TEST(process.says("stopping within a second"));
    const Json root = Json::parse(process.out());
    BOOST_TEST(root["status"] == "feasible");
    BOOST_TEST(root["mappings"].size() == 1U);
    BOOST_TEST(fs::exists(run.folder / "run" / "result.json"));
}

BOOST_AUTO_TEST_CASE(the_third_ctrl_c_ends_it_at_once) {
    DeafRun run({});
    Process& process = *run.process;
    for (const char* answer : {"stopping, the best", "stopping within"}) {
        process.signal(SIGINT);
        BOOST_REQUIRE(eventually([&] { return process.says(answer); }));
    }
    const auto start = Clock::now();
    process.signal(SIGINT);
    BOOST_TEST(process.wait() == 130);
    BOOST_TEST(seconds_since(start) < 0.3);
}

BOOST_AUTO_TEST_CASE(sigusr1_prints_a_line_and_sigusr2_saves_a_checkpoint) {
    const Folder folder;
    const std::string run = (folder / "run").string();
    Process search(folder.path(), joined(endless, {"-q", "-o", run}));
    BOOST_REQUIRE(eventually([&] { return fs::exists(folder / "run" / "mapping.yaml"); }));
    BOOST_TEST(search.err() == "");
    search.signal(SIGUSR1);
    BOOST_TEST(eventually([&] { return search.says("tessera: running "); }));
    const std::string before = read(folder / "run" / "checkpoint.json");
    search.signal(SIGUSR2);
    BOOST_TEST(eventually([&] { return read(folder / "run" / "checkpoint.json") != before; }));
    search.signal(SIGHUP);
    pause_ms(50);
    search.signal(SIGUSR1);
    const auto lines = [&] {
        const std::string text = search.err();
        return std::count(text.begin(), text.end(), '\n');
    };
    BOOST_TEST(eventually([&] { return lines() == 2; }));
    search.signal(SIGINT);
    BOOST_TEST(search.wait() == 130);
}
