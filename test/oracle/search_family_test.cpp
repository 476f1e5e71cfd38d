// Spaces of other bounds, which a strategy asks for: what is found there is told, costs what the
// model says of a problem that was loaded with those bounds, and is no mapping of the problem.
#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "oracle/few_instances.hpp"
#include "oracle/points.hpp"
#include "support/paths.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/search/open_space.hpp"
#include "tessera/search/strategy.hpp"
#include "tessera/spec/directives.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;

namespace {

using Defines = std::map<std::string, std::string>;

struct Loaded {
    Loaded(const std::string& shape, const std::string& arch, const Defines& defines)
        : workload(workload::load_workload(root() + "/problem-shapes/" + shape, defines)),
          architecture(arch::load_architecture(root() + "/arch-specs/" + arch, {})) {}

    static std::string root() {
        return tessera::test::test_folder() + "/..";
    }
    model::Problem problem() const {
        return {&workload, &architecture, arch::Compat::none};
    }
    std::vector<std::int64_t> bounds() const {
        std::vector<std::int64_t> out;
        for (const workload::RankVariable& v : workload.rank_variables) {
            out.push_back(v.bound);
        }
        return out;
    }

    const workload::Workload workload;
    const arch::Architecture architecture;
};

struct Pair {
    std::string shape, arch;
    Defines defines, others;
};

const std::vector<Pair> pairs = {
    {"matmuls.yaml", "eyeriss.yaml", {{"N_EINSUMS", "2"}}, {{"N_EINSUMS", "2"}, {"M", "96"}}},
    {"cnn-layer.yaml", "mind-mappings.yaml", {}, {{"C", "64"}, {"P", "28"}, {"R", "5"}}},
    {"three-matmuls.yaml", "tpu-v4i.yaml", {}, {{"M", "64"}}},
};

/// Draws, every second one in a space of twice the bounds.
class Both : public search::SearchStrategy {
public:
    static inline std::atomic<int> told_there{0};

    std::string name() const override {
        return "both";
    }
    void start(const search::Space& space, std::uint64_t seed) override {
        std::vector<std::int64_t> bounds = space.bounds();
        for (std::int64_t& bound : bounds) {
            bound *= 2;
        }
        other_ = space.with_bounds(bounds);
        seed_ = seed;
    }
    std::size_t width() const override {
        return islands ? 4 : 0;
    }
    std::size_t ask(std::span<search::Candidate> batch) override {
        for (search::Candidate& c : batch) {
            c.how = search::Candidate::How::draw;
            c.space = only_there || drawn_ % 2 == 1 ? other_ : nullptr;
            c.seed = search::stream_seed(seed_, drawn_++);
        }
        return batch.size();
    }
    void tell(std::span<const search::Candidate> batch) override {
        for (const search::Candidate& c : batch) {
            told_there += c.space != nullptr && c.outcome.legal() ? 1 : 0;
        }
    }

    static inline bool islands = false, only_there = false;

private:
    const search::Space* other_ = nullptr;
    std::uint64_t seed_ = 0, drawn_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(search_family)

BOOST_AUTO_TEST_CASE(points_of_other_bounds_cost_what_the_model_says) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    for (const Pair& pair : pairs) {
        BOOST_TEST_CONTEXT(pair.shape) {
            const Loaded own(pair.shape, pair.arch, pair.defines);
            const Loaded other(pair.shape, pair.arch, pair.others);
            const search::OpenSpace space(own.problem(), *model, {});
            BOOST_TEST(space.bounds() == own.bounds(), boost::test_tools::per_element());
            const auto* const there =
                dynamic_cast<const search::OpenSpace*>(space.with_bounds(other.bounds()));
            BOOST_TEST_REQUIRE(there != nullptr);
            BOOST_TEST(there == space.with_bounds(other.bounds()));  // opened once
            BOOST_TEST(there->bounds() == other.bounds(), boost::test_tools::per_element());
            search::Worker worker(space), worker_there(*there);
            int legal = 0;
            for (std::uint64_t seed = 0; seed < 50; ++seed) {
                search::Candidate c;
                c.how = search::Candidate::How::draw;
                c.seed = seed;
                c.space = there;
                worker.run(c);
                BOOST_TEST((c.space == there));
                if (!c.outcome.legal()) {
                    continue;
                }
                ++legal;
                const model::Report report =
                    model->evaluate(other.problem(), worker_there.mapping(c.point));
                BOOST_TEST(oracle::close(report.energy_j(), c.outcome.energy_j));
                BOOST_TEST(oracle::close(report.latency_s(), c.outcome.latency_s));
            }
            BOOST_TEST(legal > 20);
            BOOST_TEST(worker.take_work() >= 50u);  // that of the other worker is in it
        }
    }
}

BOOST_AUTO_TEST_CASE(the_space_that_is_searched_has_two_names) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const Loaded own("matmuls.yaml", "eyeriss.yaml", {});
    const search::OpenSpace space(own.problem(), *model, {});
    search::Worker worker(space);
    search::Candidate named, unnamed;
    named.how = unnamed.how = search::Candidate::How::draw;
    named.seed = unnamed.seed = 7;
    named.space = space.with_bounds(own.bounds());
    BOOST_TEST_REQUIRE((named.space == &space));
    worker.run(named);
    worker.run(unnamed);
    BOOST_TEST((named.space == nullptr));
    BOOST_TEST((named.point == unnamed.point));
    BOOST_TEST(named.outcome.legal());
}

BOOST_AUTO_TEST_CASE(a_stop_leaves_a_candidate_what_it_was) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const Loaded own("matmuls.yaml", "eyeriss.yaml", {});
    const search::OpenSpace space(own.problem(), *model, {});
    std::vector<std::int64_t> bounds = own.bounds();
    for (std::int64_t& bound : bounds) {
        bound *= 2;
    }
    search::Candidate c;
    c.how = search::Candidate::How::draw;
    c.space = space.with_bounds(bounds);
    BOOST_TEST_REQUIRE((c.space != nullptr));
    const search::Space* const there = c.space;
    search::Worker worker(space);
    const std::atomic<bool> stop = true;
    const base::StopScope scope({&stop});
    BOOST_CHECK_THROW(
        for (int i = 0; i < 10'000; ++i) {
            c.seed = static_cast<std::uint64_t>(i);
            worker.run(c);
        },
        base::Stopped);
    BOOST_TEST((c.space == there));
    // Nor is a space that is being opened half there.
    bounds.front() *= 2;
    BOOST_CHECK_THROW(space.with_bounds(bounds), base::Stopped);
}

BOOST_AUTO_TEST_CASE(bounds_that_no_problem_has_give_no_space) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const Loaded own("matmuls.yaml", "eyeriss.yaml", {});
    const search::OpenSpace space(own.problem(), *model, {});
    std::vector<std::int64_t> bounds = own.bounds();
    BOOST_TEST(space.with_bounds(bounds) == &space);
    BOOST_TEST((space.with_bounds({}) == nullptr));
    bounds.front() = 0;
    BOOST_TEST((space.with_bounds(bounds) == nullptr));
    bounds.front() = std::int64_t{1} << 31;
    BOOST_TEST((space.with_bounds(bounds) == nullptr));
    std::fill(bounds.begin(), bounds.end(), 2147483647);  // too many points
    BOOST_TEST((space.with_bounds(bounds) == nullptr));
}

BOOST_AUTO_TEST_CASE(what_is_found_there_is_no_mapping_of_the_problem) {
    plugin::Registry<search::SearchStrategy>::instance().add(
        {"both", "", "", {}, "", "", [](const plugin::KnobValues&) {
             return plugin::Owned<search::SearchStrategy>(
                 new Both, [](search::SearchStrategy* made) { delete made; });
         }});
    const Loaded own("matmuls.yaml", "eyeriss.yaml", {{"N_EINSUMS", "2"}});
    const model::Problem problem = own.problem();
    mapper::Options options;
    options.threads = 2;
    const double best = oracle::mapped(problem, options, "ffm").solutions.at(0).report.edp_js();
    options.budget.max_evals = 2000;
    for (const bool islands : {false, true}) {
        for (const bool only_there : {false, true}) {
            Both::islands = islands;
            Both::only_there = only_there;
            Both::told_there = 0;
            const mapper::Result found =
                oracle::mapped(problem, options, "search", {{"strategy", "both"}});
            BOOST_TEST(Both::told_there > 500);
            BOOST_TEST(found.solutions.size() == (only_there ? 0u : 1u));
            for (const mapper::Solution& s : found.solutions) {
                BOOST_TEST(s.report.edp_js() >= best * (1 - 1e-9));
            }
        }
    }
    Both::islands = Both::only_there = false;  // others go through all strategies
}

BOOST_AUTO_TEST_SUITE_END()
