// FFM in the preset `full` against brute force: every instance for energy, latency, EDP and the
// Pareto set, over all Einsum orders.
//
// full_seeds.txt lists seeds of random_full_instance() that are quick to enumerate. With
// TESSERA_SOAK=N in the environment, N instances from TESSERA_SOAK_FROM (default 1000000) on are
// drawn instead, those too large to enumerate left out, and a line per instance goes to stderr if
// TESSERA_SOAK_LIST is set.
#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include "oracle/oracle_instance.hpp"
#include "oracle/oracle_tree.hpp"
#include "oracle/points.hpp"
#include "support/paths.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/plugin/registry.hpp"

using namespace tessera;
using mapper::Metric;
using oracle::close;
using oracle::Point;

namespace {

constexpr std::uint64_t kChains = 60'000, kCombinations = 400'000;

std::vector<Point> map(const oracle::LoadedInstance& instance,
                       const mapspace::MapSpaceOptions& mapspace, std::vector<Metric> metrics) {
    const auto ffm = plugin::Registry<mapper::Mapper>::instance().create("ffm");
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    mapper::Options options;
    options.metrics = std::move(metrics);
    options.mapspace = mapspace;
    options.threads = 1;
    std::vector<Point> points;
    for (const auto& s : ffm->map(instance.problem, *model, options).solutions) {
        points.push_back({s.report.energy_j(), s.report.latency_s()});
    }
    return points;
}

/// "" if FFM and brute force agree.
std::string compare(const oracle::LoadedInstance& instance,
                    const mapspace::MapSpaceOptions& options, const oracle::Optimum& best) {
    if (best.pareto.empty()) {
        try {
            return map(instance, options, {Metric::edp}).empty() ? "" : "a mapping where none is";
        } catch (const NoLegalMapping&) {
            return "";
        }
    }
    const auto energy = map(instance, options, {Metric::energy});
    const auto latency = map(instance, options, {Metric::latency});
    const auto edp = map(instance, options, {Metric::edp});
    if (energy.size() != 1 || latency.size() != 1 || edp.size() != 1) {
        return "no mapping";
    }
    std::string differ;
    const auto judge = [&](const char* metric, double found, double expected) {
        if (!close(found, expected)) {
            differ += std::string(metric) + " " + std::to_string(found) + ", brute force " +
                      std::to_string(expected) + "; ";
        }
    };
    judge("energy", energy[0].energy_j, best.energy_j);
    judge("latency", latency[0].latency_s, best.latency_s);
    judge("EDP", edp[0].edp_js(), best.edp_js);
    const auto front =
        oracle::without_ties(map(instance, options, {Metric::energy, Metric::latency}));
    const auto expected = oracle::without_ties(best.pareto);
    if (!oracle::same_points(front, expected)) {
        differ += "Pareto set" + oracle::text(front) + ", brute force" + oracle::text(expected);
    }
    return differ;
}

struct Outcome {
    bool judged = false;
    bool mapped = false;
    std::string kind, error;
    double seconds = 0;
};

Outcome judge(std::uint64_t seed) {
    const auto start = std::chrono::steady_clock::now();
    Outcome out;
    const oracle::Instance drawn = oracle::random_full_instance(seed);
    out.kind = drawn.kind;
    try {
        const oracle::LoadedInstance instance(drawn.yaml);
        auto space = oracle::make_space(instance.problem, drawn.options, kChains);
        oracle::keep_useful_rows(space);
        const auto best = oracle::search_all_orders(std::move(space), kCombinations);
        out.judged = true;
        out.mapped = !best.pareto.empty();
        out.error = compare(instance, drawn.options, best);
    } catch (const oracle::TooMany&) {
    } catch (const std::exception& e) {
        out.judged = true;
        out.error = e.what();
    }
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return out;
}

std::vector<std::uint64_t> listed_seeds() {
    std::vector<std::uint64_t> seeds;
    std::ifstream in(tessera::test::test_folder() + "/oracle/full_seeds.txt");
    for (std::uint64_t seed; in >> seed;) {
        seeds.push_back(seed);
    }
    return seeds;
}

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace

BOOST_AUTO_TEST_CASE(ffm_is_optimal_in_the_whole_mapspace) {
    const std::uint64_t soak = setting("TESSERA_SOAK", 0);
    const std::uint64_t from = setting("TESSERA_SOAK_FROM", 1'000'000);
    const bool list = setting("TESSERA_SOAK_LIST", 0) != 0;
    const std::vector<std::uint64_t> seeds = listed_seeds();
    const std::uint64_t wanted = soak > 0 ? soak : seeds.size();
    std::atomic<std::uint64_t> next{0}, judged{0}, mapped{0};
    std::map<std::string, int> kinds;
    std::vector<std::string> errors;
    std::mutex guard;
    const auto work = [&] {
        for (std::uint64_t i = next++; soak > 0 ? judged < wanted : i < wanted; i = next++) {
            const std::uint64_t seed = soak > 0 ? from + i : seeds[i];
            const Outcome o = judge(seed);
            judged += o.judged ? 1 : 0;
            mapped += o.mapped ? 1 : 0;
            const std::lock_guard lock(guard);
            kinds[o.kind] += o.judged ? 1 : 0;
            if (list) {
                std::fprintf(stderr, "%llu %s %d %.3f %s\n", static_cast<unsigned long long>(seed),
                             o.kind.c_str(), o.judged, o.seconds, o.error.c_str());
            }
            if (!o.error.empty()) {
                errors.push_back("seed " + std::to_string(seed) + " (" + o.kind + "): " + o.error);
            }
        }
    };
    {
        const std::jthread other(work);
        work();
    }
    for (const std::string& error : errors) {
        BOOST_ERROR(error);
    }
    BOOST_TEST(judged >= wanted);
    BOOST_TEST(mapped * 2 >= judged);
    BOOST_TEST(kinds.size() >= 10u);
    if (soak > 0) {
        std::fprintf(stderr, "%llu instances, %llu of them with a mapping, %zu disagree\n",
                     static_cast<unsigned long long>(judged.load()),
                     static_cast<unsigned long long>(mapped.load()), errors.size());
    }
}
