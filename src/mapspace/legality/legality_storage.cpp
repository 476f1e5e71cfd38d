// Constraints on what holds what, and in which order.
#include <algorithm>

#include "legality_constraints.hpp"

namespace tessera::mapspace::legality {

using arch::LevelKind;
using arch::TensorMask;

Constraints::Constraints(Checker& checker, const Leaf& leaf) : checker_(checker), leaf_(leaf) {
    stored_.assign(leaf.path.levels.size(), 0);
    left_out_.assign(leaf.path.levels.size(), 0);
    for (const Node& node : leaf.nodes) {
        if (node.holder()) {
            stored_[node.level] |= TensorMask{1} << node.tensor;
        }
    }
}

std::string Constraints::names(TensorMask mask) const {
    std::string text;
    for (std::size_t t = 0; t < leaf_.view().tensors.size(); ++t) {
        if (mask >> t & 1) {
            text += (text.empty() ? "" : ", ") + in_quotes(leaf_.view().tensors[t].name);
        }
    }
    return text.empty() ? "nothing" : text;
}

const Node* Constraints::holder_in(int level, TensorMask tensors) const {
    for (const Node& node : leaf_.nodes) {
        if (node.holder() && node.level == level && (tensors >> node.tensor & 1)) {
            return &node;
        }
    }
    return nullptr;
}

void Constraints::enabled() {
    for (std::size_t l = 0; l < leaf_.path.levels.size(); ++l) {
        const arch::PathLevel& level = leaf_.path.levels[l];
        const bool used = stored_[l] || l + 1 == leaf_.path.levels.size();
        if (used && !level.enabled) {
            Violation& v =
                add("disabled", in_quotes(level.name) + " is not enabled for " + einsum());
            v.level = level.name;
            v.where = level.where;
        }
    }
}

void Constraints::storage_of(int l, TensorMask above, const spec::Symbols& symbols) {
    const arch::PathLevel& level = leaf_.path.levels[l];
    const TensorMask all = leaf_.view().all();
    const auto set = [&](const spec::Expression& e, TensorMask otherwise) {
        return e.empty() ? otherwise : arch::evaluate_tensors(e, symbols) & all;
    };
    const TensorMask back = set(level.back, 0);
    TensorMask keep = set(level.keep, 0) | back;
    TensorMask may_keep = set(level.may_keep, level.keep.empty() ? all : 0);
    const bool unfused =
        checker_.options && checker_.options->unfused && l == leaf_.path.first_memory();
    if (unfused) {
        keep = all;
    }
    if (level.kind == LevelKind::toll) {
        keep &= above;
        may_keep &= above;
    }
    // A copy only needs outermost holders; in the mapspace also tolls, where it passes them.
    const bool spared = leaf_.view().is_copy_operation &&
                        (level.kind != LevelKind::toll || checker_.options == nullptr);
    const TensorMask must = spared ? keep & ~above : keep;
    const bool reference = checker_.options != nullptr &&
                           checker_.options->preset == MapSpaceOptions::Preset::accelforge;
    if (spared && reference && level.kind == LevelKind::memory) {
        left_out_[l] = keep & above & ~stored_[l];
    }
    const auto report = [&](const char* code, TensorMask wrong, const std::string& text,
                            const spec::Expression& e) {
        if (!wrong) {
            return;
        }
        Violation& v = add(code,
                           einsum() + ": " + in_quotes(level.name) + " holds " + names(stored_[l]) +
                               ", " + text + " " + names(wrong) +
                               (e.empty() ? "" : " (" + std::string(code) + ": " + e.text() + ")"),
                           holder_in(l, wrong));
        v.level = level.name;
        v.tensor = leaf_.view().tensors[__builtin_ctzll(wrong)].name;
        v.where = e.empty() ? level.where : e.position();
    };
    report("keep", must & ~stored_[l], unfused ? "but, unfused, must keep" : "but must keep",
           unfused ? spec::Expression() : level.keep);
    // A further holder of a copy in a memory is no member: the reference has those it must keep.
    const bool once = leaf_.view().is_copy_operation && level.kind == LevelKind::memory &&
                      checker_.options != nullptr;
    if (once) {
        may_keep &= ~above;
        keep &= checker_.options->preset == MapSpaceOptions::Preset::full ? ~above : all;
    }
    const TensorMask wrong =
        stored_[l] & ~keep & ~may_keep & ~(level.kind == LevelKind::toll ? 0 : back);
    const bool again = once && (wrong & ~above) == 0;
    report("may_keep", wrong, again ? "but a copy needs no second holder of" : "but may not keep",
           again                    ? spec::Expression()
           : level.may_keep.empty() ? level.keep
                                    : level.may_keep);
    report("back", back & above,
           "and a level above it holds, although it must be their outermost holder,", level.back);
}

/// Whether the holder of tensor `t` in `level` may stand below all outermost holders of a copy:
/// there it does nothing, and no chain has it.
bool Constraints::may_stand_last(int t, int level, const spec::Symbols& symbols) const {
    const auto in_order = [&](const Node& backing) {
        const bool forced = checker_.options->force_memory_hierarchy_order &&
                            !leaf_.tensor(backing).persistent &&
                            !leaf_.view().tensors[static_cast<std::size_t>(t)].persistent &&
                            leaf_.level(backing).force_memory_hierarchy_order &&
                            leaf_.path.levels[level].force_memory_hierarchy_order;
        return backing.level > level && (forced || leaf_.tensor(backing).fusable);
    };
    TensorMask backed_here = 0;
    for (const Node& node : leaf_.nodes) {
        if (node.holder() && node.first && in_order(node)) {
            return false;
        }
        if (node.holder() && node.first && node.level == level) {
            backed_here |= TensorMask{1} << node.tensor;
        }
    }
    bool any = false, possible = false;
    for (const auto& option : leaf_.path.levels[level].tensor_order_options) {
        TensorMask below = 0, named = 0;  // whom the option wants below t
        bool met = false;
        for (const spec::Expression& expression : option) {
            const TensorMask place =
                arch::evaluate_tensors(expression, symbols) & leaf_.view().all() & ~named;
            named |= place;
            below |= met ? place : 0;
            met = met || (place >> t & 1);
        }
        any = any || named != 0;
        possible = possible || (named != 0 && (below & backed_here) == 0);
    }
    return !any || possible;
}

// What the reference must keep of a copy counts where it has to stand above an outermost holder.
void Constraints::left_out(const spec::Symbols& symbols) {
    for (int l = 0; l < static_cast<int>(leaf_.path.levels.size()); ++l) {
        TensorMask wrong = 0;
        for (std::size_t t = 0; t < leaf_.view().tensors.size(); ++t) {
            if ((left_out_[l] >> t & 1) && !may_stand_last(static_cast<int>(t), l, symbols)) {
                wrong |= TensorMask{1} << t;
            }
        }
        if (wrong) {
            const arch::PathLevel& level = leaf_.path.levels[l];
            Violation& v =
                add("keep", einsum() + ": " + in_quotes(level.name) + " holds " +
                                names(stored_[l]) + ", but must keep " + names(wrong) +
                                ", above an outermost holder (keep: " + level.keep.text() + ")");
            v.level = level.name;
            v.tensor = leaf_.view().tensors[__builtin_ctzll(wrong)].name;
            v.where = level.keep.empty() ? level.where : level.keep.position();
        }
    }
}

void Constraints::storage() {
    spec::Symbols symbols = leaf_.path.symbols.child();
    TensorMask above = 0;
    symbols.set("Above", spec::Value(spec::TensorSet{0}));
    for (std::size_t l = 0; l < leaf_.path.levels.size(); ++l) {
        const arch::PathLevel& level = leaf_.path.levels[l];
        if (!level.holds_tensors()) {
            continue;
        }
        if (level.enabled) {
            storage_of(static_cast<int>(l), above, symbols);
        }
        above |= stored_[l];
        symbols.set(level.name, spec::Value(spec::TensorSet{stored_[l]}));
        symbols.set("Above", spec::Value(spec::TensorSet{above}));
    }
    left_out(symbols);
    orders(symbols);
}

/// The holder is the last before a loop, and its tensor's tile is charged further down for that.
bool Constraints::sinks(std::size_t holder) const {
    const Node& node = leaf_.nodes[holder];
    std::size_t next = holder + 1;
    while (next + 1 < leaf_.nodes.size() && leaf_.nodes[next].loop() &&
           leaf_.nodes[next].trips == 1) {
        ++next;
    }
    if (next == leaf_.nodes.size()) {  // nothing but the compute is below
        return false;
    }
    const Node& below = leaf_.nodes[next];
    return node.kind == Kind::storage && !node.first && node.tree->lower &&
           below.kind == Kind::temporal &&
           leaf_.tensor(node).relevancy[below.variable] != workload::Relevancy::irrelevant;
}

// All holders of the level stand in the option's order; tensors it does not name stand anywhere,
// and so do holders among themselves that no loop separates. `as_charged`: not the one that is
// charged further down because it is the last of them.
bool Constraints::fits(const std::vector<TensorMask>& option, int level, bool as_charged) const {
    std::size_t before = 0, here = 0;  // innermost places above the last loop and below it
    for (std::size_t i = 0; i < leaf_.nodes.size(); ++i) {
        const Node& node = leaf_.nodes[i];
        if ((node.loop() && node.trips > 1) ||
            (as_charged && node.level == level && node.holder() && sinks(i))) {
            before = std::max(before, here);
        }
        if (node.kind != Kind::storage || node.level != level) {
            continue;
        }
        for (std::size_t p = 0; p < option.size(); ++p) {
            if (option[p] >> node.tensor & 1) {
                if (p < before) {
                    return false;
                }
                here = std::max(here, p);
                break;
            }
        }
    }
    return true;
}

void Constraints::orders(const spec::Symbols& symbols) {
    for (int l = 0; l < static_cast<int>(leaf_.path.levels.size()); ++l) {
        const arch::PathLevel& level = leaf_.path.levels[l];
        // No loop stands between holders of the outermost memory, so their order means nothing.
        if (level.kind != LevelKind::memory || l == leaf_.path.first_memory()) {
            continue;
        }
        bool any = false, fit = false, fit_as_charged = false;
        std::string text;
        for (const auto& option : level.tensor_order_options) {
            std::vector<TensorMask> places;
            text += text.empty() ? "[" : " or [";
            for (const spec::Expression& expression : option) {
                text += (places.empty() ? "" : ", ") + expression.text();
                places.push_back(arch::evaluate_tensors(expression, symbols) & leaf_.view().all());
            }
            text += "]";
            const bool names_any =
                std::any_of(places.begin(), places.end(), [](TensorMask m) { return m; });
            any |= names_any;
            fit |= names_any && fits(places, l, false);
            fit_as_charged |= names_any && fits(places, l, true);
        }
        if (any && !fit) {
            Violation& v = add("tensor_order",
                               einsum() + ": the holders in " + in_quotes(level.name) +
                                   " stand in none of the orders " + text,
                               holder_in(l, ~TensorMask{0}));
            v.level = level.name;
            v.where = level.where;
        } else if (any && !fit_as_charged) {
            Violation& v = add("tensor_order",
                               einsum() + ": of the holders in " + in_quotes(level.name) +
                                   " that no loop separates, the last is charged further down, "
                                   "and in the orders " +
                                   text +
                                   " another is the last; in this order the chain is no member of "
                                   "the mapspace, and may cost less than the optimum",
                               holder_in(l, ~TensorMask{0}));
            v.severity = Severity::warning;
            v.level = level.name;
            v.where = level.where;
        }
    }
}

void Constraints::hierarchy() {
    const bool everywhere = !checker_.options || checker_.options->force_memory_hierarchy_order;
    const auto persistent = [&](const Node& node) {
        return node.first && leaf_.tensor(node).persistent;
    };
    for (std::size_t i = 0; i < leaf_.nodes.size(); ++i) {
        for (std::size_t j = i + 1; j < leaf_.nodes.size(); ++j) {
            const Node& upper = leaf_.nodes[i];
            const Node& lower = leaf_.nodes[j];
            if (upper.kind != Kind::storage || lower.kind != Kind::storage ||
                upper.level <= lower.level || upper.tensor == lower.tensor || !loop_between(i, j)) {
                continue;
            }
            const bool ordered = everywhere && !persistent(upper) && !persistent(lower) &&
                                 leaf_.level(upper).force_memory_hierarchy_order &&
                                 leaf_.level(lower).force_memory_hierarchy_order;
            const bool fused = checker_.options && upper.first && leaf_.tensor(upper).fusable;
            if (ordered || fused) {
                add("hierarchy",
                    einsum() + ": " + in_quotes(leaf_.level(upper).name) + " holding " +
                        in_quotes(leaf_.tensor(upper).name) + " stands above " +
                        in_quotes(leaf_.level(lower).name) + " holding " +
                        in_quotes(leaf_.tensor(lower).name) +
                        ", which is the outer memory of the two" +
                        (ordered ? " (force_memory_hierarchy_order)"
                                 : " (outermost holder of a shared tensor)"),
                    &lower)
                    .where = leaf_.level(upper).where;
            }
        }
    }
}

// Without a loop between them the order of two holders means nothing.
bool Constraints::loop_between(std::size_t i, std::size_t j) const {
    return std::any_of(leaf_.nodes.begin() + static_cast<std::ptrdiff_t>(i),
                       leaf_.nodes.begin() + static_cast<std::ptrdiff_t>(j),
                       [](const Node& node) { return node.loop() && node.trips > 1; });
}

// In this mapspace no temporal loop stands above the outermost memory or a persistent tensor, and
// no loop at all above one that several Einsums access: its users would spread it in their own
// ways. Spatial loops of a level outside a memory are around its holders, wherever they stand.
void Constraints::outermost() {
    if (!checker_.options) {
        return;
    }
    const Node* temporal = nullptr;
    for (const Node& node : leaf_.nodes) {
        if (node.kind == Kind::temporal && node.trips > 1) {
            temporal = temporal ? temporal : &node;
        }
        const bool persistent = node.holder() && node.first && leaf_.tensor(node).persistent;
        const bool top = node.holder() && (persistent || node.level == leaf_.path.first_memory());
        const Node* loop = temporal;
        if (persistent && leaf_.tensor(node).fusable) {
            const auto spreads = [&](const Node& other) {
                return other.kind == Kind::spatial && other.trips > 1 && other.level <= node.level;
            };
            const auto found = std::ranges::find_if(leaf_.nodes, spreads);
            loop = loop || found == leaf_.nodes.end() ? loop : &*found;
        }
        if (top && loop) {
            add("outermost",
                einsum() + ": the " + loop_text(leaf_, *loop) + " is around " +
                    in_quotes(leaf_.level(node).name) + " holding " +
                    in_quotes(leaf_.tensor(node).name) +
                    ", which in this mapspace stands above all loops",
                &node);
        }
    }
}

void Constraints::storage_and_order() {
    enabled();
    storage();
    hierarchy();
    outermost();
}

void Checker::check_constraints(const Leaf& leaf) {
    Constraints constraints(*this, leaf);
    constraints.storage_and_order();
    constraints.loops();
}

}  // namespace tessera::mapspace::legality
