// The least energy of what passes from outer memories to inner ones (docs/ffm-proofs.md, 2.33).
#include <algorithm>
#include <limits>

#include "template_tree_internal.hpp"

namespace tessera::mapspace {

using arch::LevelKind;
using arch::PathLevel;

namespace {

/// Of which it is asked how they share the room inside; the others pass once.
constexpr std::size_t tensors_of_crossing = 4;

/// With rules of its own for usage, more instances than there are may be in use.
double most_instances_of(const PathLevel& level) {
    double out = 1;
    for (const arch::PathDim& d : level.spatial) {
        out *= static_cast<double>(d.fanout) * std::max(1.0, 1 / d.usage_scale);
    }
    return out;
}

/// It may stand for others, also where the Einsum does without it.
PathLevel free_level(PathLevel level) {
    level.enabled = true;
    level.spatial.clear();
    level.cumulative_fanout = 1;
    level.actions_scale = 1;
    level.size_bits = std::numeric_limits<double>::infinity();
    level.bank_bits = 0;
    level.skip_initial_output_write = true;
    level.keep = level.may_keep = level.back = {};
    level.has_keep = level.has_may_keep = false;
    level.latency.steps = {{.op = arch::LatencyProgram::Op::constant}};
    for (arch::PathAction& a : level.actions) {
        a.energy_j = 0;
        a.latency_s = 0;
        a.throughput_per_s = std::numeric_limits<double>::infinity();
    }
    return level;
}

}  // namespace

/// By how much the memories outside a level are dearer than the cheapest of these and the level.
double TemplateTree::Impl::dearer_outside(int level, int tensor) const {
    const bool outside = std::any_of(sets.begin() + first, sets.begin() + level,
                                     [&](const StoredSets& s) { return s.must >> tensor & 1; });
    if (!outside) {
        return 0;  // it may never be there
    }
    const bool output = path.einsum.tensors[static_cast<std::size_t>(tensor)].output;
    const char* const action = output ? "write" : "read";
    return least_energy(level - 1, action, tensor) - least_energy(level, action, tensor);
}

/// Where a memory may be filled less often than it is read, or an Einsum is done less than once,
/// nothing is said.
bool TemplateTree::Impl::has_crossings() const {
    return path.einsum.n_instances >= 1 && std::ranges::all_of(path.levels, [](const PathLevel& l) {
               return l.no_refetch_from_above == 0 && l.no_resend_to_below == 0;
           });
}

/// One memory in place of all from the level on, with a register for what none of them holds.
PathLevel TemplateTree::Impl::room_inside(int level, TensorMask kept) const {
    PathLevel inner = free_level(path.levels[static_cast<std::size_t>(level)]);
    double instances = 1, room = 0, registers = 0;
    std::vector<double>& bits = inner.bits_per_value;
    for (std::size_t l = 0; l < path.levels.size(); ++l) {
        const PathLevel& own = path.levels[l];
        instances *= most_instances_of(own);
        if (static_cast<int>(l) < level || own.kind != LevelKind::memory) {
            continue;
        }
        room += own.size_bits * instances;
        for (std::size_t t = 0; t < bits.size(); ++t) {
            bits[t] = std::min(bits[t], own.bits_per_value[t]);
        }
    }
    for_each_bit(kept, [&](int t) { registers += bits[static_cast<std::size_t>(t)]; });
    inner.size_bits = room + registers * instances;
    inner.keep = spec::Expression::constant(spec::Value(spec::TensorSet{kept}));
    inner.has_keep = true;
    return inner;
}

arch::Path TemplateTree::Impl::crossing_path(int level, const std::vector<double>& energies,
                                             TensorMask kept) const {
    arch::Path out = path;
    out.leaks.clear();
    PathLevel outer = free_level(path.levels[static_cast<std::size_t>(first)]);
    for (arch::PathAction& a : outer.actions) {
        a.energy_j = 1;
        a.values_per_action.assign(energies.size(), 1);
        for (int t = 0; t < space.n_tensors; ++t) {
            const bool counted =
                (a.name == "write") == path.einsum.tensors[static_cast<std::size_t>(t)].output;
            a.values_per_action[static_cast<std::size_t>(t)] =
                counted ? 1 / energies[static_cast<std::size_t>(t)]
                        : std::numeric_limits<double>::infinity();
        }
    }
    out.levels = {outer, room_inside(level, kept), free_level(path.levels.back())};
    return out;
}

/// Of a tensor; of one with ranks of several variables, nothing that depends on these.
double TemplateTree::Impl::least_values(int tensor) const {
    double values = space.expression[tensor] == 0 ? 1 : 0;
    for_each_bit(space.direct[tensor],
                 [&](int v) { values *= static_cast<double>(space.bound(v)); });
    return values;
}

MapSpaceOptions TemplateTree::crossing_options() {
    MapSpaceOptions options;
    options.unfused = true;
    return options;
}

std::optional<TemplateTree::Crossing> TemplateTree::crossing(int level) const {
    const Impl& own = *impl_;
    const PathLevel& inner = own.path.levels[static_cast<std::size_t>(level)];
    if (level <= own.first || inner.kind != LevelKind::memory || !own.has_crossings()) {
        return std::nullopt;
    }
    const auto n = static_cast<std::size_t>(own.space.n_tensors);
    std::vector<double> energies(n), once(n);
    std::vector<std::size_t> order;
    for (std::size_t t = 0; t < n; ++t) {
        energies[t] = own.dearer_outside(level, static_cast<int>(t));
        once[t] = energies[t] * own.least_values(static_cast<int>(t));
        if (energies[t] > 0) {
            order.push_back(t);
        }
    }
    if (order.empty()) {
        return std::nullopt;
    }
    std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t t) { return once[t]; });
    Crossing out;
    TensorMask kept = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
        if (k < tensors_of_crossing) {
            kept |= TensorMask{1} << order[k];
        } else {
            out.rest_j += once[order[k]];
            energies[order[k]] = 0;
        }
    }
    out.path = own.crossing_path(level, energies, kept);
    return out;
}

std::optional<arch::Path> TemplateTree::outermost_time() const {
    const Impl& own = *impl_;
    const auto first = static_cast<std::size_t>(own.first);
    const auto inner = std::find_if(own.path.levels.begin() + own.first + 1, own.path.levels.end(),
                                    [](const PathLevel& l) { return l.kind == LevelKind::memory; });
    if (!own.has_crossings() || inner == own.path.levels.end()) {
        return std::nullopt;
    }
    const auto values = [&](int t) {
        return own.least_values(t) *
               own.path.levels[first].bits_per_value[static_cast<std::size_t>(t)];
    };
    std::vector<int> order;
    for_each_bit(own.sets[first].must, [&](int t) { order.push_back(t); });
    std::ranges::stable_sort(order, std::greater<>{}, values);
    order.resize(std::min(order.size(), tensors_of_crossing));
    TensorMask kept = 0;
    for (const int t : order) {
        kept |= TensorMask{1} << t;
    }
    arch::Path out = own.path;
    out.leaks.clear();
    PathLevel outer = own.path.levels[first];
    outer.spatial.clear();
    outer.size_bits = std::numeric_limits<double>::infinity();
    outer.bank_bits = 0;
    outer.skip_initial_output_write = true;
    outer.keep = outer.may_keep = outer.back = {};
    outer.has_keep = outer.has_may_keep = false;
    for (arch::PathAction& a : outer.actions) {
        a.energy_j = 0;
        a.values_per_action.resize(static_cast<std::size_t>(own.space.n_tensors), 1);
        for (int t = 0; t < own.space.n_tensors; ++t) {
            const bool output = own.path.einsum.tensors[static_cast<std::size_t>(t)].output;
            // Which memory holds partial sums decides how often they are read.
            if ((kept >> t & 1) == 0 || (output && a.name == "read")) {
                a.values_per_action[static_cast<std::size_t>(t)] =
                    std::numeric_limits<double>::infinity();
            }
        }
    }
    const auto level = static_cast<int>(inner - own.path.levels.begin());
    out.levels = {outer, own.room_inside(level, kept), free_level(own.path.levels.back())};
    return out;
}

}  // namespace tessera::mapspace
