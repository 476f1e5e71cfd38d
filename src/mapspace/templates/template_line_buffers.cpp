// Loops with a prologue. A holder moves with the loop right below it (template_loops.cpp puts it
// there): the readers' pieces overlap, so the producer's first tile is larger by its prologue, and
// so is that of every Einsum that shares the loop directly with it. Below such a loop one more loop
// over the variable stands, of tile shape 1: no other divides the first and the later tiles.
#include <algorithm>

#include "template_internal.hpp"

namespace tessera::mapspace::detail {

namespace {

class PrologueChoices {
public:
    PrologueChoices(const Space& space, const Items& items,
                    const std::function<void(const Items&)>& sink)
        : space_(space), items_(items), sink_(sink) {}

    void run() {
        Items items = items_;
        if (windows(items) && make_outermost(items)) {
            choose(0, items);
        }
    }

    /// The template for all choices of prologues.
    void run_for_bound() {
        Items items = items_;
        if (!windows(items) || !make_outermost(items)) {
            return;
        }
        for (int v = 0; v < static_cast<int>(space_.path.einsum.rank_variables.size()); ++v) {
            const int first = find_loop(items, v, 0);
            if (has_prologues(v) && first >= 0 &&
                find_loop(items, v, std::max(first + 1, fused_end(space_, items))) < 0) {
                add_inner_loop(v, items);
            }
        }
        sink_(items);
    }

private:
    const workload::LocalRankVariable& variable(int v) const {
        return space_.path.einsum.rank_variables[static_cast<std::size_t>(v)];
    }

    bool has_prologues(int v) const {
        return !variable(v).prologues.empty() && space_.options.line_buffers;
    }

    /// Constraints and crossings may have taken the loop away.
    bool windows(const Items& items) const {
        for (std::size_t i = 0; i < items.size(); ++i) {
            std::size_t loop = i + 1;
            while (loop < items.size() && items[loop].holder() && items[loop].line_buffer) {
                ++loop;  // running states share their loop
            }
            if (items[i].line_buffer && !is_slid(items, static_cast<int>(loop))) {
                return false;
            }
        }
        return true;
    }

    /// A holder moves with the loop at `i`.
    bool is_slid(const Items& items, int i) const {
        if (i < 1 || i >= static_cast<int>(items.size())) {
            return false;
        }
        const Item& holder = items[static_cast<std::size_t>(i) - 1];
        const Item& loop = items[static_cast<std::size_t>(i)];
        return holder.line_buffer && loop.kind == NodeKind::temporal &&
               (space_.windows[holder.tensor] >> loop.rank_variable & 1);
    }

    /// A holder moves with the outermost loop over a variable: others above it go. False if two
    /// holders want to move with one variable.
    bool make_outermost(Items& items) const {
        for (int i = 0; i < static_cast<int>(items.size()); ++i) {
            if (!is_slid(items, i)) {
                continue;
            }
            const int v = items[static_cast<std::size_t>(i)].rank_variable;
            for (int k = find_loop(items, v, 0); k < i; k = find_loop(items, v, 0)) {
                if (is_slid(items, k)) {
                    return false;
                }
                items.erase(items.begin() + k);
                --i;
            }
        }
        return true;
    }

    /// Least prologue that the line buffer right above the loop asks for.
    std::int64_t needed(const Items& items, int loop) const {
        if (!is_slid(items, loop)) {
            return 0;
        }
        const workload::LocalTensor& tensor = space_.path.einsum.tensors[static_cast<std::size_t>(
            items[static_cast<std::size_t>(loop) - 1].tensor)];
        for (const workload::Window& s : tensor.windows) {
            if (tensor.output &&
                s.variable == items[static_cast<std::size_t>(loop)].rank_variable) {
                return s.need;
            }
        }
        return 0;
    }

    /// Another Einsum may share the loop, and with it the prologue: a holder moves with it, or a
    /// shared tensor that it indexes is backed below.
    bool useful(const Items& items, int loop) const {
        const int v = items[static_cast<std::size_t>(loop)].rank_variable;
        return is_slid(items, loop) ||
               std::any_of(items.begin() + loop, items.end(), [&](const Item& item) {
                   return item.holder() && item.backing && (space_.fusable >> item.tensor & 1) &&
                          (space_.direct[item.tensor] >> v & 1);
               });
    }

    static int find_loop(const Items& items, int v, int from) {
        for (int i = from; i < static_cast<int>(items.size()); ++i) {
            if (items[static_cast<std::size_t>(i)].loop() &&
                items[static_cast<std::size_t>(i)].rank_variable == v) {
                return i;
            }
        }
        return -1;
    }

    void choose(int v, const Items& items) {
        if (v == static_cast<int>(space_.path.einsum.rank_variables.size())) {
            sink_(items);
            return;
        }
        const int first = find_loop(items, v, 0);
        if (first < 0 || needed(items, first) == 0) {
            choose(v + 1, items);
        }
        if (!has_prologues(v)) {
            return;
        }
        // Loops above the one with a prologue are left out.
        const int fused = fused_end(space_, items);
        Items rest = items;
        for (int loop = first, gone = 0; loop >= 0 && loop + gone < fused;
             loop = find_loop(rest, v, loop)) {
            if (rest[static_cast<std::size_t>(loop)].kind == NodeKind::temporal &&
                useful(rest, loop)) {
                for (const workload::Prologue& prologue : variable(v).prologues) {
                    if (prologue.prologue >= needed(rest, loop)) {
                        add_prologue(v, rest, prologue);
                    }
                }
            }
            if (is_slid(rest, loop)) {
                return;
            }
            rest.erase(rest.begin() + loop);
            ++gone;
        }
    }

    void add_prologue(int v, const Items& items, const workload::Prologue& prologue) {
        const int loop = find_loop(items, v, 0);
        const int fused = fused_end(space_, items);
        std::vector<int> below;
        for (int i = find_loop(items, v, loop + 1); i >= 0; i = find_loop(items, v, i + 1)) {
            below.push_back(i);
        }
        // Of the loops below only `keep` is left.
        const auto with = [&](int keep) {
            Items out;
            for (int i = 0; i < static_cast<int>(items.size()); ++i) {
                if (i == keep || std::find(below.begin(), below.end(), i) == below.end()) {
                    out.push_back(items[static_cast<std::size_t>(i)]);
                }
            }
            Item& with_prologue = out[static_cast<std::size_t>(loop)];
            with_prologue.prologue = static_cast<std::int32_t>(prologue.prologue);
            with_prologue.base = static_cast<std::int32_t>(prologue.base);
            return out;
        };
        bool kept = false;
        for (const int keep : below) {
            if (keep >= fused) {
                kept = true;
                choose(v + 1, with(keep));
            }
        }
        if (kept) {
            return;
        }
        Items out = with(-1);
        add_inner_loop(v, out);
        choose(v + 1, out);
    }

    /// Below the fused loops.
    void add_inner_loop(int v, Items& items) const {
        int end = fused_end(space_, items);
        while (end < static_cast<int>(items.size()) &&
               (items[static_cast<std::size_t>(end)].kind == NodeKind::temporal ||
                items[static_cast<std::size_t>(end)].backing)) {
            ++end;
        }
        Item last;
        last.kind = NodeKind::temporal;
        last.rank_variable = static_cast<std::int8_t>(v);
        items.insert(items.begin() + end, last);
    }

    const Space& space_;
    const Items& items_;
    const std::function<void(const Items&)>& sink_;
};

}  // namespace

void choose_prologues(const Space& space, const Items& items,
                      const std::function<void(const Items&)>& sink) {
    PrologueChoices(space, items, sink).run();
}

void bound_prologues(const Space& space, const Items& items,
                     const std::function<void(const Items&)>& sink) {
    PrologueChoices(space, items, sink).run_for_bound();
}

}  // namespace tessera::mapspace::detail
