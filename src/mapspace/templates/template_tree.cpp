#include "mapspace/template_tree.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "template_internal.hpp"

namespace tessera::mapspace {

using namespace detail;
using arch::LevelKind;
using arch::PathLevel;

namespace {

/// Of which it is asked how they share the room inside; the others pass once.
constexpr std::size_t tensors_of_crossing = 4;

/// Energy that a value costs, of an action; 0 if the level has none.
double energy_of_value(const PathLevel& level, const char* action, int tensor) {
    for (const arch::PathAction& a : level.actions) {
        if (a.name == action) {
            const auto t = static_cast<std::size_t>(tensor);
            const double values = t < a.values_per_action.size() ? a.values_per_action[t] : 1;
            return a.energy_j * level.actions_scale / values;
        }
    }
    return 0;
}

}  // namespace

struct TemplateTree::Impl {
    Impl(const arch::Path& path, const MapSpaceOptions& options)
        : path(path), options(options), space(path, options), first(space.first_memory) {}

    bool plain_levels() const;
    bool plain_tensors() const;
    void read_sets();
    void relax_paths();
    /// That a value costs in the cheapest memory down to `top` that may keep the tensor.
    double least_energy(int top, const char* action, int tensor) const;
    double dearer_outside(int level, int tensor) const;
    bool has_crossings() const;
    arch::Path crossing_path(int level, const std::vector<double>& energies, TensorMask kept) const;
    arch::Path relaxed(int top) const;
    bool fixed = false;  ///< no level's sets depend on the levels above
    Items items_of(const Space& on, const Node& node) const;
    std::optional<Choice> choice_of(const Node& node) const;
    void templates(const Space& on, const Items& holders,
                   const std::function<void(Items&)>& sink) const;

    const arch::Path& path;
    MapSpaceOptions options;
    Space space;
    int first;
    std::vector<StoredSets> sets;           ///< per level; what may be, whatever stands above
    std::vector<arch::Path> relaxed_paths;  ///< per level, and that without holders
    std::vector<Space> relaxed_spaces;
};

bool TemplateTree::Impl::plain_levels() const {
    return first >= 0 && options.force_memory_hierarchy_order &&
           std::ranges::all_of(path.levels, [](const PathLevel& l) {
               return l.kind != LevelKind::network && l.kind != LevelKind::toll &&
                      !l.distributed() && l.force_memory_hierarchy_order &&
                      l.tensor_order_options.empty();
           });
}

bool TemplateTree::Impl::plain_tensors() const {
    const auto windows = [](RankVariableMask w) { return w != 0; };
    const auto prologues = [](const workload::LocalRankVariable& v) {
        return !v.prologues.empty();
    };
    return !space.copy && space.states == 0 && space.persistent == 0 &&
           std::ranges::none_of(space.windows, windows) &&
           (!options.line_buffers || std::ranges::none_of(path.einsum.rank_variables, prologues));
}

void TemplateTree::Impl::read_sets() {
    sets = possible_sets(space);
    fixed = std::ranges::none_of(sets, &StoredSets::depend);
}

double TemplateTree::Impl::least_energy(int top, const char* action, int tensor) const {
    double least = energy_of_value(path.levels[static_cast<std::size_t>(first)], action, tensor);
    for (int l = first + 1; l <= top; ++l) {
        if (sets[static_cast<std::size_t>(l)].may >> tensor & 1) {
            least = std::min(
                least, energy_of_value(path.levels[static_cast<std::size_t>(l)], action, tensor));
        }
    }
    return least;
}

/// The levels from the outermost memory to `top` as one.
arch::Path TemplateTree::Impl::relaxed(int top) const {
    arch::Path out = path;
    PathLevel& outer = out.levels[static_cast<std::size_t>(first)];
    outer.size_bits = std::numeric_limits<double>::infinity();
    outer.bank_bits = 0;
    outer.actions_scale = 1;
    outer.skip_initial_output_write = true;
    outer.no_refetch_from_above = outer.no_resend_to_below = 0;
    outer.latency.steps = {{.op = arch::LatencyProgram::Op::constant}};
    for (arch::PathAction& action : outer.actions) {
        const char* const name = action.name.c_str();
        action.energy_j = 1;
        action.values_per_action.assign(static_cast<std::size_t>(space.n_tensors), 1);
        for (int t = 0; t < space.n_tensors; ++t) {
            const double least = least_energy(top, name, t);
            // What of an output is read again depends on which memory holds it.
            const bool free =
                path.einsum.tensors[static_cast<std::size_t>(t)].output && action.name == "read";
            action.values_per_action[static_cast<std::size_t>(t)] =
                free ? std::numeric_limits<double>::infinity() : 1 / least;
        }
    }
    return out;
}

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

namespace {

/// With rules of its own for usage, more instances than there are may be in use.
double most_instances_of(const PathLevel& level) {
    double out = 1;
    for (const arch::PathDim& d : level.spatial) {
        out *= static_cast<double>(d.fanout) * std::max(1.0, 1 / d.usage_scale);
    }
    return out;
}

PathLevel free_level(PathLevel level) {
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

arch::Path TemplateTree::Impl::crossing_path(int level, const std::vector<double>& energies,
                                             TensorMask kept) const {
    arch::Path out = path;
    out.leaks.clear();
    PathLevel outer = free_level(path.levels[static_cast<std::size_t>(first)]);
    PathLevel inner = free_level(path.levels[static_cast<std::size_t>(level)]);
    PathLevel compute = free_level(path.levels.back());
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
    // Each compute has a register for what no memory inside holds.
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
    out.levels = {outer, inner, compute};
    return out;
}

void TemplateTree::Impl::relax_paths() {
    relaxed_paths.reserve(path.levels.size() + 1);
    relaxed_spaces.reserve(path.levels.size() + 1);
    for (int top = -1; top < static_cast<int>(path.levels.size()); ++top) {
        relaxed_paths.push_back(relaxed(top < 0 ? static_cast<int>(path.levels.size()) - 1 : top));
        relaxed_spaces.emplace_back(relaxed_paths.back(), options);
    }
}

/// Outermost first, below a holder in the outermost memory of all that is not backed further in.
Items TemplateTree::Impl::items_of(const Space& on, const Node& node) const {
    TensorMask backed = 0;
    for (const Holder& h : node) {
        backed |= TensorMask{h.backing} << h.tensor;
    }
    Items items;
    for_each_bit(on.all & ~backed, [&](int t) {
        Item item;
        item.kind = NodeKind::storage;
        item.tensor = static_cast<std::int8_t>(t);
        item.level = static_cast<std::int8_t>(first);
        item.backing = item.must_keep = true;
        items.push_back(item);
    });
    for (std::size_t k = node.size(); k-- > 0;) {
        Item item;
        item.kind = NodeKind::storage;
        item.tensor = node[k].tensor;
        item.level = node[k].level;
        item.backing = node[k].backing;
        item.must_keep =
            item.backing || (sets[static_cast<std::size_t>(item.level)].must >> item.tensor & 1);
        item.spare_outer = fixed && k + 1 < node.size() && may_spare_holder(on, items.back(), item);
        items.push_back(item);
    }
    return items;
}

void TemplateTree::Impl::templates(const Space& on, const Items& holders,
                                   const std::function<void(Items&)>& sink) const {
    insert_temporals(on, holders, [&](Items& items) {
        insert_spatials(on, items);
        insert_missing(on, items);
        constrain(on, items);
        without_crossings(on, items, sink);
    });
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
        double values = own.space.expression[t] == 0 ? 1 : 0;
        for_each_bit(own.space.direct[t],
                     [&](int v) { values *= static_cast<double>(own.space.bound(v)); });
        once[t] = energies[t] * values;
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

TemplateTree::TemplateTree(const arch::Path& path, const MapSpaceOptions& options)
    : impl_(std::make_unique<Impl>(path, options)) {
    if (applies()) {
        impl_->read_sets();
        impl_->relax_paths();
    }
}

TemplateTree::~TemplateTree() = default;

bool TemplateTree::applies() const {
    return !impl_->options.partial_tiles() && impl_->plain_levels() && impl_->plain_tensors();
}

std::vector<TemplateTree::Node> TemplateTree::children(const Node& node) const {
    const Impl& own = *impl_;
    TensorMask backed = 0, here = 0;
    const int top_level =
        node.empty() ? static_cast<int>(own.path.levels.size()) - 1 : node.back().level;
    for (const Holder& h : node) {
        backed |= TensorMask{h.backing} << h.tensor;
        here |= TensorMask{h.level == top_level} << h.tensor;
    }
    std::vector<Node> out;
    for (int l = top_level; l > own.first; --l) {
        const StoredSets& sets = own.sets[static_cast<std::size_t>(l)];
        TensorMask outer_may = 0, outer_must = 0;
        for (int o = own.first; o < l; ++o) {
            outer_may |= own.sets[static_cast<std::size_t>(o)].may;
            outer_must |= own.sets[static_cast<std::size_t>(o)].must;
        }
        for_each_bit(sets.may & ~backed & ~here, [&](int t) {
            for (const bool backing : {true, false}) {
                if (backing ? (outer_must >> t & 1) != 0 : (outer_may >> t & 1) == 0) {
                    continue;
                }
                out.push_back(node);
                out.back().push_back(
                    {static_cast<std::int8_t>(t), static_cast<std::int8_t>(l), backing});
            }
        });
        if (sets.must & ~here) {
            break;  // it is not complete
        }
        here = 0;
    }
    return out;
}

const arch::Path& TemplateTree::relaxed_path(int level) const {
    return impl_->relaxed_paths[static_cast<std::size_t>(level + 1)];
}

void TemplateTree::relaxation(const Node& node, const Sink& sink, std::string& key) const {
    const Space& on = impl_->relaxed_spaces[static_cast<std::size_t>(top(node) + 1)];
    key.clear();
    // Whether the outer of two neighbours of one tensor is of no use is known of whole templates.
    for (std::size_t k = 1; k < node.size(); ++k) {
        key += node[k].tensor == node[k - 1].tensor ? '\1' : '\0';
    }
    impl_->templates(on, impl_->items_of(on, node), [&](Items& items) {
        std::vector<std::uint8_t> sinks;
        key += structure_key(on, items, sinks);
        key.append(sinks.begin(), sinks.end());
        Template out;
        Reasons reasons;
        if (finish(on, items, out, reasons)) {
            sink(std::move(out));
        }
    });
}

std::optional<Choice> TemplateTree::Impl::choice_of(const Node& node) const {
    Choice choice;
    choice.stored.assign(path.levels.size(), 0);
    choice.must.assign(path.levels.size(), 0);
    TensorMask backed = 0;
    for (const Holder& h : node) {
        choice.stored[static_cast<std::size_t>(h.level)] |= TensorMask{1} << h.tensor;
        backed |= TensorMask{h.backing} << h.tensor;
    }
    choice.stored[static_cast<std::size_t>(first)] = space.all & ~backed;
    return allow_choice(space, choice) ? std::optional(choice) : std::nullopt;
}

void TemplateTree::complete(const Node& node, const Sink& sink) const {
    const std::optional<Choice> choice = impl_->choice_of(node);
    if (!choice) {
        return;
    }
    const Space& space = impl_->space;
    Items holders = impl_->items_of(space, node);
    for (std::size_t k = 1; k < holders.size(); ++k) {
        Item& inner = holders[k];
        const Item& outer = holders[k - 1];
        inner.must_keep = inner.backing ||
                          (choice->must[static_cast<std::size_t>(inner.level)] >> inner.tensor & 1);
        Choice without = *choice;
        without.stored[static_cast<std::size_t>(outer.level)] &= ~(TensorMask{1} << outer.tensor);
        inner.spare_outer = outer.level != impl_->first && may_spare_holder(space, outer, inner) &&
                            allow_choice(space, without);
    }
    std::vector<Items> found;
    impl_->templates(space, holders, [&](Items& items) { found.push_back(items); });
    for (const Items& items : found) {
        Template out;
        Reasons reasons;
        if (finish(space, items, out, reasons)) {
            sink(std::move(out));
        }
    }
}

}  // namespace tessera::mapspace
