// Cost model `transfusion` (pipelines by hand) and the five mappers on small layers and on BERT.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "spec/reader.hpp"
#include "support/paths.hpp"
#include "tessera/arch/architecture.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapper/mapper.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/model/pipelines.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/spec/directives.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;

namespace {

plugin::Owned<model::CostModel> model_named(const std::string& name,
                                            const plugin::KnobSettings& knobs = {}) {
    return plugin::Registry<model::CostModel>::instance().create(name, knobs);
}

struct Case {
    workload::Workload workload;
    arch::Architecture architecture;
    model::Problem problem() const {
        return {&workload, &architecture, arch::Compat::none};
    }
};

/// T[m] = A[m] on X (2 s a point), Z[m] = T[m] on Y (3 s a point); the buffer has `bits`.
Case two_units(const std::string& bits, const std::string& einsums) {
    const std::string free =
        "    actions:\n    - {name: read, energy: 0, throughput: inf}\n"
        "    - {name: write, energy: 0, throughput: inf}\n";
    const auto compute = [](const std::string& name, const std::string& seconds,
                            const std::string& operation) {
        return "  - !Compute\n    name: " + name +
               "\n    actions: [{name: compute, energy: 1, throughput: 1 / " + seconds +
               "}]\n    operations: [" + operation + "]\n";
    };
    const std::string text =
        "arch:\n  nodes:\n  - !Memory\n    name: Main\n    size: inf\n" + free +
        "    tensors: {keep: ~Intermediates, may_keep: All}\n  - !Memory\n    name: Buffer\n"
        "    size: " +
        bits + "\n" + free + "    tensors: {keep: ~Main, may_keep: All}\n" +
        compute("X", "2", "exp") + compute("Y", "3", "add") +
        "workload:\n  rank_sizes: {M: 10}\n  bits_per_value: {All: 1}\n" + einsums;
    return {workload::read_workload(spec::expand_document(spec::read_text(text, "two.yaml"), {})),
            arch::Architecture(spec::read_text(text, "two.yaml"), {})};
}

const std::string chain =
    "  einsums:\n  - {einsum: \"T[m] = A[m]\", operation: exp}\n"
    "  - {einsum: \"Z[m] = T[m]\", operation: add}\n";

/// `own`: nodes of each branch before its compute.
mapping::Mapping two_branches(const std::string& split, const std::string& holders,
                              const std::string& own = "") {
    return mapping::read_mapping(
        spec::read_text("nodes:\n- !Storage {tensors: [A, Z], component: Main}\n" + holders +
                            "- !" + split + "\n  nodes:\n  - !Nested\n    nodes:\n" + own +
                            "    - !Compute {einsum: T, component: X}\n  - !Nested\n    nodes:\n" +
                            own + "    - !Compute {einsum: Z, component: Y}\n",
                        "given"));
}

const std::string one_at_a_time =
    "- !Temporal {rank_variable: m, tile_shape: 1}\n- !Storage {tensors: [T], component: Buffer}\n";

/// Of the fullest memory.
double share_held(const std::vector<model::Part>& parts, const std::vector<int>& shared,
                  const model::Range& range, const std::vector<int>& stages) {
    double most = 0;
    for (const auto& [memory, share] : model::shares_held({}, parts, shared, range, stages)) {
        most = std::max(most, share);
    }
    return most;
}

bool says(const std::string& text, const std::string& what) {
    return text.find(what) != std::string::npos;
}

mapper::Result map(const std::string& mapper, const Case& layer,
                   const std::string& model = "transfusion", mapper::Options options = {},
                   const plugin::KnobSettings& knobs = {}) {
    options.metrics = {mapper::Metric::latency};
    options.threads = 1;
    return plugin::Registry<mapper::Mapper>::instance()
        .create(mapper, knobs)
        ->map(layer.problem(), *model_named(model), options);
}

Case layer(const std::string& workload, const std::string& arch, const spec::Defines& defines) {
    const std::string root = test::test_folder() + "/../";
    return {workload::load_workload(root + "problem-shapes/" + workload + ".yaml", defines),
            arch::load_architecture(root + "arch-specs/" + arch + ".yaml", {})};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(transfusion)

// One after the other: 10 * (2 + 3). At once: X works on the next tile while Y works, so a round
// takes 3. In the first round X works alone, in the eleventh Y.
BOOST_AUTO_TEST_CASE(a_pipeline_by_hand) {
    const Case two = two_units("2", chain);
    const auto model = model_named("transfusion");
    const auto sequential =
        model->evaluate(two.problem(), two_branches("Sequential", one_at_a_time));
    BOOST_TEST(sequential.latency_s() == 50);
    BOOST_TEST(sequential.pipelines.empty());
    const auto report = model->evaluate(two.problem(), two_branches("Pipeline", one_at_a_time));
    BOOST_TEST(report.latency_s() == 2 + 9 * 3 + 3);
    BOOST_TEST(report.energy_j() == sequential.energy_j());
    BOOST_TEST_REQUIRE(report.pipelines.size() == 1u);
    BOOST_TEST_REQUIRE(report.pipelines[0].slots.size() == 2u);
    for (const auto& slot : report.pipelines[0].slots) {
        BOOST_TEST(slot.unit == (slot.einsum == 0 ? "X" : "Y"));
        BOOST_TEST(slot.stage == slot.einsum);
        BOOST_TEST(slot.end_s - slot.start_s == (slot.einsum == 0 ? 20 : 30));
    }
    // Nothing overlaps where there is one round: X, then Y.
    const auto once =
        model->evaluate(two_units("20", chain).problem(),
                        two_branches("Pipeline", "- !Storage {tensors: [T], component: Buffer}\n",
                                     "    - !Temporal {rank_variable: m, tile_shape: 1}\n"));
    BOOST_TEST(once.latency_s() == 50);
}

// Two stages: T of this round and of the next are kept.
BOOST_AUTO_TEST_CASE(stages_need_room) {
    const auto model = model_named("transfusion");
    const Case two = two_units("1", chain);
    BOOST_TEST(
        model->evaluate(two.problem(), two_branches("Sequential", one_at_a_time)).latency_s() ==
        50);
    try {
        model->evaluate(two.problem(), two_branches("Pipeline", one_at_a_time));
        BOOST_ERROR("no error");
    } catch (const IllegalMapping& error) {
        BOOST_TEST(says(error.what(), "'Buffer' to 200 %"));
    }
}

// Two Einsums that share no loops hold T in one memory, as large as their figures say.
BOOST_AUTO_TEST_CASE(a_shared_tensor_is_as_large_as_its_largest_user_so_far) {
    workload::EinsumView einsum;
    einsum.tensors.emplace_back();
    einsum.tensors[0].name = "T";
    einsum.tensors[0].fusable = true;
    arch::Path path;
    path.levels.emplace_back();
    path.levels[0].name = "Buffer";
    mapping::Pmapping nodes(1);
    nodes[0].kind = mapping::NodeKind::storage;
    nodes[0].tensor = nodes[0].level = 0;
    nodes[0].backing = true;
    const auto share = [&](double first, double second, int running) {
        std::vector<model::EinsumReport> reports(2);
        std::vector<model::Part> parts;
        for (model::EinsumReport& report : reports) {
            report.components.emplace_back();
            report.components[0].component = "Buffer";
            report.components[0].tensors.emplace_back();
            report.components[0].tensors[0].tensor = "T";
            report.components[0].tensors[0].occupancy = parts.empty() ? first : second;
            parts.push_back({&einsum, &path, &nodes, &report});
        }
        return share_held(parts, {0}, {running, running + 1}, {0});
    };
    BOOST_TEST(share(0.25, 0.5, 0) == 0.25);
    BOOST_TEST(share(0.25, 0.5, 1) == 0.5);
    BOOST_TEST(share(0.5, 0.25, 1) == 0.5);
}

// I is copied to O in one memory; others use one of the two.
BOOST_AUTO_TEST_CASE(what_a_copy_holds_is_held_once) {
    for (const int used : {0, 1}) {
        workload::EinsumView einsum;
        einsum.is_copy_operation = true;
        mapping::Pmapping nodes(2);
        for (const int t : {0, 1}) {
            einsum.tensors.emplace_back();
            einsum.tensors[t].name = t == 0 ? "I" : "O";
            einsum.tensors[t].tensor = t;
            einsum.tensors[t].fusable = t == used;
            nodes[t].kind = mapping::NodeKind::storage;
            nodes[t].tensor = static_cast<std::int8_t>(t);
            nodes[t].level = 0;
            nodes[t].backing = true;
        }
        arch::Path path;
        path.levels.emplace_back();
        path.levels[0].name = "Buffer";
        model::EinsumReport report;
        report.components.emplace_back();
        report.components[0].component = "Buffer";
        report.components[0].tensors.emplace_back();
        report.components[0].tensors[0].tensor = "I";
        report.components[0].tensors[0].occupancy = 0.25;
        const std::vector<model::Part> parts{{&einsum, &path, &nodes, &report}};
        BOOST_TEST(share_held(parts, {}, {0, 1}, {0}) == 0.25);
    }
}

// I is copied to O and P in one memory, of which one Einsum reads O and then another P.
BOOST_AUTO_TEST_CASE(what_a_copy_makes_in_one_memory_is_held_once) {
    const std::vector<std::vector<int>> tensors{{0, 1, 2}, {1}, {2}};
    std::vector<workload::EinsumView> einsums(tensors.size());
    std::vector<mapping::Pmapping> nodes(tensors.size());
    std::vector<model::EinsumReport> reports(tensors.size());
    arch::Path path;
    path.levels.resize(2);
    path.levels[0].name = "Main";
    path.levels[1].name = "Buffer";
    std::vector<model::Part> parts;
    for (std::size_t e = 0; e < tensors.size(); ++e) {
        einsums[e].is_copy_operation = e == 0;
        for (const int t : tensors[e]) {
            workload::LocalTensor tensor;
            tensor.name = std::string(1, "IOP"[t]);
            tensor.tensor = t;
            tensor.fusable = t > 0;
            mapping::PmappingNode node;
            node.kind = mapping::NodeKind::storage;
            node.tensor = static_cast<std::int8_t>(einsums[e].tensors.size());
            node.level = t > 0 ? 1 : 0;
            node.backing = true;
            einsums[e].tensors.push_back(tensor);
            nodes[e].push_back(node);
        }
        reports[e].components.emplace_back();
        reports[e].components[0].component = "Buffer";
        reports[e].components[0].tensors.emplace_back();
        reports[e].components[0].tensors[0].tensor = einsums[e].tensors[0].name;
        reports[e].components[0].tensors[0].occupancy = 0.25;
        parts.push_back({&einsums[e], &path, &nodes[e], &reports[e]});
    }
    for (int running = 0; running < 3; ++running) {
        BOOST_TEST(share_held(parts, {0, 0}, {running, running + 1}, {0}) == 0.25);
    }
    // No loop turns around the three, so there is one tile. Below a loop there is one for each
    // stage until the last reader, as long as the loop has so many iterations.
    BOOST_TEST(share_held(parts, {0, 0}, {0, 3}, {0, 1, 2}) == 0.25);
    for (const int iterations : {2, 10}) {
        for (std::size_t e = 0; e < tensors.size(); ++e) {
            einsums[e].rank_variables.assign(1, {});
            einsums[e].rank_variables[0].bound = iterations;
            mapping::PmappingNode loop;
            loop.kind = mapping::NodeKind::temporal;
            loop.rank_variable = 0;
            if (iterations == 2) {
                nodes[e].insert(nodes[e].begin(), loop);
            }
        }
        const double share = share_held(parts, {1, 1}, {0, 3}, {0, 1, 2});
        BOOST_TEST(share == (iterations == 2 ? 0.5 : 0.75));
    }
}

BOOST_AUTO_TEST_CASE(all_methods_on_a_small_layer) {
    const spec::Defines sizes = {{"BATCH", "2"}, {"TOKENS", "64"}, {"KEY_TILE", "16"}};
    spec::Defines three = sizes;
    three["CASCADE"] = "3";
    const mapspace::MapSpaceOptions space;
    std::map<std::string, double> latency_s;
    for (const char* mapper : {"transfusion:unfused", "transfusion:flat", "transfusion:fusemax",
                               "transfusion:fusemax-layerfuse", "transfusion"}) {
        const bool passes = std::string(mapper) == "transfusion:unfused" ||
                            std::string(mapper) == "transfusion:flat";
        const Case small = layer("transfusion-t5", "transfusion-edge", passes ? three : sizes);
        const auto result = map(mapper, small);
        BOOST_TEST_REQUIRE(result.solutions.size() == 1u);
        const auto& solution = result.solutions[0];
        for (const auto& violation : mapspace::check(small.problem(), solution.mapping, &space)) {
            BOOST_TEST(bool(violation.severity != mapspace::Severity::physical),
                       mapper << ": " << violation.message);
        }
        // The mapping says all: written and read again it is worth the same.
        const std::string yaml = mapping::to_yaml(solution.mapping);
        const auto again =
            model_named("transfusion")
                ->evaluate(small.problem(),
                           mapping::read_mapping(*spec::read_text(yaml, "again").find("mapping")));
        BOOST_TEST(again.latency_s() == solution.report.latency_s());
        BOOST_TEST(again.energy_j() == solution.report.energy_j());
        latency_s[mapper] = solution.report.latency_s();
        BOOST_TEST(solution.report.pipelines.empty() == passes);
    }
    BOOST_TEST(latency_s["transfusion"] <= latency_s["transfusion:fusemax-layerfuse"]);
    const Case one = layer("transfusion-t5", "transfusion-edge", sizes);
    const auto plain = map("transfusion", one, "looptree");
    BOOST_TEST(plain.solutions.at(0).report.pipelines.empty());
    BOOST_TEST(plain.solutions[0].report.latency_s() >= latency_s["transfusion"]);
    BOOST_TEST(says(plain.reasons.back(), "--model transfusion"));
    BOOST_CHECK_THROW(map("transfusion:flat", one), UserError);
    // Of other workloads every Einsum is mapped by itself: through memory, one after the other.
    const auto other = map("transfusion", two_units("9", chain));
    BOOST_TEST(other.solutions.at(0).report.latency_s() == 50);
    BOOST_TEST(says(other.reasons.at(0), "by itself"));
    const spec::Defines few = {{"BATCH", "1"}, {"TOKENS", "64"}, {"KEY_TILE", "16"}};
    BOOST_CHECK_THROW(
        map("transfusion:fusemax", layer("attention-one-pass", "transfusion-edge", few)),
        UserError);
}

BOOST_AUTO_TEST_CASE(a_stop_takes_the_first_of_everything) {
    const Case small = layer("transfusion-t5", "transfusion-edge",
                             {{"BATCH", "2"}, {"TOKENS", "64"}, {"KEY_TILE", "16"}});
    const auto whole = map("transfusion", small);
    BOOST_TEST(whole.stopped_by == "");
    const std::atomic<bool> stop{true};
    mapper::Options at_once;
    at_once.stop = &stop;
    mapper::Options one;
    one.budget.max_evals = 1;
    for (const auto& [options, reason] :
         {std::pair{at_once, "stop"}, std::pair{one, "max-evals"}}) {
        for (const char* tiles : {"free", "tileseek"}) {
            const auto cut = map("transfusion", small, "transfusion", options, {{"tiles", tiles}});
            BOOST_TEST(cut.stopped_by == reason);
            BOOST_TEST(2 * cut.statistics.evaluated < whole.statistics.evaluated);
            BOOST_TEST(cut.solutions.at(0).report.latency_s() >=
                       whole.solutions.at(0).report.latency_s());
            const mapspace::MapSpaceOptions space;
            for (const auto& violation :
                 mapspace::check(small.problem(), cut.solutions[0].mapping, &space)) {
                BOOST_TEST(bool(violation.severity != mapspace::Severity::physical),
                           violation.message);
            }
        }
    }
    // Without a stop this would take a million evaluations.
    mapper::Options short_time;
    short_time.budget.max_time_s = 0.05;
    const auto seek = map("transfusion", small, "transfusion", short_time,
                          {{"tiles", "tileseek"}, {"evaluations", "1000000"}});
    BOOST_TEST(seek.stopped_by == "max-time");
    const auto published = map("transfusion", small, "tf-paper", at_once,
                               {{"tiles", "tileseek"}, {"evaluations", "1000000"}});
    BOOST_TEST(published.stopped_by == "stop");
}

BOOST_AUTO_TEST_CASE(a_given_mapping_is_kept_if_it_is_better) {
    const spec::Defines sizes = {{"BATCH", "2"}, {"TOKENS", "64"}, {"KEY_TILE", "16"}};
    const Case small = layer("transfusion-t5", "transfusion-edge", sizes);
    const auto better = map("transfusion", small), worse = map("transfusion:fusemax", small);
    mapper::Options options;
    options.start = better.solutions;
    const auto kept = map("transfusion:fusemax", small, "transfusion", options);
    BOOST_TEST_REQUIRE(kept.solutions.size() == 1u);
    BOOST_TEST(kept.solutions[0].report.latency_s() == better.solutions[0].report.latency_s());
    BOOST_TEST(says(kept.reasons.back(), "given"));
    options.start = worse.solutions;
    const auto own = map("transfusion", small, "transfusion", options);
    BOOST_TEST_REQUIRE(own.solutions.size() == 1u);
    BOOST_TEST(own.solutions[0].report.latency_s() == better.solutions[0].report.latency_s());
    BOOST_TEST(own.reasons.size() == better.reasons.size());
}

// Copies between the stages of a pipeline leave Llama3 room for small tiles only: some phases run
// one Einsum after the other, or with computes that need fewer stages.
// Copies, fan-outs whose instances share a tensor, and memories between fan-outs.
BOOST_AUTO_TEST_CASE(mappings_on_systolic_arrays_are_in_the_mapspace) {
    const std::string folder = test::test_folder() + "/..";
    for (const auto& [chip, shape] :
         {std::pair{"tpu-v4i", "gpt3-6.7b"}, {"tpu-v4i", "llama3-8b"}, {"edge", "attention"}}) {
        const Case of{workload::load_workload(folder + "/problem-shapes/" + shape + ".yaml", {}),
                      arch::load_architecture(folder + "/arch-specs/" + chip + ".yaml", {})};
        const model::Problem problem = of.problem();
        mapper::Options options;
        options.metrics = {mapper::Metric::edp};
        for (const char* mapper : {"transfusion", "transfusion:unfused"}) {
            const auto found = plugin::Registry<mapper::Mapper>::instance().create(mapper)->map(
                problem, *model_named("looptree"), options);
            BOOST_TEST_REQUIRE(found.solutions.size() == 1u);
            for (const mapspace::Violation& v :
                 mapspace::check(problem, found.solutions.front().mapping, &options.mapspace)) {
                BOOST_CHECK_MESSAGE(
                    v.severity == mapspace::Severity::warning,
                    std::string(mapper) + " on " + chip + ", " + shape + ": " + v.message);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_phase_gives_way_in_what_overlaps_before_it_does_in_tiles) {
    const Case llama = layer("transfusion-llama3", "transfusion-cloud",
                             {{"TOKENS", "16384"}, {"KEY_TILE", "256"}});
    BOOST_TEST(map("transfusion", llama).solutions.at(0).report.latency_s() <=
               map("transfusion:fusemax-layerfuse", llama).solutions.at(0).report.latency_s());
}

// The 2D array does QK 64, LM 1, SLN 7, SLD 1 and SLNV 64 operations for each pair of tokens and
// head, and with any number of stages nothing else holds it up: the figure of the published model
// with both modulo rounds and maxima on the 2D array (docs/transfusion.md), 7.349 s at 64K tokens.
// For each tile of queries the pipeline is filled and drained.
BOOST_AUTO_TEST_CASE(attention_of_bert_reaches_the_bound_of_the_2d_array) {
    const double pairs = 64.0 * 12 * 4096 * 4096;
    const double bound_s = pairs * (64 + 1 + 7 + 1 + 64) / (256.0 * 256) / 940e6;
    const auto report =
        map("transfusion", layer("transfusion-bert", "transfusion-cloud", {{"TOKENS", "4096"}}))
            .solutions.at(0)
            .report;
    const auto attention = std::find_if(report.pipelines.begin(), report.pipelines.end(),
                                        [&](const auto& one) { return one.slots.size() == 12; });
    BOOST_TEST_REQUIRE((attention != report.pipelines.end()));
    BOOST_TEST(attention->latency_s >= bound_s);
    BOOST_TEST(attention->latency_s <= 1.025 * bound_s);
}

BOOST_AUTO_TEST_SUITE_END()
