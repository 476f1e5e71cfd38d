// Strategy `gradient`: descends, and refuses surrogates that are not for its problem.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>

#include "support/changed_states.hpp"
#include "support/paths.hpp"
#include "tessera/base/error.hpp"
#include "tessera/learning/surrogate.hpp"
#include "tessera/mapper/mapper.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/plugin/search_strategy.hpp"
#include "tessera/search/open_space.hpp"
#include "tessera/search/point_text.hpp"
#include "tessera/search/vector.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;

namespace {

struct Case {
    explicit Case(const std::map<std::string, std::string>& defines = {})
        : workload(workload::load_workload(test::test_folder() + "/../problem-shapes/mttkrp.yaml",
                                           sizes(defines))),
          architecture(arch::load_architecture(
              test::test_folder() + "/../arch-specs/mind-mappings.yaml", {})) {}

    static std::map<std::string, std::string> sizes(std::map<std::string, std::string> defines) {
        for (const char* rank : {"I", "J", "K", "L"}) {
            defines.try_emplace(rank, "64");
        }
        return defines;
    }
    model::Problem problem() const {
        return {&workload, &architecture, arch::Compat::none};
    }
    mapper::Result map(const std::string& strategy, plugin::KnobSettings knobs,
                       std::uint64_t seed = 0) const {
        mapper::Options options;
        options.threads = 1;
        options.seed = seed;
        options.budget.max_evals = 600;
        options.knobs[strategy] = std::move(knobs);
        return plugin::Registry<mapper::Mapper>::instance()
            .create("search", {{"strategy", strategy}})
            ->map(problem(), *model, options);
    }

    workload::Workload workload;
    arch::Architecture architecture;
    plugin::Owned<model::CostModel> model =
        plugin::Registry<model::CostModel>::instance().create("looptree");
};

/// A file that is removed at the end.
struct File {
    File() : path("/tmp/tessera-gradient-" + std::to_string(::getpid())) {}
    ~File() {
        std::filesystem::remove(path);
    }
    const std::string path;
};

/// Trained on draws of the case.
std::string trained(const Case& c) {
    const search::OpenSpace space(c.problem(), *c.model, {});
    const search::VectorEncoding encoding(space);
    search::Worker worker(space);
    learning::TrainingSet raw{encoding.size(), 1, {}, {}};
    std::vector<float> vector(encoding.size());
    search::Point point;
    for (std::uint64_t i = 0; i < 2000; ++i) {
        const search::Outcome outcome = worker.draw(i, point);
        encoding.encode(point, vector);
        raw.inputs.insert(raw.inputs.end(), vector.begin(), vector.end());
        raw.outputs.push_back(static_cast<float>(std::log2(outcome.energy_j * outcome.latency_s)));
    }
    learning::Surrogate surrogate(learning::Family::of(space), {{"edp"}}, {32, 32}, 1);
    surrogate.fit_scales(raw);
    const learning::TrainingSet set = surrogate.standardised(raw);
    learning::TrainOptions options;
    options.rate = 0.05;
    learning::Trainer trainer(surrogate.network(), set, options);
    for (int i = 0; i < 15; ++i) {
        trainer.epoch();
    }
    return surrogate.bytes();
}

}  // namespace

BOOST_AUTO_TEST_CASE(gradient_descends) {
    const Case c;
    const File file;
    std::ofstream(file.path, std::ios::binary) << trained(c);
    const search::OpenSpace space(c.problem(), *c.model, {});
    search::Worker worker(space);
    for (const char* variant : {"paper", "code"}) {
        const auto strategy = plugin::Registry<search::SearchStrategy>::instance().create(
            "gradient", {{"surrogate", file.path}, {"variant", variant}, {"interval", "0"}});
        strategy->start(space, 1);
        std::vector<search::Candidate> batch(64);
        // Mean of log2 of what the chains begin with, and of where they are after 10 steps.
        double first = 0, last = 0;
        std::size_t n = 0;
        for (int step = 0; step <= 10; ++step) {
            n = strategy->ask(batch);
            last = 0;
            for (std::size_t i = 0; i < n; ++i) {
                search::Candidate& one = batch[i];
                worker.run(one);
                BOOST_TEST(one.outcome.legal());
                one.outcome.value = one.outcome.energy_j * one.outcome.latency_s;
                last += std::log2(one.outcome.value);
            }
            first = step == 0 ? last : first;
            strategy->tell({batch.data(), n});
        }
        BOOST_TEST(n == 16u);
        BOOST_TEST((last - first) / static_cast<double>(n) < -2,
                   variant << ": " << first / 16 << " to " << last / 16);
    }
}

BOOST_AUTO_TEST_CASE(gradient_refuses_surrogates_of_other_problems_and_what_is_none) {
    const Case c;
    const File file;
    const std::string bytes = trained(c);
    const auto answer = [&](const Case& asked, const std::string& content) {
        std::ofstream(file.path, std::ios::binary) << content;
        try {
            asked.map("gradient", {{"surrogate", file.path}});
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    BOOST_TEST(answer(c, bytes) == "");
    const std::string other = answer(Case(std::map<std::string, std::string>{{"K", "128"}}), bytes);
    BOOST_TEST((other.find("'k' has 128 values") != std::string::npos), other);
    const std::string cut = answer(c, bytes.substr(0, bytes.size() / 2));
    BOOST_TEST((cut.find("cut short") != std::string::npos), cut);
}

namespace {

/// Rounds of what a strategy asks for, evaluated and told.
class Rounds {
public:
    Rounds(const search::OpenSpace& space, const plugin::KnobSettings& knobs)
        : worker_(space),
          strategy_(plugin::Registry<search::SearchStrategy>::instance().create("gradient", knobs)),
          batch_(24) {
        strategy_->start(space, 5);
    }
    search::SearchStrategy& strategy() {
        return *strategy_;
    }
    std::vector<std::string> run(int rounds) {
        std::vector<std::string> asked;
        for (int i = 0; i < rounds; ++i) {
            const std::size_t n = strategy_->ask(batch_);
            for (search::Candidate& c : std::span(batch_).first(n)) {
                asked.push_back(std::to_string(c.seed) + (c.how == search::Candidate::How::draw
                                                              ? " drawn"
                                                              : search::to_text(c.point)));
                worker_.run(c);
                c.outcome.value = c.outcome.energy_j * c.outcome.latency_s;
            }
            strategy_->tell({batch_.data(), n});
        }
        return asked;
    }

private:
    search::Worker worker_;
    plugin::Owned<search::SearchStrategy> strategy_;
    std::vector<search::Candidate> batch_;
};

}  // namespace

// Before the first training, after it and later ones, with a surrogate of a file, both variants.
BOOST_AUTO_TEST_CASE(gradient_goes_on_from_a_saved_state) {
    const Case c;
    const File file;
    std::ofstream(file.path, std::ios::binary) << trained(c);
    const search::OpenSpace space(c.problem(), *c.model, {});
    const plugin::KnobSettings own = {{"samples", "60"}, {"again", "50"},   {"epochs", "2"},
                                      {"width", "8"},    {"interval", "3"}, {"restarts", "5"}};
    for (const int before : {1, 4, 30}) {
        for (const bool of_file : {false, true}) {
            plugin::KnobSettings knobs = own;
            knobs["variant"] = before == 4 ? "paper" : "code";
            knobs["surrogate"] = of_file ? file.path : "";
            knobs["problems"] = before == 4 ? "3" : "0";
            Rounds first(space, knobs), second(space, knobs);
            first.run(before);
            const std::string state = first.strategy().save();
            BOOST_TEST(!state.empty());
            BOOST_TEST(second.strategy().restore(state));
            BOOST_TEST(second.strategy().save() == state);
            const auto expected = first.run(20);
            BOOST_TEST(second.run(20) == expected, boost::test_tools::per_element());
        }
    }
}

// The first mappings are of the problem and of others in turn.
BOOST_AUTO_TEST_CASE(gradient_learns_from_problems_of_other_size) {
    const Case c;
    const search::OpenSpace space(c.problem(), *c.model, {});
    search::Worker worker(space);
    const auto strategy = plugin::Registry<search::SearchStrategy>::instance().create(
        "gradient", {{"problems", "3"}, {"samples", "80"}, {"epochs", "2"}, {"width", "8"}});
    strategy->start(space, 1);
    std::map<const search::Space*, int> drawn;
    std::vector<search::Candidate> batch(20);
    for (int round = 0; round < 8; ++round) {
        const std::size_t n = strategy->ask(batch);
        for (search::Candidate& one : std::span(batch).first(n)) {
            BOOST_TEST((round < 4 || one.space == nullptr));
            ++drawn[one.space];
            worker.run(one);
            one.outcome.value = one.outcome.energy_j * one.outcome.latency_s;
        }
        strategy->tell({batch.data(), n});
    }
    BOOST_TEST(drawn.size() == 4u);
    for (const auto& [other, n] : drawn) {
        BOOST_TEST((other == nullptr || n == 20));
    }
    BOOST_TEST(strategy->preparation().tuned_by >= 80u);
}

BOOST_AUTO_TEST_CASE(gradient_refuses_states_that_are_none_of_its_own) {
    const Case c;
    const search::OpenSpace space(c.problem(), *c.model, {});
    const plugin::KnobSettings knobs = {
        {"samples", "30"}, {"epochs", "1"}, {"width", "4"}, {"restarts", "3"}};
    Rounds saved(space, knobs);
    saved.run(5);
    const std::string state = saved.strategy().save();
    const auto understood = [&](const std::string& text) {
        return Rounds(space, knobs).strategy().restore(text);
    };
    BOOST_TEST(understood(state));
    for (const std::string& changed : test::changed_states(state)) {
        BOOST_TEST(!understood(changed));
    }
    // Of other knobs.
    for (const char* other : {"8", "2"}) {
        plugin::KnobSettings wider = knobs;
        wider["width"] = other;
        BOOST_TEST(!Rounds(space, wider).strategy().restore(state));
    }
    plugin::KnobSettings fewer = knobs;
    fewer["restarts"] = "2";
    BOOST_TEST(!Rounds(space, fewer).strategy().restore(state));
}
