// Sparse designs: the dense nest and its accounting first, then what sparsity makes of them.
#include "evaluate.hpp"

#include <algorithm>
#include <cmath>

#include "state.hpp"
#include "timeloop/model/counters.hpp"

namespace tessera::timeloop {

namespace {

using sparse::Held;
using sparse::State;

void take_dense(const Machine& machine, const NestResult& nest, const Stats& dense, State& state) {
    sparse::Expanded outer;
    for (int i = state.levels - 1; i >= 0; --i) {
        for (int s = 0; s < state.spaces; ++s) {
            Held& held = state.of(i, s);
            const DataSpaceStats& stats =
                dense.levels[static_cast<std::size_t>(i)].data_spaces[static_cast<std::size_t>(s)];
            held.kept = state.mapping.levels[static_cast<std::size_t>(i)].keeps(s);
            held.replication = nest.levels[static_cast<std::size_t>(i)].replication;
            held.average_instances = real(held.replication);
            held.max_x = outer.x;
            held.max_y = outer.y;
            held.reads = stats.reads;
            held.fills = stats.fills;
            held.updates = stats.updates;
            held.temporal_reductions = real(stats.temporal_reductions);
            if (!held.kept) {
                continue;
            }
            held.points = nest.tiles[static_cast<std::size_t>(i * machine.spaces + s)].size;
            held.tile = state.project(s, state.loops[static_cast<std::size_t>(i)].back().extents);
            const auto& formats = state.design.levels[static_cast<std::size_t>(i)].representations;
            const auto format = formats.find(s);
            held.format = format == formats.end() ? nullptr : &format->second;
            for (int up = i + 1; up < state.levels && held.parent < 0; ++up) {
                if (state.of(up, s).kept) {
                    held.parent = up;
                    state.of(up, s).child = i;
                }
            }
        }
        const Expansion used = expansion(state.mapping.levels[static_cast<std::size_t>(i)].spatial);
        outer.x *= static_cast<std::uint64_t>(used.x);
        outer.y *= static_cast<std::uint64_t>(used.y);
    }
    state.computes.replication = nest.arithmetic_instances;
    state.computes.accesses = nest.average_computes;
    state.computes.average_instances = real(nest.arithmetic_instances);
    state.computes.max_x = outer.x;
    state.computes.max_y = outer.y;
}

std::uint64_t arithmetic(const NestResult& nest, const State& state, Stats& stats) {
    const ArithmeticLevel& level = state.architecture.arithmetic;
    const sparse::Computes& computes = state.computes;
    ArithmeticStats& into = stats.arithmetic;
    into.utilized_instances = computes.max_x * computes.max_y;
    into.average_instances = counter(computes.average_instances);
    if (into.utilized_instances > static_cast<std::uint64_t>(level.instances) ||
        computes.max_x > static_cast<std::uint64_t>(level.mesh_x) ||
        computes.max_y > static_cast<std::uint64_t>(level.mesh_y)) {
        sparse::misfit(Fit::Kind::instances, -1, into.utilized_instances,
                       static_cast<double>(level.instances));
    }
    into.algorithmic_computes = counter(real(computes.replication) * computes.accesses);
    into.computes = computes.random;
    into.gated_computes = computes.gated;
    into.skipped_computes = computes.skipped;
    into.energy_pj = real(computes.random) * level.energy_pj;
    into.energy_pj += real(computes.skipped) * level.skipped_pj;
    into.energy_pj += real(computes.gated) * level.gated_pj;
    into.cycles = nest.imperfect ? nest.temporal_product
                                 : counter(std::ceil(real(computes.random + computes.gated) /
                                                     real(into.average_instances)));
    return into.cycles;
}

void totals(const Machine& machine, const State& state, Stats& stats) {
    double energy = stats.arithmetic.energy_pj;
    std::uint64_t cycles = stats.arithmetic.cycles;
    for (const LevelStats& level : stats.levels) {
        energy += level.energy_pj;
        cycles = std::max(cycles, level.cycles);
    }
    for (const int i : machine.network_order) {
        energy += stats.networks[static_cast<std::size_t>(i)].energy_pj;
    }
    stats.energy_pj = energy;
    stats.cycles = cycles + machine.network_latency;
    stats.utilization = real(stats.arithmetic.computes + stats.arithmetic.gated_computes) /
                        static_cast<double>(state.architecture.arithmetic.instances) /
                        real(stats.cycles);
}

std::string number(double value) {
    return std::to_string(counter(value));
}

}  // namespace

std::string describe_sparse(const Fit& fit, const Architecture& architecture) {
    const std::string at =
        "level " +
        (fit.level < 0 ? architecture.arithmetic.name
                       : architecture.storage[static_cast<std::size_t>(fit.level)].name) +
        ": ";
    const std::string needed = std::to_string(fit.needed), available = number(fit.available);
    switch (fit.kind) {
        case Fit::Kind::metadata:
            return at + "mapped metadata tile size " + needed +
                   " exceeds metadata buffer capacity " + available + " bits";
        case Fit::Kind::instances:
            return at + "mapped instances " + needed + " exceed available hardware instances " +
                   available;
        case Fit::Kind::no_decompression:
            return at + "decompression (from parent level) needed but not supported";
        case Fit::Kind::no_compression:
            return at + "compression (to parent level) needed but not supported";
        case Fit::Kind::no_partition:
            return at + "runtime partition needed but not supported";
        case Fit::Kind::unaligned_formats:
            return at +
                   "its format does not align with that of the level inside it, whose tiles "
                   "it holds";
        case Fit::Kind::too_many_ranks:
            return at + "more compression ranks needed than its format has";
        case Fit::Kind::ranks_do_not_fit:
            return at + "its loops make " + needed + " ranks, its format has " + available;
        case Fit::Kind::no_source:
            return at + "no level from here on keeps the target of its gating or skipping";
        case Fit::Kind::fanout:
            return "level " + architecture.storage[static_cast<std::size_t>(fit.level)].name +
                   ": required fan-out " + needed + " exceeds " + available;
        case Fit::Kind::two_skips:
            return at + "spatial skipping together with gating or skipping of the same data space";
        case Fit::Kind::child_format:
            return at +
                   "the level inside it has a format that this one lacks (compression on "
                   "chip is not modelled)";
        case Fit::Kind::block_size:
            return at + "compressed data in blocks of " + needed +
                   " words; Timeloop knows blocks of 1, 2, 4, 8, 16 and 32";
        case Fit::Kind::operands:
            return at +
                   "no share of its computes can be left out by such skipping: the states of "
                   "the operands are no probabilities";
        default:
            return "the model of a density cannot tell what this mapping asks for";
    }
}

Fit make_sparse(const Problem& problem, const Architecture& architecture, const Mapping& mapping,
                const ModelOptions& options, const Machine& machine, const NestResult& nest,
                Stats& stats) {
    State state(problem, architecture, mapping);
    stats.sparse = true;
    try {
        take_dense(machine, nest, stats, state);
        sparse::check_formats(state);
        sparse::define_ranks(state);
        sparse::expect_occupancy(state);
        sparse::save_in_time(state);
        sparse::save_in_space(state);
        sparse::combine(state);
        sparse::count_computes(state);
        const std::uint64_t cycles = arithmetic(nest, state, stats);
        sparse::finish_levels(state, options, cycles, stats);
        totals(machine, state, stats);
    } catch (const sparse::Misfitting& misfit) {
        return misfit.fit;
    } catch (const sparsity::Unanswerable&) {
        return {Fit::Kind::density, -1, 0, 0};
    }
    return {};
}

}  // namespace tessera::timeloop
