// The kits themselves: components that break the contract in one way each are found out.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <map>
#include <stdexcept>

#include "support/paths.hpp"
#include "tessera/base/error.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/testing/search_strategy.hpp"
#include "tessera/workload/workload.hpp"
#include "testing/common.hpp"

using namespace tessera;
using search::Candidate;

namespace {

/// A sound strategy, to be broken.
class Sound : public search::SearchStrategy {
public:
    std::string name() const override {
        return name_;
    }
    void start(const search::Space&, std::uint64_t seed) override {
        seed_ = seed;
    }
    std::size_t ask(std::span<Candidate> batch) override {
        for (Candidate& candidate : batch) {
            candidate.how = Candidate::How::draw;
            candidate.seed = search::stream_seed(seed_, drawn_++);
        }
        return batch.size();
    }
    void tell(std::span<const Candidate>) override {}

    std::string name_ = "broken";
    std::uint64_t seed_ = 0, drawn_ = 0;
};

// A registered name stays taken, so every strategy gets its own.
int count = 0;

template <class Strategy>
std::vector<testing::Check> checks() {
    const std::string name = "broken" + std::to_string(count++);
    plugin::Registry<search::SearchStrategy>::instance().add(
        {name, "", "", {}, "", "", [name](const plugin::KnobValues&) {
             auto* made = new Strategy;
             made->name_ = name;
             return plugin::Owned<search::SearchStrategy>(
                 made, [](search::SearchStrategy* object) { delete object; });
         }});
    return testing::search_strategy_checks(name, {});
}

/// Tests that fail for the strategy.
template <class Strategy>
std::vector<std::string> failed() {
    std::vector<std::string> names;
    for (const testing::Check& check : checks<Strategy>()) {
        if (!testing::findings_of(check).empty()) {
            names.push_back(check.name);
        }
    }
    return names;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

struct Chatty : Sound {
    void tell(std::span<const Candidate>) override {
        std::printf("found something\n");
    }
};

struct Forgetful : Sound {  // the seed is not used
    std::size_t ask(std::span<Candidate> batch) override {
        static std::uint64_t count = 0;
        for (Candidate& candidate : batch) {
            candidate.how = Candidate::How::draw;
            candidate.seed = ++count;
        }
        return batch.size();
    }
};

struct Greedy : Sound {
    std::size_t ask(std::span<Candidate> batch) override {
        return Sound::ask(batch) + 1;
    }
};

struct Stray : Sound {
    std::size_t ask(std::span<Candidate> batch) override {
        for (Candidate& candidate : batch) {
            candidate.how = Candidate::How::point;
            candidate.point.choices.assign(2, {1u << 30, 0});
            candidate.point.tiles.assign(3, 1);
        }
        return batch.size();
    }
};

/// Its own best point with one tile shape that divides nothing.
struct Uneven : Sound {
    std::size_t ask(std::span<Candidate> batch) override {
        if (known_.tiles.empty()) {
            return Sound::ask(batch);
        }
        for (Candidate& candidate : batch) {
            candidate.how = Candidate::How::point;
            candidate.point = known_;
            candidate.point.tiles.front() = 5;
        }
        return batch.size();
    }
    void tell(std::span<const Candidate> batch) override {
        for (const Candidate& candidate : batch) {
            known_ = candidate.outcome.legal() ? candidate.point : known_;
        }
    }
    search::Point known_;
};

struct Amnesiac : Sound {
    std::string save() const override {
        return "something";
    }
    bool restore(const std::string&) override {
        return true;
    }
};

/// Believes what a file says of it.
struct Credulous : Sound {
    std::size_t ask(std::span<Candidate> batch) override {
        asked_ += batch.size();
        return Sound::ask(batch);
    }
    std::string save() const override {
        return std::to_string(asked_);
    }
    bool restore(const std::string& state) override {
        asked_ = std::stoull(state);
        return true;
    }
    std::uint64_t asked_ = 0;
};

struct Impatient : Sound {
    void tell(std::span<const Candidate> batch) override {
        for (const Candidate& candidate : batch) {
            if (!candidate.outcome.legal()) {
                throw std::runtime_error("this does not work");
            }
        }
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_sound_strategy_passes) {
    BOOST_TEST(failed<Sound>().empty());
}

BOOST_AUTO_TEST_CASE(output_is_found) {
    BOOST_TEST(contains(failed<Chatty>(), "silent"));
}

BOOST_AUTO_TEST_CASE(a_seed_that_is_not_used_is_found) {
    BOOST_TEST(contains(failed<Forgetful>(), "seed"));
}

BOOST_AUTO_TEST_CASE(too_many_candidates_are_found) {
    BOOST_TEST(contains(failed<Greedy>(), "batches"));
}

BOOST_AUTO_TEST_CASE(points_outside_the_space_are_found) {
    BOOST_TEST(contains(failed<Stray>(), "space"));
}

template <class Strategy>
std::string first_finding(const std::string& test) {
    for (const testing::Check& check : checks<Strategy>()) {
        if (check.name == test) {
            const std::vector<std::string> findings = testing::findings_of(check);
            return findings.empty() ? "" : findings.front();
        }
    }
    return "no such test";
}

BOOST_AUTO_TEST_CASE(what_is_outside_the_space_is_said) {
    const std::string begin = "a point outside the space is proposed: Einsum Matmul0, template ";
    const std::string uneven = first_finding<Uneven>("space");
    BOOST_TEST(uneven.starts_with(begin), uneven);
    BOOST_TEST(uneven.find(": tiles[0] (symbol 0, a loop over ") != std::string::npos, uneven);
    BOOST_TEST(
        uneven.find(") is 5, expected a divisor of what is around it, ") != std::string::npos,
        uneven);
    const std::string stray = first_finding<Stray>("space");
    BOOST_TEST(stray.starts_with(begin + "1073741824: there are "), stray);
}

BOOST_AUTO_TEST_CASE(a_problem_on_which_nothing_can_be_wrong_is_refused) {
    BOOST_CHECK_THROW(testing::refuse_vacuous({}), Bug);
    BOOST_CHECK_THROW(testing::refuse_vacuous({0, 0, 0}), Bug);
    BOOST_CHECK_THROW(testing::refuse_vacuous({0, 2, 2}), Bug);
    testing::refuse_vacuous({0, 2, 3});
}

BOOST_AUTO_TEST_CASE(state_that_does_not_come_back_is_found) {
    BOOST_TEST(contains(failed<Amnesiac>(), "resume"));
}

BOOST_AUTO_TEST_CASE(faith_in_changed_states_is_found) {
    BOOST_TEST(contains(failed<Credulous>(), "states"));
}

BOOST_AUTO_TEST_CASE(giving_up_is_found) {
    BOOST_TEST(contains(failed<Impatient>(), "nothing_legal"));
}

namespace {

/// Draws, and counts how often it is asked.
struct Counting : Sound {
    std::size_t ask(std::span<Candidate> batch) override {
        first = asked++ == 0 ? batch.size() : first;
        return Sound::ask(batch);
    }
    static inline int asked = 0;
    static inline std::size_t first = 0;  ///< candidates of the first batch
};

int times_asked(const char* architecture, const char* workload,
                const std::map<std::string, std::string>& defines, std::uint64_t evaluations) {
    plugin::Registry<search::SearchStrategy>::instance().add(
        {"counting" + std::to_string(count++), "", "", {}, "", "", [](const plugin::KnobValues&) {
             return plugin::Owned<search::SearchStrategy>(
                 new Counting, [](search::SearchStrategy* object) { delete object; });
         }});
    const std::string root = test::test_folder() + "/../";
    const workload::Workload w =
        workload::load_workload(root + "problem-shapes/" + workload + ".yaml", defines);
    const arch::Architecture a =
        arch::load_architecture(root + "arch-specs/" + architecture + ".yaml", {});
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const auto mapper = plugin::Registry<mapper::Mapper>::instance().create(
        "search", {{"strategy", "counting" + std::to_string(count - 1)}});
    mapper::Options options;
    options.mapspace = mapspace::MapSpaceOptions::accelforge();
    options.threads = 2;
    options.budget.max_evals = evaluations;
    Counting::asked = 0;
    mapper->map({&w, &a, arch::Compat::none}, *model, options);
    return Counting::asked;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_strategy_hears_the_more_often_the_slower_the_space) {
    // A candidate takes about a millisecond on the first, some microseconds on the second.
    const std::map<std::string, std::string> sizes{{"BATCH", "1"}, {"TOKENS", "2048"}};
    const int slow = times_asked("simba", "gpt3-6.7b", sizes, 2000);
    // Before anything is known of the work: one candidate can be seconds of it.
    BOOST_TEST(Counting::first == 1u);
    const int quick = times_asked("snowcat", "matmuls", {{"N_EINSUMS", "1"}}, 2000);
    BOOST_TEST(slow >= 3 * quick, slow << " and " << quick);
    // By the work, not by the clock: the same every time.
    BOOST_TEST(times_asked("simba", "gpt3-6.7b", sizes, 2000) == slow);
}
