// The kits themselves: components that break the contract in one way each are found out.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <stdexcept>

#include "tessera/plugin/registry.hpp"
#include "tessera/testing/search_strategy.hpp"

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

/// Tests that fail for the strategy.
template <class Strategy>
std::vector<std::string> failed() {
    const std::string name = "broken" + std::to_string(count++);
    plugin::Registry<search::SearchStrategy>::instance().add(
        {name, "", "", {}, "", "", [name](const plugin::KnobValues&) {
             auto* made = new Strategy;
             made->name_ = name;
             return plugin::Owned<search::SearchStrategy>(
                 made, [](search::SearchStrategy* object) { delete object; });
         }});
    std::vector<std::string> names;
    for (const testing::Check& check : testing::search_strategy_checks(name, {})) {
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

struct Amnesiac : Sound {
    std::string save() const override {
        return "something";
    }
    bool restore(const std::string&) override {
        return true;
    }
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

BOOST_AUTO_TEST_CASE(state_that_does_not_come_back_is_found) {
    BOOST_TEST(contains(failed<Amnesiac>(), "resume"));
}

BOOST_AUTO_TEST_CASE(giving_up_is_found) {
    BOOST_TEST(contains(failed<Impatient>(), "hopeless"));
}
