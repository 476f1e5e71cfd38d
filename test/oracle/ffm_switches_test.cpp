// What must not depend on how the engine works: every idea switched off gives the same optimum, and
// a search that is stopped at any moment returns a valid mapping and a true bound.
#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <ctime>
#include <fstream>
#include <map>
#include <random>
#include <thread>

#include "oracle/oracle_instance.hpp"
#include "support/paths.hpp"
#include "support/setting.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/telemetry/recorder.hpp"
#include "tessera/workload/workload.hpp"
#include "workload/select.hpp"

using namespace tessera;
using mapper::Metric;

namespace {

constexpr double rounding = 1e-9;

mapper::Result run(const model::Problem& problem, const mapper::Options& options) {
    const auto ffm = plugin::Registry<mapper::Mapper>::instance().create("ffm");
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    return ffm->map(problem, *model, options);
}

double value(const mapper::Result& r, Metric m) {
    return mapper::metric_value(m, r.solutions.front().report);
}

/// With TESSERA_SOAK=n in the environment n fresh ones, from TESSERA_SOAK_FROM on.
std::vector<std::uint64_t> seeds() {
    std::vector<std::uint64_t> out;
    const std::uint64_t from = tessera::test::setting("TESSERA_SOAK_FROM", 1'000'000);
    for (std::uint64_t k = 0; k < 2 * tessera::test::setting("TESSERA_SOAK", 0); ++k) {
        out.push_back(from + k / 2);  // every second one is taken
    }
    if (!out.empty()) {
        return out;
    }
    std::ifstream in(tessera::test::test_folder() + "/oracle/seeds.txt");
    std::string kind;
    for (std::uint64_t seed; in >> kind >> seed;) {
        out.push_back(seed);
    }
    return out;
}

/// One thread, one metric of three by turns.
mapper::Options options_of(const oracle::Instance& drawn, std::uint64_t turn) {
    mapper::Options options;
    options.mapspace = drawn.options;
    options.threads = 1;
    options.metrics = {turn % 3 == 0   ? Metric::energy
                       : turn % 3 == 1 ? Metric::latency
                                       : Metric::edp};
    return options;
}

/// At least 200 instances per name, each solved once with everything on.
/// `persistent`: half of the problems have persistent inputs.
void without_changes_nothing(const std::vector<std::string>& names, bool persistent = false) {
    const std::vector<std::uint64_t> all = seeds();
    for (std::size_t i = 0; i < all.size(); i += 2) {
        oracle::Instance drawn = oracle::random_instance(all[i]);
        if (persistent && i % 4 == 0) {
            drawn.yaml = oracle::with_persistent_inputs(drawn.yaml);
        }
        const oracle::LoadedInstance instance(drawn.yaml);
        mapper::Options options = options_of(drawn, i / 2);
        const Metric metric = options.metrics.front();
        mapper::Result with;
        try {
            with = run(instance.problem, options);
        } catch (const NoLegalMapping&) {
        }
        if (with.solutions.empty()) {
            BOOST_TEST(tessera::test::setting("TESSERA_SOAK", 0) > 0);  // of fresh ones alone
            continue;
        }
        const double best = value(with, metric);
        const bool ranked = metric != Metric::edp;
        const Metric later = mapper::later_metric(metric);
        for (const std::string& name : names) {
            options.without = {name};
            const mapper::Result other = run(instance.problem, options);
            BOOST_TEST((other.status == mapper::Status::optimal));
            const double found = value(other, metric);
            BOOST_TEST(std::abs(found - best) <= rounding * best, "seed " << all[i] << " without "
                                                                          << name << ": " << found
                                                                          << ", with " << best);
            const double second = value(other, later), least = value(with, later);
            BOOST_TEST((!ranked || std::abs(second - least) <= rounding * least),
                       "seed " << all[i] << " without " << name << ", later metric: " << second
                               << ", with " << least);
        }
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ffm_switches)

BOOST_AUTO_TEST_CASE(there_are_two_hundred_instances) {
    BOOST_TEST(seeds().size() >= 400u);
}

BOOST_AUTO_TEST_CASE(the_order_of_the_search_changes_no_optimum) {
    without_changes_nothing({"cutoffs", "local-search", "equal-einsums", "limited-first"});
}

/// One of the architectures and one of the workloads that come with Tessera.
struct Shipped {
    Shipped(const std::string& arch, const std::string& work,
            const std::map<std::string, std::string>& defines,
            arch::Compat compat = arch::Compat::none)
        : workload(workload::load_workload(
              tessera::test::test_folder() + "/../problem-shapes/" + work + ".yaml", defines)),
          architecture(arch::load_architecture(
              tessera::test::test_folder() + "/../arch-specs/" + arch + ".yaml", {})),
          problem{&workload, &architecture, compat} {}

    workload::Workload workload;
    arch::Architecture architecture;
    model::Problem problem;
};

// Chains of at most 12 Einsums have none.
BOOST_AUTO_TEST_CASE(a_beam_search_changes_no_optimum) {
    int beam_used = 0;
    for (int i = 0; i < 12; ++i) {
        const std::map<std::string, std::string> defines{{"N_EINSUMS", std::to_string(13 + i % 3)},
                                                         {"M", std::to_string(24 + 8 * i)},
                                                         {"KN", std::to_string(1024 - 40 * i)},
                                                         {"KN_STEP", std::to_string(16 * (i % 4))}};
        const Shipped shipped(i % 2 == 0 ? "edge" : "tpu-v4i", "matmuls", defines);
        mapper::Options options;
        options.mapspace = mapspace::MapSpaceOptions::accelforge();
        options.metrics = {i % 3 == 0 ? Metric::energy : Metric::edp};
        const mapper::Result with = run(shipped.problem, options);
        options.without = {"beam-search"};
        const mapper::Result other = run(shipped.problem, options);
        beam_used += with.statistics.evaluated != other.statistics.evaluated ? 1 : 0;
        BOOST_TEST((with.status == mapper::Status::optimal));
        BOOST_TEST((other.status == mapper::Status::optimal));
        const double best = value(with, options.metrics.front());
        BOOST_TEST(std::abs(value(other, options.metrics.front()) - best) <= rounding * best);
    }
    BOOST_TEST(beam_used >= 10);
}

// Layers of a network are parts that are equal.
BOOST_AUTO_TEST_CASE(a_mapping_of_parts_changes_no_optimum) {
    int found = 0;
    for (int i = 0; i < 8; ++i) {
        const bool layers = i % 2 == 0;
        const std::map<std::string, std::string> defines =
            layers ? std::map<std::string, std::string>{{"LAYERS", std::to_string(3 + i / 4)},
                                                        {"TOKENS", std::to_string(128 << i / 2)}}
                   : std::map<std::string, std::string>{{"N_EINSUMS", std::to_string(24 + i)},
                                                        {"M", std::to_string(24 + 8 * i)},
                                                        {"KN_STEP", std::to_string(16 * (i % 3))}};
        const Shipped shipped(i % 4 < 2 ? "tpu-v4i" : "edge", layers ? "gpt2" : "matmuls", defines);
        mapper::Options options;
        options.threads = 1;
        options.metrics = {i % 3 == 0 ? Metric::energy : Metric::edp};
        std::vector<std::string> lines;
        options.progress = [&](const std::string& line) { lines.push_back(line); };
        const mapper::Result with = run(shipped.problem, options);
        found += std::ranges::any_of(
            lines, [](const std::string& line) { return line.starts_with("parts: "); });
        options.without = {"parts"};
        const mapper::Result other = run(shipped.problem, options);
        BOOST_TEST((with.status == mapper::Status::optimal));
        BOOST_TEST((other.status == mapper::Status::optimal));
        const double best = value(other, options.metrics.front());
        BOOST_TEST(std::abs(value(with, options.metrics.front()) - best) <= rounding * best);
    }
    BOOST_TEST(found >= 2);  // chains are joined quickly without
}

BOOST_AUTO_TEST_CASE(bounds_change_no_optimum) {
    without_changes_nothing(
        {"exploration-bound", "class-bounds", "surrogate-bounds", "vertex-bounds"});
}

// Without: loose class bounds and promising templates come first even where exact ones are quick.
BOOST_AUTO_TEST_CASE(loose_class_bounds_first_change_no_optimum) {
    without_changes_nothing({"exact-class-bounds"});
    without_changes_nothing({"exact-class-bounds", "template-fixing", "early-search"});
}

// Without the first: templates by need, even where there are few.
BOOST_AUTO_TEST_CASE(templates_by_need_change_no_optimum) {
    without_changes_nothing({"all-templates", "templates-by-need"}, true);
}

BOOST_AUTO_TEST_CASE(templates_by_need_are_fewer_and_find_what_a_start_does_not) {
    const std::vector<std::uint64_t> all = seeds();
    int searched = 0, fewer = 0, better = 0;
    for (std::size_t i = 1; i < all.size(); i += 4) {
        const oracle::Instance drawn = oracle::random_instance(all[i]);
        const oracle::LoadedInstance instance(drawn.yaml);
        mapper::Options options = options_of(drawn, 0);
        if (drawn.options.partial_tiles()) {
            continue;
        }
        try {
            options.metrics = {Metric::latency};
            const mapper::Result start = run(instance.problem, options);
            options.metrics = {Metric::energy};
            const mapper::Result with = run(instance.problem, options);
            if (start.solutions.empty()) {
                continue;
            }
            options.without = {"all-templates"};
            options.start = start.solutions;
            const mapper::Result other = run(instance.problem, options);
            const double found = value(other, Metric::energy), best = value(with, Metric::energy);
            BOOST_TEST(std::abs(found - best) <= rounding * best,
                       "seed " << all[i] << ": " << found << ", all templates " << best);
            ++searched;
            fewer += other.statistics.templates < with.statistics.templates;
            better += found < value(start, Metric::energy) * (1 - rounding);
        } catch (const NoLegalMapping&) {
        }
    }
    BOOST_TEST(fewer > searched / 3);
    BOOST_TEST(better > searched / 10);
    BOOST_TEST_MESSAGE(searched << " searches, " << fewer << " with fewer templates, " << better
                                << " better than their start");
}

// As of long cascades of convolutions: without the switch, of all. Whatever is reported holds.
BOOST_AUTO_TEST_CASE(bounds_before_templates_are_made_are_below_the_optimum) {
    const std::uint64_t from = tessera::test::setting("TESSERA_SOAK_FROM", 8'300'000);
    const std::uint64_t n = tessera::test::setting("TESSERA_SOAK", 60);
    int searched = 0, persistent = 0, close = 0;
    for (std::uint64_t seed = from; seed < from + n; ++seed) {
        oracle::Instance drawn =
            seed % 2 == 0 ? oracle::random_instance(seed) : oracle::random_residual_instance(seed);
        if (seed % 4 < 2) {
            drawn.yaml = oracle::with_persistent_inputs(drawn.yaml);
        }
        const oracle::LoadedInstance instance(
            drawn.yaml, seed % 2 == 0 ? arch::Compat::accelforge : arch::Compat::none);
        mapper::Options options = options_of(drawn, static_cast<std::size_t>(seed));
        const Metric metric = options.metrics.front();
        mapper::Result best;
        telemetry::Recorder recorder;
        try {
            best = run(instance.problem, options);
            options.without = {"all-templates"};
            options.recorder = &recorder;
            run(instance.problem, options);
        } catch (const NoLegalMapping&) {
        }
        if (best.solutions.empty()) {
            continue;
        }
        const double optimum = value(best, metric);
        BOOST_TEST(recorder.bound() <= optimum * (1 + rounding),
                   "seed " << seed << ": bound " << recorder.bound() << ", optimum " << optimum);
        ++searched;
        persistent += seed % 4 < 2;
        close += recorder.bound() > 0.9 * optimum;
    }
    BOOST_TEST(persistent * 4 > searched);
    BOOST_TEST(close * 2 > searched);
    BOOST_TEST_MESSAGE(searched << " searches, " << persistent << " with persistent tensors, "
                                << close << " bounds within a tenth");
}

// The brute force of full_test judges the same way through the search.
BOOST_AUTO_TEST_CASE(few_templates_give_mappings_before_class_bounds_are_known) {
    std::size_t early = 0;
    const std::vector<std::uint64_t> all = seeds();
    for (std::size_t i = 0; i < 80; i += 2) {
        const oracle::LoadedInstance instance(oracle::random_instance(all[i]).yaml);
        telemetry::Recorder recorder;
        recorder.listen(false);
        mapper::Options options;
        options.threads = 1;
        options.metrics = {Metric::edp};
        options.without = {"exact-class-bounds"};
        options.recorder = &recorder;
        run(instance.problem, options);
        early += std::ranges::count_if(recorder.take_events(), [](const telemetry::Event& e) {
            return e.incumbent && e.incumbent->detail == "early";
        });
    }
    BOOST_TEST(early > 0u);
}

BOOST_AUTO_TEST_CASE(what_the_join_leaves_out_changes_no_optimum) {
    without_changes_nothing({"join-bound", "lookahead", "redundant-capacity", "completion-bounds",
                             "row-semijoin", "sequential", "shape-semijoin"});
}

// Where loops have a prologue: two convolutions one after the other.
BOOST_AUTO_TEST_CASE(templates_that_no_einsum_can_meet_change_no_optimum) {
    std::uint64_t with = 0, without = 0;
    int instances = 0;
    for (std::uint64_t seed = 1; instances < 200; ++seed) {
        const oracle::Instance drawn = oracle::random_full_instance(seed);
        if (drawn.kind != "conv-conv" && drawn.kind != "map-conv") {
            continue;
        }
        const oracle::LoadedInstance instance(drawn.yaml);
        mapper::Options options = options_of(drawn, seed);
        const Metric metric = options.metrics.front();
        const mapper::Result best = run(instance.problem, options);
        options.without = {"template-semijoin"};
        const mapper::Result other = run(instance.problem, options);
        BOOST_TEST_REQUIRE(best.solutions.size() == other.solutions.size());
        with += best.statistics.evaluated;
        without += other.statistics.evaluated;
        ++instances;
        if (!best.solutions.empty()) {
            const double a = value(best, metric), b = value(other, metric);
            BOOST_TEST(std::abs(a - b) <= rounding * b, "seed " << seed << ": " << a << ", " << b);
            BOOST_TEST(best.statistics.mapspace_size == other.statistics.mapspace_size);
        }
    }
    BOOST_TEST(with < without);
}

BOOST_AUTO_TEST_CASE(what_tile_shapes_leave_out_changes_no_optimum) {
    without_changes_nothing({"partial-pareto", "partial-conditions", "safe-rows", "fixed-products",
                             "domain-propagation", "symmetries", "fused-symmetries"});
}

oracle::Instance instance_with_partial_tiles(std::uint64_t seed) {
    oracle::Instance drawn = oracle::random_full_instance(seed);
    drawn.options.imperfect_temporal = drawn.options.imperfect_spatial = true;
    return drawn;
}

// With partial tiles, where class bounds are given up and cutoffs are tried.
void without_changes_no_partial_tiles(const std::string& name) {
    int instances = 0;
    for (std::uint64_t seed = 1; instances < 200; ++seed) {
        const oracle::Instance drawn = instance_with_partial_tiles(seed);
        const oracle::LoadedInstance instance(drawn.yaml, arch::Compat::none);
        mapper::Options options = options_of(drawn, seed);
        const Metric metric = options.metrics.front();
        const mapper::Result best = run(instance.problem, options);
        options.without = {name};
        const mapper::Result other = run(instance.problem, options);
        BOOST_TEST_REQUIRE(best.solutions.size() == other.solutions.size());
        if (best.solutions.empty()) {
            continue;
        }
        ++instances;
        BOOST_TEST((best.status == mapper::Status::optimal));
        const double a = value(best, metric), b = value(other, metric);
        BOOST_TEST(std::abs(a - b) <= rounding * b, "seed " << seed << ": " << a << ", " << b);
    }
}

BOOST_AUTO_TEST_CASE(convex_bounds_change_no_optimum) {
    without_changes_no_partial_tiles("convex-bound");
}

BOOST_AUTO_TEST_CASE(fixed_tiles_first_change_no_optimum) {
    without_changes_no_partial_tiles("fixed-first");
}

BOOST_AUTO_TEST_CASE(semijoins_of_partial_tiles_change_no_optimum) {
    without_changes_no_partial_tiles("shape-semijoin");
}

BOOST_AUTO_TEST_CASE(sequence_of_partial_tiles_change_no_optimum) {
    without_changes_no_partial_tiles("sequential");
}

BOOST_AUTO_TEST_CASE(scalarised_bounds_change_no_optimum) {
    without_changes_no_partial_tiles("scalarised-bounds");
}

// Where partial tiles gain, a bound that is too high returns the mapping without them, or loses
// what is best of the rest.
BOOST_AUTO_TEST_CASE(scalarised_bounds_do_not_hide_what_partial_tiles_gain) {
    int instances = 0;
    for (std::uint64_t seed = 1; instances < 25; ++seed) {
        const oracle::Instance drawn = oracle::random_full_instance(seed);
        const oracle::LoadedInstance instance(drawn.yaml, arch::Compat::none);
        if (instance.problem.workload->einsums.size() < 2) {
            continue;
        }
        mapper::Options options = options_of(drawn, seed);
        options.metrics = {Metric::edp};
        const mapper::Result perfect = run(instance.problem, options);
        options.mapspace.imperfect_temporal = options.mapspace.imperfect_spatial = true;
        options.without = {"improvement"};
        const mapper::Result best = run(instance.problem, options);
        if (best.solutions.empty() || perfect.solutions.empty() ||
            value(best, Metric::edp) >= value(perfect, Metric::edp) * (1 - rounding)) {
            continue;
        }
        ++instances;
        options.without = {"improvement", "scalarised-bounds"};
        const mapper::Result other = run(instance.problem, options);
        BOOST_TEST((best.status == mapper::Status::optimal));
        const double a = value(best, Metric::edp), b = value(other, Metric::edp);
        BOOST_TEST(std::abs(a - b) <= rounding * b, "seed " << seed << ": " << a << ", " << b);
    }
}

BOOST_AUTO_TEST_CASE(an_improved_first_mapping_changes_no_optimum) {
    without_changes_no_partial_tiles("improvement");
}

// A stop can catch class bounds half tightened; what ended the search holds all the same.
BOOST_AUTO_TEST_CASE(a_search_that_a_gap_ends_returns_that_gap) {
    int ended = 0;
    for (std::uint64_t seed = 1; ended < 200; ++seed) {
        const oracle::Instance drawn = instance_with_partial_tiles(seed);
        const oracle::LoadedInstance instance(drawn.yaml, arch::Compat::none);
        mapper::Options options = options_of(drawn, seed);
        const Metric metric = options.metrics.front();
        options.budget.gap = seed % 2 == 0 ? 0.4 : 0.05;
        const mapper::Result r = run(instance.problem, options);
        if (r.status != mapper::Status::feasible) {
            continue;
        }
        ++ended;
        BOOST_TEST_REQUIRE(r.stopped_by == "gap");
        BOOST_TEST_REQUIRE(r.bound.has_value());
        const double found = value(r, metric);
        BOOST_TEST(found - *r.bound <= options.budget.gap * found, "seed " << seed);
        options.budget.gap = 0;
        BOOST_TEST(*r.bound <= value(run(instance.problem, options), metric) * (1 + rounding),
                   "seed " << seed);
    }
}

// Smaller steps than what is asked for would be a search in vain, larger ones one too long.
BOOST_AUTO_TEST_CASE(the_gap_that_is_asked_for_is_looked_for) {
    const Shipped shipped("nvdla", "mobilenet-28", {});
    mapper::Options options;
    options.mapspace.imperfect_temporal = options.mapspace.imperfect_spatial = true;
    options.budget.gap = 0.03;
    const mapper::Result r = run(shipped.problem, options);
    BOOST_TEST_REQUIRE(r.bound.has_value());
    const double gap = 1 - *r.bound / value(r, Metric::edp);
    BOOST_TEST(gap <= 0.03);
    BOOST_TEST(gap > 0.0299);
}

BOOST_AUTO_TEST_CASE(unknown_names_are_refused) {
    const oracle::LoadedInstance instance(oracle::random_instance(seeds().front()).yaml);
    mapper::Options options;
    options.mapspace = mapspace::MapSpaceOptions::accelforge();
    options.without = {"luck"};
    BOOST_CHECK_THROW(run(instance.problem, options), UserError);
}

BOOST_AUTO_TEST_CASE(fifty_searches_stopped_at_random_moments_return_valid_mappings_and_bounds) {
    const Shipped shipped("tpu-v4i", "gpt3-6.7b", {{"BATCH", "1"}, {"TOKENS", "2048"}},
                          arch::Compat::accelforge);
    mapper::Options options;
    options.mapspace = mapspace::MapSpaceOptions::accelforge();
    options.threads = 2;
    // Without cutoffs and class bounds there is more to stop.
    options.without = {"beam-search", "class-bounds", "cutoffs"};
    // Moments in CPU time: the load of the machine changes from one search to the next.
    const std::clock_t start = std::clock();
    const double optimum = value(run(shipped.problem, options), Metric::edp);
    const std::clock_t full = std::clock() - start;
    std::mt19937_64 random(5);
    int stopped_early = 0;
    for (int i = 0; i < 50; ++i) {
        std::atomic<bool> stop{false};
        options.stop = &stop;
        const auto moment = full * static_cast<int>(random() % 1000) / 1100;
        std::jthread timer([&stop, moment](const std::stop_token& done) {
            const std::clock_t end = std::clock() + moment;
            while (!done.stop_requested() && std::clock() < end) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
            stop = true;
        });
        const mapper::Result r = run(shipped.problem, options);
        timer.request_stop();
        BOOST_TEST_REQUIRE(r.solutions.size() == 1u);
        stopped_early += r.status == mapper::Status::feasible ? 1 : 0;
        const double found = value(r, Metric::edp);
        BOOST_TEST(found >= optimum * (1 - rounding));
        BOOST_TEST_REQUIRE(r.bound.has_value());
        BOOST_TEST(*r.bound <= optimum * (1 + rounding));
        for (const auto& v :
             mapspace::check(shipped.problem, r.solutions.front().mapping, &options.mapspace)) {
            BOOST_TEST((v.severity == mapspace::Severity::warning), v.message);
        }
    }
    BOOST_TEST(stopped_early >= 25);
}

// Its first mapping is within a percent of the bound; everything below that fits together in
// millions of ways, the optimum at the bound in few.
BOOST_AUTO_TEST_CASE(a_mapping_near_the_bound_does_not_end_the_search_for_one_at_it) {
    const Shipped shipped("simba", "llama3-8b", {{"DECODE", "1"}});
    mapper::Options options;
    options.budget.max_evals = 3'000'000;
#ifndef __SANITIZE_ADDRESS__  // which keeps what was freed
    options.budget.max_memory_bytes = 1u << 30;
#endif
    const mapper::Result r = run(shipped.problem, options);
    BOOST_TEST((r.status == mapper::Status::optimal));
    BOOST_TEST(r.statistics.evaluated < 3'000'000u);
}

// Millions of tile shapes keep the array busy: one of them ends the search. The latency is that of
// all multiplications on 256 x 256 units, and of the additions and activations on 256 lanes.
BOOST_AUTO_TEST_CASE(ties_in_latency_do_not_hold_up_a_proof) {
    using Names = std::vector<std::string>;
    for (const Names& names : {Names{"FFN1"}, Names{"FFN1", "AR", "FFN2"}}) {
        Shipped shipped("transfusion-cloud", "transfusion-llama3", {{"TOKENS", "4096"}});
        shipped.workload = workload::selected(shipped.workload, names);
        mapper::Options options;
        options.threads = 1;
        options.metrics = {Metric::latency};
        options.budget.max_evals = 13'000'000;
        const mapper::Result r = run(shipped.problem, options);
        BOOST_TEST((r.status == mapper::Status::optimal));
        const double clock = 940e6, points = 64.0 * 4096 * 16384;
        const double products = points * 4096 / (256 * 256 * clock);
        const double activations = points * 9 / (256 * clock);
        BOOST_TEST(
            value(r, Metric::latency) == (names.size() > 1 ? 2 * products + activations : products),
            boost::test_tools::tolerance(1e-3));
    }
}

// Partial tiles fill the arrays, which the best mapping without them leaves half empty. The exact
// search would find as much after ten times the rows.
BOOST_AUTO_TEST_CASE(partial_tiles_improve_the_mapping_without_them_at_once) {
    const Shipped shipped("eyeriss", "gpt3-6.7b", {});
    mapper::Options options;
    options.threads = 1;
    options.mapspace.imperfect_temporal = options.mapspace.imperfect_spatial = true;
    options.budget.max_evals = 6'000'000;
    const mapper::Result improved = run(shipped.problem, options);
    options.without = {"improvement"};
    const mapper::Result other = run(shipped.problem, options);
    for (const mapper::Result* r : {&improved, &other}) {
        BOOST_TEST_REQUIRE(r->bound.has_value());
        BOOST_TEST(*r->bound <= value(improved, Metric::edp));
        for (const auto& v :
             mapspace::check(shipped.problem, r->solutions.front().mapping, &options.mapspace)) {
            BOOST_TEST((v.severity == mapspace::Severity::warning), v.message);
        }
    }
    BOOST_TEST(value(improved, Metric::edp) < 0.6 * value(other, Metric::edp));
}

// FFA and FFB read their weights 64 * 3 times with a third of one sequence at a time, 137
// times with 30 tokens of all sequences at once: batch and token tiles both change.
BOOST_AUTO_TEST_CASE(two_fused_loops_may_change_together) {
    const Shipped shipped("tpu-v4i", "gpt3-6.7b", {{"BATCH", "64"}, {"TOKENS", "4096"}});
    mapper::Options options;
    options.threads = 1;
    options.mapspace.imperfect_temporal = options.mapspace.imperfect_spatial = true;
    options.budget.max_evals = 15'000'000;
    BOOST_TEST(value(run(shipped.problem, options), Metric::edp) < 21.25);
}

BOOST_AUTO_TEST_SUITE_END()
