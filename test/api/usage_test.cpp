// Metric `resource_usage` (tessera/session.hpp): what is asked for, limits, what is begun with.
// That the sets are right is a matter of oracle/usage_front_test.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tessera/session.hpp"

namespace {

using tessera::Options;
using tessera::Problem;
using tessera::resource_usage;
using tessera::Result;
using Metric = tessera::mapper::Metric;
using Status = tessera::mapper::Status;

Problem chain() {
    return Problem::load("simba", "matmuls", {{"N_EINSUMS", "2"}, {"M", "16"}, {"KN", "16"}});
}

/// Searches as ffm does until a limit comes.
class Limited : public tessera::mapper::Mapper {
public:
    static inline int searches = 0, most = 0;
    static inline std::vector<std::size_t> begun_with;
    std::string name() const override {
        return "limited";
    }
    tessera::mapper::Result map(const tessera::model::Problem& problem,
                                const tessera::model::CostModel& model,
                                const tessera::mapper::Options& options) override {
        begun_with.push_back(options.start.size());
        if (++searches > most) {
            tessera::mapper::Result nothing;
            nothing.status = Status::feasible;
            nothing.stopped_by = "max-evals";
            return nothing;
        }
        return tessera::plugin::Registry<tessera::mapper::Mapper>::instance().create("ffm")->map(
            problem, model, options);
    }
};
TESSERA_PLUGIN(tessera::mapper::Mapper, Limited, "limited", "ffm, a few times", "");

Options asked(std::vector<Metric> metrics, std::vector<std::string> memories, bool alone = false) {
    Options options;
    options.threads = 1;
    options.metrics = std::move(metrics);
    options.usage = {std::move(memories), alone};
    return options;
}

Result limited_to(int searches, Options options) {
    tessera::plugin::register_builtins();
    tessera::plugin::register_own_components();
    Limited::searches = 0;
    Limited::most = searches;
    Limited::begun_with.clear();
    options.mapper = "limited";
    return tessera::map(chain(), options);
}

std::string refusal(const Options& options) {
    try {
        tessera::map(chain(), options);
    } catch (const tessera::UserError& error) {
        return error.what();
    }
    return "";
}

bool says(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(usage)

BOOST_AUTO_TEST_CASE(less_of_a_memory_costs_more) {
    const Result result = tessera::map(chain(), asked({Metric::energy}, {"GlobalBuffer"}));
    BOOST_TEST((result.status == Status::optimal));
    BOOST_TEST(*result.gap() == 0);
    BOOST_TEST((result.usage.memories == std::vector<std::string>{"GlobalBuffer"}));
    BOOST_TEST_REQUIRE(result.solutions.size() > 2u);
    for (std::size_t i = 1; i < result.solutions.size(); ++i) {
        const auto &before = result.solutions[i - 1].report, &now = result.solutions[i].report;
        BOOST_TEST(before.energy_j() < now.energy_j());
        BOOST_TEST(resource_usage(before, "GlobalBuffer") > resource_usage(now, "GlobalBuffer"));
        BOOST_TEST(now.energy_j() ==
                   tessera::evaluate(chain(), result.solutions[i].mapping).energy_j());
    }
    const Result without = tessera::map(chain(), asked({Metric::energy}, {}));
    BOOST_TEST(without.best().report.energy_j() == result.best().report.energy_j());
    const Result alone = tessera::map(chain(), asked({Metric::energy}, {"GlobalBuffer"}, true));
    BOOST_TEST(alone.solutions.size() == 1u);
    BOOST_TEST(resource_usage(alone.best().report, "GlobalBuffer") ==
               resource_usage(result.solutions.back().report, "GlobalBuffer"));
    BOOST_TEST(alone.best().report.energy_j() == result.solutions.back().report.energy_j());
}

// A limit leaves what was found, and says how far it is proven.
BOOST_AUTO_TEST_CASE(a_limit_ends_the_set_with_what_is_proven) {
    const Options options = asked({Metric::energy}, {"GlobalBuffer"});
    const Result whole = limited_to(1000, options);
    const int all = Limited::searches;
    BOOST_TEST((whole.status == Status::optimal));
    BOOST_TEST(whole.reasons.empty());
    BOOST_TEST_REQUIRE(all > 4);
    for (const int searches : {1, 2, all - 1}) {
        const Result part = limited_to(searches, options);
        BOOST_TEST((part.status == Status::feasible));
        BOOST_TEST(part.stopped_by == "max-evals");
        BOOST_TEST(!part.bound.has_value());
        BOOST_TEST(!part.gap().has_value());
        BOOST_TEST_REQUIRE(part.reasons.size() == 1u);
        BOOST_TEST(says(part.reasons.front(), "of GlobalBuffer is better than all of these"));
        BOOST_TEST(part.best().report.energy_j() == whole.best().report.energy_j());
        BOOST_TEST(part.solutions.size() <= static_cast<std::size_t>(searches));
    }
    const Result none = limited_to(0, options);
    BOOST_TEST((none.status == Status::feasible));
    BOOST_TEST(none.solutions.empty());
    BOOST_TEST(none.reasons.empty());
}

BOOST_AUTO_TEST_CASE(searches_begin_with_known_mappings_that_fit) {
    Options options = asked({Metric::energy}, {"GlobalBuffer"});
    const Result result = limited_to(1000, options);
    BOOST_TEST(Limited::begun_with.front() == 0u);
    for (const auto& one : result.solutions) {
        options.start.push_back(one.mapping);
    }
    const Result same = limited_to(1000, options);
    BOOST_TEST(Limited::begun_with.at(0) == result.solutions.size());
    BOOST_TEST(Limited::begun_with.at(1) == result.solutions.size() - 1);
    BOOST_TEST(same.solutions.size() == result.solutions.size());
}

BOOST_AUTO_TEST_CASE(what_cannot_be_asked_for_is_named) {
    const std::string unknown = refusal(asked({Metric::energy}, {"GlobalBufer"}));
    BOOST_TEST(says(unknown, "resource_usage:GlobalBufer"), unknown);
    BOOST_TEST(says(unknown, "did you mean 'GlobalBuffer'"), unknown);
    const std::string infinite = refusal(asked({Metric::energy}, {"MainMemory"}));
    BOOST_TEST(says(infinite, "'MainMemory' is no memory of limited size"), infinite);
    BOOST_TEST(says(infinite, "GlobalBuffer"), infinite);
    const std::string twice = refusal(asked({Metric::energy}, {"GlobalBuffer", "GlobalBuffer"}));
    BOOST_TEST(says(twice, "asked for twice"), twice);
    Options near = asked({Metric::energy}, {"GlobalBuffer"});
    near.limits.gap = 0.1;
    BOOST_TEST(says(refusal(near), "of one metric"), refusal(near));
}

BOOST_AUTO_TEST_CASE(names_of_the_metric) {
    BOOST_TEST(*tessera::memory_of_usage("resource_usage:GlobalBuffer") == "GlobalBuffer");
    BOOST_TEST(*tessera::memory_of_usage(tessera::usage_metric("A")) == "A");
    BOOST_TEST(!tessera::memory_of_usage("energy").has_value());
    BOOST_TEST(!tessera::memory_of_usage("resource_usage").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
