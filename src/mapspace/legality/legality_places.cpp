#include "legality_places.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tessera::mapspace::legality {

using workload::LocalTensor;
using workload::Relevancy;
using workload::TensorMask;

Places::Places(const Leaf& leaf, const MapSpaceOptions& options) : leaf_(leaf), options_(options) {
    for (std::size_t i = 0; i < leaf.nodes.size(); ++i) {
        if (leaf.nodes[i].kind == Kind::storage) {
            holders_.push_back(static_cast<int>(i));
        }
    }
    places_.resize(leaf.view().rank_variables.size());
    for (std::size_t v = 0; v < places_.size(); ++v) {
        find_places(static_cast<int>(v));
    }
}

std::vector<int> Places::loops_in(int gap) const {
    const auto [begin, end] = nodes_in(gap);
    std::vector<int> loops;
    for (int i = begin; i < end; ++i) {
        if (leaf_.nodes[i].loop() && leaf_.nodes[i].trips > 1) {
            loops.push_back(i);
        }
    }
    return loops;
}

Place Places::place_of(int loop) const {
    const auto below = std::upper_bound(holders_.begin(), holders_.end(), loop);
    const Node& node = leaf_.nodes[loop];
    return {static_cast<int>(below - holders_.begin()) - 1,
            node.kind == Kind::spatial ? node.level : -1, node.dim};
}

TensorMask Places::unseen(int gap) const {
    TensorMask mask = leaf_.view().all();
    for (int i = 0; i <= gap; ++i) {
        mask &= ~(TensorMask{1} << leaf_.nodes[holders_[i]].tensor);
    }
    return mask;
}

int Places::spatial_gap(int level) const {
    int last = -1;
    for (std::size_t i = 0; i < holders_.size(); ++i) {
        last = leaf_.nodes[holders_[i]].level < level ? static_cast<int>(i) : last;
    }
    return last;
}

int Places::unindexed(int variable, const Place& place) const {
    TensorMask below = unseen(place.gap);
    if (!place.temporal()) {
        // A holder inside the fan-out has the loop around it, wherever it stands.
        for (int i = 0; i <= place.gap; ++i) {
            const Node& holder = leaf_.nodes[holders_[i]];
            below |=
                holder.first && holder.level >= place.level ? TensorMask{1} << holder.tensor : 0;
        }
        below &= leaf_.view().intermediates();
    }
    for (std::size_t t = 0; t < leaf_.view().tensors.size(); ++t) {
        if ((below >> t & 1) && !(leaf_.view().tensors[t].directly_indexing >> variable & 1)) {
            return static_cast<int>(t);
        }
    }
    return -1;
}

int Places::run_begin(int gap) const {
    int begin = gap;
    while (begin > 0 && loops_in(begin - 1).empty()) {
        --begin;
    }
    return begin;
}

int Places::window(int gap) const {
    for (int h = gap < 0 || loops_in(gap).empty() ? gap + 1 : run_begin(gap); h <= gap; ++h) {
        if (const int loop = leaf_.line_buffer_loop(holders_[h]); loop >= 0) {
            return loop;
        }
    }
    return -1;
}

bool Places::belongs_above(int variable, int gap, int holder) const {
    const Node& node = leaf_.nodes[holders_[holder]];
    return !node.first && (fused(gap) || has_network()) &&
           (leaf_.tensor(node).directly_indexing >> variable & 1) && !crosses(variable, gap);
}

/// Memories that leave their order: a spatial loop over the variable would be taken above a holder
/// above the gap, and cross a temporal one there. Loops then stand on either side.
bool Places::crosses(int variable, int gap) const {
    for (int h = 0; h <= gap; ++h) {
        const Node& holder = leaf_.nodes[holders_[h]];
        if (leaf_.tensor(holder).relevancy[variable] == Relevancy::irrelevant) {
            continue;
        }
        int outermost = holder.level;
        for (int i = run_begin(h); i < static_cast<int>(holders_.size()); ++i) {
            outermost = std::min(outermost, leaf_.nodes[holders_[i]].level);
        }
        for (int l = outermost + 1; l <= holder.level; ++l) {
            if (std::ranges::any_of(leaf_.path.levels[l].spatial,
                                    [](const arch::PathDim& dim) { return dim.fanout > 1; })) {
                return true;
            }
        }
    }
    return false;
}

bool Places::spatial_fits(int variable, int level, int dim) const {
    const arch::PathDim& at = leaf_.path.levels[level].spatial[dim];
    const Place place{spatial_gap(level), level, dim};
    if (at.fanout <= 1 || unindexed(variable, place) >= 0 ||
        (options_.max_fused_loops == 0 && fused(place.gap))) {
        return false;
    }
    using Op = arch::LoopBound::Op;
    for (const arch::LoopBound& bound : at.loop_bounds) {
        const bool one = bound.value == 1 && (bound.op == Op::equal || bound.op == Op::less_equal);
        if (one && (bound.variables >> variable & 1)) {
            return false;
        }
    }
    for (std::size_t t = 0; t < leaf_.view().tensors.size(); ++t) {
        const LocalTensor& tensor = leaf_.view().tensors[t];
        if (((unseen(place.gap) >> t & 1) && tensor.persistent && tensor.fusable) ||
            ((at.reuse >> t & 1) && tensor.relevancy[variable] != Relevancy::irrelevant)) {
            return false;
        }
    }
    return true;
}

bool Places::temporal_fits(int variable, int gap) const {
    return unindexed(variable, {gap, -1, -1}) < 0 &&
           (gap < 0 || !belongs_above(variable, gap, gap)) &&
           !(options_.max_fused_loops == 0 && fused(gap)) && refetches_allow(variable, gap);
}

/// C3.
bool Places::refetches_allow(int variable, int gap) const {
    for (int h = 0; h < static_cast<int>(holders_.size()); ++h) {
        const Node& holder = leaf_.nodes[holders_[h]];
        if (leaf_.tensor(holder).relevancy[variable] == Relevancy::relevant) {
            continue;
        }
        int first = h, next = static_cast<int>(holders_.size());
        for (int i = 0; i < static_cast<int>(holders_.size()); ++i) {
            if (leaf_.nodes[holders_[i]].tensor == holder.tensor) {
                first = std::min(first, i);
                next = i > h ? std::min(next, i) : next;
            }
        }
        const arch::PathLevel& level = leaf_.level(holder);
        const bool refetch = (level.no_refetch_from_above >> holder.tensor & 1) != 0;
        const bool resend = (level.no_resend_to_below >> holder.tensor & 1) != 0;
        if ((refetch && gap >= first && gap < h) || (resend && gap >= h && gap < next)) {
            return false;
        }
    }
    return true;
}

/// In one gap the temporal place is above the spatial ones, and those of inner levels above those
/// of outer levels, unless a toll stands between them. The loop over an iterative variable has one
/// place.
void Places::find_places(int variable) {
    const workload::LocalRankVariable& bound = leaf_.view().rank_variables[variable];
    if (bound.bound == 1 || (leaf_.view().state_variables() >> variable & 1)) {
        return;
    }
    int first = -1;  // no loop stands above the holders of the first group
    for (int i = 0; i < static_cast<int>(holders_.size()); ++i) {
        const Node& holder = leaf_.nodes[holders_[i]];
        first = holder.level == leaf_.path.first_memory() ||
                        (holder.first && leaf_.tensor(holder).persistent)
                    ? i
                    : first;
    }
    std::vector<Place>& places = places_[variable];
    for (int gap = first; gap < static_cast<int>(holders_.size()); ++gap) {
        if (temporal_fits(variable, gap)) {
            places.push_back({gap, -1, -1});
        }
        for (int l = static_cast<int>(leaf_.path.levels.size()); l-- > 0;) {
            for (int d = static_cast<int>(leaf_.path.levels[l].spatial.size()); d-- > 0;) {
                if (spatial_gap(l) == gap && spatial_fits(variable, l, d)) {
                    places.push_back({gap, l, d});
                }
            }
        }
    }
}

std::pair<int, int> Places::nodes_in(int gap) const {
    const int n = static_cast<int>(holders_.size());
    return {gap < 0 ? 0 : holders_[gap] + 1,
            gap + 1 < n ? holders_[gap + 1] : static_cast<int>(leaf_.nodes.size())};
}

int Places::tolls_outside(const Place& place) const {
    const auto [begin, end] = nodes_in(place.gap);
    return static_cast<int>(std::count_if(
        leaf_.nodes.begin() + begin, leaf_.nodes.begin() + end,
        [&](const Node& n) { return n.kind == Kind::toll && n.level < place.level; }));
}

std::vector<Place> Places::further(int loop) const {
    const auto rank = [this](const Place& p) {
        return std::tuple(p.gap, p.temporal() ? 0 : 1, tolls_outside(p), -p.level, -p.dim);
    };
    const Place place = place_of(loop);
    auto own = rank(place);
    if (window(place.gap) == loop) {
        std::get<1>(own) = -1;  // first of the gap, before an ordinary loop
    }
    int next = loop + 1;
    const int n = static_cast<int>(leaf_.nodes.size());
    const int variable = leaf_.nodes[loop].variable;
    while (next < n && !(leaf_.nodes[next].loop() && leaf_.nodes[next].variable == variable &&
                         leaf_.nodes[next].trips > 1)) {
        ++next;
    }
    std::vector<Place> found;
    for (const Place& other : places_[variable]) {
        if (rank(other) > own && (next == n || rank(other) <= rank(place_of(next)))) {
            found.push_back(other);
        }
    }
    return found;
}

}  // namespace tessera::mapspace::legality
