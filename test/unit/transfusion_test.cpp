// TransFusion's closed forms and tiles by hand, and what is refused.

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tessera/base/error.hpp"
#include "tessera/transfusion/tileseek.hpp"

using namespace tessera;
using namespace tessera::transfusion;

namespace {

Problem problem(const char* arch, const char* model, std::int64_t tokens) {
    return {accelerator(arch), transformer(model), 64, tokens};
}

/// Small enough to list all tiles.
Problem small(double buffer_bytes) {
    return {{"small", 4, 4, buffer_bytes, 1e9, 1e9, 5e-9, 7e-9}, {"small", 2, 4, 16}, 6, 24};
}

std::string refusal(const Problem& given) {
    try {
        check(given);
    } catch (const UserError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

BOOST_AUTO_TEST_CASE(transfusion_buffer_needs_by_hand) {
    // Llama3 on cloud, one sequence, 128 of the width, 256 queries, keys and hidden units.
    const auto bytes = buffer_bytes(problem("cloud", "Llama3", 65536), {64, 32, 256, 256, 64});
    BOOST_TEST(bytes[0] == 2.0 * (128 * (4 * 256 + 3 * 256) + 3 * 128 * 4096 + 2 * 32 * 256));
    BOOST_TEST(bytes[1] == 2.0 * (4096 * 3 * 256 + 32 * 256 * 258 + 4 * 256 * 256 + 18 * 256));
    BOOST_TEST(bytes[2] == 2.0 * 7 * 4096 * 256);
    BOOST_TEST(bytes[3] == 2.0 * (4096 * 3 * 256 + 256 * 258 + 2 * 256 * 256));
    BOOST_TEST(legal(problem("cloud", "Llama3", 65536), {64, 32, 256, 256, 64}));
    BOOST_TEST(!legal(problem("cloud", "Llama3", 65536), {64, 2, 256, 256, 64}));   // too large
    BOOST_TEST(!legal(problem("cloud", "Llama3", 65536), {64, 32, 256, 255, 64}));  // no divisor
}

BOOST_AUTO_TEST_CASE(transfusion_projections_by_hand) {
    // Unfused on cloud: 64 columns of 256, so a quarter of the array; compute bound.
    const Problem one = problem("cloud", "BERT", 1024);
    const double work = 64.0 * 1024 * 768 * 768;
    const PhaseCost qkv = evaluate(one, Method::unfused, {}).phase(Phase::qkv);
    BOOST_TEST(qkv.einsums[2].compute_s == work / (256 * 64) / 940e6,
               boost::test_tools::tolerance(1e-12));
    // Fused, d untiled: activations once and weights once.
    const PhaseCost fused = evaluate(one, Method::transfusion, {}).phase(Phase::qkv);
    const double act = 2.0 * 64 * 1024 * 768, weights = 2.0 * 768 * 768;
    BOOST_TEST(fused.dram_bytes() == 4 * act + 3 * weights);
    // d tiled: weights again for each tile of b and p, or of b and m.
    const PhaseCost tiled = evaluate(one, Method::transfusion, {2, 3, 5, 7, 1}).phase(Phase::qkv);
    BOOST_TEST(tiled.dram_bytes() == 4 * act + (14 + 10 + 10) * weights);
    BOOST_TEST(schedule::objection(tiled.dag, tiled.schedule) == "");
}

BOOST_AUTO_TEST_CASE(transfusion_maxima_on_the_array_take_dpipes_lead) {
    const Problem one = problem("cloud", "BERT", 65536);  // bound by compute, not by DRAM
    Settings allowed;
    allowed.maximum_on_2d = true;
    const auto attention_s = [&](const Settings& settings) {
        return evaluate(one, Method::transfusion, {64, 3, 256, 64, 12}, settings)
            .phase(Phase::attention)
            .latency_s;
    };
    BOOST_TEST(attention_s({}) > 17);
    BOOST_TEST(attention_s(allowed) == fusemax_artifact_attention_s(one),
               boost::test_tools::tolerance(0.01));
}

BOOST_AUTO_TEST_CASE(tileseek_finds_the_optimum_of_a_small_tree) {
    for (const double buffer_bytes : {2000.0, 3000.0, 6000.0, 100000.0}) {
        const Problem one = small(buffer_bytes);
        for (const Objective objective : {Objective::energy, Objective::latency, Objective::edp}) {
            double best = INFINITY;
            int leaves = 0;
            for (std::int64_t b = 1; b <= 6; ++b) {
                for (std::int64_t d = 1; d <= 8; ++d) {
                    for (std::int64_t m = 1; m <= 6; ++m) {
                        for (std::int64_t p = 1; p <= 6; ++p) {
                            for (std::int64_t s = 1; s <= 4; ++s) {
                                if (legal(one, {b, d, m, p, s})) {
                                    const Cost cost =
                                        evaluate(one, Method::transfusion, {b, d, m, p, s});
                                    const double energy_j = cost.energy_j();
                                    best = std::min(best, objective == Objective::latency
                                                              ? cost.latency_s
                                                          : objective == Objective::energy
                                                              ? energy_j
                                                              : energy_j * cost.latency_s);
                                    ++leaves;
                                }
                            }
                        }
                    }
                }
            }
            BOOST_TEST(leaves > 0);
            const TileSeekResult all = enumerate_tiles(one, objective);
            BOOST_TEST(all.evaluations == leaves);
            BOOST_TEST(all.value == best, boost::test_tools::tolerance(1e-12));
            const TileSeekResult found =
                tileseek(one, {.objective = objective, .evaluations = 10000, .seed = 7});
            BOOST_TEST(found.exhausted);
            BOOST_TEST(found.value == best, boost::test_tools::tolerance(1e-12));
            BOOST_TEST(legal(one, found.tiles));
            const TileSeekResult first =
                tileseek(one, {.objective = objective, .evaluations = 1, .seed = 7});
            BOOST_TEST(first.evaluations == 1);
            BOOST_TEST(legal(one, first.tiles));
        }
    }
}

// A cost of the caller's own; what it finds illegal is never the result.
BOOST_AUTO_TEST_CASE(tileseek_takes_any_cost) {
    const Problem one = small(6000);
    int asked = 0;
    const auto cost = [&](const OuterTiles& tiles) {
        ++asked;
        BOOST_TEST(legal(one, tiles));
        return tiles.p == 1 ? INFINITY : 1.0 / static_cast<double>(tiles.b * tiles.p);
    };
    const TileSeekResult found = tileseek(one, {.evaluations = 10000, .seed = 3}, cost);
    BOOST_TEST(found.exhausted);
    BOOST_TEST(asked == found.evaluations);
    BOOST_TEST(found.tiles.b == one.batch);
    BOOST_TEST(found.tiles.p == one.tokens / one.accelerator.edge);
    BOOST_CHECK_THROW(
        tileseek(one, {.evaluations = 20}, [](const OuterTiles&) { return INFINITY; }),
        NoLegalMapping);
}

// A given binding is kept: what DPipe would choose costs no more, and is worth itself.
BOOST_AUTO_TEST_CASE(transfusion_phases_take_a_given_binding) {
    const Problem one = small(100000);
    for (const schedule::Mode mode : {schedule::Mode::paper, schedule::Mode::modulo}) {
        const Settings settings{mode, true};
        const Cost chosen = evaluate(one, Method::transfusion, {2, 2, 2, 2, 2}, settings);
        const OuterTiles tiles = {2, 2, 2, 2, 2};
        Binding same, all_1d;
        for (std::size_t i = 0; i < phase_count; ++i) {
            for (const EinsumCost& einsum : chosen.phases[i].einsums) {
                same[i].push_back(einsum.unit);
                all_1d[i].push_back(Unit::array_1d);
            }
        }
        BOOST_TEST(evaluate_bound(one, Method::transfusion, tiles, same, settings).latency_s ==
                   chosen.latency_s);
        const Cost slow = evaluate_bound(one, Method::transfusion, tiles, all_1d, settings);
        BOOST_TEST(slow.latency_s >= chosen.latency_s);
        for (const PhaseCost& phase : slow.phases) {
            double sum = 0;
            for (const EinsumCost& einsum : phase.einsums) {
                BOOST_TEST(bool(einsum.unit == Unit::array_1d));
                sum += einsum.latency_s();
            }
            BOOST_TEST(phase.latency_s == sum, boost::test_tools::tolerance(1e-9));
        }
        Binding wrong = same;
        wrong[1].back() = Unit::array_2d;  // AV divides
        BOOST_CHECK_THROW(evaluate_bound(one, Method::transfusion, tiles, wrong, settings),
                          IllegalMapping);
    }
}

BOOST_AUTO_TEST_CASE(transfusion_refusals) {
    BOOST_CHECK_THROW(tileseek(small(100)), NoLegalMapping);
    BOOST_CHECK_THROW(enumerate_tiles(small(100), Objective::energy), NoLegalMapping);
    Problem one = small(100000);
    one.model.hidden = 18;
    BOOST_CHECK_THROW(tileseek(one), UserError);
    one.tokens = 25;
    BOOST_TEST(refusal(one).find("multiple of the array's edge, 4") != std::string::npos);
    one.tokens = 0;
    BOOST_TEST(refusal(one).find("number of tokens is 0") != std::string::npos);
    one.accelerator.clock_hz = NAN;
    BOOST_TEST(refusal(one).find("clock") != std::string::npos);
    BOOST_CHECK_THROW(accelerator("clod"), UserError);
    BOOST_CHECK_THROW(evaluate(small(1000), Method::transfusion, {0, 1, 1, 1, 1}), UserError);
    BOOST_TEST(length_name(65536) == "64K");
    BOOST_TEST(length_name(1048576) == "1M");
    BOOST_TEST(length_name(1000) == "1000");
}
