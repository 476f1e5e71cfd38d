// The latency expression of a component, for numbers and formulas alike.
#pragma once

#include <span>
#include <vector>

#include "tessera/arch/path.hpp"
#include "tessera/model/formula.hpp"

namespace tessera::model {

/// Evaluates `total_latency`. `calls`: per action of the component.
template <class Num>
Num evaluate_latency(const arch::LatencyProgram& program, std::span<const Num> calls,
                     const Num& max_hops, const Num& max_link_traffic, std::vector<Num>& stack) {
    using Op = arch::LatencyProgram::Op;
    stack.clear();
    for (const arch::LatencyProgram::Step& step : program.steps) {
        if (step.op == Op::constant) {
            stack.push_back(Num(step.value));
        } else if (step.op == Op::n_calls) {
            stack.push_back(calls[step.action]);
        } else if (step.op == Op::max_hops) {
            stack.push_back(max_hops);
        } else if (step.op == Op::max_link_traffic) {
            stack.push_back(max_link_traffic);
        } else if (step.op == Op::ceil) {
            stack.back() = ceil(stack.back());
        } else if (step.op == Op::floor) {
            stack.back() = Num(0) - ceil(Num(0) - stack.back());
        } else {
            const Num right = stack.back();
            stack.pop_back();
            Num& left = stack.back();
            left = step.op == Op::add   ? left + right
                   : step.op == Op::sub ? left - right
                   : step.op == Op::mul ? left * right
                   : step.op == Op::div ? left / right
                   : step.op == Op::max ? max(left, right)
                                        : min(left, right);
        }
    }
    return stack.back();
}

}  // namespace tessera::model
