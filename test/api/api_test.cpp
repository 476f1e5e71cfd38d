// tessera/tessera.hpp: what programs that embed the library rely on.
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cli/cli.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/plugin/search_strategy.hpp"
#include "tessera/tessera.hpp"
#include "tessera/workload/workload.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

namespace {

using tessera::Options;
using tessera::Problem;
using tessera::Result;
using Status = tessera::mapper::Status;

Problem small(const std::string& einsums = "2") {
    return Problem::load("snowcat", "matmuls", {{"N_EINSUMS", einsums}});
}

/// Random mappings: does not end by itself in reasonable time.
Options endless() {
    Options options;
    options.limits.max_time_s = 600;
    options.mapper = "random";
    options.threads = 1;
    return options;
}

std::string message_of(const auto& call) {
    try {
        call();
    } catch (const tessera::UserError& error) {
        return error.what();
    }
    return "";
}

const char* const arch_text = R"(
arch:
  nodes:
  - !Memory
    name: Outer
    size: inf
    leak_power: 0
    area: 0
    actions:
    - {name: read, energy: 10, throughput: inf}
    - {name: write, energy: 10, throughput: inf}
    tensors: {keep: All}
  - !Compute
    name: MAC
    leak_power: 0
    area: 0
    actions:
    - {name: compute, energy: 1, throughput: 1}
)";

const char* const workload_text = R"(
variables: {N: 4}
workload:
  bits_per_value: {All: 8}
  rank_sizes: {M: N, K: N}
  einsums:
  - name: E
    tensor_accesses:
    - {name: A, projection: [m, k]}
    - {name: Y, projection: [m], output: true}
)";

/// A strategy of the embedding program itself.
class Own : public tessera::search::SearchStrategy {
    std::string name() const override {
        return "own";
    }
    void start(const tessera::search::Space&, std::uint64_t) override {}
    std::size_t ask(std::span<tessera::search::Candidate> batch) override {
        for (tessera::search::Candidate& candidate : batch) {
            candidate.how = tessera::search::Candidate::How::draw;
            candidate.seed = ++drawn_;
        }
        return batch.size();
    }
    void tell(std::span<const tessera::search::Candidate>) override {}
    std::uint64_t drawn_ = 0;
};

TESSERA_PLUGIN(tessera::search::SearchStrategy, Own, "own", "draws", "");

}  // namespace

BOOST_AUTO_TEST_SUITE(api)

// One set of defaults: `{}` means what the command line means.
BOOST_AUTO_TEST_CASE(options_without_values_equal_the_command_line_without_options) {
    const Result result = tessera::map(small());
    std::ostringstream out, err;
    const std::vector<std::string> args = {"map", "-a",          "snowcat", "-w",    "matmuls",
                                           "-D",  "N_EINSUMS=2", "-q",      "--json"};
    BOOST_TEST(tessera::cli::run(args, out, err) == 0, err.str());
    const auto document = nlohmann::json::parse(out.str());
    BOOST_TEST((result.status == Status::optimal));
    BOOST_TEST(document["status"] == "optimal");
    BOOST_TEST(document["mappings"][0]["energy_j"].get<double>() ==
               result.best().report.energy_j());
    BOOST_TEST(document["mappings"][0]["latency_s"].get<double>() ==
               result.best().report.latency_s());
    BOOST_TEST(document["search"]["mapspace_size"].get<std::string>() ==
               result.statistics.mapspace_size);
    BOOST_TEST(*result.gap() == 0);
    BOOST_TEST(*result.bound == result.best().report.edp_js());
}

BOOST_AUTO_TEST_CASE(a_result_evaluates_to_its_own_costs_and_is_legal) {
    const Problem problem = small();
    const Result result = tessera::map(problem);
    const auto& mapping = result.best().mapping;
    BOOST_TEST(tessera::evaluate(problem, mapping).edp_js() == result.best().report.edp_js());
    BOOST_TEST(tessera::explain(problem, mapping).empty());
    const auto again = tessera::parse_mapping(tessera::mapping::to_yaml(mapping));
    BOOST_TEST(tessera::evaluate(problem, again).edp_js() == result.best().report.edp_js());
    // The same mapping on another problem.
    auto homeless = mapping;  // without its outermost holder
    homeless.root.children.erase(homeless.root.children.begin());
    const auto found = tessera::explain(problem, homeless);
    BOOST_TEST_REQUIRE(!found.empty());
    BOOST_TEST((found.front().severity != tessera::mapspace::Severity::warning));
    BOOST_CHECK_THROW(tessera::explain(small("1"), mapping), tessera::UserError);
    BOOST_CHECK_THROW(tessera::parse_mapping("mappin: {}"), tessera::UserError);
}

// By hand, at 8 bits and 10 J each: every operation reads A and writes Y, all but the first per
// value of Y read it before; 1 J per operation.
BOOST_AUTO_TEST_CASE(texts_are_problems_too_and_a_problem_owns_what_it_needs) {
    std::optional<Problem> problem;
    {
        const std::string arch = arch_text, workload = workload_text;
        const Problem first = Problem::parse(arch, workload);
        problem = first;
    }
    Options options;
    options.metrics = {tessera::mapper::Metric::energy};
    BOOST_TEST(tessera::map(*problem, options).best().report.energy_j() ==
               (16 + 16 + 12) * 8 * 10 + 16);
    BOOST_TEST(problem->workload().einsums.size() == 1u);
    BOOST_TEST(problem->architecture().compute_names().size() == 1u);
    const Problem twice = Problem::parse(arch_text, workload_text, {{"N", "8"}});
    BOOST_TEST(tessera::map(twice, options).best().report.energy_j() ==
               (64 + 64 + 56) * 8 * 10 + 64);
    const std::string unknown = message_of([] {
        Problem::parse(arch_text, workload_text, {{"M", "8"}});
    });
    BOOST_TEST(unknown.find("'M'") != std::string::npos, unknown);
    const std::string broken = message_of([] { Problem::parse("arch: {nodes: [", workload_text); });
    BOOST_TEST(broken.rfind("architecture:", 0) == 0u, broken);
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_said) {
    const auto with = [](auto change) {
        return message_of([&] {
            Options options;
            change(options);
            tessera::map(small(), options);
        });
    };
    BOOST_TEST(with([](Options& o) { o.mapper = "fmm"; }).find("did you mean 'ffm'") !=
               std::string::npos);
    BOOST_TEST(with([](Options& o) { o.mapper = "search:rndom"; }).find("random") !=
               std::string::npos);
    BOOST_TEST(with([](Options& o) { o.model = "looptre"; }).find("looptree") != std::string::npos);
    BOOST_TEST(with([](Options& o) { o.knobs["search"]["batch"] = "2"; }).find("not used here") !=
               std::string::npos);
    BOOST_TEST(with([](Options& o) { o.metrics.clear(); }).find("no metric") != std::string::npos);
    BOOST_TEST(message_of([] { Problem::load("", "matmuls"); }).find("no architecture") !=
               std::string::npos);
    BOOST_TEST(message_of([] { Problem::load("matmuls", "snowcat"); }).find("swapped") !=
               std::string::npos);
    BOOST_CHECK_THROW(tessera::load_plugin("/nowhere.so"), tessera::PluginError);
}

BOOST_AUTO_TEST_CASE(progress_is_told_and_a_stop_token_ends_the_search) {
    const Problem problem = Problem::load("simba", "gpt3-6.7b", {{"TOKENS", "256"}});
    Options options = endless();
    std::stop_source source;
    options.stop = source.get_token();
    std::atomic<int> calls{0};
    double last_s = 0;
    options.progress = [&](const tessera::Progress& now) {
        ++calls;
        BOOST_TEST(now.elapsed_s >= last_s);
        last_s = now.elapsed_s;
        if (now.best) {
            source.request_stop();
        }
    };
    const Result result = tessera::map(problem, options);
    BOOST_TEST(calls > 0);
    BOOST_TEST(result.stopped_by == "stop");
    BOOST_TEST((result.status == Status::feasible));
    BOOST_TEST(result.solutions.size() == 1u);
    BOOST_TEST(!result.gap().has_value());
}

BOOST_AUTO_TEST_CASE(a_progress_callback_that_throws_ends_the_calls_alone) {
    Options options;
    int calls = 0;
    options.progress = [&](const tessera::Progress&) {
        ++calls;
        throw std::runtime_error("no more");
    };
    BOOST_TEST((tessera::map(small(), options).status == Status::optimal));
    BOOST_TEST(calls == 1);
}

BOOST_AUTO_TEST_CASE(a_search_without_result_says_why) {
    Options options = endless();
    std::stop_source source;
    source.request_stop();
    options.stop = source.get_token();
    const Result stopped = tessera::map(Problem::load("simba", "gpt3-6.7b"), options);
    BOOST_TEST(stopped.solutions.empty());
    BOOST_CHECK_THROW(stopped.best(), tessera::LimitReached);
    // A memory that must keep everything and holds nothing.
    std::string tiny = arch_text;
    tiny.replace(tiny.find("size: inf"), 9, "size: 8");
    const Result none = tessera::map(Problem::parse(tiny, workload_text));
    BOOST_TEST((none.status == Status::infeasible));
    BOOST_REQUIRE(!none.reasons.empty());
    BOOST_CHECK_EXCEPTION(none.best(), tessera::NoLegalMapping, [](const auto& error) {
        const std::string text = error.what();
        return text.find("no mapping meets th") != std::string::npos &&
               text.find(": size of '") != std::string::npos;
    });
}

BOOST_AUTO_TEST_CASE(two_threads_map_two_problems_at_once) {
    const double alone[2] = {tessera::map(small("1")).best().report.edp_js(),
                             tessera::map(small("3")).best().report.edp_js()};
    double found[2] = {};
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 2; ++i) {
            threads.emplace_back([&found, i] {
                for (int turn = 0; turn < 3; ++turn) {
                    Options options;
                    options.threads = 2;
                    options.progress = [](const tessera::Progress&) {};
                    const Problem problem = small(i == 0 ? "1" : "3");
                    found[i] = tessera::map(problem, options).best().report.edp_js();
                    options.mapper = "random";
                    options.limits.max_evals = 500;
                    tessera::map(problem, options);
                }
            });
        }
    }
    BOOST_TEST(found[0] == alone[0]);
    BOOST_TEST(found[1] == alone[1]);
}

BOOST_AUTO_TEST_CASE(components_of_the_program_itself_are_used) {
    tessera::plugin::register_own_components();
    tessera::plugin::register_own_components();
    Options options = endless();
    options.mapper = "own";
    options.limits.max_evals = 50;
    BOOST_TEST(!tessera::map(small(), options).solutions.empty());
}

BOOST_AUTO_TEST_SUITE_END()
