// Tables of completions. Map:
//   table_of_einsum   rows of one Einsum by how they hold its shared tensors
//   before            table of a set: one Einsum outside it and the table of the set with it
//   combined          their join; what has become too large forgets a tensor
//   of_state          looked up by the compatibilities of live tensors
//   least_product     what the sums say together
#include "completion_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "tessera/base/stop.hpp"

namespace tessera::mapspace::detail {
namespace {

// Sums of the same costs in another order differ by rounding.
constexpr double below = 1 - 1e-12;
constexpr double infinity = std::numeric_limits<double>::infinity();
/// Rows of one table, and sums made for it; of all tables together.
constexpr std::size_t most_of_table = 200'000, most_of_all = 20'000'000;
/// Sums between two looks at the stop token.
constexpr std::size_t poll_every = 1024;
/// Weighted sums of both objectives.
constexpr std::size_t n_mixed = 7, n_sums = n_mixed + 2;

std::vector<LoopAbove> loops_above(const StateStructure& structure, const LiveTensor& tensor) {
    std::vector<LoopAbove> out;
    for (int l = 0; l < tensor.level; ++l) {
        const auto at = static_cast<std::size_t>(l);
        out.push_back({tensor.ranks[at], structure.loops[at].spatial_dim, tensor.bounds[at].first,
                       tensor.bounds[at].second.prologue});
    }
    return out;
}

std::vector<int> positions(const std::vector<int>& in, const std::vector<int>& of) {
    std::vector<int> out;
    for (const int t : of) {
        const auto at = std::ranges::lower_bound(in, t);
        out.push_back(at != in.end() && *at == t ? static_cast<int>(at - in.begin()) : -1);
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
        std::ranges::set_intersection(g == 0 ? own : out, own, std::back_inserter(both));
        out = std::move(both);
    }
    return out;
}

}  // namespace

CompletionBounds::CompletionBounds(const std::vector<std::vector<PmappingGroup>>& groups,
                                   const Orders& orders, std::size_t n_tensors)
    : groups_(groups), orders_(orders), users_(n_tensors), numbers_(n_tensors) {
    for (std::size_t e = 0; e < groups.size(); ++e) {
        for (const int t : shared_tensors(groups[e])) {
            users_[static_cast<std::size_t>(t)].push_back(e);
        }
    }
}

void CompletionBounds::bound(std::vector<Weights> sums) {
    sums_ = std::move(sums);
    einsums_.clear();
    for (std::size_t e = 0; e < groups_.size(); ++e) {
        einsums_.push_back(table_of_einsum(e));
    }
    sets_.clear();
    for (const auto& sets : orders_.by_size) {
        sets_.emplace_back(sets.size());
    }
}

std::int32_t CompletionBounds::number(int tensor, std::uint64_t compatibility) {
    auto& known = numbers_[static_cast<std::size_t>(tensor)];
    const auto next = static_cast<std::int32_t>(known.size());
    return known.try_emplace(compatibility, next).first->second;
}

double* CompletionBounds::least_of(Table& table, const Numbers& key) const {
    const auto next = static_cast<std::uint32_t>(table.rows.size());
    const auto [at, fresh] = table.rows.try_emplace(key, next);
    if (fresh) {
        table.least.resize(table.least.size() + width(), infinity);
    }
    return &table.least[at->second * width()];
}

CompletionBounds::Table CompletionBounds::table_of_einsum(std::size_t e) {
    Table out;
    out.tensors = shared_tensors(groups_[e]);
    Numbers key(out.tensors.size());
    for (const PmappingGroup& g : groups_[e]) {
        std::vector<Compatibility> held;
        for (const int t : out.tensors) {
            held.emplace_back(g.structure,
                              *std::ranges::find(g.structure.tensors, t, &BackedTensor::tensor));
        }
        for (std::size_t r = 0; r < g.rows(); ++r) {
            if (r % poll_every == 0) {
                base::poll_stop();
            }
            for (std::size_t i = 0; i < key.size(); ++i) {
                key[i] = number(out.tensors[i], held[i].of(g.trips_of(r)));
            }
            double* least = least_of(out, key);
            const double* v = g.row(r);
            for (std::size_t w = 0; w < width(); ++w) {
                const double cost =
                    sums_[w][0] * v[0] + (g.n_objectives > 1 ? sums_[w][1] * v[1] : 0.0);
                least[w] = std::min(least[w], cost);
            }
        }
    }
    return out;
}

/// Rows of both that agree, on the tensors that a joined Einsum has, too. Incomplete: more than
/// `most` sums.
CompletionBounds::Table CompletionBounds::combined(const Table& einsum, const Table& after,
                                                   const EinsumSet& done,
                                                   const std::vector<char>& forgotten,
                                                   std::size_t most, bool& complete) const {
    Table out;
    std::vector<int> all, common;
    std::ranges::set_union(einsum.tensors, after.tensors, std::back_inserter(all));
    std::ranges::set_intersection(einsum.tensors, after.tensors, std::back_inserter(common));
    for (const int t : all) {
        const auto tensor = static_cast<std::size_t>(t);
        const bool live = std::ranges::any_of(
            users_[tensor], [&](std::size_t user) { return contains(done, user); });
        if (live && forgotten[tensor] == 0) {
            out.tensors.push_back(t);
        }
    }
    const std::vector<int> of_einsum = positions(einsum.tensors, out.tensors),
                           of_after = positions(after.tensors, out.tensors),
                           common_einsum = positions(einsum.tensors, common),
                           common_after = positions(after.tensors, common);
    const auto pick = [](const Numbers& from, const std::vector<int>& at) {
        Numbers key;
        for (const int i : at) {
            key.push_back(from[static_cast<std::size_t>(i)]);
        }
        return key;
    };
    using Row = const std::pair<const Numbers, std::uint32_t>*;
    std::unordered_map<Numbers, std::vector<Row>, base::HashOfRow> index;
    for (const auto& row : einsum.rows) {
        index[pick(row.first, common_einsum)].push_back(&row);
    }
    Numbers key(out.tensors.size());
    std::size_t sums = 0;
    for (const auto& [later, at] : after.rows) {
        const auto matches = index.find(pick(later, common_after));
        if (matches == index.end()) {
            continue;
        }
        for (const Row own : matches->second) {
            if (sums++ % poll_every == 0) {
                base::poll_stop();
            }
            for (std::size_t i = 0; i < key.size(); ++i) {
                key[i] = of_einsum[i] >= 0 ? own->first[static_cast<std::size_t>(of_einsum[i])]
                                           : later[static_cast<std::size_t>(of_after[i])];
            }
            double* least = least_of(out, key);
            for (std::size_t w = 0; w < width(); ++w) {
                least[w] = std::min(least[w], einsum.least[own->second * width() + w] +
                                                  after.least[at * width() + w]);
            }
            if (sums > most || out.rows.size() > most_of_table) {
                complete = false;
                return out;
            }
        }
    }
    complete = true;
    return out;
}

CompletionBounds::Table CompletionBounds::before(std::size_t size, int set) {
    const Orders::Set& own = orders_.by_size[size][static_cast<std::size_t>(set)];
    const Orders::Next& next = own.next.front();
    const Table& after = *sets_[size + 1][static_cast<std::size_t>(next.set)];
    const Table& einsum = einsums_[static_cast<std::size_t>(next.einsum)];
    std::size_t n_sets = 0;
    for (const auto& sets : orders_.by_size) {
        n_sets += sets.size();
    }
    const std::size_t most = std::max<std::size_t>(1000, most_of_all / n_sets);
    std::vector<char> forgotten(users_.size(), 0);
    for (;;) {
        bool complete = false;
        Table out = combined(einsum, after, own.done, forgotten, most, complete);
        if (complete || out.tensors.empty()) {
            // An empty key with too many sums: they are all made.
            return complete ? std::move(out)
                            : combined(einsum, after, own.done, forgotten,
                                       std::numeric_limits<std::size_t>::max(), complete);
        }
        const int largest = *std::ranges::max_element(
            out.tensors, {}, [&](int t) { return numbers_[static_cast<std::size_t>(t)].size(); });
        forgotten[static_cast<std::size_t>(largest)] = 1;
    }
}

void CompletionBounds::prepare(std::size_t size, int set) {
    std::unique_ptr<Table>& own = sets_[size][static_cast<std::size_t>(set)];
    if (own) {
        return;
    }
    const Orders::Set& of = orders_.by_size[size][static_cast<std::size_t>(set)];
    if (of.next.empty()) {
        own = std::make_unique<Table>();
        std::fill_n(least_of(*own, {}), width(), 0.0);
        return;
    }
    prepare(size + 1, of.next.front().set);
    own = std::make_unique<Table>(before(size, set));
}

CompletionBounds::Asked CompletionBounds::asked(const Table& table,
                                                const StateStructure& structure) const {
    Asked out;
    for (const LiveTensor& t : structure.live) {
        const auto at = std::ranges::lower_bound(table.tensors, t.tensor);
        if (at != table.tensors.end() && *at == t.tensor) {
            out.of.emplace_back(t, loops_above(structure, t));
            out.tensors.push_back(t.tensor);
            out.at.push_back(static_cast<std::size_t>(at - table.tensors.begin()));
        }
    }
    return out;
}

void CompletionBounds::look_up(const Table& table, const Asked& asked, const std::int64_t* trips,
                               Numbers& key, double* out) const {
    std::fill_n(out, width(), infinity);
    for (std::size_t i = 0; i < asked.of.size(); ++i) {
        const auto& known = numbers_[static_cast<std::size_t>(asked.tensors[i])];
        const auto found = known.find(asked.of[i].of(trips));
        if (found == known.end()) {
            return;
        }
        key[asked.at[i]] = found->second;
    }
    const auto row = table.rows.find(key);
    if (row != table.rows.end()) {
        std::copy_n(&table.least[row->second * width()], width(), out);
    }
}

void CompletionBounds::of_state(std::size_t size, int set, const StateStructure& structure,
                                const std::int64_t* trips, double* out) const {
    const Table& table = *sets_[size][static_cast<std::size_t>(set)];
    Numbers key(table.tensors.size());
    look_up(table, asked(table, structure), trips, key, out);
}

void CompletionBounds::of_rows(std::size_t size, int set, const JoinPlan& plan,
                               const PmappingGroup& right, std::vector<double>& out) const {
    const Table& table = *sets_[size][static_cast<std::size_t>(set)];
    const Asked of = asked(table, plan.structure);
    Numbers key(table.tensors.size());
    std::vector<std::int64_t> trips(static_cast<std::size_t>(plan.n_open));
    out.resize(right.rows() * width());
    for (std::size_t r = 0; r < right.rows(); ++r) {
        for (std::size_t p = 0; p < trips.size(); ++p) {
            trips[p] = right.trips_of(r)[plan.order[p]];
        }
        look_up(table, of, trips.data(), key, &out[r * width()]);
    }
}

std::vector<Weights> sums_of_product(double least_first, double least_second, double product) {
    std::vector<Weights> out{{1, 0}, {0, 1}};
    const double low = least_first * least_first / product;
    const double high = product / (least_second * least_second);
    if (!(low > 0) || !(high > low) || !std::isfinite(high)) {
        return out;
    }
    for (std::size_t i = 0; i < n_mixed; ++i) {
        const double at = (static_cast<double>(i) + 0.5) / static_cast<double>(n_mixed);
        out.push_back({1, low * std::pow(high / low, at)});
    }
    return out;
}

double least_product(const std::vector<Weights>& sums, const double* least, double enough) {
    // Walks along the lower left boundary, from the least first number on: it is the highest of
    // the lines y = (least - x) / weight, whose weights ascend.
    double x = least[0], weight = 0, out = infinity;
    for (;;) {
        double y = least[1], here = infinity;
        for (std::size_t k = 2; k < sums.size(); ++k) {
            const double on_line = (least[k] - x) / sums[k][1];
            if (on_line > y && sums[k][1] > weight) {
                y = on_line;
                here = sums[k][1];
            }
        }
        out = std::min(out, x * y);
        if (out <= enough || std::isinf(here)) {
            return out;
        }
        // To where the first line of larger weight is as high.
        const double sum = x + here * y;
        double next = sum - here * least[1];
        for (std::size_t k = 2; k < sums.size(); ++k) {
            const double w = sums[k][1];
            if (w > here) {
                next = std::min(next, (w * sum - here * least[k]) / (w - here));
            }
        }
        weight = here;
        x = std::max(x, next);
    }
}

double CompletionBounds::least_value(JoinGoal goal, const double* objectives,
                                     const double* least) const {
    std::array<double, n_sums> whole;
    for (std::size_t w = 0; w < width(); ++w) {
        const double own = sums_[w][0] * objectives[0] +
                           (goal == JoinGoal::single ? 0.0 : sums_[w][1] * objectives[1]);
        whole[w] = (own + least[w]) * below;
    }
    return goal == JoinGoal::edp ? least_product(sums_, whole.data(), 0) : whole[0];
}

bool CompletionBounds::pruned(JoinGoal goal, const double* objectives, const double* least,
                              const std::vector<std::vector<double>>& known) const {
    std::array<double, n_sums> whole;
    for (std::size_t w = 0; w < width(); ++w) {
        const double own = sums_[w][0] * objectives[0] +
                           (goal == JoinGoal::single ? 0.0 : sums_[w][1] * objectives[1]);
        whole[w] = (own + least[w]) * below;
    }
    if (goal == JoinGoal::pareto) {
        return std::ranges::any_of(known, [&](const auto& p) {
            return (p[0] < whole[0] && p[1] <= whole[1]) || (p[0] <= whole[0] && p[1] < whole[1]);
        });
    }
    double best = infinity;
    for (const std::vector<double>& p : known) {
        best = std::min(best, goal == JoinGoal::edp ? p[0] * p[1] : p[0]);
    }
    return (goal == JoinGoal::edp ? least_product(sums_, whole.data(), best) : whole[0]) > best;
}

}  // namespace tessera::mapspace::detail
