// Tables of a relaxed join (docs/ffm-proofs.md, 2.14) of Einsums explored and not:
//   not explored   least costs by class
//   explored       costs of its rows; by class for most tensors
//   refined        a tensor all of whose users are explored: by compatibility, and by what its
//                  users keep in the tracked memory at once; where that raises the least costs
// A tensor below fused loops is shared inside these loops. What one user keeps above the innermost
// of them (its private bits) stays while the other runs: private bits of one and all bits of the
// other are at most the memory's size. The first user's private bits are rounded down to a share of
// the memory, which is part of its choice; the others take every share that leaves them room.
#include "sequential.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "mapspace/row_semijoin.hpp"
#include "tessera/base/hash.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::ffm {
namespace {

/// Of the relaxed join.
constexpr std::size_t max_choices = 20000, max_choices_of_partial_tiles = 60000;
/// Tensors are refined only if none of their users has more compatibilities.
constexpr std::size_t few_compatibilities = 1500, few_of_partial_tiles = 100000;
constexpr int n_shares = 16;
/// How much larger least costs must become.
constexpr double worthwhile = 1.0005;
// A share must not be missed for a rounding.
constexpr double share_slack = 1e-9;

/// Every variable indexes an output by itself.
bool sums_over_nothing(const workload::EinsumView& e) {
    for (std::size_t v = 0; v < e.rank_variables.size(); ++v) {
        const bool found = std::any_of(e.tensors.begin(), e.tensors.end(), [&](const auto& t) {
            return t.output && t.rank_of_variable[v] >= 0;
        });
        if (!found && e.rank_variables[v].bound > 1) {
            return false;
        }
    }
    return true;
}

/// Shared tensors that no Einsum of those explored has.
int alone(const workload::EinsumView& e, const std::set<int>& explored) {
    return static_cast<int>(std::count_if(e.tensors.begin(), e.tensors.end(), [&](const auto& t) {
        return t.fusable && !explored.contains(t.tensor);
    }));
}

}  // namespace

std::vector<std::size_t> order_of_sequence(const std::vector<EinsumSpace>& spaces) {
    std::array<double, 2> total{};
    for (const EinsumSpace& s : spaces) {
        for (std::size_t k = 0; k < s.least.size(); ++k) {
            total[k] += s.least[k];
        }
    }
    const auto share = [&](std::size_t e) {
        double sum = 0;
        for (std::size_t k = 0; k < spaces[e].least.size(); ++k) {
            sum += total[k] > 0 ? spaces[e].least[k] / total[k] : 0.0;
        }
        return sum;
    };
    std::vector<std::size_t> order;
    for (std::size_t e = 0; e < spaces.size(); ++e) {
        if (spaces[e].same == e) {
            order.push_back(e);
        }
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return share(a) > share(b); });
    std::vector<std::size_t> out;
    std::set<int> explored;
    while (!order.empty()) {
        std::size_t best = 0;
        int best_rank = std::numeric_limits<int>::max();
        for (std::size_t i = 0; i < order.size(); ++i) {
            const workload::EinsumView& view = spaces[order[i]].paths.front()->einsum;
            const int rank = sums_over_nothing(view) ? 1 + alone(view, explored) : 0;
            if (rank < best_rank) {
                best = i;
                best_rank = rank;
            }
        }
        const std::size_t e = order[best];
        order.erase(order.begin() + static_cast<std::ptrdiff_t>(best));
        out.push_back(e);
        for (const EinsumSpace& copy : spaces) {
            for (const auto& t : copy.paths.front()->einsum.tensors) {
                if (copy.same == e) {
                    explored.insert(t.tensor);
                }
            }
        }
    }
    return out;
}

std::size_t SequentialBound::CompatibilityKeyHash::operator()(const CompatibilityKey& t) const {
    const std::uint64_t start =
        mapspace::TensorChoicesHash{}(t.shares) + 31 * mapspace::TensorChoicesHash{}(t.classes);
    return static_cast<std::size_t>(
        base::hash_row(t.compatibility.data(), t.compatibility.size(), start));
}

SequentialBound::SequentialBound(const ExploreContext& context,
                                 const std::vector<EinsumSpace>& spaces)
    : c_(context),
      spaces_(spaces),
      users_(context.problem->workload->tensors.size()),
      held_(users_.size()),
      explored_(spaces.size()),
      detailed_(spaces.size(), 0) {
    for (std::size_t e = 0; e < spaces.size(); ++e) {
        tensors_.emplace_back();
        for (const int t : spaces[e].shared) {
            const int tensor =
                spaces[e].paths.front()->einsum.tensors[static_cast<std::size_t>(t)].tensor;
            users_[static_cast<std::size_t>(tensor)].push_back(e);
            tensors_[e].push_back(tensor);
        }
    }
}

/// Shares of the first tracked memory.
void SequentialBound::set_shares(const mapspace::PmappingGroup& g, std::size_t row, std::size_t e,
                                 CompatibilityKey& t) const {
    const double* v = g.row(row);
    for (std::size_t b = 0; b < g.structure.tensors.size(); ++b) {
        const mapspace::BackedTensor& tensor = g.structure.tensors[b];
        const auto place = static_cast<std::size_t>(
            std::find(tensors_[e].begin(), tensors_[e].end(), tensor.tensor) - tensors_[e].begin());
        t.shares[place] = 0;
        if (tensor.level < 1 || g.n_tracked == 0) {
            continue;
        }
        const double size = c_.tracked.front().size_bits;
        double kept = v[g.occupancy_column(0, tensor.level - 1)];
        for (std::size_t o = 0; o < g.structure.tensors.size(); ++o) {
            const mapspace::BackedTensor& other = g.structure.tensors[o];
            if (other.tracked == 0 && other.level < tensor.level) {
                kept -= v[g.size_column(static_cast<int>(o))];
            }
        }
        const double all = v[g.occupancy_column(0, g.n_loops())];
        const double share = is_first(static_cast<std::size_t>(tensor.tensor), e)
                                 ? kept / size - share_slack
                                 : (size - all) / size + share_slack;
        t.shares[place] = std::clamp(static_cast<int>(std::floor(share * n_shares)), 0, n_shares);
    }
}

void SequentialBound::add_compatible(std::size_t e) {
    for (const int tensor : tensors_[e]) {
        mapspace::CompatibilitySet own;
        for (const mapspace::PmappingGroup& g : spaces_[e].groups) {
            mapspace::add_compatibility(g, tensor, own);
        }
        std::optional<mapspace::CompatibilitySet>& held = held_[static_cast<std::size_t>(tensor)];
        if (held) {
            std::erase_if(*held, [&](std::uint64_t s) { return own.count(s) == 0; });
        } else {
            held = std::move(own);
        }
    }
}

std::vector<std::optional<mapspace::CompatibilitySet>> SequentialBound::compatible(
    std::size_t e) const {
    std::vector<std::optional<mapspace::CompatibilitySet>> out;
    for (const int tensor : tensors_[e]) {
        out.push_back(held_[static_cast<std::size_t>(tensor)]);
    }
    return out;
}

void SequentialBound::add(std::size_t e) {
    if (c_.switches.shape_semijoin) {
        add_compatible(e);
    }
    if (!add_rows(e, true)) {
        add_rows(e, false);
    }
    if (!some_left()) {
        return;
    }
    for (const int tensor : tensors_[e]) {
        if (may_be_refined(static_cast<std::size_t>(tensor))) {
            refine(static_cast<std::size_t>(tensor));
        }
    }
}

/// Costs of the rows by compatibility, or by class alone. False if there are too many
/// compatibilities.
bool SequentialBound::add_rows(std::size_t e, bool detailed) {
    Costs& own = explored_[e].emplace();
    detailed_[e] = detailed ? 1 : 0;
    const std::size_t few =
        c_.options->mapspace.partial_tiles() ? few_of_partial_tiles : few_compatibilities;
    std::unordered_map<CompatibilityKey, std::size_t, CompatibilityKeyHash> index;
    for (const mapspace::PmappingGroup& g : spaces_[e].groups) {
        const std::size_t n = tensors_[e].size();
        CompatibilityKey t{std::vector<std::uint64_t>(n), mapspace::TensorChoices(n, -1),
                           mapspace::TensorChoices(n)};
        std::vector<std::pair<std::size_t, mapspace::Compatibility>> held;
        for (const mapspace::BackedTensor& b : g.structure.tensors) {
            const auto place = static_cast<std::size_t>(
                std::find(tensors_[e].begin(), tensors_[e].end(), b.tensor) - tensors_[e].begin());
            held.emplace_back(place, mapspace::Compatibility(g.structure, b));
            t.classes[place] = choice_of(b.memory, b.level < 0);
        }
        std::size_t at = 0;
        for (std::size_t r = 0; r < g.rows(); ++r) {
            for (std::size_t h = 0; detailed && h < held.size(); ++h) {
                t.compatibility[held[h].first] = held[h].second.of(g.trips_of(r));
            }
            if (detailed) {
                set_shares(g, r, e, t);
            }
            if (detailed || r == 0) {
                at = index.try_emplace(t, own.size()).first->second;
            }
            if (at == own.size()) {
                own.emplace_back(t, mapspace::CostFront{});
            }
            if (detailed && own.size() > few) {
                return false;
            }
            const double* v = g.row(r);
            mapspace::add_to_front(own[at].second, {v[0], g.n_objectives == 2 ? v[1] : 0.0});
        }
    }
    return true;
}

/// Whether an Einsum is unexplored whose tile shapes least costs of the others can bound.
bool SequentialBound::some_left() const {
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        if (!explored_[e] && !sums_over_nothing(spaces_[e].paths.front()->einsum)) {
            return true;
        }
    }
    return false;
}

bool SequentialBound::may_be_refined(std::size_t tensor) const {
    const std::vector<std::size_t>& users = users_[tensor];
    return users.size() > 1 &&
           std::ranges::all_of(users, [&](std::size_t e) { return explored_[e] && detailed_[e]; });
}

/// Refines the tensor if the least costs become larger by it.
void SequentialBound::refine(std::size_t tensor) {
    const auto least = [](const mapspace::CostFront& front) {
        double out = std::numeric_limits<double>::infinity();
        for (const mapspace::CostPoint& p : front) {
            out = std::min(out, p[0] * (p[1] > 0 ? p[1] : 1.0));
        }
        return out;
    };
    if (total_.empty()) {
        total_ = join().total();
    }
    refined_.push_back(tensor);
    const mapspace::RelaxedJoin more = join();
    if (more.valid() && least(more.total()) > least(total_) * worthwhile) {
        total_ = more.total();
    } else {
        refined_.pop_back();
    }
}

mapspace::ChoiceTable SequentialBound::table_of(std::size_t e,
                                                std::vector<Numbers>& numbers) const {
    mapspace::ChoiceTable table;
    table.tensors = tensors_[e];
    if (!explored_[e]) {
        for (const TemplateClass& k : spaces_[e].classes) {
            if (std::isfinite(k.least[0])) {
                table.add(k.choices, k.least);
            }
        }
        return table;
    }
    std::vector<char> refined(users_.size(), 0);
    for (const std::size_t t : refined_) {
        refined[t] = 1;
    }
    for (const auto& [t, front] : *explored_[e]) {
        mapspace::TensorChoices share(t.shares.size(), 0), last = share, key = t.classes;
        for (std::size_t i = 0; i < key.size(); ++i) {
            const auto tensor = static_cast<std::size_t>(tensors_[e][i]);
            last[i] = refined[tensor] ? t.shares[i] : 0;
            share[i] = is_first(tensor, e) ? last[i] : 0;
        }
        for (bool more = true; more;) {
            for (std::size_t i = 0; i < key.size(); ++i) {
                const auto tensor = static_cast<std::size_t>(tensors_[e][i]);
                if (refined[tensor]) {
                    const auto n = static_cast<std::int32_t>(numbers[tensor].size());
                    key[i] = numbers[tensor].try_emplace(t.compatibility[i], n).first->second *
                                 (n_shares + 1) +
                             share[i];
                }
            }
            for (const mapspace::CostPoint& p : front) {
                table.add(key, p);
            }
            more = false;
            for (std::size_t i = 0; i < key.size() && !more; ++i) {
                more = share[i] < last[i];
                share[i] = more                                                    ? share[i] + 1
                           : is_first(static_cast<std::size_t>(tensors_[e][i]), e) ? last[i]
                                                                                   : 0;
            }
        }
    }
    return table;
}

mapspace::RelaxedJoin SequentialBound::join() const {
    std::vector<Numbers> numbers(users_.size());
    std::vector<mapspace::ChoiceTable> tables;
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        tables.push_back(table_of(e, numbers));
    }
    const bool partial = c_.options->mapspace.partial_tiles();
    return {std::move(tables), users_.size(), partial ? max_choices_of_partial_tiles : max_choices};
}

std::optional<std::vector<mapspace::CostFront>> SequentialBound::rest(std::size_t e) const {
    const mapspace::RelaxedJoin relaxed = join();
    if (!relaxed.valid()) {
        return std::nullopt;
    }
    const mapspace::ChoiceTable all = relaxed.rest(e);
    std::vector<mapspace::CostFront> out;
    for (const TemplateClass& k : spaces_[e].classes) {
        const auto it = all.rows.find(k.choices);
        out.push_back(it == all.rows.end() ? mapspace::CostFront{} : it->second);
    }
    return out;
}

}  // namespace tessera::ffm
