// Second half of analysis.hpp: networks and distributed memories.
//
// Data of a tensor crosses the first network between two holders. A route (child holder <- parent
// holder) begins at the child's reservation; every spatial loop outside adds the cost of spreading
// the child's tile over its instances:
//   mesh, multicast          (n-1) s V hops         longest route n s        link traffic V
//   mesh, unicast            n(n-1)/2 s V           n s                      (n-1) V
//   mesh, distributed source a d(d-1)/2 s V         min((d-1) s, p)          (d-1) V
//                            d = min(max(p/s, 1), n), 1 if p = 1; a = max(n s/p, 1)
//   all to all               (n-1) V                1                        V or (n-1) V
// with n trips, s trips of deeper loops on the same dimension, p the distance of the source's
// units, V the tile inside the loop in hop units. A loop with one trip spreads nothing: it adds
// nothing to any of the three, so that a template agrees with the mapping in which it is left out.
// (The reference counts such a loop where a given mapping writes one.)
#pragma once

#include "analysis.hpp"

namespace tessera::model {

/// What one spatial loop adds to a route.
template <class Num>
struct SpreadCost {
    Num cost{};     ///< hops of all deliveries
    Num hops{};     ///< longest route
    Num traffic{};  ///< busiest link along the dimension
};

/// 1 if a loop with so many whole trips has more than one, else 0.
template <class Num>
Num spreads(const Num& whole_trips) {
    return min(whole_trips - Num(1), Num(1));
}

/// How a tile is spread over the instances of one spatial loop.
struct Spread {
    bool all_to_all = false;
    bool multicast = false;                    ///< the same data for all instances
    const arch::PhysicalDim* units = nullptr;  ///< placement of a distributed source
};

template <class Num>
SpreadCost<Num> spread_cost(const Spread& spread, const Num& trips, const Num& stride,
                            const Num& volume) {
    const Num others = trips - Num(1);
    if (spread.all_to_all) {
        return {others * volume, Num(1), spread.multicast ? volume : others * volume};
    }
    if (spread.multicast) {
        return {others * stride * volume, trips * stride, volume};
    }
    if (spread.units == nullptr || spread.units->fanout <= 1) {
        return {Num(0.5) * trips * others * stride * volume, trips * stride, others * volume};
    }
    const bool adjacent = spread.units->stride == 1;
    const Num distance(spread.units->stride);
    const Num served = adjacent ? Num(1) : min(max(distance / stride, Num(1)), trips);
    const Num active = adjacent ? trips * stride : max(trips * stride / distance, Num(1));
    const Num apart = served - Num(1);
    return {active * Num(0.5) * served * apart * stride * volume, min(apart * stride, distance),
            apart * volume};
}

template <class Num>
void Analysis<Num>::network_pass(Nodes nodes, std::span<const NestStep> steps, int tensor) {
    const PathTables& t = *t_;
    below_.assign(t.dims.size(), Num(1));
    const int first_route = static_cast<int>(networks.size());
    int note = static_cast<int>(notes_.size()) - 1;
    for (int s = static_cast<int>(steps.size()) - 1; s >= 0; --s) {
        const NestStep& step = steps[s];
        switch (step.kind) {
            case NestStep::Kind::compute:
                start_route(note, tensor);
                break;
            case NestStep::Kind::reservation:
                --note;
                start_route(note, tensor);
                break;
            case NestStep::Kind::holder:
                if (t.levels[nodes[step.node].level].distributed) {
                    notes_[note].units = active_units(nodes[step.node].level);
                }
                break;
            case NestStep::Kind::temporal:
            case NestStep::Kind::spatial:
                loop_over_routes(nodes, step, s, tensor, first_route);
                break;
        }
    }
}

// `note` is the child's; its parent is the note before it.
template <class Num>
void Analysis<Num>::start_route(int note, int tensor) {
    if (note <= 0) {
        return;
    }
    const int source = notes_[note - 1].level;
    const int network = t_->network_between(source, notes_[note].level);
    if (network < 0) {
        return;
    }
    NetworkCounts<Num> route;
    route.level = network;
    route.source = source;
    route.tensor = tensor;
    route.hops = Num(0);
    route.max_hops = Num(0);
    route.traffic = static_cast<int>(traffic.size());
    traffic.resize(traffic.size() + t_->n_dim_names, Num(0));
    networks.push_back(route);
}

template <class Num>
void Analysis<Num>::loop_over_routes(Nodes nodes, const NestStep& step, int at, int tensor,
                                     int first_route) {
    const PathTables& t = *t_;
    const mapping::PmappingNode& node = nodes[step.node];
    const Num& trips = trips_for(step);
    const bool temporal = step.kind == NestStep::Kind::temporal;
    const int dim = temporal ? 0 : dim_index(node);
    for (std::size_t r = first_route; r < networks.size(); ++r) {
        NetworkCounts<Num>& route = networks[r];
        Num* links = traffic.data() + route.traffic;
        route.hops = route.hops * trips;
        if (temporal) {
            for (int d = 0; t.convention.network_traffic_in_time && d < t.n_dim_names; ++d) {
                links[d] = links[d] * trips;
            }
            continue;
        }
        if (node.level < route.level) {
            continue;  // several networks side by side
        }
        const Num volume = tile_at_[at] * Num(t.holder(route.level, tensor).hops_per_value);
        const int own = t.dims[dim].name;
        const Spread spread{t.levels[route.level].all_to_all,
                            step.relevancy == workload::Relevancy::irrelevant,
                            t.physical(route.source, own)};
        const SpreadCost<Num> cost = spread_cost(spread, trips, below_[dim], volume);
        const bool as_written = std::is_same_v<Num, double> && t.convention.null_loops_spread;
        const Num more = as_written ? Num(1) : spreads(whole_trips_[step.node]);
        route.hops = route.hops + cost.cost;
        route.max_hops = route.max_hops + more * cost.hops;
        links[own] = links[own] + more * cost.traffic;
        for (int d = 0; !t.convention.network_traffic_in_time && d < t.n_dim_names; ++d) {
            if (d != own) {
                links[d] = links[d] * (Num(1) - more);
            }
        }
    }
    if (!temporal) {
        below_[dim] = below_[dim] * trips;
    }
}

// Units of a distributed memory that the loops below its holder reach.
template <class Num>
Num Analysis<Num>::active_units(int level) {
    const PathTables& t = *t_;
    Num units(1);
    const int next = t.levels[level].next_spatial;
    if (next < 0) {
        return units;
    }
    for (int d = t.levels[next].first_dim; d < t.levels[next].first_dim + t.levels[next].n_dims;
         ++d) {
        const arch::PhysicalDim* physical = t.physical(level, t.dims[d].name);
        if (physical != nullptr) {
            // One at least, however few places of the array are in use.
            units = units * max(Num(1), below_[d] / Num(physical->stride));
        }
    }
    return units;
}

}  // namespace tessera::model
