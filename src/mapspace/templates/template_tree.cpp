#include <algorithm>
#include <limits>
#include <set>
#include <string>

#include "template_tree_internal.hpp"

namespace tessera::mapspace {

using arch::LevelKind;
using arch::PathLevel;

namespace {

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

std::string key_of(const Space& space, const Items& items) {
    std::vector<std::uint8_t> sinks;
    std::string key = structure_key(space, items, sinks);
    key.append(sinks.begin(), sinks.end());
    return key;
}

/// With each choice of prologues, once: loops may be left out where there is one.
void members_of(const Space& space, const Items& without, std::set<std::string>& known,
                const std::function<bool(Template&&)>& take) {
    bool more = true;
    choose_prologues(space, without, [&](const Items& items) {
        Template out;
        Reasons reasons;
        if (more && known.insert(key_of(space, items)).second &&
            finish(space, items, out, reasons)) {
            more = take(std::move(out));
        }
    });
}

}  // namespace

bool TemplateTree::Impl::plain_levels() const {
    return first >= 0 && path.levels[static_cast<std::size_t>(first)].enabled &&
           options.force_memory_hierarchy_order &&
           std::ranges::all_of(path.levels, [](const PathLevel& l) {
               return l.kind != LevelKind::network && l.kind != LevelKind::toll &&
                      !l.distributed() && l.force_memory_hierarchy_order &&
                      l.tensor_order_options.empty();
           });
}

bool TemplateTree::Impl::plain_tensors() const {
    return !space.copy && space.states == 0;
}

/// They stand first wherever they are backed: in the outermost memory like all of its holders.
bool TemplateTree::Impl::persistent_outermost() const {
    return (space.persistent & ~sets[static_cast<std::size_t>(first)].must) == 0;
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
        item.persistent = (on.persistent >> t & 1) != 0;
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
                                   const std::function<void(const Items&)>& sink) const {
    insert_temporals(on, holders, [&](Items& items) {
        insert_spatials(on, items);
        insert_missing(on, items);
        constrain(on, items);
        without_crossings(on, items, sink);
    });
}

TemplateTree::TemplateTree(const arch::Path& path, const MapSpaceOptions& options)
    : impl_(std::make_unique<Impl>(path, options)) {
    Impl& own = *impl_;
    if (options.partial_tiles() || !own.plain_levels() || !own.plain_tensors()) {
        return;
    }
    own.read_sets();
    own.applies = own.persistent_outermost();
    if (own.applies) {
        own.relax_paths();
    }
}

TemplateTree::~TemplateTree() = default;

bool TemplateTree::applies() const {
    return impl_->applies;
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
    impl_->templates(on, impl_->items_of(on, node), [&](const Items& without) {
        bound_prologues(on, without, [&](const Items& items) {
            key += key_of(on, items);
            Template out;
            Reasons reasons;
            if (finish(on, items, out, reasons)) {
                sink(std::move(out));
            }
        });
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

void TemplateTree::complete(const Node& node, const Families& sink) const {
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
    impl_->templates(space, holders, [&](const Items& items) { found.push_back(items); });
    std::set<std::string> keys;
    for (const Items& without : found) {
        const Members members = [&](const auto& take) { members_of(space, without, keys, take); };
        bound_prologues(space, without, [&](const Items& items) {
            Template all;
            Reasons reasons;
            if (finish(space, items, all, reasons)) {
                sink(all, members);
            }
        });
    }
}

}  // namespace tessera::mapspace
