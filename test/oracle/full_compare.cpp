#include "oracle/full_compare.hpp"

#include <boost/test/unit_test.hpp>
#include <chrono>

#include "oracle/points.hpp"
#include "support/setting.hpp"
#include "tessera/base/error.hpp"
#include "tessera/plugin/registry.hpp"

namespace tessera::oracle {

using mapper::Metric;

namespace {

constexpr std::uint64_t kChains = 60'000, kCombinations = 400'000;

std::vector<Point> map(const LoadedInstance& instance, const mapspace::MapSpaceOptions& mapspace,
                       std::vector<Metric> metrics, const std::vector<std::string>& without = {},
                       std::optional<mapper::LaterMetric>* later = nullptr) {
    const auto ffm = plugin::Registry<mapper::Mapper>::instance().create("ffm");
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    mapper::Options options;
    options.metrics = std::move(metrics);
    options.mapspace = mapspace;
    options.threads = 1;
    options.without = without;
    std::vector<Point> points;
    const mapper::Result result = ffm->map(instance.problem, *model, options);
    for (const auto& s : result.solutions) {
        points.push_back({s.report.energy_j(), s.report.latency_s()});
    }
    if (later != nullptr) {
        *later = result.later;
    }
    return points;
}

/// "" if FFM finds brute force's optimum of each metric.
std::string compare_optima(const LoadedInstance& instance, const mapspace::MapSpaceOptions& options,
                           const Optimum& best, const std::vector<std::string>& without) {
    std::optional<mapper::LaterMetric> after_energy, after_latency;
    const auto energy = map(instance, options, {Metric::energy}, without, &after_energy);
    const auto latency = map(instance, options, {Metric::latency}, without, &after_latency);
    const auto edp = map(instance, options, {Metric::edp}, without);
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
    const double least_latency = least_later(best.pareto, true);
    const double least_energy = least_later(best.pareto, false);
    judge("latency of least energy", energy[0].latency_s, least_latency);
    judge("energy of least latency", latency[0].energy_j, least_energy);
    if (!after_energy || !after_energy->proven || !after_latency || !after_latency->proven) {
        differ += "the later metric is not proven; ";
    } else {
        judge("bound of latency", after_energy->bound, least_latency);
        judge("bound of energy", after_latency->bound, least_energy);
    }
    return differ;
}

/// Of a run of all tests every third instance is searched a second time, one way or the other; of a
/// soak all are, both ways.
struct Again {
    bool loose = true, by_need = true;
};
Again again(const Instance& drawn) {
    if (tessera::test::setting("TESSERA_SOAK", 0) > 0) {
        return {};
    }
    const std::size_t turn = std::hash<std::string>{}(drawn.yaml) % 6;
    return {turn == 0, turn == 1};
}

/// "" if FFM and brute force agree.
std::string compare(const LoadedInstance& instance, const mapspace::MapSpaceOptions& options,
                    const Optimum& best, Again too) {
    if (best.pareto.empty()) {
        try {
            return map(instance, options, {Metric::edp}).empty() ? "" : "a mapping where none is";
        } catch (const NoLegalMapping&) {
            return "";
        }
    }
    std::string differ = compare_optima(instance, options, best, {});
    // The way of searches whose class bounds take long.
    const std::string other =
        too.loose ? compare_optima(instance, options, best, {"exact-class-bounds"}) : "";
    differ += other.empty() ? "" : "with loose class bounds first: " + other;
    const std::string by_need =
        too.by_need
            ? compare_optima(instance, options, best, {"all-templates", "restricted-mapspaces"})
            : "";
    differ += by_need.empty() ? "" : "with templates by need: " + by_need;
    const auto front = without_ties(map(instance, options, {Metric::energy, Metric::latency}));
    const auto expected = without_ties(best.pareto);
    if (!same_points(front, expected)) {
        differ += "Pareto set" + text(front) + ", brute force" + text(expected);
    }
    return differ;
}

}  // namespace

Outcome judge(const Instance& drawn, const mapspace::MapSpaceOptions* engine, arch::Compat compat) {
    const auto start = std::chrono::steady_clock::now();
    Outcome out;
    out.kind = drawn.kind;
    try {
        // Partial tiles are members of the mapspace in the own convention only as brute force has
        // them: whole iterations, and none inside another partial tile.
        const bool partial = drawn.options.imperfect_temporal;
        const LoadedInstance instance(drawn.yaml, partial ? arch::Compat::none : compat);
        // Every partial tile shape is a group of its own, and groups are what takes time.
        const std::uint64_t combinations = partial ? kCombinations / 4 : kCombinations;
        auto space = make_space(instance.problem, drawn.options, kChains);
        keep_useful_rows(space);
        const auto best = drawn.options.all_einsum_orders
                              ? search_all_orders(std::move(space), combinations)
                              : search(space, combinations);
        out.judged = true;
        out.mapped = !best.pareto.empty();
        out.error =
            compare(instance, engine != nullptr ? *engine : drawn.options, best, again(drawn));
    } catch (const TooMany&) {
    } catch (const std::exception& e) {
        out.judged = true;
        out.error = e.what();
    }
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return out;
}

Judged judge_drawn(std::uint64_t n, const std::set<std::uint64_t>& slow,
                   const std::function<Instance(std::uint64_t seed)>& draw) {
    const std::uint64_t soak = test::setting("TESSERA_SOAK", 0);
    const std::uint64_t from = test::setting("TESSERA_SOAK_FROM", 0);
    Judged out;
    out.drawn = soak > 0 ? soak : n;
    for (std::uint64_t seed = from; seed < from + out.drawn; ++seed) {
        if (soak == 0 && slow.contains(seed)) {
            continue;
        }
        const Instance instance = draw(seed);
        const Outcome o = judge(instance);
        out.judged += o.judged ? 1 : 0;
        out.mapped += o.mapped ? 1 : 0;
        out.kinds[o.kind] += o.judged ? 1 : 0;
        BOOST_TEST(o.error.empty(), "seed " << seed << " (" << o.kind << "): " << o.error << "\n"
                                            << instance.yaml);
        BOOST_TEST_MESSAGE("seed " << seed << " " << o.kind << " " << o.judged << " " << o.seconds);
    }
    return out;
}

}  // namespace tessera::oracle
