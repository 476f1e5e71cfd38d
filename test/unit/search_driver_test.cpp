// The loop that runs strategies, on a space of numbers: rounds, offers, ends.
#include "tessera/search/driver.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <thread>

#include "tessera/base/error.hpp"

using namespace tessera;
using namespace tessera::search;

namespace {

/// One number, of which the point with the smallest is best.
class Numbers : public Space {
public:
    std::uint32_t n_einsums() const override {
        return 1;
    }
    std::uint32_t n_templates(std::uint32_t) const override {
        return 1;
    }
    const mapspace::Template& tmpl(std::uint32_t, std::uint32_t) const override {
        throw Bug("there are none");
    }
    std::unique_ptr<Enumerator> enumerate() const override {
        return nullptr;
    }
};

class NumberWorker : public SpaceWorker {
public:
    Outcome draw(std::uint64_t seed, Point& point) override {
        point.choices.resize(1);
        point.tiles = {1 + static_cast<std::int64_t>(seed % 1000)};
        return evaluate(point);
    }
    Outcome move(Move, std::uint64_t seed, std::uint32_t, Point& point) override {
        return draw(seed, point);
    }
    Outcome cross(std::uint64_t seed, const Point&, std::uint32_t, std::uint32_t,
                  Point& point) override {
        return draw(seed, point);
    }
    Outcome repair(std::uint64_t seed, Point& point) override {
        return draw(seed, point);
    }
    Outcome evaluate(const Point& point) override {
        Outcome outcome;
        outcome.verdict = Verdict::legal;
        outcome.energy_j = outcome.latency_s = outcome.value =
            static_cast<double>(point.tiles.at(0));
        return outcome;
    }
    Failures take_failures() override {
        return {};
    }
    std::uint64_t take_work() override {
        return 1;
    }
};

/// Draws, after a pause, until it has drawn `most`.
class Drawing : public SearchStrategy {
public:
    Drawing(std::size_t width, std::uint64_t most, std::chrono::milliseconds pause)
        : width_(width), most_(most), pause_(pause) {}
    std::string name() const override {
        return "drawing";
    }
    void start(const Space&, std::uint64_t seed) override {
        rng_ = Rng(seed);
    }
    std::size_t ask(std::span<Candidate> batch) override {
        std::this_thread::sleep_for(pause_);
        const std::size_t n = std::min<std::uint64_t>(batch.size(), most_ - asked_);
        for (Candidate& c : batch.first(n)) {
            c.how = Candidate::How::draw;
            c.seed = rng_.next();
        }
        asked_ += n;
        return n;
    }
    void tell(std::span<const Candidate>) override {}
    std::size_t width() const override {
        return width_;
    }

private:
    const std::size_t width_;
    const std::uint64_t most_;
    const std::chrono::milliseconds pause_;
    std::uint64_t asked_ = 0;
    Rng rng_;
};

/// Keeps what is better than all before, and when it came.
class History : public Findings {
public:
    explicit History(const telemetry::Recorder& recorder) : recorder_(recorder) {}
    void offer(Candidate& c) override {
        if (values.empty() || c.outcome.value < values.back()) {
            values.push_back(c.outcome.value);
            evaluated.push_back(recorder_.evaluated());
        }
    }
    std::vector<Point> points() const override {
        return {};
    }

    std::vector<double> values;
    std::vector<std::uint64_t> evaluated;

private:
    const telemetry::Recorder& recorder_;
};

struct Search {
    DriverSettings settings;
    telemetry::Recorder recorder;
    History history{recorder};
    std::uint64_t evaluated = 0;

    void run(std::size_t width, std::uint64_t most, std::chrono::milliseconds pause) {
        settings.strategy = "drawing";
        settings.make_strategy = [=] { return std::make_shared<Drawing>(width, most, pause); };
        settings.make_worker = [] { return std::make_unique<NumberWorker>(); };
        Watch watch(settings.budget, nullptr, recorder);
        Driver driver(settings, watch, recorder);
        driver.run(Numbers(), history, {}, "");
        evaluated = driver.evaluated();
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(search_driver)

BOOST_AUTO_TEST_CASE(evaluations_are_limited_exactly) {
    for (const std::size_t width : {0, 1, 3}) {
        for (const std::uint64_t most : {1, 2, 5, 17, 1000, 20'000}) {
            Search search;
            search.settings.budget.max_evals = most;
            search.run(width, 1'000'000, {});
            BOOST_TEST(search.evaluated == most, "width " << width);
        }
    }
}

BOOST_AUTO_TEST_CASE(islands_end_when_they_have_nothing_left) {
    Search search;
    search.settings.budget.max_evals = 100'000;
    search.run(1, 300, {});
    BOOST_TEST(search.evaluated == 4 * 300u);
}

BOOST_AUTO_TEST_CASE(what_is_found_does_not_depend_on_threads) {
    for (const std::size_t width : {0, 1, 3}) {
        std::vector<double> best;
        for (const int threads : {1, 2, 5}) {
            Search search;
            search.settings.threads = threads;
            search.settings.budget.max_evals = 3000;
            search.run(width, 1'000'000, {});
            best.push_back(search.history.values.back());
        }
        BOOST_TEST(best[0] == best[1]);
        BOOST_TEST(best[0] == best[2]);
    }
}

// Whoever is slow is slow in asking: what it found is told before its round is over.
BOOST_AUTO_TEST_CASE(what_a_slow_strategy_finds_is_told_soon) {
    Search search;
    search.settings.budget.max_evals = 160;
    search.run(1, 1'000'000, std::chrono::milliseconds(5));
    BOOST_TEST(search.evaluated == 160u);
    BOOST_TEST_REQUIRE(!search.history.evaluated.empty());
    BOOST_TEST(search.history.evaluated.front() < 160u);
}

BOOST_AUTO_TEST_CASE(a_search_without_a_limit_is_refused) {
    Search search;
    BOOST_CHECK_THROW(search.run(1, 10, {}), UserError);
}

BOOST_AUTO_TEST_SUITE_END()
