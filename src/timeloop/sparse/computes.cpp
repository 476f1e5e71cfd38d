// Computes whose operands are not both there. Each operand is a value, an explicit zero, or absent
// (a format tells so); the two are taken as independent, given what storage has left out already.
#include <cmath>

#include "state.hpp"
#include "timeloop/model/counters.hpp"

namespace tessera::timeloop::sparse {

namespace {

struct Operand {
    int space = -1;
    bool formatted = false;
    double density = 0;
    // Shares of its states.
    double value = 0, zero = 0, absent = 0;
};

double millionths(double share) {
    return std::round(share * 1000000) / 1000000;
}

Operand operand(const State& state, int space) {
    Operand result;
    result.space = space;
    for (int i = 0; i < state.levels; ++i) {
        if (state.of(i, space).kept) {
            result.formatted = state.of(i, space).format != nullptr;
            break;
        }
    }
    const sparsity::Tile scalar = state.project(space, state.scalar());
    const double values = state.density(space).expected_values(scalar);
    result.density =
        std::round(1000000 * values / static_cast<double>(sparsity::points_of(scalar))) / 1000000;
    result.value = millionths(result.density);
    (result.formatted ? result.absent : result.zero) = 1.0 - result.value;
    return result;
}

/// The operand where accesses that met an empty `condition` are left out already.
void given_not_empty(Operand& operand, double condition_empty) {
    const double held = 1 - condition_empty;
    const double value = operand.density / held;
    operand.value = value;
    operand.zero = operand.formatted ? 0 : 1 - value;
    operand.absent = operand.formatted ? 1 - value : 0;
}

void check(Operand& operand) {
    for (double* share : {&operand.value, &operand.zero, &operand.absent}) {
        if (!(*share >= -0.00001 && *share <= 1.00001)) {
            misfit(Fit::Kind::operands, -1);
        }
        *share = *share < 0 ? 0 : *share > 1 ? 1 : *share;
    }
}

}  // namespace

void count_computes(State& state) {
    Operand operands[2];
    int found = 0;
    for (int s = 0; s < state.spaces && found < 2; ++s) {
        if (!state.writes(s)) {
            operands[found++] = operand(state, s);
        }
    }
    Operand &a = operands[0], &b = operands[1];
    const auto saved = [&](const Operand& o) {
        return state.operand_saved[static_cast<std::size_t>(o.space)] != 0;
    };
    const auto empty = [&](const Operand& o) {
        return state.operand_condition_empty[static_cast<std::size_t>(o.space)];
    };
    if (saved(b)) {
        given_not_empty(a, empty(b));
    }
    if (saved(a)) {
        given_not_empty(b, empty(a));
    }
    check(a);
    check(b);
    const double total = real(state.computes.random);
    const bool gates = state.design.gate_on_zero_operand;
    const bool skips = state.design.skip_on_not_aligned_operands;
    double random = total * (a.value * b.value), gated = 0, skipped = 0;
    double& of_zero = gates ? gated : random;
    double& of_absent = skips ? skipped : of_zero;
    of_zero += total * (a.value * b.zero + a.zero * b.value);
    of_absent += total * (a.value * b.absent + a.absent * b.value);
    of_zero += total * (a.zero * b.zero);
    of_absent += total * (a.zero * b.absent + a.absent * b.zero);
    const double nowhere = total * (a.absent * b.absent);
    // Timeloop asserts it: shares that are none.
    if (!(std::abs(skipped + random + gated + nowhere - total) < total * 0.00001)) {
        misfit(Fit::Kind::operands, -1);
    }
    state.computes.skipped = counter(std::floor(skipped));
    state.computes.gated = counter(std::floor(gated));
    state.computes.random =
        counter(total - std::floor(skipped) - std::floor(gated) - std::floor(nowhere));
}

}  // namespace tessera::timeloop::sparse
