// Mapper `portfolio`: what is shared, what ends it, how long it lasts.
#include <boost/test/unit_test.hpp>
#include <chrono>

#include "support/paths.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapper/mapper.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/telemetry/recorder.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;
using mapper::Mapper;
using mapper::Result;
using mapper::Status;

namespace {

struct Case {
    workload::Workload workload;
    arch::Architecture architecture;
    plugin::Owned<model::CostModel> model =
        plugin::Registry<model::CostModel>::instance().create("looptree");

    explicit Case(const std::string& name, const std::map<std::string, std::string>& defines = {})
        : workload(workload::load_workload(
              test::test_folder() + "/../problem-shapes/" + name + ".yaml", defines)),
          architecture(
              arch::load_architecture(test::test_folder() + "/../arch-specs/tpu-v4i.yaml", {})) {}

    Result map(const std::string& mapper, const mapper::Options& options,
               const plugin::KnobSettings& knobs = {}) const {
        return plugin::Registry<Mapper>::instance()
            .create(mapper, knobs)
            ->map({&workload, &architecture, arch::Compat::none}, *model, options);
    }
};

mapper::Options options_of(std::uint64_t evaluations) {
    mapper::Options options;
    options.threads = 1;
    options.budget.max_evals = evaluations;
    return options;
}

double value(const Result& result) {
    return result.solutions.at(0).report.edp_js();
}

/// A member that proves a bound and finds nothing; remembers what it was told.
class Bounder : public Mapper {
public:
    std::string name() const override {
        return "bounder";
    }
    Result map(const model::Problem&, const model::CostModel&, const mapper::Options& o) override {
        starts.push_back(o.start.empty() ? 0 : o.start.front().report.edp_js());
        if (refuses) {
            throw UserError("it refuses");
        }
        Result result;
        result.status = Status::feasible;
        result.bound = bound;
        return result;
    }
    static inline double bound = 0;
    static inline bool refuses = false;
    static inline std::vector<double> starts;
};

void add_bounder() {
    static bool added = false;
    if (!std::exchange(added, true)) {
        plugin::Registry<Mapper>::instance().add(
            {"bounder", "", "", {}, "", "", [](const plugin::KnobValues&) {
                 return plugin::Owned<Mapper>(new Bounder, [](Mapper* m) { delete m; });
             }});
    }
    Bounder::starts.clear();
    Bounder::refuses = false;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_member_that_proves_the_optimum_ends_it) {
    const Case chain("matmuls", {{"N_EINSUMS", "2"}});
    mapper::Options options;
    options.threads = 1;
    const double best = value(chain.map("ffm", options));
    const Result found = chain.map("portfolio", options);
    BOOST_TEST((found.status == Status::optimal));
    BOOST_TEST(found.stopped_by == "");
    BOOST_TEST(value(found) == best, boost::test_tools::tolerance(1e-9));
    BOOST_TEST(found.bound.value() == best, boost::test_tools::tolerance(1e-9));
    options.metrics = {mapper::Metric::energy, mapper::Metric::latency};
    BOOST_TEST(chain.map("portfolio", options).solutions.size() ==
               chain.map("ffm", options).solutions.size());
}

BOOST_AUTO_TEST_CASE(a_bound_of_one_member_ends_the_others_that_reach_it) {
    add_bounder();
    const Case chain("matmuls", {{"N_EINSUMS", "1"}});
    const double best = value(chain.map("ffm", {}));
    Bounder::bound = best;
    const Result found =
        chain.map("portfolio", options_of(10'000'000), {{"members", "bounder,annealing"}});
    BOOST_TEST((found.status == Status::optimal));
    BOOST_TEST(value(found) == best, boost::test_tools::tolerance(1e-9));
    BOOST_TEST(value(found) > 0.0);
    BOOST_TEST(found.statistics.evaluated < 1'000'000u);
    BOOST_TEST(Bounder::starts.front() == 0.0);
}

BOOST_AUTO_TEST_CASE(members_begin_with_what_others_found) {
    add_bounder();
    const Case chain("matmuls", {{"N_EINSUMS", "3"}});
    Bounder::bound = 0;
    const Result found =
        chain.map("portfolio", options_of(3000), {{"members", "annealing,bounder"}});
    BOOST_TEST((found.status == Status::feasible));
    BOOST_TEST(found.stopped_by == "max-evals");
    BOOST_TEST(found.statistics.evaluated <= 3000u);
    BOOST_TEST_REQUIRE(Bounder::starts.size() >= 3u);
    for (std::size_t i = 0; i < Bounder::starts.size(); ++i) {
        BOOST_TEST(Bounder::starts[i] >= value(found));
        BOOST_TEST((i == 0 || Bounder::starts[i] <= Bounder::starts[i - 1]));
    }
    // What was known before is never lost.
    mapper::Options options = options_of(20);
    options.start = found.solutions;
    BOOST_TEST(value(chain.map("portfolio", options, {{"members", "random"}})) <= value(found));
}

BOOST_AUTO_TEST_CASE(a_member_that_refuses_takes_no_part) {
    add_bounder();
    const Case chain("matmuls", {{"N_EINSUMS", "1"}});
    Bounder::refuses = true;
    const Result found =
        chain.map("portfolio", options_of(1000), {{"members", "bounder,annealing:3"}});
    BOOST_TEST(Bounder::starts.size() == 1u);
    BOOST_TEST(found.solutions.size() == 1u);
    BOOST_CHECK_THROW(chain.map("portfolio", options_of(1000), {{"members", "bounder"}}),
                      UserError);
}

BOOST_AUTO_TEST_CASE(all_members_share_one_limit_of_time) {
    const Case chain("matmuls", {{"N_EINSUMS", "1"}});
    mapper::Options options;
    options.threads = 1;
    options.budget.max_time_s = 2;
    telemetry::Recorder recorder;
    options.recorder = &recorder;
    const auto from = std::chrono::steady_clock::now();
    const Result found =
        chain.map("portfolio", options, {{"members", "annealing,genetic,random:0.1"}});
    const double wall_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    BOOST_TEST(found.stopped_by == "max-time");
    BOOST_TEST(wall_s >= 1.9);
    BOOST_TEST(wall_s < 10);  // a busy machine must not fail it
    BOOST_TEST(recorder.evaluated() > 0u);
    BOOST_TEST(recorder.best() == value(found), boost::test_tools::tolerance(1e-9));
    const auto& spent = found.statistics.phases;
    BOOST_TEST_REQUIRE(spent.size() == 3u);
    BOOST_TEST(spent[0].first == "annealing");
    BOOST_TEST(spent[0].second > spent[2].second);
}

BOOST_AUTO_TEST_CASE(members_that_do_not_exist_are_told) {
    const Case chain("matmuls", {{"N_EINSUMS", "1"}});
    for (const std::string members :
         {"", "ffm,", "nothing", "portfolio", "ffm:0", "ffm:x", "ffm:2x", "ffm:-1", "ffm:nan"}) {
        BOOST_CHECK_THROW(chain.map("portfolio", options_of(10), {{"members", members}}),
                          UserError);
    }
    BOOST_CHECK_THROW(chain.map("portfolio", {}, {{"members", "annealing"}}), UserError);
}
