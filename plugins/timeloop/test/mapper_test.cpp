// Mapper `timeloop` on native specs, through the command line.
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "cli/session.hpp"
#include "cli/timeloop/timeloop.hpp"
#include "tessera/mapper/mapper.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/telemetry/recorder.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;
using namespace tessera::cli_test;

namespace {

// A main memory of one value a cycle, a buffer, 6 x 4 computes whose columns share outputs and
// whose rows share weights.
constexpr const char* array_arch = R"(arch:
  nodes:
  - !Memory
    name: Main
    size: inf
    actions: [{name: read, energy: 100e-12, throughput: 1e9}, {name: write, energy: 120e-12, throughput: 1e9}]
    tensors: {keep: ~Intermediates, may_keep: All}
  - !Memory
    name: Buffer
    size: 96
    actions: [{name: read, energy: 5e-12, throughput: inf}, {name: write, energy: 6e-12, throughput: inf}]
    tensors: {keep: ~Main | Y, may_keep: All}
  - !Container
    name: Cell
    spatial:
    - {name: column, fanout: 6, reuse: Y}
    - {name: row, fanout: 4, reuse: W}
  - !Memory
    name: Register
    size: 4
    actions: [{name: read, energy: 0.1e-12, throughput: inf}, {name: write, energy: 0.1e-12, throughput: inf}]
    tensors: {keep: W}
  - !Compute
    name: MAC
    actions: [{name: compute, energy: 1e-12, throughput: 1e9}]
)";

constexpr const char* gemm = R"(workload:
  rank_sizes: {M: 24, K: 12, N: 8}
  bits_per_value: {All: 1}
  einsums:
  - {name: Y, tensor_accesses: [{name: X, projection: [m, k]}, {name: W, projection: [k, n]},
     {name: Y, projection: [m, n], output: True}]}
)";

// The same for Timeloop: K along X, since outputs are shared there; M along Y.
constexpr const char* timeloop_input = R"(problem:
  shape:
    dimensions: [M, N, K]
    data-spaces:
    - {name: X, projection: [[[M]], [[K]]]}
    - {name: W, projection: [[[K]], [[N]]]}
    - {name: Y, projection: [[[M]], [[N]]], read-write: true}
  instance: {M: 24, N: 8, K: 12}
architecture:
  version: 0.3
  subtree:
  - name: chip
    local:
    - {name: Main, class: DRAM, attributes: {width: 1, word-bits: 1, shared_bandwidth: 1}}
    - {name: Buffer, class: SRAM, attributes: {depth: 96, width: 1, word-bits: 1}}
    - {name: "Register[0..23]", class: regfile, attributes: {depth: 4, width: 1, word-bits: 1, meshX: 6}}
    - {name: "MAC[0..23]", class: intmac, attributes: {word-bits: 1, meshX: 6}}
architecture_constraints:
  targets:
  - {target: Main, type: bypass, keep: [X, W, Y]}
  - {target: Buffer, type: bypass, keep: [Y]}
  - {target: Register, type: bypass, keep: [W], bypass: [X, Y]}
  - {target: Buffer, type: spatial, factors: N=1, permutation: KMN, split: 1}
ERT:
  version: 0.3
  tables:
  - {name: chip.Main, actions: [{name: read, energy: 100}, {name: write, energy: 120}, {name: update, energy: 120}]}
  - {name: chip.Buffer, actions: [{name: read, energy: 5}, {name: write, energy: 6}, {name: update, energy: 6}]}
  - {name: "chip.Register[0..23]", actions: [{name: read, energy: 0.1}, {name: write, energy: 0.1}, {name: update, energy: 0.1}]}
  - {name: "chip.MAC[0..23]", actions: [{name: compute, energy: 1}]}
mapper: {num-threads: 1}
)";

struct Files : Folder {
    std::string arch = file("arch.yaml", array_arch);
    std::string workload = file("workload.yaml", gemm);

    Outcome map(const std::vector<std::string>& more, const std::string& model = "timeloop") const {
        std::vector<std::string> args = {"map",    "-a",        arch,       "-w",
                                         workload, "--mapper",  "timeloop", "--model",
                                         model,    "--threads", "1",        "-q"};
        args.insert(args.end(), more.begin(), more.end());
        return invoke(args);
    }
    /// Energy, latency, EDP.
    double value(const Json& json, const char* key) const {
        return json["mappings"][0][key].get<double>();
    }
};

bool close(double a, double b) {
    return std::abs(a - b) <= 1e-9 * std::abs(b);
}

}  // namespace

BOOST_AUTO_TEST_CASE(timeloop_mapper_finds_what_the_drop_in_finds) {
    const Files files;
    const std::string input = files.file("in.yaml", timeloop_input);
    for (const char* metric : {"energy", "latency", "edp"}) {
        // Without a limit there is one of a minute, too short for a sanitizer.
        const Outcome native = files.map({"--metric", metric, "--json", "--max-time", "20m"});
        BOOST_TEST(native.code == 0, native.err);
        const Outcome timeloop =
            invoke({"map", "-a", input, "-w", input, "--metric", metric, "--json", "-q"});
        BOOST_TEST(timeloop.code == 0, timeloop.err);
        const Json mine = native.json(), theirs = timeloop.json();
        BOOST_TEST(mine["status"] == "optimal");
        BOOST_TEST(theirs["search"]["proof"] == "optimal");
        const double energy_j = theirs["energy_j"],
                     latency_s = 1e-9 * theirs["cycles"].get<double>();
        const std::string wanted = metric;
        const double value = wanted == "energy"    ? energy_j
                             : wanted == "latency" ? latency_s
                                                   : energy_j * latency_s;
        const char* key = wanted == "energy"    ? "energy_j"
                          : wanted == "latency" ? "latency_s"
                                                : "edp_js";
        BOOST_TEST(close(files.value(mine, key), value),
                   metric << " " << files.value(mine, key) << " " << value);
    }
}

BOOST_AUTO_TEST_CASE(timeloop_mapper_gives_a_legal_mapping_of_the_cost_it_says) {
    const Files files;
    const Outcome found = files.map({"--json", "-o", files.at("run")});
    BOOST_TEST(found.code == 0, found.err);
    const std::string mapping = files.at("run/mapping.yaml");
    const Outcome cost = invoke({"model", "-a", files.arch, "-w", files.workload, "-m", mapping,
                                 "--model", "timeloop", "--json", "-q"});
    BOOST_TEST(cost.code == 0, cost.err);
    BOOST_TEST(files.value(cost.json(), "edp_js") == files.value(found.json(), "edp_js"));
    BOOST_TEST(invoke({"explain", "-a", files.arch, "-w", files.workload, "-m", mapping})
                   .out.rfind("legal\n", 0) == 0);
    const Json run = Json::parse(files.read("run/run.json"));
    BOOST_TEST(run["options"]["mapspace"] == "timeloop");
    const Outcome told = files.map({});
    BOOST_TEST(told.prints("Proven optimal for edp: no mapping of this space is better."),
               told.out);
    BOOST_TEST(told.prints("Space: mapspace timeloop, Einsum by Einsum."), told.out);
}

BOOST_AUTO_TEST_CASE(timeloop_mapper_runs_timeloops_algorithms) {
    const Files files;
    const double best = files.value(files.map({"--json"}).json(), "edp_js");
    for (const char* algorithm : {"random", "random-pruned", "hybrid"}) {
        const Outcome outcome =
            files.map({"--algorithm", algorithm, "--max-evals", "3000", "--json"});
        BOOST_TEST(outcome.code == 0, algorithm << outcome.err);
        BOOST_TEST(files.value(outcome.json(), "edp_js") >= best * (1 - 1e-12), algorithm);
    }
    const Outcome limited = files.map({"--algorithm", "random", "--max-evals", "50", "--json",
                                       "--knob", "timeloop.victory_condition=0"});
    BOOST_TEST(limited.json()["status"] == "feasible");
    BOOST_TEST(limited.json()["search"]["stopped_by"] == "max-evals");
    BOOST_TEST(files.map({"--algorithm", "random"}).prints("Not proven optimal: the search ended"));
    // Small enough to be run through: every mapping, the same optimum.
    std::string text = gemm;
    text.replace(text.find("{M: 24, K: 12, N: 8}"), 20, "{M: 4, K: 3, N: 2}");
    const std::string small = files.file("small.yaml", text);
    const auto edp = [&](const char* algorithm) {
        const Json json =
            invoke({"map", "-a", files.arch, "-w", small, "--mapper", "timeloop", "--model",
                    "timeloop", "--algorithm", algorithm, "--threads", "1", "--knob",
                    "timeloop.timeout=0", "--knob", "timeloop.victory_condition=0", "-q", "--json"})
                .json();
        BOOST_TEST(json["status"] == "optimal", algorithm);
        return files.value(json, "edp_js");
    };
    BOOST_TEST(edp("exhaustive") == edp("optimal"));
    BOOST_TEST(edp("linear-pruned") == edp("optimal"));
}

BOOST_AUTO_TEST_CASE(timeloop_mapper_begins_no_search_after_a_stop) {
    const Files files;
    const workload::Workload workload = workload::load_workload(files.workload, {});
    const arch::Architecture architecture = arch::load_architecture(files.arch, {});
    const auto mapper =
        plugin::Registry<mapper::Mapper>::instance().create("timeloop", {{"algorithm", "random"}});
    const auto model = plugin::Registry<model::CostModel>::instance().create("timeloop");
    telemetry::Recorder recorder;
    recorder.listen();
    const std::atomic<bool> stop{true};
    mapper::Options options;
    options.mapspace = mapspace::MapSpaceOptions::accelforge();
    options.recorder = &recorder;
    options.stop = &stop;
    const mapper::Result result =
        mapper->map({&workload, &architecture, arch::Compat::none}, *model, options);
    BOOST_TEST(result.solutions.empty());
    for (const telemetry::Event& event : recorder.take_events()) {
        BOOST_TEST((event.kind != telemetry::Event::Kind::log), event.text);
    }
}

BOOST_AUTO_TEST_CASE(timeloop_mapper_maps_einsum_by_einsum) {
    const Files files;
    const std::string two = files.file("two.yaml", R"(workload:
  rank_sizes: {M: 24, K: 12, N: 8, P: 6}
  bits_per_value: {All: 1}
  einsums:
  - {name: Y, tensor_accesses: [{name: X, projection: [m, k]}, {name: W, projection: [k, n]},
     {name: Y, projection: [m, n], output: True}]}
  - {name: Z, tensor_accesses: [{name: Y, projection: [m, n]}, {name: V, projection: [n, p]},
     {name: Z, projection: [m, p], output: True}]}
)");
    std::string text = array_arch;
    for (const char* name : {"reuse: W}", "keep: W}"}) {
        const std::size_t at = text.find(name);
        text.replace(at, std::string(name).size(),
                     name[0] == 'r' ? "reuse: W | V}" : "keep: W | V}");
    }
    const std::string arch = files.file("two-arch.yaml", text);
    const auto map = [&](const char* metric, const char* model) {
        return invoke({"map", "-a", arch, "-w", two, "--mapper", "timeloop", "--model", model,
                       "--metric", metric, "--threads", "1", "--json", "-q"});
    };
    const Outcome energy = map("energy", "timeloop");
    BOOST_TEST(energy.code == 0, energy.err);
    BOOST_TEST(energy.json()["status"] == "optimal");
    BOOST_TEST(energy.json()["mappings"][0]["fused_groups"].empty());
    // The product of sums is not proven by its factors.
    BOOST_TEST(map("edp", "timeloop").json()["status"] == "feasible");
    // Under another model the search is a heuristic.
    const Outcome other = map("energy", "looptree");
    BOOST_TEST(other.code == 0, other.err);
    BOOST_TEST(other.json()["status"] == "feasible");
    BOOST_TEST(other.json()["bound"].empty());
}

// A tile stays while loops run that do not index its tensor; a LoopTree says so by the holder's
// place.
BOOST_AUTO_TEST_CASE(timeloop_mapper_keeps_tiles_in_place_under_looptree) {
    const Files files;
    const Json timeloop = files.map({"--metric", "energy", "--json"}).json();
    const Json looptree = files.map({"--metric", "energy", "--json"}, "looptree").json();
    const auto accesses = [&](const Json& json) {
        double sum = 0;
        const Json& einsum = json["mappings"][0]["einsums"]["Y"];
        for (const auto& [name, tensor] : einsum["components"]["Main"]["tensors"].items()) {
            for (const auto& [action, count] : tensor["actions"].items()) {
                sum += count.get<double>();
            }
        }
        return sum;
    };
    BOOST_TEST(accesses(timeloop) > 0);
    BOOST_TEST(accesses(looptree) == accesses(timeloop));
}

BOOST_AUTO_TEST_CASE(timeloop_mapper_refuses_what_constraints_cannot_say) {
    const Files files;
    const auto refused = [&](const char* what, const char* by, const std::string& message) {
        std::string text = array_arch;
        text.replace(text.find(what), std::string(what).size(), by);
        const std::string arch = files.file("changed.yaml", text);
        const Outcome outcome = invoke({"map", "-a", arch, "-w", files.workload, "--mapper",
                                        "timeloop", "--model", "timeloop", "-q"});
        BOOST_TEST(outcome.code == 2, message << outcome.out);
        BOOST_TEST(outcome.says(message), outcome.err);
        BOOST_TEST(outcome.says("changed.yaml:"), outcome.err);
    };
    refused("tensors: {keep: W}", "tensors: {keep: ~Buffer}",
            "Register holds tensors depending on what Buffer holds");
    refused("tensors: {keep: ~Intermediates, may_keep: All}", "tensors: {keep: W}",
            "Main may not hold every tensor");
}

BOOST_AUTO_TEST_CASE(timeloop_mapper_obeys_loop_bounds) {
    const Files files;
    const auto text = [&](const std::string& more) {
        std::string arch = array_arch;
        for (std::size_t at; (at = arch.find("throughput: 1e9}, {name: write")) != arch.npos;) {
            arch.replace(at, 15, "throughput: inf");
        }
        arch.replace(arch.find("120e-12, throughput: 1e9"), 24, "120e-12, throughput: inf");
        arch.replace(arch.find("reuse: W}"), 9, "reuse: W" + more + "}");
        const Outcome outcome =
            invoke({"map", "-a", files.file("bounded.yaml", arch), "-w", files.workload, "--mapper",
                    "timeloop", "--model", "timeloop", "--metric", "latency", "--threads", "1",
                    "-q", "--tree"});
        BOOST_TEST(outcome.code == 0, outcome.err);
        return outcome;
    };
    const Outcome all = text("");
    BOOST_TEST(all.prints("latency  96 ns"), all.out);  // 2304 computes on 24 cells
    BOOST_TEST(all.prints("over Cell.row"));
    const Outcome two = text(", loop_bounds: [{expression: m, operator: <=, value: 2}]");
    BOOST_TEST(two.prints("latency  192 ns"), two.out);
    const Outcome none = text(", loop_bounds: [{expression: m, operator: ==, value: 1}]");
    BOOST_TEST(none.prints("latency  384 ns"), none.out);
    BOOST_TEST(!none.prints("over Cell.row"));
}

BOOST_AUTO_TEST_CASE(timeloop_mapper_options_are_checked) {
    const Files files;
    const std::pair<std::vector<std::string>, const char*> cases[] = {
        {{"--metric", "energy,latency"}, "mapper timeloop minimises one metric"},
        {{"--mapspace", "full"}, "--mapper timeloop searches --mapspace timeloop only"},
        {{"--imperfect-temporal"}, "mapper timeloop searches perfect factors"},
        {{"--algorithm", "randm"}, "random"},
        {{"--knob", "timeloop.timeout=-1"}, "timeout"},
    };
    for (const auto& [args, message] : cases) {
        const Outcome outcome = files.map(args);
        BOOST_TEST(outcome.code == 2, message);
        BOOST_TEST(outcome.says(message), outcome.err);
    }
    const Outcome ffm =
        invoke({"map", "-a", files.arch, "-w", files.workload, "--mapspace", "timeloop"});
    BOOST_TEST(ffm.code == 2);
    BOOST_TEST(ffm.says("--mapspace timeloop is searched by --mapper timeloop only, not by ffm"));
    const Outcome algorithm =
        invoke({"map", "-a", files.arch, "-w", files.workload, "--algorithm", "random"});
    BOOST_TEST(algorithm.code == 2);
    BOOST_TEST(algorithm.says("--algorithm belongs to --mapper timeloop"), algorithm.err);
}

BOOST_AUTO_TEST_CASE(timeloop_mapper_is_compared_with_others) {
    const Files files;
    const Outcome outcome =
        invoke({"compare", "-a", files.arch, "-w", files.workload, "--mapper", "ffm,timeloop",
                "--max-time", "20s", "--threads", "1", "-q", "--json"});
    BOOST_TEST(outcome.code == 0, outcome.err + outcome.out);
    const Json json = outcome.json();
    BOOST_TEST(json["contenders"][0]["name"] == "ffm");
    BOOST_TEST(json["contenders"][1]["name"] == "timeloop");
    BOOST_TEST(!json["contenders"][1]["trials"][0]["curve"].empty());
}
