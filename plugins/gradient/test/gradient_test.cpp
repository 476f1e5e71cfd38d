// Strategy `gradient`: descends, and refuses surrogates that are not for its problem.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "support/paths.hpp"
#include "tessera/base/error.hpp"
#include "tessera/learning/surrogate.hpp"
#include "tessera/mapper/mapper.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/plugin/search_strategy.hpp"
#include "tessera/search/open_space.hpp"
#include "tessera/search/vector.hpp"

using namespace tessera;

namespace {

struct Case {
    explicit Case(const std::map<std::string, std::string>& defines = {})
        : workload(workload::load_workload(
              test::test_folder() + "/../problem-shapes/mttkrp.yaml", sizes(defines))),
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
        raw.outputs.push_back(
            static_cast<float>(std::log2(outcome.energy_j * outcome.latency_s)));
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
            "gradient",
            {{"surrogate", file.path}, {"variant", variant}, {"interval", "0"}});
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
