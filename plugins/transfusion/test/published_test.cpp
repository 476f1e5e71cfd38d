// Cost model `tf-paper`: what it reads out of specs and trees, and what it refuses.
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <thread>

#include "spec/reader.hpp"
#include "support/paths.hpp"
#include "tessera/arch/architecture.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapper/mapper.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/spec/directives.hpp"
#include "tessera/transfusion/tileseek.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;
using transfusion::Method;

namespace {

plugin::Owned<model::CostModel> model_named(const std::string& name) {
    return plugin::Registry<model::CostModel>::instance().create(name);
}

struct Case {
    std::string arch, model;
    std::int64_t tokens = 1024;
    bool three_passes = false;
    std::string maximum_on_2d = "0";
    std::string key_tile = "";

    spec::Defines defines() const {
        const std::string edge = arch == "edge" ? "16" : "256";
        return {{"TOKENS", std::to_string(tokens)},
                {"KEY_TILE", key_tile.empty() ? edge : key_tile},
                {"CASCADE", three_passes ? "3" : "1"}};
    }
};

struct Loaded {
    explicit Loaded(const Case& one)
        : workload(workload::load_workload(
              test::test_folder() + "/../problem-shapes/transfusion-" + one.model + ".yaml",
              one.defines())),
          architecture(arch::load_architecture(
              test::test_folder() + "/../arch-specs/transfusion-" + one.arch + ".yaml",
              {{"MAXIMUM_ON_2D", one.maximum_on_2d}})) {}

    model::Problem problem() const {
        return {&workload, &architecture, arch::Compat::none};
    }
    model::Report evaluate(const mapping::Mapping& mapping,
                           const std::string& model = "tf-paper") const {
        return model_named(model)->evaluate(problem(), mapping);
    }

    workload::Workload workload;
    arch::Architecture architecture;
};

mapper::Result map(const Loaded& loaded, const std::string& mapper, const std::string& model,
                   mapper::Metric metric = mapper::Metric::latency,
                   const plugin::KnobSettings& knobs = {}) {
    mapper::Options options;
    options.metrics = {metric};
    options.threads = 1;
    return plugin::Registry<mapper::Mapper>::instance()
        .create(mapper, knobs)
        ->map(loaded.problem(), *model_named(model), options);
}

mapping::Mapping read_again(const mapping::Mapping& mapping) {
    return mapping::read_mapping(
        *spec::read_text(mapping::to_yaml(mapping), "again").find("mapping"));
}

mapping::Mapping replaced(const mapping::Mapping& mapping, const std::string& from,
                          const std::string& to, std::size_t begin = 0) {
    std::string yaml = mapping::to_yaml(mapping);
    const std::size_t at = yaml.find(from, begin);
    BOOST_TEST_REQUIRE((at != std::string::npos), from << " is not in\n" << yaml);
    yaml.replace(at, from.size(), to);
    return mapping::read_mapping(*spec::read_text(yaml, "changed").find("mapping"));
}

template <class Error>
void refused(const std::function<void()>& call, const std::string& why) {
    try {
        call();
        BOOST_ERROR("no error; expected: " + why);
    } catch (const Error& error) {
        BOOST_TEST((std::string(error.what()).find(why) != std::string::npos),
                   error.what() << "\nexpected: " << why);
    }
}

bool equal(double a, double b) {
    return std::abs(a - b) <= 1e-9 * std::abs(b);
}

/// Slots of one unit follow each other, and what the slots of a pipeline span fits its time.
void check_slots(const model::Pipeline& pipeline) {
    std::map<std::string, double> free_s;
    for (const model::PipelineSlot& slot : pipeline.slots) {
        BOOST_TEST(slot.start_s >= free_s[slot.unit] * (1 - 1e-12));
        free_s[slot.unit] = slot.end_s;
        BOOST_TEST(slot.end_s <= pipeline.latency_s * (1 + 1e-12));
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tf_paper)

// The mappings that the five methods give are worth what the closed forms say of the published
// problem with the same tiles. Those are equal to the published results
// (test/conformance/transfusion_test.cpp).
BOOST_AUTO_TEST_CASE(a_mapping_is_worth_its_published_figures) {
    for (const char* arch : {"cloud", "edge"}) {
        for (const char* model : {"bert", "trxl", "t5", "xlm", "llama3"}) {
            for (const std::int64_t tokens : {1024, 65536}) {
                const Loaded one({arch, model, tokens}), three({arch, model, tokens, true});
                const std::map<std::string, std::string> names = {{"bert", "BERT"},
                                                                  {"trxl", "TrXL"},
                                                                  {"t5", "T5"},
                                                                  {"xlm", "XLM"},
                                                                  {"llama3", "Llama3"}};
                const transfusion::Problem problem{transfusion::accelerator(arch),
                                                   transfusion::transformer(names.at(model)), 64,
                                                   tokens};
                for (const Method method : transfusion::methods) {
                    const bool passes = method == Method::unfused || method == Method::flat;
                    const Loaded& loaded = passes ? three : one;
                    const std::string own = transfusion::name(method);
                    const auto found =
                        map(loaded, method == Method::transfusion ? own : "transfusion:" + own,
                            "tf-paper");
                    const transfusion::OuterTiles tiles =
                        method == Method::transfusion
                            ? enumerate_tiles(problem, transfusion::Objective::latency).tiles
                            : baseline_tiles(problem, method);
                    const transfusion::Cost cost = evaluate(problem, method, tiles);
                    const std::string text =
                        std::string(arch) + " " + model + " " + transfusion::name(method);
                    const model::Report& report = found.solutions.at(0).report;
                    BOOST_TEST(
                        equal(report.latency_s(), cost.latency_s),
                        text << ": " << report.latency_s() << " s, published " << cost.latency_s);
                    BOOST_TEST(
                        equal(report.energy_j(), cost.energy_j()),
                        text << ": " << report.energy_j() << " J, published " << cost.energy_j());
                    const auto again = loaded.evaluate(read_again(found.solutions[0].mapping));
                    BOOST_TEST(again.latency_s() == report.latency_s());
                    BOOST_TEST(report.pipelines.size() == (method == Method::transfusion ? 4u
                                                           : passes                      ? 0u
                                                                                         : 1u));
                    for (const model::Pipeline& pipeline : report.pipelines) {
                        check_slots(pipeline);
                    }
                }
            }
        }
    }
}

// Whatever tiles a tree of the method has, they are what is evaluated.
BOOST_AUTO_TEST_CASE(tiles_are_read_out_of_the_tree) {
    const Loaded bert({"cloud", "bert", 4096});
    const transfusion::Problem problem{transfusion::accelerator("cloud"),
                                       transfusion::transformer("BERT"), 64, 4096};
    const auto best = map(bert, "transfusion", "tf-paper");
    const auto seek = map(bert, "transfusion", "tf-paper", mapper::Metric::latency,
                          {{"tiles", "tileseek"}, {"evaluations", "1"}});
    const transfusion::TileSeekResult first =
        tileseek(problem, {.objective = transfusion::Objective::latency, .evaluations = 1});
    BOOST_TEST(equal(seek.solutions.at(0).report.latency_s(),
                     evaluate(problem, Method::transfusion, first.tiles).latency_s));
    BOOST_TEST(best.solutions.at(0).report.latency_s() <= seek.solutions[0].report.latency_s());
    const auto energy = map(bert, "transfusion", "tf-paper", mapper::Metric::energy);
    const auto edp = map(bert, "transfusion", "tf-paper", mapper::Metric::edp);
    BOOST_TEST(energy.solutions.at(0).report.energy_j() <= edp.solutions.at(0).report.energy_j());
    BOOST_TEST(edp.solutions[0].report.edp_js() <=
               std::min(energy.solutions[0].report.edp_js(), best.solutions[0].report.edp_js()) *
                   (1 + 1e-12));
}

// What the contract kit checks of other models: pure, on two threads at once; finite; all points
// counted; a larger problem never costs less.
BOOST_AUTO_TEST_CASE(the_contract_of_cost_models) {
    double latency_s = 0, energy_j = 0;
    for (const std::int64_t tokens : {256, 1024, 4096}) {
        const Loaded bert({"cloud", "bert", tokens});
        const mapping::Mapping mapping =
            map(bert, "transfusion", "tf-paper").solutions.at(0).mapping;
        const auto model = model_named("tf-paper");
        std::array<model::Report, 2> reports;
        {
            std::jthread other([&] { reports[1] = model->evaluate(bert.problem(), mapping); });
            reports[0] = model->evaluate(bert.problem(), mapping);
        }
        BOOST_TEST(reports[0].latency_s() == reports[1].latency_s());
        BOOST_TEST(reports[0].energy_j() == reports[1].energy_j());
        BOOST_TEST(std::isfinite(reports[0].energy_j()));
        BOOST_TEST(reports[0].latency_s() > latency_s);
        BOOST_TEST(reports[0].energy_j() > energy_j);
        latency_s = reports[0].latency_s();
        energy_j = reports[0].energy_j();
        // The published tiles may exceed the buffer: not one of this size.
        const arch::Architecture roomy =
            arch::load_architecture(test::test_folder() + "/../arch-specs/transfusion-cloud.yaml",
                                    {{"MAXIMUM_ON_2D", "0"}, {"GLOBAL_BUFFER_SIZE", "1e12"}});
        const model::Report looptree =
            model_named("transfusion")
                ->evaluate({&bert.workload, &roomy, arch::Compat::none}, read_again(mapping));
        const auto computes = [&](const model::Report& report, bool of_the_stack) {
            std::map<std::string, double> all;
            for (const model::EinsumReport& einsum : report.einsums) {
                for (const model::ComponentReport& one : einsum.components) {
                    for (const auto& [action, count] : one.compute_actions) {
                        const auto e =
                            static_cast<std::size_t>(bert.workload.find_einsum(einsum.einsum));
                        all[einsum.einsum] +=
                            count / (of_the_stack ? bert.workload.einsums[e].n_instances : 1);
                    }
                }
            }
            return all;
        };
        BOOST_TEST((computes(reports[0], false) == computes(looptree, true)));
    }
}

// With maxima on both arrays DPipe takes the 2D one: 7.349 s of attention (docs/transfusion.md).
BOOST_AUTO_TEST_CASE(maxima_follow_the_architecture) {
    const auto attention_s = [](const std::string& maximum_on_2d) {
        const Loaded bert({"cloud", "bert", 65536, false, maximum_on_2d});
        const auto found = map(bert, "transfusion", "tf-paper");
        for (const model::Pipeline& one : found.solutions.at(0).report.pipelines) {
            if (one.slots.size() == 12) {
                return one.latency_s;
            }
        }
        return 0.0;
    };
    BOOST_TEST(std::abs(attention_s("0") - 17.15) < 0.01);
    BOOST_TEST(std::abs(attention_s("1") - 7.349) < 0.001);
}

BOOST_AUTO_TEST_CASE(what_the_published_evaluation_cannot_say_is_refused) {
    const Loaded t5({"edge", "t5", 1024});
    const mapping::Mapping fused = map(t5, "transfusion", "tf-paper").solutions.at(0).mapping;
    // Problems.
    refused<UserError>(
        [] {
            map(Loaded({"edge", "t5", 1024, false, "0", "32"}), "transfusion", "tf-paper");
        },
        "give -D KEY_TILE=16");
    refused<UserError>(
        [] {
            map(Loaded({"edge", "t5", 1024}), "transfusion:flat", "tf-paper");
        },
        "give -D CASCADE=3");
    refused<UserError>(
        [&] {
            const arch::Path path =
                t5.architecture.path(t5.workload, 0, "Array2D", arch::Compat::none);
            model_named("tf-paper")->evaluate(t5.problem(), path, {});
        },
        "not single Einsums");
    // Mappings.
    const std::string yaml = mapping::to_yaml(fused);
    const std::size_t norm = yaml.rfind("!Pipeline", yaml.rfind("!Pipeline") - 1);
    refused<IllegalMapping>([&] { t5.evaluate(replaced(fused, "!Pipeline", "!Sequential", norm)); },
                            "norm is no !Pipeline");
    refused<IllegalMapping>(
        [&] { t5.evaluate(map(t5, "transfusion", "looptree").solutions.at(0).mapping); },
        "stand in one !Pipeline");
    const Loaded both({"edge", "t5", 1024, false, "1"});
    refused<IllegalMapping>(
        [&] {
            both.evaluate(map(both, "transfusion:fusemax", "transfusion").solutions.at(0).mapping);
        },
        "method fusemax of TransFusion's evaluation runs Einsum 'LM' on the 1D array");
}

// Table 2 is the capacity there: a mapping of the other model may need more by it.
BOOST_AUTO_TEST_CASE(outer_tiles_must_fit_table_2) {
    const Loaded llama({"cloud", "llama3", 16384});
    const auto free = map(llama, "transfusion", "transfusion");
    const auto sought =
        map(llama, "transfusion", "transfusion", mapper::Metric::latency, {{"tiles", "tileseek"}});
    BOOST_TEST(sought.solutions.at(0).report.latency_s() >=
               free.solutions.at(0).report.latency_s() * 0.95);
    BOOST_TEST(sought.solutions[0].report.latency_s() <=
               free.solutions[0].report.latency_s() * 1.5);
    const Loaded t5({"edge", "t5", 1024});
    const mapping::Mapping half = map(t5, "transfusion", "tf-paper").solutions.at(0).mapping;
    refused<IllegalMapping>(
        [&] {
            t5.evaluate(replaced(half, "{rank_variable: b, tile_shape: 32}",
                                 "{rank_variable: b, tile_shape: 64}"));
        },
        "Table 2");
}

BOOST_AUTO_TEST_SUITE_END()
