#include "tessera/transfusion/model.hpp"

#include <algorithm>
#include <cmath>

#include "tessera/base/divisors.hpp"
#include "tessera/base/error.hpp"
#include "transfusion/buffer.hpp"

namespace tessera::transfusion {

namespace {

// 16-bit floating point at 45 nm. Fitted to the published totals, in which they recur to four
// digits; maxima and comparisons are free there.
constexpr double mac_j = 17.165e-12, add_j = 8.35e-12, divide_j = 36.1e-12;
/// 249.6 pJ per 64 bits.
constexpr double dram_j_per_byte = 249.6e-12 / 8;

}  // namespace

const char* name(Method method) {
    static constexpr std::array names = {"unfused", "flat", "fusemax", "fusemax-layerfuse",
                                         "transfusion"};
    return names[static_cast<std::size_t>(method)];
}

const char* name(Phase phase) {
    static constexpr std::array names = {"QKV", "attention", "norm", "feed-forward"};
    return names[static_cast<std::size_t>(phase)];
}

Sizes::Sizes(const Problem& problem)
    : r(static_cast<double>(problem.accelerator.edge)),
      l1(static_cast<double>(problem.accelerator.lanes)),
      F(problem.accelerator.clock_hz),
      BW(problem.accelerator.dram_bytes_per_s),
      L3(problem.accelerator.buffer_bytes),
      B(static_cast<double>(problem.batch)),
      P(static_cast<double>(problem.tokens)),
      D(static_cast<double>(problem.model.width())),
      H(static_cast<double>(problem.model.heads)),
      E(static_cast<double>(problem.model.head_dim)),
      S(static_cast<double>(problem.model.hidden)),
      T(B * P),
      nP(P / r),
      act(2 * T * D),
      weights(2 * D * D),
      activation(problem.model.activation == Activation::relu ? 1 : 9) {}

EinsumCost Sizes::on_2d(const char* name, double operations, double lanes, double bytes) const {
    return {name, Unit::array_2d, seconds(operations, lanes), bytes, bytes / BW, lanes / (r * r)};
}

EinsumCost Sizes::on_1d(const char* name, double operations, double lanes, double bytes) const {
    return {name, Unit::array_1d, seconds(operations, lanes), bytes, bytes / BW, lanes / l1};
}

double widest(double a, double b, double bound) {
    double best = 1;
    for (const std::int64_t i : base::divisors(static_cast<std::int64_t>(a))) {
        for (const std::int64_t j : base::divisors(static_cast<std::int64_t>(b))) {
            const auto product = static_cast<double>(i) * static_cast<double>(j);
            if (std::fmod(bound, product) == 0) {
                best = std::max(best, product);
            }
        }
    }
    return best;
}

PhaseCost in_sequence(std::initializer_list<EinsumCost> einsums) {
    PhaseCost phase;
    phase.einsums = einsums;
    for (const EinsumCost& one : einsums) {
        phase.latency_s += one.latency_s();
    }
    return phase;
}

double PhaseCost::dram_bytes() const {
    double sum = 0;
    for (const EinsumCost& one : einsums) {
        sum += one.dram_bytes;
    }
    return sum;
}

double PhaseCost::busy_s(Unit unit) const {
    double sum = 0;
    for (const EinsumCost& one : einsums) {
        sum += one.unit == unit ? one.latency_s() * one.lane_share : 0;
    }
    return sum;
}

Operations operations(const Sizes& z, Method method, Phase phase, Activation activation) {
    const double points = z.B * z.H * z.P * z.P, states = z.B * z.H * z.P * z.nP;
    const double work = z.T * z.D;
    switch (phase) {
        case Phase::qkv:
            return {3 * work * z.D, 0, 0, 0};
        case Phase::attention:
            if (method == Method::unfused || method == Method::flat) {
                return {(2 * z.E + 6) * points, 2 * points, points, points};
            }
            return {(2 * z.E + 6) * points + (7 + z.E) * states, 2 * points + (2 + z.E) * states,
                    work, points + states};
        case Phase::norm:
            return {2 * work + 8 * z.T, 4 * work, 0, 0};
        default:
            if (activation == Activation::relu) {
                return {2 * work * z.S, 0, 0, z.T * z.S};
            }
            return {2 * work * z.S + 7 * z.T * z.S, z.T * z.S, z.T * z.S, 0};
    }
}

double dram_energy_j(double bytes) {
    return bytes * dram_j_per_byte;
}

double compute_energy_j(const Sizes& z, Method method, Activation activation) {
    double sum = 0;
    for (std::size_t i = 0; i < phase_count; ++i) {
        const Operations done = operations(z, method, static_cast<Phase>(i), activation);
        sum += done.mac * mac_j + done.add * add_j + done.divide * divide_j;
    }
    return sum;
}

std::array<double, phase_count> phase_runs(const Stack& stack) {
    return {stack.layers, stack.attentions, stack.norms, stack.layers};
}

Cost evaluate(const Problem& problem, Method method, const OuterTiles& tiles,
              const Settings& settings) {
    OuterTiles outer = tiles;
    if (method != Method::transfusion) {
        outer.p = query_tiles(Sizes(problem), method);
    }
    return evaluate_bound(problem, method, outer, {}, settings);
}

Cost evaluate_bound(const Problem& problem, Method method, const OuterTiles& tiles,
                    const Binding& binding, const Settings& settings) {
    if (std::min({tiles.b, tiles.d, tiles.m, tiles.p, tiles.s}) < 1) {
        throw UserError("a number of outer tiles is below 1");
    }
    const Sizes z(problem);
    Cost cost;
    const std::array<double, phase_count> runs = phase_runs(problem.model.stack);
    std::array<double, unit_count> busy_s{};
    for (std::size_t i = 0; i < phase_count; ++i) {
        const Phase phase = static_cast<Phase>(i);
        PhaseCost& made = cost.phases[i];
        made = method == Method::transfusion
                   ? transfusion_phase(z, phase, tiles, settings, binding[i])
                   : baseline_phase(z, method, phase, tiles);
        add_buffer_words(problem, method, phase, tiles, made);
        cost.buffer_j += buffer_energy_j(problem.accelerator, made);
        made.operations = operations(z, method, phase, problem.model.activation);
        cost.latency_s += runs[i] * made.latency_s;
        busy_s[0] += runs[i] * made.busy_s(Unit::array_2d);
        busy_s[1] += runs[i] * made.busy_s(Unit::array_1d);
        cost.dram_j += dram_energy_j(made.dram_bytes());
    }
    cost.compute_j = compute_energy_j(z, method, problem.model.activation);
    cost.utilisation = {busy_s[0] / cost.latency_s, busy_s[1] / cost.latency_s};
    return cost;
}

double fusemax_artifact_attention_s(const Problem& problem) {
    const Sizes z(problem);
    const double points = z.B * z.H * z.P * z.P, states = z.B * z.H * z.P * z.nP;
    const double array = z.r * z.r;
    return std::max(z.seconds(points * (z.E + 1), array),
                    z.seconds(states * (1 + z.E) + z.T * z.D, z.r)) +
           z.seconds(states, z.r) +
           std::max(z.seconds(8 * points, array), z.seconds(8 * states, z.r)) +
           std::max(z.seconds(points * z.E, array), z.seconds(states * z.E, z.r));
}

}  // namespace tessera::transfusion
