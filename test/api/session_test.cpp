// tessera/session.hpp: set up, admit, search, judge.
#include "tessera/session.hpp"

#include <boost/test/unit_test.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tessera/telemetry/recorder.hpp"

namespace {

using tessera::Options;
using tessera::Problem;
using tessera::Result;
using tessera::Session;
using Status = tessera::mapper::Status;

Problem small() {
    return Problem::load("snowcat", "matmuls", {{"N_EINSUMS", "2"}});
}

/// A layer whose optimum is fused.
Problem fused_layer() {
    return Problem::load("simba", "matmuls", {{"N_EINSUMS", "2"}});
}

const tessera::mapping::Mapping& fused() {
    static const Result result = tessera::map(fused_layer());
    return result.best().mapping;
}

template <class E>
std::string message_of(const auto& call) {
    try {
        call();
    } catch (const E& error) {
        return error.what();
    }
    return "";
}

bool says(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// Answers with what is written down here, and calls it optimal.
class Answers : public tessera::mapper::Mapper {
public:
    static inline tessera::mapper::Result answer;
    std::string name() const override {
        return "answers";
    }
    tessera::mapper::Result map(const tessera::model::Problem&, const tessera::model::CostModel&,
                                const tessera::mapper::Options&) override {
        return answer;
    }
};
TESSERA_PLUGIN(tessera::mapper::Mapper, Answers, "answers", "what it was told", "");

/// The error of a search whose mapper answers with a mapping; empty: it stands.
std::string answered(const tessera::mapping::Mapping& mapping, double share, bool unfused) {
    tessera::plugin::register_own_components();
    const Problem problem = fused_layer();
    Answers::answer = {};
    Answers::answer.status = Status::optimal;
    Answers::answer.solutions = {{mapping, {}}};
    auto& report = Answers::answer.solutions.front().report;
    report = tessera::evaluate(problem, fused());
    for (auto& einsum : report.einsums) {
        einsum.dynamic_energy_j *= share;
        einsum.leak_energy_j *= share;
    }
    Options options;
    options.mapper = "answers";
    options.mapspace.unfused = unfused;
    return message_of<tessera::PluginError>([&] { tessera::map(problem, options); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(session)

BOOST_AUTO_TEST_CASE(a_session_is_what_map_is) {
    const Problem problem = fused_layer();
    const Session session(problem, {});
    const Result result = session.search();
    BOOST_TEST((result.status == Status::optimal));
    BOOST_TEST(result.best().report.edp_js() == tessera::map(problem).best().report.edp_js());
    BOOST_TEST(session.judge(result.best().mapping).edp_js() == result.best().report.edp_js());
    BOOST_TEST(session.components().mapper == "ffm");
    BOOST_TEST(*result.gap() == 0);
}

BOOST_AUTO_TEST_CASE(one_session_searches_more_than_once) {
    Options options;
    options.mapper = "random";
    options.threads = 1;
    options.limits.max_evals = 200;
    const Session session(fused_layer(), options);
    BOOST_TEST(session.components().mapper == "search");
    BOOST_TEST(session.components().strategy == "random");
    const auto with = [&](std::uint64_t seed) {
        tessera::telemetry::Recorder recorder;
        Session::Turn turn = session.turn();
        BOOST_TEST(turn.limits.max_evals == 200u);
        turn.seed = seed;
        turn.recorder = &recorder;
        const double value = session.search(turn).best().report.edp_js();
        BOOST_TEST(recorder.evaluated() > 0u);
        return value;
    };
    const double first = with(1);
    BOOST_TEST(with(2) != first);
    BOOST_TEST(with(1) == first);
}

BOOST_AUTO_TEST_CASE(what_is_begun_with_is_a_member_of_the_searched_mapspace) {
    const Problem problem = fused_layer();
    Options unfused;
    unfused.mapspace.unfused = true;
    const Result alone = tessera::map(problem, unfused);
    BOOST_TEST_REQUIRE(tessera::evaluate(problem, fused()).edp_js() < alone.best().report.edp_js());
    Session session(problem, unfused);
    const std::string why =
        message_of<tessera::UserError>([&] { session.begin_with(fused(), "known.yaml"); });
    BOOST_TEST(says(why, "known.yaml: not in the mapspace that is searched: "), why);
    BOOST_TEST(session.settings().start.empty());
    session.begin_with(alone.best().mapping, "known.yaml");
    BOOST_TEST(session.settings().start.size() == 1u);
    BOOST_TEST(session.search().best().report.edp_js() == alone.best().report.edp_js());
    // Options::start is admitted by the same rule.
    unfused.start = {alone.best().mapping, fused()};
    const std::string same =
        message_of<tessera::UserError>([&] { tessera::map(problem, unfused); });
    BOOST_TEST(says(same, "Options::start, mapping 2: not in the mapspace"), same);
    // What the hardware cannot run is no member of any.
    auto homeless = fused();
    homeless.root.children.erase(homeless.root.children.begin());
    BOOST_TEST(!message_of<tessera::UserError>([&] { session.begin_with(homeless, "x"); }).empty());
}

BOOST_AUTO_TEST_CASE(a_mapping_outside_the_mapspace_is_judged_all_the_same) {
    const Problem problem = fused_layer();
    Options unfused;
    unfused.mapspace.unfused = true;
    const Session session(problem, unfused);
    BOOST_TEST(session.judge(fused()).edp_js() == tessera::evaluate(problem, fused()).edp_js());
    auto homeless = fused();
    homeless.root.children.erase(homeless.root.children.begin());
    BOOST_CHECK_THROW(session.judge(homeless), tessera::IllegalMapping);
}

BOOST_AUTO_TEST_CASE(the_preferred_mapspace_is_asked_for_where_no_partial_tiles_are) {
    const Problem problem = small();
    Options options;
    options.mapper = "fusecu";
    const Session preferred(problem, options);
    BOOST_TEST(preferred.settings().mapspace.imperfect_temporal);
    BOOST_TEST(!preferred.settings().mapspace.imperfect_spatial);
    options.mapspace.imperfect_spatial = true;
    BOOST_TEST(!Session(problem, options).settings().mapspace.imperfect_temporal);
    const Session given(problem.view(), {"looptree", "fusecu", "", {}}, {}, Session::Space::given);
    BOOST_TEST(!given.settings().mapspace.partial_tiles());
}

const char* const odd_arch = R"(
arch:
  nodes:
  - !Memory
    name: Outer
    size: inf
    actions:
    - {name: read, energy: 10, throughput: 1}
    - {name: write, energy: 10, throughput: 1}
    tensors: {keep: ~Intermediates, may_keep: All}
  - !Memory
    name: Buffer
    size: 60
    actions:
    - {name: read, energy: 1, throughput: 4}
    - {name: write, energy: 1, throughput: 4}
    spatial: [{name: X, fanout: 4}]
    tensors: {may_keep: All}
  - !Compute
    name: MAC
    actions:
    - {name: compute, energy: 1, throughput: 1}
)";

const char* const odd_workload = R"(
workload:
  bits_per_value: {All: 1}
  rank_sizes: {M: 7, K: 5, N: 11}
  einsums:
  - name: E
    tensor_accesses:
    - {name: A, projection: [m, k]}
    - {name: B, projection: [k, n]}
    - {name: Y, projection: [m, n], output: true}
)";

// What is optimal in one mapspace is taken in another only if it changes no optimum there.
BOOST_AUTO_TEST_CASE(mappings_of_one_mapspace_change_no_optimum_of_another) {
    const Problem problem = Problem::parse(odd_arch, odd_workload);
    std::vector<Options> spaces;
    std::vector<Result> optima;
    for (const auto metric : {tessera::mapper::Metric::edp, tessera::mapper::Metric::latency}) {
        for (int tiles = 0; tiles < 4; ++tiles) {
            Options& options = spaces.emplace_back();
            options.metrics = {metric};
            options.mapspace.imperfect_temporal = (tiles & 1) != 0;
            options.mapspace.imperfect_spatial = (tiles & 2) != 0;
            optima.push_back(tessera::map(problem, options));
            BOOST_TEST((optima.back().status == Status::optimal));
        }
    }
    int taken = 0, refused = 0;
    for (std::size_t i = 0; i < spaces.size(); ++i) {
        for (std::size_t j = 0; j < spaces.size(); ++j) {
            Options begun = spaces[i];
            begun.start = {optima[j].best().mapping};
            try {
                const Result result = tessera::map(problem, begun);
                ++taken;
                BOOST_TEST(*result.bound == *optima[i].bound, boost::test_tools::tolerance(1e-9));
            } catch (const tessera::UserError& error) {
                ++refused;
                BOOST_TEST(i != j, error.what());
            }
        }
    }
    BOOST_TEST(taken > 8);
    BOOST_TEST(refused > 0);
}

BOOST_AUTO_TEST_CASE(answers_of_mappers_are_judged) {
    BOOST_TEST(answered(fused(), 1, false) == "");
    BOOST_TEST(says(answered(fused(), 0.5, false), "the mapper says that its mapping costs"));
    BOOST_TEST(says(answered(fused(), 1, true), "found is not in the mapspace that is searched"));
    auto homeless = fused();
    homeless.root.children.erase(homeless.root.children.begin());
    BOOST_TEST(says(answered(homeless, 1, false), "mapper 'answers' found is illegal"));
}

BOOST_AUTO_TEST_CASE(a_bound_above_what_was_found_is_left_out) {
    BOOST_TEST(answered(fused(), 1, false) == "");
    const double edp = Answers::answer.solutions.front().report.edp_js();
    const Problem problem = fused_layer();
    Options options;
    options.mapper = "answers";
    for (const double share : {0.5, 1.0, 1 + 1e-12, 1 + 1e-6, 2.0}) {
        Answers::answer.bound = share * edp;
        const Result result = tessera::map(problem, options);
        const bool wrong = share > 1 + 1e-9;
        BOOST_TEST((result.status == (wrong ? Status::feasible : Status::optimal)));
        BOOST_TEST(result.bound.has_value() == !wrong);
        BOOST_TEST(result.best().report.edp_js() == edp);
        BOOST_TEST(result.reasons.size() == (wrong ? 1u : 0u));
        BOOST_TEST((!wrong || says(result.reasons.back(), "its bound is wrong")));
    }
}

// What is optimal among the orders that were searched need not be so among all.
BOOST_AUTO_TEST_CASE(a_mapping_in_orders_that_were_not_searched_is_not_called_optimal) {
    tessera::plugin::register_own_components();
    const Problem problem = fused_layer();
    Options options;
    options.mapper = "answers";
    Answers::answer = {};
    Answers::answer.status = Status::optimal;
    Answers::answer.solutions = {{fused(), tessera::evaluate(problem, fused())}};
    Answers::answer.bound = Answers::answer.solutions.front().report.edp_js();
    const auto status = [&] { return tessera::map(problem, options).status; };
    Answers::answer.statistics.loop_orders = false;
    BOOST_TEST((status() == Status::optimal));  // found by itself
    options.start = {fused()};
    BOOST_TEST((status() == Status::feasible));
    BOOST_TEST(!tessera::map(problem, options).bound.has_value());
    Answers::answer.statistics = {};
    BOOST_TEST((status() == Status::optimal));
    Answers::answer.statistics.all_orders = false;
    BOOST_TEST((status() == Status::optimal));  // it has the order of the file
}

BOOST_AUTO_TEST_CASE(knobs_mean_the_component_that_uses_them) {
    Options options;
    options.mapper = "search";
    options.knobs["search"]["strategy"] = "annealing";
    options.knobs["random"]["x"] = "1";
    BOOST_TEST(says(message_of<tessera::UserError>([&] { Session(small(), options); }),
                    "knobs of 'random' are set, which is not used here"));
    const tessera::Components model_alone{"looptree", "", "", {}};
    BOOST_TEST((model_alone.used() == std::vector<std::string>{"looptree"}));
    BOOST_TEST(!model_alone.uses("ffm"));
}

BOOST_AUTO_TEST_SUITE_END()
