// Map of this file: nest() orders the loops as one tensor sees them; reservations() finds where a
// holder's bits are counted; iterations() and values_of_busiest() count, value by value, where a
// last tile is partial; add_transfer() applies the closed forms of the traffic; cost() adds up.
#include "oracle/oracle_cost.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>

namespace tessera::oracle {

namespace {

using arch::Path;
using mapping::NodeKind;
using mapping::PmappingNode;
using workload::LocalTensor;
using workload::Relevancy;
using Nodes = std::span<const PmappingNode>;

Relevancy relevancy(const LocalTensor& tensor, const PmappingNode& loop) {
    return tensor.relevancy[static_cast<std::size_t>(loop.rank_variable)];
}

int level_of(const Path& path, const PmappingNode& n) {
    return n.kind == NodeKind::compute ? static_cast<int>(path.levels.size()) - 1 : n.level;
}

std::vector<double> bounds(const Path& path) {
    std::vector<double> tile;
    for (const auto& v : path.einsum.rank_variables) {
        tile.push_back(static_cast<double>(v.bound));
    }
    return tile;
}

// Trip count of every loop in the order it was written, partial tiles counted as whole ones if
// `whole`; 1 for other nodes. A loop below one with a prologue has fewer trips after the first
// iteration: their average.
std::vector<double> trip_counts(const Path& path, Nodes nodes, bool whole = true) {
    const std::vector<double> bound = bounds(path);
    std::vector<double> tile = bound, trips;
    std::set<int> below_prologue;
    for (const auto& n : nodes) {
        double count = 1;
        if (n.is_loop()) {
            auto& current = tile[static_cast<std::size_t>(n.rank_variable)];
            const auto v = static_cast<std::size_t>(n.rank_variable);
            count = n.base > 0 ? static_cast<double>(n.base / n.tile)
                               : current / static_cast<double>(n.tile);
            double last = 0;  // with a partial one
            const bool exact = below_prologue.contains(n.rank_variable);
            if (!exact && count != std::floor(count) && current == bound[v] &&
                path.einsum.rank_variables[v].simple) {
                last = std::ceil(count);
                count = whole ? last : count;
            }
            if (!exact && last == 0 && (count != std::floor(count) || count < 1)) {
                throw Unsupported("oracle: a partial tile inside another loop");
            }
            current = n.base > 0 ? bound[v] / count : static_cast<double>(n.tile);
            if (path.einsum.rank_variables[v].only_last) {
                count = 1;
            }
            if (n.base > 0) {
                below_prologue.insert(n.rank_variable);
            }
        }
        trips.push_back(count);
    }
    return trips;
}

// The same in the iteration that has most.
std::vector<double> most_trips(const Path& path, Nodes nodes) {
    std::vector<double> tile = bounds(path), trips;
    for (const auto& n : nodes) {
        trips.push_back(1);
        if (n.is_loop()) {
            auto& current = tile[static_cast<std::size_t>(n.rank_variable)];
            trips.back() = (n.base > 0 ? n.base : current) / static_cast<double>(n.tile);
            current = static_cast<double>(n.tile + n.prologue);
        }
    }
    return trips;
}

// One entry of the loop nest as a tensor sees it.
struct Entry {
    int node = 0;  // index of the loop, holder or compute; of the holder if `reservation`
    bool reservation = false;  // the place where the holder's bits are counted
    double order = 0;  // place in the nest as written; a reservation comes just before a node
};

// Where the bits of the holder at index `h` are counted: the index of the node it stands above.
int reservation_place(const Path& path, Nodes nodes, int h) {
    const auto& holder = nodes[static_cast<std::size_t>(h)];
    if (holder.line_buffer) {
        int at = h + 1;
        while (!nodes[static_cast<std::size_t>(at)].is_loop()) {
            ++at;
        }
        return at + 1;
    }
    if (holder.backing || !holder.lower) {
        return h + 1;
    }
    const auto& tensor = path.einsum.tensors[static_cast<std::size_t>(holder.tensor)];
    int at = h + 1;
    for (;; ++at) {
        const auto& n = nodes[static_cast<std::size_t>(at)];
        if (n.kind == NodeKind::temporal) {
            if (relevancy(tensor, n) == Relevancy::irrelevant) {
                return at;
            }
            if (relevancy(tensor, n) == Relevancy::partially_relevant) {
                return at + 1;
            }
        } else if (n.kind != NodeKind::spatial || n.level != holder.level) {
            return at;
        }
    }
}

bool in_run(const PmappingNode& n, const Entry& e) {
    return !e.reservation && n.is_loop();
}

// The nest of one tensor: all loops, its holders and their reservations, the compute. A spatial
// loop moves to just above the first holder (or the compute) that lies inside its fan-out.
std::vector<Entry> nest(const Path& path, Nodes nodes, int t) {
    std::vector<Entry> kept, spatial, result;
    const int n = static_cast<int>(nodes.size());
    for (int i = 0; i < n; ++i) {
        const auto& node = nodes[static_cast<std::size_t>(i)];
        if (node.kind == NodeKind::spatial) {
            spatial.push_back({i, false, static_cast<double>(i)});
        } else if (node.kind == NodeKind::storage && node.tensor == t) {
            kept.push_back({i, false, static_cast<double>(i)});
            kept.push_back({i, true, reservation_place(path, nodes, i) - 0.5});
        } else if (node.kind == NodeKind::temporal || node.kind == NodeKind::compute) {
            kept.push_back({i, false, static_cast<double>(i)});
        }
    }
    std::stable_sort(kept.begin(), kept.end(),
                     [](const Entry& a, const Entry& b) { return a.order < b.order; });
    for (const Entry& e : kept) {
        const auto& node = nodes[static_cast<std::size_t>(e.node)];
        if (!e.reservation && !node.is_loop()) {
            for (auto s = spatial.begin(); s != spatial.end();) {
                if (nodes[static_cast<std::size_t>(s->node)].level <= level_of(path, node)) {
                    result.push_back(*s);
                    s = spatial.erase(s);
                } else {
                    ++s;
                }
            }
        }
        result.push_back(e);
    }
    // Neighbouring loops go back to the order in which they were written.
    for (auto first = result.begin(); first != result.end();) {
        auto last = first;
        while (last != result.end() && in_run(nodes[static_cast<std::size_t>(last->node)], *last)) {
            ++last;
        }
        std::sort(first, last, [](const Entry& a, const Entry& b) { return a.order < b.order; });
        first = last == result.end() ? last : last + 1;
    }
    return result;
}

// The loops over a variable that leaves a partial last tile, as they are written.
struct Chain {
    struct Link {
        std::size_t node = 0;
        std::int64_t outer = 1, tile = 1;  // values around the loop and in one iteration
        bool temporal = true;

        std::size_t iteration(std::int64_t value) const {
            return static_cast<std::size_t>(value % outer / tile);
        }
    };
    int variable = 0;
    std::int64_t bound = 1;
    std::vector<Link> links;
};

std::vector<Chain> partial_chains(const Path& path, Nodes nodes) {
    std::vector<Chain> all;
    for (std::size_t v = 0; v < path.einsum.rank_variables.size(); ++v) {
        Chain chain{static_cast<int>(v), path.einsum.rank_variables[v].bound, {}};
        std::int64_t outer = chain.bound;
        bool partial = false, prologue = false;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            if (nodes[i].is_loop() && nodes[i].rank_variable == chain.variable) {
                chain.links.push_back(
                    {i, outer, nodes[i].tile, nodes[i].kind == NodeKind::temporal});
                partial = partial || outer % nodes[i].tile != 0;
                prologue = prologue || nodes[i].base > 0;
                outer = nodes[i].tile;
            }
        }
        if (partial && !prologue && !path.einsum.rank_variables[v].only_last) {
            all.push_back(chain);
        }
    }
    return all;
}

// How many values have each combination of iterations of the loops that `counts` picks.
template <class Counts>
std::vector<int> histogram(const Chain& chain, const Counts& counts) {
    std::vector<int> values;
    for (std::int64_t x = 0; x < chain.bound; ++x) {
        std::size_t place = 0;
        for (const Chain::Link& link : chain.links) {
            const auto trips = static_cast<std::size_t>((link.outer + link.tile - 1) / link.tile);
            place = counts(link) ? place * trips + link.iteration(x) : place;
        }
        values.resize(std::max(values.size(), place + 1), 0);
        ++values[place];
    }
    return values;
}

// Iterations of the loops that count in which there is something to do.
template <class Counts>
double iterations(const Chain& chain, const Counts& counts) {
    const std::vector<int> values = histogram(chain, counts);
    return static_cast<double>(
        std::count_if(values.begin(), values.end(), [](int n) { return n > 0; }));
}

// The most values that one combination of iterations of the others has.
template <class Others>
double values_of_busiest(const Chain& chain, const Others& others) {
    const std::vector<int> values = histogram(chain, others);
    return *std::max_element(values.begin(), values.end());
}

// One loop of a tensor's nest with its trip count.
struct Loop {
    double trips = 1;
    std::size_t node = 0;
    const Chain* chain = nullptr;  // of a variable with a partial tile
    bool indexes = false;          // fully, or an update's running state
    bool temporal = true;
    bool relevant = false;      // fully
    bool shared = false;        // spatial, irrelevant, and the dimension may reuse the tensor
    bool multicast = false;     // spatial: the same tile for all instances
    int level = 0;              // spatial
    std::pair<int, int> dim{};  // spatial: level and dimension
    double values = 1;          // size of the tile inside the loop
};

// A place in the nest where data rest: a holder or the compute.
struct Stop {
    int level = 0;
    std::size_t loops_above = 0;  // number of loops above it
    double values = 1;            // size of its tile
    int holder = -1;              // index into the costs, -1 for the compute
    std::size_t reserved = 0;     // number of loops above its reservation
};

// The products of trip counts that the closed forms need, for a transfer between a stop and the
// next one above it that lies below `parent_loops` loops.
struct Products {
    double all = 1;     // every loop above the stop: what the stop itself sees
    double parent = 1;  // without the shared spatial loops between the two: what the parent sees
    double unit = 1;    // temporal loops above the stop
    double unit_parent = 1;  // temporal loops, and spatial ones in between that are not shared
    double skip = 1, skip_parent = 1, skip_unit = 1, skip_unit_parent = 1;  // first visits only
};

// Of the loops above a stop those that `counts` picks (by loop and whether it stands below the
// parent). Where a tile is partial, the values moved over what whole tiles would hold.
template <class Counts>
double trips_of(const std::vector<Loop>& loops, std::size_t above, std::size_t parent_loops,
                const Counts& counts) {
    double product = 1;
    std::set<const Chain*> chains;
    for (std::size_t i = 0; i < above; ++i) {
        if (loops[i].chain != nullptr) {
            chains.insert(loops[i].chain);
        } else if (counts(loops[i], i >= parent_loops)) {
            product *= loops[i].trips;
        }
    }
    for (const Chain* chain : chains) {
        std::map<std::size_t, bool> picked;
        std::int64_t tile = chain->bound;
        bool indexes = false;
        for (std::size_t i = 0; i < above; ++i) {
            if (loops[i].chain == chain) {
                picked[loops[i].node] = counts(loops[i], i >= parent_loops);
                indexes = loops[i].indexes;
            }
        }
        for (const Chain::Link& link : chain->links) {
            tile = picked.contains(link.node) ? link.tile : tile;
        }
        const auto is = [&](bool wanted) {
            return [&picked, wanted](const Chain::Link& link) {
                const auto found = picked.find(link.node);
                return found != picked.end() && found->second == wanted;
            };
        };
        product *= indexes ? values_of_busiest(*chain, is(false)) / static_cast<double>(tile)
                           : iterations(*chain, is(true));
    }
    return product;
}

Products products(const std::vector<Loop>& loops, std::size_t above, std::size_t parent_loops) {
    const auto trips = [&](const auto& counts) {
        return trips_of(loops, above, parent_loops, counts);
    };
    const auto first = [](const Loop& l) { return !l.temporal || l.relevant; };
    const auto parent = [](const Loop& l, bool between) { return !between || !l.shared; };
    const auto unit = [](const Loop& l, bool between) {
        return l.temporal || (between && !l.shared);
    };
    Products p;
    p.all = trips([](const Loop&, bool) { return true; });
    p.parent = trips(parent);
    p.unit = trips([](const Loop& l, bool) { return l.temporal; });
    p.unit_parent = trips(unit);
    p.skip = trips([&](const Loop& l, bool) { return first(l); });
    p.skip_parent = trips([&](const Loop& l, bool b) { return first(l) && parent(l, b); });
    p.skip_unit = trips([&](const Loop& l, bool) { return first(l) && l.temporal; });
    p.skip_unit_parent = trips([&](const Loop& l, bool b) { return first(l) && unit(l, b); });
    return p;
}

double actions_per_value(const Path& path, int level, std::size_t action, int tensor) {
    return 1.0 / path.levels[static_cast<std::size_t>(level)]
                     .actions[action]
                     .values_per_action[static_cast<std::size_t>(tensor)];
}

constexpr std::size_t kRead = 0, kWrite = 1;

// Adds the traffic between `parent` (a holder) and `child` (the next holder or the compute).
void add_transfer(const Path& path, int t, const std::vector<Loop>& loops, const Stop& parent,
                  const Stop& child, HolderCost& above, HolderCost* below) {
    const auto& tensor = path.einsum.tensors[static_cast<std::size_t>(t)];
    const Products p = products(loops, child.loops_above, parent.loops_above);
    const double values = child.values;
    const bool child_skips =
        path.levels[static_cast<std::size_t>(child.level)].skip_initial_output_write;
    const bool parent_skips =
        path.levels[static_cast<std::size_t>(parent.level)].skip_initial_output_write;
    const double read_above = actions_per_value(path, parent.level, kRead, t);
    const double write_above = actions_per_value(path, parent.level, kWrite, t);

    // Down: the child is filled; an output's first visit brings nothing if both sides skip it.
    above.reads += values * p.parent * read_above;
    above.unit_reads += values * p.unit_parent * read_above;
    if (tensor.output && child_skips && parent_skips) {
        above.reads -= values * p.skip_parent * read_above;
        above.unit_reads -= values * p.skip_unit_parent * read_above;
    }
    if (below != nullptr) {
        const double write_below = actions_per_value(path, child.level, kWrite, t);
        below->writes += values * p.all * write_below;
        below->unit_writes += values * p.unit * write_below;
        if (tensor.output && child_skips) {
            below->writes -= values * p.skip * write_below;
            below->unit_writes -= values * p.skip_unit * write_below;
        }
    }
    // Up: an output is drained on every visit.
    if (tensor.output) {
        above.writes += values * p.parent * write_above;
        above.unit_writes += values * p.unit_parent * write_above;
        if (below != nullptr) {
            const double read_below = actions_per_value(path, child.level, kRead, t);
            below->reads += values * p.all * read_below;
            below->unit_reads += values * p.unit * read_below;
        }
    }
}

// Of the first network between two stops: for each spatial loop outside the lower one, the
// deliveries of its tile to all instances but the nearest, (n - 1) for one tile that all receive
// (a chain of links), n (n - 1) / 2 for tiles of their own (the i-th travels i places), each over
// as many links as the loops further in take up in this dimension. With a link from each to each,
// n - 1.
void add_route(const Path& path, int t, const std::vector<Loop>& loops, const Stop& parent,
               const Stop& child, std::vector<RouteCost>& routes) {
    RouteCost route;
    for (int l = child.level - 1; l > parent.level; --l) {
        if (path.levels[static_cast<std::size_t>(l)].kind == arch::LevelKind::network) {
            route.level = l;
        }
    }
    if (route.level < 0) {
        return;
    }
    const auto& network = path.levels[static_cast<std::size_t>(route.level)];
    const bool all_to_all = network.topology == arch::Topology::all_to_all;
    for (std::size_t i = 0; i < child.reserved; ++i) {
        const Loop& loop = loops[i];
        if (loop.temporal || loop.level < route.level) {
            continue;
        }
        double distance = 1, deliveries = 1;
        for (std::size_t k = 0; k < loops.size(); ++k) {
            distance *=
                k > i && !loops[k].temporal && loops[k].dim == loop.dim ? loops[k].trips : 1;
            deliveries *= k < i ? loops[k].trips : 1;
        }
        const double n = loop.trips;
        const double bits = loop.values * network.actions_per_value[static_cast<std::size_t>(t)];
        const double links = all_to_all       ? n - 1
                             : loop.multicast ? (n - 1) * distance
                                              : n * (n - 1) / 2 * distance;
        route.hops += deliveries * links * bits;
        route.longest += all_to_all ? 1 : n * distance;
    }
    routes.push_back(route);
}

void add_tensor(const Path& path, Nodes nodes, int t, const std::vector<double>& trips,
                const std::vector<Chain>& chains, std::vector<HolderCost>& costs,
                std::vector<RouteCost>& routes) {
    const auto& tensor = path.einsum.tensors[static_cast<std::size_t>(t)];
    std::vector<double> tile = bounds(path);
    std::vector<double> largest = tile;  // of the first iteration of a loop with a prologue
    std::vector<Loop> loops;
    std::vector<Stop> stops;
    for (const Entry& e : nest(path, nodes, t)) {
        const auto& n = nodes[static_cast<std::size_t>(e.node)];
        if (e.reservation) {
            std::find_if(stops.begin(), stops.end(), [&](const Stop& stop) {
                return stop.holder >= 0 &&
                       costs[static_cast<std::size_t>(stop.holder)].node == e.node;
            })->reserved = loops.size();
            for (auto& c : costs) {
                if (c.node == e.node) {
                    const auto& level = path.levels[static_cast<std::size_t>(c.level)];
                    c.bits = tile_values(tensor, largest) *
                             level.bits_per_value[static_cast<std::size_t>(t)];
                    if (level.bank_bits > 0) {
                        double banks = 0;
                        while (banks * level.bank_bits < c.bits) {
                            ++banks;
                        }
                        c.bits = banks * level.bank_bits;
                    }
                    c.bits *= n.persistent ? path.einsum.n_instances : 1;
                    c.depth = n.persistent ? -1 : static_cast<int>(loops.size()) - n.line_buffer;
                }
            }
        } else if (n.is_loop()) {
            Loop l;
            auto& current = tile[static_cast<std::size_t>(n.rank_variable)];
            const Relevancy r = relevancy(tensor, n);
            l.trips = r == Relevancy::irrelevant || n.base > 0
                          ? trips[static_cast<std::size_t>(e.node)]
                          : current / static_cast<double>(n.tile);
            if (path.einsum.rank_variables[static_cast<std::size_t>(n.rank_variable)].only_last) {
                l.trips = 1;
            }
            l.temporal = n.kind == NodeKind::temporal;
            l.node = static_cast<std::size_t>(e.node);
            l.indexes = r == Relevancy::relevant;
            for (const Chain& chain : chains) {
                l.chain = chain.variable == n.rank_variable ? &chain : l.chain;
            }
            // An update reads the state that the iteration before has left.
            l.relevant =
                r == Relevancy::relevant && !(tensor.state == workload::StateAccess::update &&
                                              tensor.state_variable == n.rank_variable);
            if (!l.temporal) {
                const auto& dim = path.levels[static_cast<std::size_t>(n.level)]
                                      .spatial[static_cast<std::size_t>(n.dim)];
                l.multicast = r == Relevancy::irrelevant;
                l.shared = l.multicast && (dim.may_reuse >> t & 1) != 0;
                l.level = n.level;
                l.dim = {n.level, n.dim};
            }
            const auto v = static_cast<std::size_t>(n.rank_variable);
            largest[v] = static_cast<double>(n.tile + n.prologue);
            current = n.base > 0
                          ? static_cast<double>(path.einsum.rank_variables[v].bound) / l.trips
                          : static_cast<double>(n.tile);
            l.values = tile_values(tensor, tile);
            loops.push_back(l);
        } else {
            Stop stop{level_of(path, n), loops.size(), tile_values(tensor, tile), -1};
            if (n.kind == NodeKind::storage) {
                stop.holder = static_cast<int>(costs.size());
                costs.push_back({e.node, n.level, t, n.backing});
            } else {
                stop.values = 1;
                stop.reserved = loops.size();
            }
            stops.push_back(stop);
        }
    }
    for (std::size_t i = 1; i < stops.size(); ++i) {
        HolderCost* below =
            stops[i].holder < 0 ? nullptr : &costs[static_cast<std::size_t>(stops[i].holder)];
        add_transfer(path, t, loops, stops[i - 1], stops[i],
                     costs[static_cast<std::size_t>(stops[i - 1].holder)], below);
        add_route(path, t, loops, stops[i - 1], stops[i], routes);
    }
}

double latency(const arch::PathLevel& level, const std::vector<double>& calls,
               double max_hops = 0) {
    using Op = arch::LatencyProgram::Op;
    std::vector<double> stack;
    for (const auto& step : level.latency.steps) {
        if (step.op == Op::constant) {
            stack.push_back(step.value);
        } else if (step.op == Op::n_calls) {
            stack.push_back(calls.at(static_cast<std::size_t>(step.action)));
        } else if (step.op == Op::max_hops) {
            stack.push_back(max_hops);
        } else if (step.op == Op::ceil || step.op == Op::floor) {
            stack.back() = step.op == Op::ceil ? std::ceil(stack.back()) : std::floor(stack.back());
        } else {
            const double b = stack.back();
            stack.pop_back();
            double& a = stack.back();
            switch (step.op) {
                case Op::add:
                    a += b;
                    break;
                case Op::sub:
                    a -= b;
                    break;
                case Op::mul:
                    a *= b;
                    break;
                case Op::div:
                    a /= b;
                    break;
                case Op::max:
                    a = std::max(a, b);
                    break;
                case Op::min:
                    a = std::min(a, b);
                    break;
                default:
                    throw Unsupported("oracle: the traffic of a link is not supported");
            }
        }
    }
    return stack.empty() ? 0 : stack.back();
}

void check_supported(const Path& path, Nodes nodes) {
    for (const auto& n : nodes) {
        if (n.kind == NodeKind::toll || n.kind == NodeKind::reservation || n.symbol >= 0) {
            throw Unsupported("oracle: node kind not supported");
        }
    }
    for (const auto& level : path.levels) {
        if (level.distributed()) {
            throw Unsupported("oracle: level kind not supported");
        }
    }
    if (path.einsum.is_copy_operation) {
        throw Unsupported("oracle: copy Einsums are not supported");
    }
}

}  // namespace

double tile_values(const LocalTensor& tensor, std::span<const double> tile) {
    double values = 1;
    for (const auto& rank : tensor.ranks) {
        double extent = 1;
        for (const auto& term : rank.terms) {
            extent += static_cast<double>(term.coefficient) *
                      (tile[static_cast<std::size_t>(term.rank_variable)] - 1);
        }
        values *= extent;
    }
    return values;
}

ChainCost cost(const Path& path, Nodes nodes, Partial partial) {
    check_supported(path, nodes);
    ChainCost total;
    const auto trips = trip_counts(path, nodes);
    const auto steps = trip_counts(path, nodes, partial == Partial::as_it_is);
    const auto chains =
        partial == Partial::as_it_is ? partial_chains(path, nodes) : std::vector<Chain>();
    for (int t = 0; t < static_cast<int>(path.einsum.tensors.size()); ++t) {
        add_tensor(path, nodes, t, trips, chains, total.holders, total.routes);
    }
    total.computes = total.compute_steps = 1;
    const auto most = most_trips(path, nodes);
    for (const auto& v : path.einsum.rank_variables) {
        // Of a partial tile only what is there.
        total.computes *= v.only_last ? 1 : static_cast<double>(v.bound);
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        total.compute_steps *= nodes[i].kind == NodeKind::temporal ? steps[i] : 1;
        if (nodes[i].kind == NodeKind::spatial) {
            auto use = std::find_if(total.dims.begin(), total.dims.end(), [&](const DimUse& d) {
                return d.level == nodes[i].level && d.dim == nodes[i].dim;
            });
            if (use == total.dims.end()) {
                use = total.dims.insert(use, {nodes[i].level, nodes[i].dim, 1});
            }
            use->used *= most[i];
        }
    }

    std::vector<std::vector<double>> calls(path.levels.size());
    total.level_latency.assign(path.levels.size(), 0);
    for (const auto& h : total.holders) {
        const auto l = static_cast<std::size_t>(h.level);
        const auto& level = path.levels[l];
        calls[l].resize(level.actions.size());
        calls[l][kRead] += h.unit_reads * level.actions_scale;
        calls[l][kWrite] += h.unit_writes * level.actions_scale;
        total.dynamic_energy_j += level.actions_scale * (h.reads * level.actions[kRead].energy_j +
                                                         h.writes * level.actions[kWrite].energy_j);
    }
    for (const auto& route : total.routes) {
        const auto l = static_cast<std::size_t>(route.level);
        const auto& level = path.levels[l];
        total.dynamic_energy_j += level.actions_scale * route.hops * level.actions[0].energy_j;
        const double s = latency(level, std::vector<double>(level.actions.size()), route.longest);
        total.level_latency[l] = std::max(total.level_latency[l], s);
        total.latency_s = std::max(total.latency_s, s);
    }
    const auto& compute = path.levels.back();
    calls.back() = {total.compute_steps * compute.actions_scale};
    total.dynamic_energy_j += total.computes * compute.actions_scale * compute.actions[0].energy_j;
    for (std::size_t l = 0; l < path.levels.size(); ++l) {
        if (!calls[l].empty()) {
            total.level_latency[l] = latency(path.levels[l], calls[l]);
            total.latency_s = std::max(total.latency_s, total.level_latency[l]);
        }
    }
    for (const auto& leak : path.leaks) {
        if (!leak.gates.empty() || leak.off) {
            throw Unsupported("oracle: power gating is not supported");
        }
        total.leak_energy_j += leak.leak_power_w * total.latency_s;
    }
    total.dynamic_energy_j *= path.einsum.n_instances;
    total.leak_energy_j *= path.einsum.n_instances;
    total.latency_s *= path.einsum.n_instances;
    return total;
}

}  // namespace tessera::oracle
