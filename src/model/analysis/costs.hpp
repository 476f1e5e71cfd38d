// From action counts to energy, latency and leakage of one Einsum, for numbers and formulas alike.
//
//   energy   sum over components and actions of count * actions_scale * energy of the action
//   latency  per component its total_latency expression on the busiest instance's counts; the
//   Einsum
//            takes as long as its slowest component (perfect overlap inside an Einsum)
//   leakage  every component of the architecture leaks for the whole latency, less what is gated
//   off
// n_instances is included in the totals and in nothing else.
#pragma once

#include <span>
#include <vector>

#include "analysis.hpp"
#include "model/latency.hpp"
#include "network_analysis.hpp"
#include "partial_tiles.hpp"
#include "traffic_analysis.hpp"

namespace tessera::model {

template <class Num>
class Costs {
public:
    void run(const PathTables& tables, const Analysis<Num>& analysis);

    Num dynamic_energy_j{};
    Num leak_energy_j{};
    Num latency_s{};                   ///< slowest component
    std::vector<Num> level_latency_s;  ///< per level, one instance of the Einsum
    std::vector<char> has_latency;     ///< per level: takes part in the Einsum

    /// Share of a leaking component that is not switched off.
    static Num powered(const PathTables& tables, const Analysis<Num>& analysis,
                       const arch::Leak& leak);

private:
    void add_holders(const PathTables& tables, const Analysis<Num>& analysis);
    void add_networks(const PathTables& tables, const Analysis<Num>& analysis);
    void add_compute(const PathTables& tables, const Analysis<Num>& analysis);
    Num link_traffic(const PathTables& tables, const Analysis<Num>& analysis, int level);

    std::vector<Num> reads_, writes_;  ///< per level, busiest instance
    std::vector<Num> calls_, stack_;
};

template <class Num>
void Costs<Num>::run(const PathTables& tables, const Analysis<Num>& analysis) {
    level_latency_s.assign(tables.n_levels, Num(0));
    has_latency.assign(tables.n_levels, 0);
    reads_.assign(tables.n_levels, Num(0));
    writes_.assign(tables.n_levels, Num(0));
    dynamic_energy_j = Num(0);
    add_holders(tables, analysis);
    if (!analysis.networks.empty()) {
        add_networks(tables, analysis);
    }
    add_compute(tables, analysis);
    latency_s = Num(0);
    for (int l = 0; l < tables.n_levels; ++l) {
        if (has_latency[l]) {
            latency_s = max(latency_s, level_latency_s[l]);
        }
    }
    Num leak_w(0);
    for (const arch::Leak& leak : tables.path().leaks) {
        if (leak.leak_power_w != 0) {
            leak_w = leak_w + powered(tables, analysis, leak) * Num(leak.leak_power_w);
        }
    }
    leak_energy_j = leak_w * latency_s * Num(tables.n_instances);
    dynamic_energy_j = dynamic_energy_j * Num(tables.n_instances);
    latency_s = latency_s * Num(tables.n_instances);
}

template <class Num>
void Costs<Num>::add_holders(const PathTables& tables, const Analysis<Num>& analysis) {
    for (const HolderCounts<Num>& holder : analysis.holders) {
        const arch::PathLevel& level = tables.path().levels[holder.level];
        const LevelFacts& facts = tables.levels[holder.level];
        has_latency[holder.level] = 1;
        if (facts.read >= 0) {
            const double energy = level.actions[facts.read].energy_j * level.actions_scale;
            dynamic_energy_j = dynamic_energy_j + holder.reads * Num(energy);
            reads_[holder.level] = reads_[holder.level] + holder.unit_reads;
        }
        if (facts.write >= 0) {
            const double energy = level.actions[facts.write].energy_j * level.actions_scale;
            dynamic_energy_j = dynamic_energy_j + holder.writes * Num(energy);
            writes_[holder.level] = writes_[holder.level] + holder.unit_writes;
        }
    }
    for (int l = 0; l < tables.n_levels; ++l) {
        if (!has_latency[l]) {
            continue;
        }
        const arch::PathLevel& level = tables.path().levels[l];
        const LevelFacts& facts = tables.levels[l];
        calls_.assign(level.actions.size(), Num(0));
        if (facts.read >= 0) {
            calls_[facts.read] = reads_[l] * Num(level.actions_scale);
        }
        if (facts.write >= 0) {
            calls_[facts.write] = writes_[l] * Num(level.actions_scale);
        }
        level_latency_s[l] = evaluate_latency<Num>(level.latency, calls_, Num(0), Num(0), stack_);
    }
}

template <class Num>
Num Costs<Num>::link_traffic(const PathTables& tables, const Analysis<Num>& analysis, int level) {
    Num busiest(0);
    for (int d = 0; d < tables.n_dim_names; ++d) {
        Num sum(0);
        for (const NetworkCounts<Num>& route : analysis.networks) {
            if (route.level == level) {
                sum = sum + analysis.traffic[route.traffic + d];
            }
        }
        busiest = max(busiest, sum);
    }
    return busiest;
}

template <class Num>
void Costs<Num>::add_networks(const PathTables& tables, const Analysis<Num>& analysis) {
    for (int l = 0; l < tables.n_levels; ++l) {
        const arch::PathLevel& level = tables.path().levels[l];
        Num max_hops(0);
        for (const NetworkCounts<Num>& route : analysis.networks) {
            if (route.level != l) {
                continue;
            }
            has_latency[l] = 1;
            max_hops = max(max_hops, route.max_hops);
            const double energy = level.actions[0].energy_j * level.actions_scale;
            dynamic_energy_j = dynamic_energy_j + route.hops * Num(energy);
        }
        if (has_latency[l] && tables.levels[l].kind == arch::LevelKind::network) {
            calls_.assign(level.actions.size(), Num(0));
            level_latency_s[l] = evaluate_latency<Num>(level.latency, calls_, max_hops,
                                                       link_traffic(tables, analysis, l), stack_);
        }
    }
}

template <class Num>
void Costs<Num>::add_compute(const PathTables& tables, const Analysis<Num>& analysis) {
    const int l = tables.n_levels - 1;
    const arch::PathLevel& level = tables.path().levels[l];
    const double energy = level.actions[0].energy_j * level.actions_scale;
    dynamic_energy_j = dynamic_energy_j + analysis.operations * Num(energy);
    calls_.assign(level.actions.size(), Num(0));
    calls_[0] = analysis.steps * Num(level.actions_scale);
    has_latency[l] = 1;
    level_latency_s[l] = evaluate_latency<Num>(level.latency, calls_, Num(0), Num(0), stack_);
}

template <class Num>
Num Costs<Num>::powered(const PathTables& tables, const Analysis<Num>& analysis,
                        const arch::Leak& leak) {
    if (leak.off) {
        return Num(0);
    }
    Num share(1);
    for (const arch::Leak::Gate& gate : leak.gates) {
        if (gate.level < 0) {
            return Num(0);
        }
        const int dim = tables.levels[gate.level].first_dim + gate.dim;
        share = share * analysis.used[dim] / Num(gate.fanout);
        if (!tables.convention.gate_once) {
            share = share * Num(tables.dims[dim].usage_scale / gate.fanout);
        }
    }
    return share;
}

}  // namespace tessera::model
