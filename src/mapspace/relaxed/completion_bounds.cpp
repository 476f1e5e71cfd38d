// Tables of completions. Map:
//   table_of_einsum   rows of one Einsum by how they hold its shared tensors
//   of_set            two tables as one, of the tensors that are live then; what becomes too large
//                     forgets a tensor
//   prepare           backwards: table of one Einsum outside a set, and of the set with it
//   of_state          looked up by the compatibilities of live tensors
//   tell_reduced_costs  forwards and backwards: what goes with each row
#include "completion_bounds.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "tessera/base/stop.hpp"

namespace tessera::mapspace::detail {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Rows between two looks at the stop token.
constexpr std::size_t poll_every = 1024;

std::vector<LoopAbove> loops_above(const StateStructure& structure, const LiveTensor& tensor) {
    std::vector<LoopAbove> out;
    for (int l = 0; l < tensor.level; ++l) {
        const auto at = static_cast<std::size_t>(l);
        out.push_back({tensor.ranks[at], structure.loops[at].spatial_dim, tensor.bounds[at].first,
                       tensor.bounds[at].second.prologue});
    }
    return out;
}

/// Tensors that all groups of an Einsum hold, ascending.
std::vector<int> shared_tensors(const std::vector<PmappingGroup>& groups) {
    std::vector<int> out;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        std::vector<int> own, both;
        for (const BackedTensor& t : groups[g].structure.tensors) {
            if (!t.running_state) {
                own.push_back(t.tensor);
            }
        }
        // Groups of equal Einsums come in the order of the first one's tensors.
        std::ranges::sort(own);
        std::ranges::set_intersection(g == 0 ? own : out, own, std::back_inserter(both));
        out = std::move(both);
    }
    return out;
}

std::size_t n_sets(const Orders& orders) {
    std::size_t out = 0;
    for (const auto& sets : orders.by_size) {
        out += sets.size();
    }
    return out;
}

}  // namespace

CompletionBounds::CompletionBounds(const std::vector<std::vector<PmappingGroup>>& groups,
                                   const Orders& orders, std::size_t n_tensors, JoinGoal goal,
                                   const std::vector<std::vector<double>>& known,
                                   std::size_t most_sums)
    : groups_(groups),
      orders_(orders),
      sums_(goal, known),
      most_sums_(most_sums / n_sets(orders)),
      users_(n_tensors) {
    for (std::size_t e = 0; e < groups.size(); ++e) {
        for (const int t : shared_tensors(groups[e])) {
            users_[static_cast<std::size_t>(t)].push_back(e);
        }
    }
    make_tables();
    if (goal == JoinGoal::edp) {
        prepare(0, 0);
        const double* least = look_up(*sets_[0][0], {}, nullptr);
        const std::size_t before = sums_.width();
        sums_.add_mixed(least[0], least[1]);
        if (sums_.width() > before) {
            make_tables();
        }
    }
}

void CompletionBounds::make_tables() {
    none_.assign(sums_.width(), infinity);
    free_.assign(sums_.width(), 0.0);
    einsums_.clear();
    least_.clear();
    for (std::size_t e = 0; e < groups_.size(); ++e) {
        einsums_.push_back(table_of_einsum(e));
        least_.push_back(none_);
        for (std::size_t r = 0; r < einsums_[e].rows(); ++r) {
            for (std::size_t w = 0; w < sums_.width(); ++w) {
                least_[e][w] = std::min(least_[e][w], einsums_[e].sums(r)[w]);
            }
        }
    }
    sets_.clear();
    for (const auto& sets : orders_.by_size) {
        sets_.emplace_back(sets.size());
    }
}

CompletionBounds::Held CompletionBounds::held_by(const SumTable& table,
                                                 const PmappingGroup& group) const {
    Held out;
    for (const int t : table.tensors()) {
        out.emplace_back(group.structure,
                         *std::ranges::find(group.structure.tensors, t, &BackedTensor::tensor));
    }
    return out;
}

SumTable CompletionBounds::table_of_einsum(std::size_t e) const {
    SumTable out(shared_tensors(groups_[e]), sums_.width());
    std::vector<std::uint64_t> key(out.tensors().size());
    std::array<double, most_weights> own{};
    for (const PmappingGroup& g : groups_[e]) {
        const Held held = held_by(out, g);
        for (std::size_t r = 0; r < g.rows(); ++r) {
            if (r % poll_every == 0) {
                base::poll_stop();
            }
            for (std::size_t i = 0; i < key.size(); ++i) {
                key[i] = held[i].of(g.trips_of(r));
            }
            sums_.of_row(g.row(r), own.data());
            double* least = out.at(key.data());
            for (std::size_t w = 0; w < sums_.width(); ++w) {
                least[w] = std::min(least[w], own[w]);
            }
        }
    }
    return out;
}

/// Least sums of the Einsums inside or outside a set.
std::vector<double> CompletionBounds::least_of(const EinsumSet& done, bool inside) const {
    std::vector<double> out = free_;
    for (std::size_t e = 0; e < least_.size(); ++e) {
        for (std::size_t w = 0; w < out.size() && contains(done, e) == inside; ++w) {
            out[w] += least_[e][w];
        }
    }
    return out;
}

/// Of the tensors that Einsums in `done` and outside it have. A table that becomes too large
/// forgets a tensor: whoever holds it otherwise counts too. `elsewhere`: least sums of the Einsums
/// that neither table has.
SumTable CompletionBounds::of_set(const SumTable& a, const SumTable& b, const EinsumSet& done,
                                  const std::vector<double>& elsewhere) const {
    std::vector<int> kept;
    std::ranges::set_union(a.tensors(), b.tensors(), std::back_inserter(kept));
    std::erase_if(kept, [&](int t) {
        const auto& users = users_[static_cast<std::size_t>(t)];
        const auto joined = [&](std::size_t user) { return contains(done, user); };
        return std::ranges::none_of(users, joined) || std::ranges::all_of(users, joined);
    });
    const auto distinct = [&](int t) {
        for (const SumTable* table : {&a, &b}) {
            const auto at = std::ranges::find(table->tensors(), t);
            if (at != table->tensors().end()) {
                return table->distinct(static_cast<std::size_t>(at - table->tensors().begin()));
            }
        }
        return std::size_t{0};
    };
    for (;;) {
        const std::size_t most =
            kept.empty() ? std::numeric_limits<std::size_t>::max() : most_sums_;
        if (auto out = combined(a, b, kept, sums_, elsewhere, most)) {
            return std::move(*out);
        }
        kept.erase(std::ranges::max_element(kept, {}, distinct));
    }
}

void CompletionBounds::prepare(std::size_t size, int set) {
    std::unique_ptr<SumTable>& own = sets_[size][static_cast<std::size_t>(set)];
    if (own) {
        return;
    }
    const Orders::Set& of = orders_.by_size[size][static_cast<std::size_t>(set)];
    if (of.next.empty()) {
        own = std::make_unique<SumTable>(std::vector<int>{}, sums_.width());
        std::ranges::fill_n(own->at(nullptr), static_cast<std::ptrdiff_t>(sums_.width()), 0.0);
        return;
    }
    const Orders::Next& next = of.next.front();
    prepare(size + 1, next.set);
    own = std::make_unique<SumTable>(of_set(einsums_[static_cast<std::size_t>(next.einsum)],
                                            *sets_[size + 1][static_cast<std::size_t>(next.set)],
                                            of.done, least_of(of.done, true)));
}

CompletionBounds::Held CompletionBounds::held_by(const SumTable& table,
                                                 const StateStructure& structure) const {
    Held out;
    for (const int tensor : table.tensors()) {
        const auto live = std::ranges::find(structure.live, tensor, &LiveTensor::tensor);
        if (live != structure.live.end()) {
            out.emplace_back(*live, loops_above(structure, *live));
        }
    }
    return out;
}

const double* CompletionBounds::look_up(const SumTable& table, const Held& held,
                                        const std::int64_t* trips) const {
    if (held.size() < table.tensors().size()) {
        return free_.data();  // a tensor of the table is not live here
    }
    std::array<std::uint64_t, 64> key;
    if (held.size() > key.size()) {
        return free_.data();
    }
    for (std::size_t i = 0; i < held.size(); ++i) {
        key[i] = held[i].of(trips);
    }
    const double* least = table.find(key.data());
    return least == nullptr ? none_.data() : least;
}

void CompletionBounds::of_state(std::size_t size, int set, const StateStructure& structure,
                                const std::int64_t* trips, double* out) const {
    const SumTable& table = *sets_[size][static_cast<std::size_t>(set)];
    std::copy_n(look_up(table, held_by(table, structure), trips), sums_.width(), out);
}

void CompletionBounds::of_rows(std::size_t size, int set, const JoinPlan& plan,
                               const PmappingGroup& right, std::vector<double>& out) const {
    const SumTable& table = *sets_[size][static_cast<std::size_t>(set)];
    const Held held = held_by(table, plan.structure);
    std::vector<std::int64_t> trips(static_cast<std::size_t>(plan.n_open));
    out.resize(right.rows() * sums_.width());
    for (std::size_t r = 0; r < right.rows(); ++r) {
        for (std::size_t p = 0; p < trips.size(); ++p) {
            trips[p] = right.trips_of(r)[plan.order[p]];
        }
        std::copy_n(look_up(table, held, trips.data()), sums_.width(), &out[r * sums_.width()]);
    }
}

double CompletionBounds::least_value() {
    prepare(0, 0);
    return sums_.least_value(look_up(*sets_[0][0], {}, nullptr));
}

void CompletionBounds::tell_reduced_costs(
    const std::function<void(std::size_t, std::size_t, std::size_t, const double*)>& tell) {
    prepare(0, 0);
    SumTable before({}, sums_.width());
    std::ranges::fill_n(before.at(nullptr), static_cast<std::ptrdiff_t>(sums_.width()), 0.0);
    std::vector<double> whole(sums_.width());
    int set = 0;
    for (std::size_t size = 0; size < groups_.size(); ++size) {
        const Orders::Next& next =
            orders_.by_size[size][static_cast<std::size_t>(set)].next.front();
        const auto e = static_cast<std::size_t>(next.einsum);
        const SumTable rest =
            rest_of(einsums_[e], before, *sets_[size + 1][static_cast<std::size_t>(next.set)],
                    sums_.width());
        for (std::size_t g = 0; g < groups_[e].size(); ++g) {
            const PmappingGroup& group = groups_[e][g];
            const Held held = held_by(rest, group);
            for (std::size_t r = 0; r < group.rows(); ++r) {
                const double* others = look_up(rest, held, group.trips_of(r));
                sums_.of_row(group.row(r), whole.data());
                for (std::size_t w = 0; w < whole.size(); ++w) {
                    whole[w] += others[w];
                }
                tell(e, g, r, whole.data());
            }
        }
        set = next.set;
        const EinsumSet& done = orders_.by_size[size + 1][static_cast<std::size_t>(set)].done;
        before = of_set(before, einsums_[e], done, least_of(done, false));
    }
}

}  // namespace tessera::mapspace::detail
