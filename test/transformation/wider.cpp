#include "transformation/wider.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera::transformation {

namespace {

using mapspace::MapSpaceOptions;

std::string* find(Rules& rules, const std::string& key) {
    for (auto& [name, value] : rules) {
        if (name == key) {
            return &value;
        }
    }
    return nullptr;
}

bool drop(Rules& rules, const std::string& key) {
    return std::erase_if(rules, [&](const auto& rule) { return rule.first == key; }) > 0;
}

void set(Rules& rules, const std::string& key, const std::string& value) {
    if (std::string* known = find(rules, key)) {
        *known = value;
    } else {
        rules.emplace_back(key, value);
    }
}

std::vector<Component*> memories(Problem& p) {
    std::vector<Component*> found;
    for (Component& c : p.components) {
        if (c.kind == "Memory") {
            found.push_back(&c);
        }
    }
    return found;
}

Component& any(const std::vector<Component*>& list, Random& r) {
    return *r.pick(list);
}

bool leaks(const Problem& p) {
    return std::any_of(p.components.begin(), p.components.end(),
                       [](const Component& c) { return c.leak_w > 0; });
}

bool has(const Problem& p, const std::string& kind) {
    return std::any_of(p.components.begin(), p.components.end(),
                       [&](const Component& c) { return c.kind == kind; });
}

bool strides(const Problem& p) {
    return std::any_of(p.einsums.begin(), p.einsums.end(), [](const Einsum& e) {
        return std::ranges::any_of(e.terms(), [](const Term& term) { return term.factor != 1; });
    });
}

// Each returns whether it applied.

bool more_fused_loops(Problem& p, Random&) {
    MapSpaceOptions& o = p.options;
    if (o.max_fused_loops >= 0) {
        o.max_fused_loops = o.max_fused_loops == 0 ? 1 : MapSpaceOptions::unlimited;
    } else if (o.max_fused_loops_per_rank_variable == 1) {
        o.max_fused_loops_per_rank_variable = 2;
    } else {
        return false;
    }
    return true;
}

/// Strides have no line buffers beside partial tiles.
bool partial_tiles(Problem& p, Random& r) {
    MapSpaceOptions& o = p.options;
    if (p.compat != arch::Compat::none || (o.line_buffers && strides(p))) {
        return false;
    }
    bool& chosen = r.chance(60) ? o.imperfect_spatial : o.imperfect_temporal;
    return !std::exchange(chosen, true);
}

bool other_orders(Problem& p, Random&) {
    return !std::exchange(p.options.all_einsum_orders, true);
}

bool line_buffer(Problem& p, Random&) {
    if (p.compat != arch::Compat::none || p.options.partial_tiles()) {
        return false;
    }
    return !std::exchange(p.options.line_buffers, true);
}

/// Not where the outermost memory may not keep what it then would not have to.
bool fused(Problem& p, Random&) {
    Rules& outermost = p.components.front().tensors;
    const std::string* may = find(outermost, "may_keep");
    const bool may_keep_all = *find(outermost, "keep") == "All" || (may && *may == "All");
    return may_keep_all && std::exchange(p.options.unfused, false);
}

bool may_keep_more(Problem& p, Random& r) {
    Rules& tensors = any(memories(p), r).tensors;
    if (const std::string* may = find(tensors, "may_keep"); may && *may == "All") {
        return false;
    }
    set(tensors, "may_keep", "All");
    return true;
}

/// In preset accelforge a copy has more than its outermost holder only where a memory must keep it
/// (H1): what need not be kept there is no longer held.
bool need_not_keep(Problem& p, Random& r) {
    if (p.options.preset == MapSpaceOptions::Preset::accelforge &&
        std::ranges::any_of(p.einsums, &Einsum::copies)) {
        return false;
    }
    Rules& tensors = any(memories(p), r).tensors;
    set(tensors, "may_keep", "All");
    return std::exchange(*find(tensors, "keep"), "Nothing") != "Nothing";
}

bool more_memory(Problem& p, Random& r) {
    Component& memory = any(memories(p), r);
    const double unit = std::max(1, memory.banks);  // banks become larger, not more
    const double factor = r.pick(std::vector{1.2, 2.0, 5.0});
    memory.size_bits = std::ceil(memory.size_bits * factor / unit) * unit;
    memory.other_size_bits = std::ceil(memory.other_size_bits * factor);
    return std::isfinite(memory.size_bits);
}

bool more_banks(Problem& p, Random& r) {
    Component& memory = any(memories(p), r);
    if (memory.banks == 0) {
        return false;
    }
    memory.size_bits += memory.size_bits / memory.banks;
    ++memory.banks;
    return true;
}

bool no_banks(Problem& p, Random& r) {
    return std::exchange(any(memories(p), r).banks, 0) > 0;
}

/// Idle instances leak, and more of them make a network longer.
bool more_instances(Problem& p, Random& r) {
    if (leaks(p) || has(p, "Network")) {
        return false;
    }
    for (Component& c : p.components) {
        if (!c.dimensions.empty()) {
            const int more = 1 + r.below(4);
            c.dimensions.front().fanout += more;
            c.dimensions.front().other_fanout += more;
            return true;
        }
    }
    return false;
}

bool fewer_constraints(Problem& p, Random&) {
    bool applied = false;
    for (Component& c : p.components) {
        for (const char* key :
             {"no_refetch_from_above", "no_resend_to_below", "tensor_order_options"}) {
            applied = drop(c.tensors, key) || applied;
        }
        for (Dimension& d : c.dimensions) {
            applied = drop(d.rules, "reuse") || applied;
            applied = drop(d.rules, "loop_bounds") || applied;
        }
    }
    return applied;
}

/// A toll costs, and keeps nothing. The reference merges what a copy costs in each component by the
/// least of its tensors, so that one with a toll can cost less there.
bool no_toll(Problem& p, Random&) {
    return p.compat == arch::Compat::none &&
           std::erase_if(p.components, [](const Component& c) { return c.kind == "Toll"; }) > 0;
}

bool more_bandwidth(Problem& p, Random& r) {
    Component& c = any(memories(p), r);
    Action& a = c.actions[static_cast<std::size_t>(r.below(static_cast<int>(c.actions.size())))];
    a.throughput_per_s *= 1 + r.below(4);
    return true;
}

bool less_energy(Problem& p, Random& r) {
    Component& c = any(memories(p), r);
    c.actions[static_cast<std::size_t>(r.below(static_cast<int>(c.actions.size())))].energy_j *=
        r.pick(std::vector{0.5, 0.9});
    c.leak_w *= 0.5;
    return true;
}

/// Of a memory inside the outermost one.
bool free_order(Problem& p, Random& r) {
    Rules& tensors = any(memories(p), r).tensors;
    const std::string* const known = find(tensors, "force_memory_hierarchy_order");
    if ((known && *known == "False") || !r.chance(50)) {
        return false;
    }
    set(tensors, "force_memory_hierarchy_order", "False");
    return true;
}

struct Change {
    const char* name;
    bool (*apply)(Problem&, Random&);
    bool adds_members = true;
};

constexpr Change all_changes[] = {
    {"more fused loops", more_fused_loops},
    {"partial tiles", partial_tiles},
    {"other Einsum orders", other_orders},
    {"line buffers", line_buffer},
    {"fused", fused},
    {"may keep more", may_keep_more},
    {"need not keep", need_not_keep},
    {"more memory", more_memory},
    {"more banks", more_banks},
    {"no banks", no_banks},
    {"more instances", more_instances},
    {"fewer constraints", fewer_constraints},
    {"no toll", no_toll, false},
    {"more bandwidth", more_bandwidth, false},
    {"less energy", less_energy, false},
    {"free order", free_order},
};

}  // namespace

Wider draw_wider(const Problem& problem, Random& r) {
    Wider wider{problem, {}};
    // A condition for utilisation is measured by the best that any member reaches: new members may
    // raise it, and old ones fall short of it.
    const bool measured = problem.has_rule("min_usage");
    for (const Change& change : all_changes) {
        const int percent = change.apply == partial_tiles ? 12 : 25;
        if (r.chance(percent) && !(measured && change.adds_members) &&
            change.apply(wider.problem, r)) {
            wider.changes.emplace_back(change.name);
            wider.same_tree = wider.same_tree && change.apply != no_toll;
        }
    }
    return wider;
}

}  // namespace tessera::transformation
