#include "model/legality.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "tessera/base/error.hpp"
#include "tessera/spec/value.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::model {

using mapping::NodeKind;
using mapping::PmappingNode;
using spec::number_text;
using workload::Relevancy;

namespace {

[[noreturn]] void illegal(const std::string& message) {
    throw IllegalMapping(message);
}

std::string quoted(const std::string& name) {
    return "'" + name + "'";
}

/// " (file:line:column)" of the limit in the architecture.
std::string at(const Position& where) {
    const std::string text = where.text();
    return text.empty() ? "" : " (" + text + ")";
}

std::string percent(double part, double whole) {
    return number_text(std::round(1000 * part / whole) / 10) + " %";
}

std::string variable_name(const EinsumAnalysis& einsum, int node) {
    return einsum.einsum().rank_variables[einsum.nodes[node].rank_variable].name;
}

/// Node pairs of the loops of the tree that enclose both Einsums, outermost first.
std::vector<std::pair<int, int>> common_loops(const EinsumAnalysis& a, const EinsumAnalysis& b) {
    std::vector<std::pair<int, int>> result;
    std::size_t j = 0;
    for (std::size_t i = 0; i < a.nodes.size(); ++i) {
        if (!a.nodes[i].is_loop() || a.nodes[i].origin < 0) {
            continue;
        }
        while (j < b.nodes.size() && !b.nodes[j].is_loop()) {
            ++j;
        }
        if (j == b.nodes.size() || b.nodes[j].origin != a.nodes[i].origin) {
            break;
        }
        result.emplace_back(static_cast<int>(i), static_cast<int>(j++));
    }
    return result;
}

/// The rank that the variable indexes by itself, or -1.
int rank_of(const workload::LocalTensor& tensor, int variable) {
    return tensor.rank_of_variable[static_cast<std::size_t>(variable)];
}

int backing_node(const EinsumAnalysis& einsum, int local) {
    for (std::size_t i = 0; i < einsum.nodes.size(); ++i) {
        if (einsum.nodes[i].backing && einsum.nodes[i].tensor == local) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

}  // namespace

void check_tile_shapes(const arch::Path& path, std::span<const PmappingNode> nodes) {
    std::vector<std::int64_t> shape = path.einsum.bounds();
    std::uint64_t seen = 0, leading = 0;
    for (const PmappingNode& node : nodes) {
        if (!node.is_loop()) {
            continue;
        }
        const int v = node.rank_variable;
        const workload::LocalRankVariable& variable = path.einsum.rank_variables[v];
        const std::string what = "Einsum " + quoted(path.einsum.name) + ": tile shape " +
                                 std::to_string(node.tile) + " of the loop over " +
                                 quoted(variable.name);
        if (node.tile < 1 || node.tile > shape[v]) {
            illegal(what + " does not fit into the enclosing " + std::to_string(shape[v]) +
                    "; choose a value from 1 to " + std::to_string(shape[v]));
        }
        const bool outermost = !(seen >> v & 1);
        const bool below_prologue = leading >> v & 1;
        if (node.base > 0) {
            const std::int64_t bound = variable.bound;
            if (!outermost || node.kind != NodeKind::temporal || node.largest_tile() > bound ||
                node.base > bound || bound > node.base + node.prologue) {
                illegal(what + " with a first tile of " + std::to_string(node.largest_tile()) +
                        " and " + std::to_string(node.trips(bound)) +
                        " iterations does not give the " + std::to_string(bound) +
                        " values of the variable; only its outermost temporal loop can have a "
                        "prologue");
            }
            leading |= std::uint64_t{1} << v;
        } else if (below_prologue && node.tile != 1) {
            illegal(what + " stands below a loop with a prologue; only tile shape 1 can");
        }
        if (node.base == 0 && shape[v] % node.tile != 0 && !(outermost && variable.simple)) {
            illegal(what + " does not divide the enclosing " + std::to_string(shape[v]) +
                    (variable.simple ? "; only the outermost loop over a rank variable may leave "
                                       "a partial last tile"
                                     : "; a rank variable that stands in a sum or multiple cannot "
                                       "have a partial last tile"));
        }
        seen |= std::uint64_t{1} << v;
        shape[v] = node.largest_tile();
    }
}

namespace {

void check_supported(const EinsumAnalysis& einsum) {
    const PathTables& tables = einsum.tables;
    const std::string start = "Einsum " + quoted(einsum.einsum().name) + ": ";
    // Some spatial loop of the level makes more than one trip.
    const auto uses_array = [&](int level) {
        for (std::size_t i = 0; i < einsum.nodes.size(); ++i) {
            const PmappingNode& node = einsum.nodes[i];
            if (node.kind == NodeKind::spatial && node.level == level &&
                einsum.trips(static_cast<int>(i)) > 1) {
                return true;
            }
        }
        return false;
    };
    for (const PmappingNode& node : einsum.nodes) {
        const bool exchanged =
            node.kind == NodeKind::storage && node.backing && tables.tensors[node.tensor].fusable;
        if (exchanged && tables.levels[node.level].distributed &&
            uses_array(tables.levels[node.level].next_spatial)) {
            illegal(start + "distributed memory " + quoted(tables.path().levels[node.level].name) +
                    " is the outermost holder of tensor " +
                    quoted(einsum.einsum().tensors[node.tensor].name) +
                    ", which other Einsums access too, and spatial loops spread it over the units; "
                    "hold the tensor in a memory above as well, or leave out these loops");
        }
    }
    for (const NetworkCounts<double>& route : einsum.analysis.networks) {
        for (const PmappingNode& node : einsum.nodes) {
            if (!tables.convention.network_halo && node.kind == NodeKind::spatial &&
                node.level >= route.level &&
                (tables.tensors[route.tensor].partial >> node.rank_variable & 1)) {
                illegal(start + "network " + quoted(tables.path().levels[route.level].name) +
                        " carries tensor " + quoted(einsum.einsum().tensors[route.tensor].name) +
                        " below a loop that indexes it inside a sum, which the reference does not "
                        "support");
            }
        }
    }
}

/// Tiles of a tensor come from memories further out.
void check_holder_order(const EinsumAnalysis& einsum) {
    std::vector<int> last(einsum.einsum().tensors.size(), -1);
    for (const PmappingNode& node : einsum.nodes) {
        if (!node.is_holder()) {
            continue;
        }
        const arch::Path& path = einsum.tables.path();
        if (node.level < last[node.tensor]) {
            illegal("Einsum " + quoted(einsum.einsum().name) + " holds tensor " +
                    quoted(einsum.einsum().tensors[node.tensor].name) + " in " +
                    quoted(path.levels[last[node.tensor]].name) + " above " +
                    quoted(path.levels[node.level].name) +
                    ", which feeds it in the architecture; exchange the two storage nodes");
        }
        last[node.tensor] = node.level;
    }
}

/// An output stays where it is held first until all its sums are complete.
void check_partial_sums(const EinsumAnalysis& einsum) {
    const std::vector<workload::LocalTensor>& tensors = einsum.einsum().tensors;
    for (int t = 0; t < static_cast<int>(tensors.size()); ++t) {
        if (!tensors[t].output) {
            continue;
        }
        const auto holds = [t](const PmappingNode& n) { return n.is_holder() && n.tensor == t; };
        const auto first = std::ranges::find_if(einsum.nodes, holds) - einsum.nodes.begin();
        for (int i = 0; i < first; ++i) {
            const PmappingNode& loop = einsum.nodes[i];
            const bool counts = loop.kind == NodeKind::temporal ||
                                (loop.kind == NodeKind::spatial && tensors[t].intermediate);
            if (counts && einsum.trips(i) > 1 &&
                tensors[t].relevancy[loop.rank_variable] == Relevancy::irrelevant) {
                illegal("Einsum " + quoted(einsum.einsum().name) + " holds tensor " +
                        quoted(tensors[t].name) + " first inside the loop over " +
                        quoted(variable_name(einsum, i)) +
                        ", over which it sums up: its partial sums would be lost; move its "
                        "outermost storage node above the loop");
            }
        }
    }
}

void check_fanout(const EinsumAnalysis& einsum) {
    const PathTables& tables = einsum.tables;
    for (std::size_t d = 0; d < tables.dims.size(); ++d) {
        const DimFacts& dim = tables.dims[d];
        const arch::PathLevel& level = tables.path().levels[dim.level];
        const arch::PathDim& own = level.spatial[dim.dim];
        if (einsum.analysis.used[d] > arch::most_used(own, tables.convention.check_physical)) {
            illegal(
                "Einsum " + quoted(einsum.einsum().name) + " uses " +
                number_text(einsum.analysis.used[d]) + " spatial instances of " +
                quoted(level.name) + " dimension " + quoted(own.name) + ", but its fan-out is " +
                number_text(dim.fanout) +
                (own.usage_scale != 1 ? " with usage_scale " + number_text(own.usage_scale) : "") +
                at(own.where) +
                "; enlarge the tile shape of its spatial loops or cut the tile further out");
        }
    }
}

void check_joined_capacity(const JoinedOccupancy& occupancy,
                           const std::vector<const EinsumAnalysis*>& einsums) {
    for (const auto& [name, memory] : occupancy.memories) {
        if (memory.peak_bits > arch::most_bits(memory.size_bits)) {
            illegal("the fused Einsums together hold " + number_text(memory.peak_bits) +
                    " bits in memory " + quoted(name) + " while " +
                    quoted(einsums[memory.peak_einsum]->einsum().name) + " runs, but its size is " +
                    number_text(memory.size_bits) + " bits" + at(memory.where) + ", full to " +
                    percent(memory.peak_bits, memory.size_bits) +
                    "; hold fewer tensors across Einsums or use smaller tile shapes");
        }
    }
}

/// The holder moves with this loop: the first below it.
bool windows_by(const EinsumAnalysis& einsum, int holder, int loop) {
    return einsum.nodes[holder].line_buffer && einsum.plan.reservation_before(holder) == loop + 1;
}

// A holder that moves with the loops `a` of the producer and `b` of the consumer: both advance
// alike, and the consumer reads no further than the producer has come.
void check_line_buffer_read(const EinsumAnalysis& producer, const EinsumAnalysis& consumer,
                            int tensor, int a, int b, const std::string& where) {
    const workload::EinsumView &from = producer.einsum(), &to = consumer.einsum();
    const workload::LocalTensor& written = from.tensors[from.find_tensor(tensor)];
    const workload::LocalTensor& read = to.tensors[to.find_tensor(tensor)];
    const PmappingNode& prologue = producer.nodes[a];
    const PmappingNode& behind = consumer.nodes[b];
    const int rank = rank_of(written, prologue.rank_variable);
    std::int64_t factor = 0, reach = 1;
    if (rank >= 0) {
        bool shifted = read.ranks[rank].constant != 0;
        for (const workload::AffineTerm& term : read.ranks[rank].terms) {
            shifted = shifted || term.coefficient < 1;
            const bool own = term.rank_variable == behind.rank_variable;
            factor += own ? term.coefficient : 0;
            reach += term.coefficient *
                     ((own ? behind.largest_tile()
                           : consumer.einsum().rank_variables[term.rank_variable].bound) -
                      1);
        }
        if (shifted) {
            illegal(where + " and reads with an offset or a negative factor along rank '" +
                    read.ranks[rank].rank + "'");
        }
    }
    if (rank < 0 || factor < 1 || prologue.tile != factor * behind.tile) {
        illegal(where + " does not carry both along one rank of the tensor at the same pace");
    }
    if (reach > prologue.largest_tile()) {
        illegal(where + " reads " + std::to_string(reach) + " values of which only " +
                std::to_string(prologue.largest_tile()) +
                " are made; give the producer a larger initial_tile_shape");
    }
}

/// The tile that the loop splits.
std::int64_t outer_of(const EinsumAnalysis& einsum, int loop) {
    const int variable = einsum.nodes[loop].rank_variable;
    std::int64_t outer = einsum.einsum().rank_variables[variable].bound;
    for (int i = 0; i < loop; ++i) {
        if (einsum.nodes[i].is_loop() && einsum.nodes[i].rank_variable == variable) {
            outer = einsum.nodes[i].largest_tile();
        }
    }
    return outer;
}

// One tensor that `consumer` reads from `producer`.
void check_read(const EinsumAnalysis& producer, const EinsumAnalysis& consumer, int tensor) {
    const int made = producer.einsum().find_tensor(tensor);
    const int read = consumer.einsum().find_tensor(tensor);
    const workload::LocalTensor& written = producer.einsum().tensors[made];
    const std::string who = "Einsum " + quoted(consumer.einsum().name) + " reads tensor " +
                            quoted(written.name) + " of " + quoted(producer.einsum().name);
    const int holder = backing_node(producer, made), other = backing_node(consumer, read);
    if (producer.nodes[holder].origin != consumer.nodes[other].origin) {
        illegal(who +
                " from another outermost holder than the one it is written to; hold it above "
                "the split of the two branches");
    }
    const auto common = common_loops(producer, consumer);
    if (producer.nodes[holder].line_buffer &&
        std::none_of(common.begin(), common.end(),
                     [&](const auto& pair) { return windows_by(producer, holder, pair.first); })) {
        illegal(who + " outside the loop with which its line buffer moves; move its branch inside");
    }
    for (const auto& [a, b] : common) {
        if (producer.trips(a) == 1 && consumer.trips(b) == 1) {
            continue;
        }
        const int va = producer.nodes[a].rank_variable, vb = consumer.nodes[b].rank_variable;
        const std::string loop =
            "the loop over " + quoted(variable_name(producer, a)) + " encloses both";
        if (producer.trips(a) != consumer.trips(b)) {
            illegal(who + ", but " + loop + " and runs " + number_text(producer.trips(a)) +
                    " times for one and " + number_text(consumer.trips(b)) + " for the other");
        }
        if (written.relevancy[va] == Relevancy::irrelevant) {
            illegal(who + " before it is finished: " + loop + ", and " +
                    quoted(producer.einsum().name) +
                    " still reduces over it; move that loop below the split");
        }
        const workload::LocalTensor& seen = consumer.einsum().tensors[read];
        if (windows_by(producer, holder, a) || windows_by(consumer, other, b)) {
            check_line_buffer_read(producer, consumer, tensor, a, b, who + ", but " + loop);
            continue;
        }
        const PmappingNode &made_by = producer.nodes[a], &read_by = consumer.nodes[b];
        const bool same_slice =
            made_by.prologue == read_by.prologue && made_by.tile == read_by.tile &&
            outer_of(producer, a) == outer_of(consumer, b) && rank_of(written, va) >= 0 &&
            rank_of(written, va) == rank_of(seen, vb);
        if (!same_slice) {
            illegal(who + " beyond the tile that is finished: " + loop +
                    ", but an iteration reads more of the tensor than it has written; move that "
                    "loop below the split");
        }
    }
}

void check_exchange(const workload::Workload& workload,
                    const std::vector<const EinsumAnalysis*>& einsums) {
    std::map<int, const EinsumAnalysis*> by_index;
    std::map<int, std::size_t> position;
    for (std::size_t e = 0; e < einsums.size(); ++e) {
        by_index[einsums[e]->einsum().einsum] = einsums[e];
        position[einsums[e]->einsum().einsum] = e;
    }
    for (std::size_t t = 0; t < workload.tensors.size(); ++t) {
        for (const int producer : workload.tensors[t].producers) {
            for (const int consumer : workload.tensors[t].consumers) {
                if (producer == consumer || !by_index.count(producer) ||
                    !by_index.count(consumer)) {
                    continue;
                }
                if (position[producer] > position[consumer]) {
                    illegal("Einsum " + quoted(by_index[consumer]->einsum().name) +
                            " reads tensor " + quoted(workload.tensors[t].name) + " before " +
                            quoted(by_index[producer]->einsum().name) +
                            " writes it; exchange their branches");
                }
                check_read(*by_index[producer], *by_index[consumer], static_cast<int>(t));
            }
            for (const int reader : workload.tensors[t].previous_readers) {
                if (!by_index.count(producer) || !by_index.count(reader)) {
                    continue;
                }
                if (position[reader] > position[producer]) {
                    illegal("Einsum " + quoted(by_index[reader]->einsum().name) +
                            " reads the older state of tensor " + quoted(workload.tensors[t].name) +
                            " after " + quoted(by_index[producer]->einsum().name) +
                            " has replaced it; exchange their branches");
                }
                check_read(*by_index[producer], *by_index[reader], static_cast<int>(t));
            }
        }
    }
}

using LoopKey = std::tuple<std::string, bool, double>;  // rank, spatial, trips

/// The loops above a backing holder as the tensor's ranks see them.
std::vector<LoopKey> loops_of(const EinsumAnalysis& einsum, const Backing& backing) {
    std::vector<LoopKey> result;
    const workload::LocalTensor& tensor =
        einsum.einsum().tensors[einsum.nodes[backing.node].tensor];
    const int end = backing.depth < 0     ? 0
                    : backing.line_buffer ? backing.node
                                          : einsum.plan.reservation_before(backing.node);
    for (int i = 0; i < end; ++i) {
        if (einsum.nodes[i].is_loop()) {
            const int rank = rank_of(tensor, einsum.nodes[i].rank_variable);
            result.emplace_back(rank < 0 ? "" : tensor.ranks[rank].rank,
                                einsum.nodes[i].kind == NodeKind::spatial, einsum.trips(i));
        }
    }
    return result;
}

struct LiveTensor {
    const EinsumAnalysis* einsum = nullptr;
    Backing backing;
};

int deepest(const std::map<int, LiveTensor>& live) {
    int depth = 0;
    for (const auto& [tensor, entry] : live) {
        depth = std::max(depth, entry.backing.depth + entry.backing.line_buffer);
    }
    return depth;
}

void check_shared(const workload::Workload& workload, const LiveTensor& left,
                  const LiveTensor& right) {
    std::vector<LoopKey> a = loops_of(*left.einsum, left.backing);
    std::vector<LoopKey> b = loops_of(*right.einsum, right.backing);
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    if (left.backing.memory != right.backing.memory || a != b) {
        illegal("Einsums " + quoted(left.einsum->einsum().name) + " and " +
                quoted(right.einsum->einsum().name) + " share tensor " +
                quoted(workload.tensors[left.backing.tensor].name) +
                ", but hold it in different memories or under different loops; hold it once, above "
                "the split of their branches");
    }
}

/// Convention of the reference: partial mappings fit together if shared tensors lie in the same
/// memory under the same loops, and no tensor has to be carried past an Einsum with fewer loops.
void check_join(const workload::Workload& workload,
                const std::vector<const EinsumAnalysis*>& einsums) {
    std::map<int, std::size_t> last_user;
    std::vector<std::vector<Backing>> all;
    for (std::size_t e = 0; e < einsums.size(); ++e) {
        all.push_back(backings(*einsums[e]));
        for (const Backing& backing : all.back()) {
            last_user[backing.tensor] = e;
        }
    }
    std::map<int, LiveTensor> live;
    for (std::size_t e = 0; e < einsums.size(); ++e) {
        std::map<int, LiveTensor> own;
        for (const Backing& backing : all[e]) {
            const LiveTensor entry{einsums[e], backing};
            if (const auto known = live.find(backing.tensor); known != live.end()) {
                check_shared(workload, known->second, entry);
            }
            if (last_user[backing.tensor] > e) {
                own.emplace(backing.tensor, entry);
            }
        }
        std::erase_if(live, [&](const auto& entry) { return last_user[entry.first] <= e; });
        if (deepest(live) > deepest(own)) {
            const auto carried =
                std::max_element(live.begin(), live.end(), [](const auto& a, const auto& b) {
                    return a.second.backing.depth < b.second.backing.depth;
                });
            illegal("tensor " + quoted(workload.tensors[carried->first].name) +
                    " is needed after Einsum " + quoted(einsums[e]->einsum().name) +
                    " and stored below " + std::to_string(carried->second.backing.depth) +
                    " loops, but that Einsum exchanges tensors with later ones below only " +
                    std::to_string(deepest(own)) + "; store the tensor further out");
        }
        live.merge(own);
    }
}

}  // namespace

void check_alone(const EinsumAnalysis& einsum) {
    check_supported(einsum);
    check_states(einsum);
    if (einsum.tables.convention.check_physical) {
        check_holder_order(einsum);
    }
    check_fanout(einsum);
}

void check_capacity(const EinsumAnalysis& einsum) {
    const PathTables& tables = einsum.tables;
    std::vector<double> bits(tables.n_levels, 0);
    for (const HolderCounts<double>& holder : einsum.analysis.holders) {
        bits[holder.level] += holder.bits * (holder.persistent ? tables.n_instances : 1);
    }
    for (int l = 0; l < tables.n_levels; ++l) {
        const arch::PathLevel& level = tables.path().levels[l];
        if (level.kind == arch::LevelKind::memory && bits[l] > arch::most_bits(level.size_bits)) {
            illegal("Einsum " + quoted(einsum.einsum().name) + " holds " + number_text(bits[l]) +
                    " bits in memory " + quoted(level.name) + ", but its size is " +
                    number_text(level.size_bits) + " bits" + at(level.where) + ", full to " +
                    percent(bits[l], level.size_bits) +
                    "; use smaller tile shapes above its storage nodes");
        }
    }
}

std::vector<int> shared_loops(const std::vector<const EinsumAnalysis*>& einsums) {
    std::vector<int> result;
    for (std::size_t e = 0; e + 1 < einsums.size(); ++e) {
        result.push_back(static_cast<int>(common_loops(*einsums[e], *einsums[e + 1]).size()));
    }
    return result;
}

JoinedOccupancy check_together(const Problem& problem,
                               const std::vector<const EinsumAnalysis*>& einsums) {
    // What copies unite counts once, which one Einsum does not tell.
    const bool united = problem.convention().exchange_by_tree &&
                        std::ranges::any_of(einsums, [](const EinsumAnalysis* einsum) {
                            return einsum->tables.copy;
                        });
    if (!united) {
        std::ranges::for_each(einsums, [](const EinsumAnalysis* e) { check_capacity(*e); });
    }
    if (problem.convention().exchange_by_tree) {
        check_exchange(*problem.workload, einsums);
        std::ranges::for_each(einsums, [](const EinsumAnalysis* e) { check_partial_sums(*e); });
    } else {
        check_join(*problem.workload, einsums);
    }
    JoinedOccupancy occupancy = joined_occupancy(einsums);
    check_joined_capacity(occupancy, einsums);
    return occupancy;
}

}  // namespace tessera::model
