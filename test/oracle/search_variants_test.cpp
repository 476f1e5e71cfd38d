// Variants of strategies against the proven optimum, on small random problems; and that they go on
// from what they saved. (The kits look at what knobs are by default.)
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <ctime>
#include <map>
#include <utility>

#include "oracle/few_instances.hpp"
#include "tessera/mapper/mapper.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/search/open_space.hpp"

using namespace tessera;

namespace {

struct Variant {
    const char* strategy;
    plugin::KnobSettings knobs;
    int least;  ///< in 100 problems that must be solved
};

const Variant variants[] = {
    {"annealing", {{"schedule", "simanneal"}, {"probe", "200"}}, 95},
    {"genetic", {{"form", "gamma"}}, 95},
    {"genetic", {{"form", "deap"}}, 90},
    {"genetic", {{"form", "ffm"}}, 90},
    {"es", {{"variant", "one-plus-one"}}, 95},
    {"es", {{"variant", "tbpsa"}}, 95},
    {"dat", {{"survivors", "5"}}, 95},
};

std::string name_of(const Variant& variant) {
    return variant.strategy + (" " + variant.knobs.rbegin()->second);
}

}  // namespace

BOOST_AUTO_TEST_CASE(variants_reach_the_optimum_and_are_never_below) {
    std::map<std::string, int> reached;
    int problems = 0;
    oracle::for_each_instance(3, [&](const model::Problem& problem, const auto& limits) {
        mapper::Options options;
        options.mapspace = limits;
        options.threads = 1;
        const double best = oracle::mapped(problem, options, "ffm").solutions.at(0).report.edp_js();
        ++problems;
        options.budget.max_evals = 20'000;
        options.budget.target = best * (1 + 1e-9);
        for (const Variant& variant : variants) {
            options.knobs[variant.strategy] = variant.knobs;
            const mapper::Result found =
                oracle::mapped(problem, options, "search", {{"strategy", variant.strategy}});
            BOOST_TEST_REQUIRE(found.solutions.size() == 1u);
            const double value = found.solutions[0].report.edp_js();
            BOOST_TEST(value >= best * (1 - 1e-9), name_of(variant) << " " << value << " " << best);
            reached[name_of(variant)] += value <= best * (1 + 1e-9);
        }
    });
    for (const Variant& variant : variants) {
        const int count = reached[name_of(variant)];
        BOOST_TEST_MESSAGE(name_of(variant) << ": " << count << " of " << problems);
        BOOST_TEST(100 * count >= variant.least * problems,
                   name_of(variant) << ": " << count << " of " << problems);
    }
    BOOST_TEST(problems >= 30);
}

BOOST_AUTO_TEST_CASE(variants_go_on_from_what_they_saved) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    oracle::for_each_instance(1, [&](const model::Problem& problem, const auto& limits) {
        const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
        search::Worker worker(space);
        std::vector<search::Candidate> batch(8), other(8);
        const auto round = [&](search::SearchStrategy& strategy,
                               std::vector<search::Candidate>& c) {
            const std::size_t n = strategy.ask({c.data(), strategy.width() == 1 ? 1 : c.size()});
            for (std::size_t i = 0; i < n; ++i) {
                worker.run(c[i]);
                c[i].outcome.value = c[i].outcome.energy_j * c[i].outcome.latency_s;
            }
            strategy.tell({c.data(), n});
            return n;
        };
        for (const Variant& variant : variants) {
            const auto make = [&] {
                auto made = plugin::Registry<search::SearchStrategy>::instance().create(
                    variant.strategy, variant.knobs);
                made->start(space, 5);
                return made;
            };
            const auto whole = make();
            for (int i = 0; i < 150; ++i) {
                round(*whole, batch);
            }
            const std::string state = whole->save();
            BOOST_TEST_REQUIRE(!state.empty());
            const auto resumed = make();
            BOOST_TEST_REQUIRE(resumed->restore(state));
            for (int i = 0; i < 100; ++i) {
                const std::size_t n = round(*whole, batch);
                BOOST_TEST_REQUIRE(round(*resumed, other) == n);
                for (std::size_t k = 0; k < n; ++k) {
                    BOOST_TEST_REQUIRE((batch[k].point == other[k].point), name_of(variant));
                }
            }
        }
    });
}

namespace {

std::vector<double> fractions;

/// Draws, and writes down what it is told of the budget.
class Clock : public search::SearchStrategy {
public:
    std::string name() const override {
        return "clock";
    }
    void start(const search::Space&, std::uint64_t seed) override {
        seed_ = seed;
    }
    std::size_t ask(std::span<search::Candidate> batch) override {
        batch.front().how = search::Candidate::How::draw;
        batch.front().seed = search::stream_seed(seed_, drawn_++);
        return 1;
    }
    void tell(std::span<const search::Candidate>) override {}
    void budget_used(double fraction) override {
        fractions.push_back(fraction);
    }

private:
    std::uint64_t seed_ = 0, drawn_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_used_of_the_cpu_time_is_told) {
    plugin::Registry<search::SearchStrategy>::instance().add(
        {"clock", "", "", {}, "", "", [](const plugin::KnobValues&) {
             return plugin::Owned<search::SearchStrategy>(
                 new Clock, [](search::SearchStrategy* made) { delete made; });
         }});
    bool done = false;
    oracle::for_each_instance(1, [&](const model::Problem& problem, const auto& limits) {
        if (std::exchange(done, true)) {
            return;
        }
        mapper::Options options;
        options.mapspace = limits;
        options.threads = 1;
        // It is that of the whole process.
        options.budget.max_cpu_s = static_cast<double>(std::clock()) / CLOCKS_PER_SEC + 0.3;
        oracle::mapped(problem, options, "search", {{"strategy", "clock"}});
        BOOST_TEST_REQUIRE(!fractions.empty());
        BOOST_TEST(std::is_sorted(fractions.begin(), fractions.end()));
        BOOST_TEST(fractions.front() < 0.3);
        BOOST_TEST(fractions.back() > 0.7);
        BOOST_TEST(fractions.back() < 1.2);
    });
}

namespace {

int made = 0, dozes = -1;

/// Draws one candidate at a time. One of the islands sleeps at first.
class Dozing : public search::SearchStrategy {
public:
    std::string name() const override {
        return "dozing";
    }
    void start(const search::Space&, std::uint64_t seed) override {
        seed_ = seed;
    }
    std::size_t width() const override {
        return 1;
    }
    std::size_t ask(std::span<search::Candidate> batch) override {
        if (drawn_ == 0 && island_ == dozes) {
            std::this_thread::sleep_for(std::chrono::milliseconds(60));
        }
        batch.front().how = search::Candidate::How::draw;
        batch.front().seed = search::stream_seed(seed_, drawn_++);
        return 1;
    }
    void tell(std::span<const search::Candidate>) override {}

private:
    const int island_ = made++;
    std::uint64_t seed_ = 0, drawn_ = 0;
};

}  // namespace

// Of mappings that cost the same one is kept, whichever island finds one first.
BOOST_AUTO_TEST_CASE(what_is_found_does_not_depend_on_time) {
    plugin::Registry<search::SearchStrategy>::instance().add(
        {"dozing", "", "", {}, "", "", [](const plugin::KnobValues&) {
             return plugin::Owned<search::SearchStrategy>(
                 new Dozing, [](search::SearchStrategy* object) { delete object; });
         }});
    oracle::for_each_instance(2, [&](const model::Problem& problem, const auto& limits) {
        mapper::Options options;
        options.mapspace = limits;
        options.threads = 1;
        options.budget.max_evals = 400;
        std::string first;
        for (dozes = -1; dozes < 4; ++dozes) {
            made = 0;
            const mapper::Result found =
                oracle::mapped(problem, options, "search", {{"strategy", "dozing"}});
            const std::string text =
                found.solutions.empty() ? "" : mapping::to_yaml(found.solutions[0].mapping);
            BOOST_TEST(made == 4);
            BOOST_TEST((dozes < 0 || text == first));
            first = dozes < 0 ? text : first;
        }
    });
}

// A state of another problem: its best mapping has other tile shapes.
BOOST_AUTO_TEST_CASE(states_with_points_of_another_form_are_refused) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const auto& strategies = plugin::Registry<search::SearchStrategy>::instance();
    for (const char* name : {"loma", "salsa"}) {
        std::string state;
        std::uint32_t n_einsums = 0;
        int refused = 0;
        oracle::for_each_instance(1, [&](const model::Problem& problem, const auto& limits) {
            const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
            const auto strategy = strategies.create(name, {});
            strategy->start(space, 1);
            if (!state.empty() && space.n_einsums() != n_einsums) {
                BOOST_TEST(!strategy->restore(state), name);
                ++refused;
                return;
            }
            search::Worker worker(space);
            std::vector<search::Candidate> batch(1);
            do {
                BOOST_TEST_REQUIRE(strategy->ask(batch) == 1U);
                worker.run(batch[0]);
                batch[0].outcome.value = batch[0].outcome.energy_j;
                strategy->tell(batch);
            } while (!batch[0].outcome.legal());
            state = strategy->save();
            n_einsums = space.n_einsums();
        });
        BOOST_TEST(refused > 0);
    }
}
