// Native problems through the cost model `timeloop`: the same figures as Timeloop's own form of
// them, and what has no such form.
#include <boost/test/unit_test.hpp>

#include "../native.hpp"
#include "support/hand_path.hpp"
#include "tessera/base/error.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;
using testing::HandPath;

namespace {

/// Z[m,n] += A[m,k] B[k,n]; DRAM, GB, four PEs in a row with registers; one value per action.
struct Gemm {
    Gemm()
        : workload(testing::hand_workload({{"m", 4}, {"n", 4}, {"k", 8}},
                                          {{"Z: m, n", "A: m, k", "B: k, n"}}, 16)),
          hand(workload, 0) {
        hand.memory("DRAM", 200e-12);
        hand.memory("GB", 2e-12, 2e9);
        HandPath::fanout(hand.memory("RF", 1e-12), "X", 4);
        hand.compute("MAC", 1e-12, 1e9);
        for (arch::PathLevel& level : hand.path.levels) {
            for (arch::PathAction& action : level.actions) {
                action.values_per_action.assign(3, 1);
            }
        }
    }
    model::EinsumReport evaluate(const std::string& nest) {
        const mapping::Pmapping nodes = hand.nest(nest);
        return plugin::Registry<model::CostModel>::instance()
            .create("timeloop")
            ->evaluate({}, hand.path, nodes);
    }
    std::string refusal(const std::string& nest) {
        try {
            evaluate(nest);
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    }

    workload::Workload workload;
    HandPath hand;
};

const char* by_hand =
    "H DRAM A, B, Z; T m 2; T k 4; H GB A, B, Z; T n 2; S RF.X n 1; S RF.X k 2; H RF A, B, Z; "
    "T m 1; T k 1; C";

const model::TensorReport& tensor(const model::EinsumReport& report, const std::string& component,
                                  const std::string& name) {
    for (const model::ComponentReport& one : report.components) {
        for (const model::TensorReport& candidate : one.tensors) {
            if (one.component == component && candidate.tensor == name) {
                return candidate;
            }
        }
    }
    throw std::runtime_error("no " + name + " in " + component);
}

}  // namespace

BOOST_AUTO_TEST_CASE(timeloop_native_gemm_has_the_counts_worked_by_hand) {
    Gemm gemm;
    const model::EinsumReport report = gemm.evaluate(by_hand);
    BOOST_CHECK_EQUAL(tensor(report, "RF", "A").actions.at("read"), 32 * 4);
    BOOST_CHECK_EQUAL(tensor(report, "RF", "Z").actions.at("read"), 24 * 4);
    BOOST_CHECK_EQUAL(tensor(report, "RF", "Z").actions.at("write"), (8 + 32) * 4);
    BOOST_CHECK_EQUAL(tensor(report, "GB", "B").actions.at("read"), 64);
    BOOST_CHECK_EQUAL(tensor(report, "GB", "Z").actions.at("write"), 32);
    BOOST_CHECK_EQUAL(tensor(report, "DRAM", "Z").actions.at("write"), 16);
    // 32 cycles of 4 computes; the buffer moves 112 + 128 words at 2 per cycle.
    BOOST_CHECK_CLOSE(report.latency_s, 120e-9, 1e-9);
    BOOST_CHECK_CLOSE(report.components.back().compute_energy_j.at("compute"), 128e-12, 1e-9);
}

BOOST_AUTO_TEST_CASE(timeloop_native_mapping_keeps_loop_order_and_split) {
    Gemm gemm;
    const mapping::Pmapping nodes = gemm.hand.nest(by_hand);
    const model::NativeCase native = model::native_case(gemm.hand.path, nodes);
    BOOST_REQUIRE_EQUAL(native.mapping.levels.size(), 3);
    const auto& names = native.problem.dimensions;
    const timeloop::LoopBlock& block = native.mapping.levels[1].spatial;
    BOOST_CHECK_EQUAL(names[block.permutation[0]].name, "k");
    BOOST_CHECK_EQUAL(names[block.permutation[1]].name, "n");
    BOOST_CHECK_EQUAL(block.split, 2);
    BOOST_CHECK_EQUAL(native.architecture.fanout_x(1), 4);
}

BOOST_AUTO_TEST_CASE(timeloop_native_several_actions_per_value_cost_each) {
    Gemm gemm;
    const double before = gemm.evaluate(by_hand).dynamic_energy_j;
    for (arch::PathAction& action : gemm.hand.path.levels[0].actions) {
        action.values_per_action.assign(3, 0.5);
        action.energy_j /= 2;
    }
    BOOST_CHECK_CLOSE(gemm.evaluate(by_hand).dynamic_energy_j, before, 1e-9);
}

BOOST_AUTO_TEST_CASE(timeloop_native_refuses_what_it_cannot_express) {
    Gemm gemm;
    const auto says = [&](const std::string& nest, const std::string& text) {
        const std::string message = gemm.refusal(nest);
        BOOST_CHECK_MESSAGE(message.find(text) != std::string::npos, message);
    };
    says("H DRAM A, B, Z; H GB A; T m 2; H GB B, Z; T n 1; T k 1; T m 1; C",
         "a loop between two tensors held in GB");
    says("H DRAM A, B, Z; S RF.X k 2; T m 1; T n 1; T k 1; H RF A, B, Z; C",
         "a loop between two tensors held in RF");
    says("H DRAM A, B; T m 2; H GB A, B, Z; T n 1; T k 1; T m 1; C",
         "level GB is the outermost that keeps data space Z but does not hold it whole");
    says("H DRAM A, B, Z; T m 2; T n 1; T m 1; T k 1; C",
         "two loops over m below one memory with others between");
}

BOOST_AUTO_TEST_CASE(timeloop_native_refuses_hardware_by_name) {
    Gemm gemm;
    gemm.hand.path.levels[1].size_bits = 1e6;
    gemm.hand.path.levels[1].bank_bits = 1e5;
    BOOST_CHECK(gemm.refusal(by_hand).find("GB has banks that hold one tensor each") !=
                std::string::npos);
    gemm.hand.path.levels[1].bank_bits = 0;
    gemm.hand.path.levels[1].bits_per_value = {8, 16, 16};
    BOOST_CHECK(gemm.refusal(by_hand).find("GB has a size and holds tensors of different widths") !=
                std::string::npos);
    gemm.hand.path.levels[1].kind = arch::LevelKind::toll;
    BOOST_CHECK(gemm.refusal(by_hand).find("GB is a toll") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(timeloop_native_capacity_is_checked) {
    Gemm gemm;
    gemm.hand.path.levels[2].size_bits = 7 * 16;
    BOOST_CHECK(gemm.refusal(by_hand).find("mapped tile size 8 exceeds buffer capacity 7") !=
                std::string::npos);
}
