// Map: slidable() looks at one rank of one tensor; links() collects which loop variables must keep
// step because they index the same rank directly; Prologues spreads the prologues from readers to
// producers until nothing changes.
#include "workload/windows.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

namespace tessera::workload {

namespace {

/// Most prologues that are kept of one loop variable: the smallest ones.
constexpr std::size_t max_prologues = 4;

const TensorAccess* access_of(const Einsum& einsum, int tensor) {
    for (const TensorAccess& access : einsum.accesses) {
        if (access.tensor == tensor) {
            return &access;
        }
    }
    return nullptr;
}

bool plain(const RankAccess& rank) {
    return rank.terms.size() == 1 && rank.terms[0].coefficient == 1 && rank.constant == 0;
}

/// How often the variable occurs in the expressions of the access.
int occurrences(const TensorAccess& access, int variable) {
    int n = 0;
    for (const RankAccess& rank : access.ranks) {
        n += static_cast<int>(
            std::count_if(rank.terms.begin(), rank.terms.end(),
                          [&](const AffineTerm& term) { return term.rank_variable == variable; }));
    }
    return n;
}

/// The ways to walk along one rank of a tensor in one Einsum. Variables are global.
std::vector<Window> windows_along(const Workload& w, const TensorAccess& access, int rank) {
    const RankAccess& expression = access.ranks[static_cast<std::size_t>(rank)];
    std::vector<Window> result;
    std::int64_t extent = 1;
    for (const AffineTerm& term : expression.terms) {
        if (term.coefficient < 1 || expression.constant != 0) {
            return {};
        }
        extent += term.coefficient *
                  (w.rank_variables[static_cast<std::size_t>(term.rank_variable)].bound - 1);
    }
    for (const AffineTerm& term : expression.terms) {
        const std::int64_t bound =
            w.rank_variables[static_cast<std::size_t>(term.rank_variable)].bound;
        const std::int64_t rest = extent - term.coefficient * (bound - 1);
        const std::int64_t base = term.coefficient * bound;
        const std::int64_t need = std::max<std::int64_t>(0, rest - term.coefficient);
        if (occurrences(access, term.rank_variable) == 1 && need <= base) {
            result.push_back({term.rank_variable, rank, term.coefficient, base, need});
        }
    }
    return result;
}

/// True if pieces of the tensor along this rank can be passed on: every user can walk along it, and
/// some reader's pieces overlap (else ordinary loops above the holder do).
bool slidable(const Workload& w, int tensor, int rank) {
    const Tensor& t = w.tensors[static_cast<std::size_t>(tensor)];
    if (t.persistent || t.producers.size() != 1 || t.consumers.empty()) {
        return false;
    }
    bool overlaps = false;
    for (const std::vector<int>* users : {&t.producers, &t.consumers}) {
        for (const int e : *users) {
            const Einsum& einsum = w.einsums[static_cast<std::size_t>(e)];
            const TensorAccess* access = access_of(einsum, tensor);
            if (access == nullptr || einsum.is_copy_operation ||
                static_cast<std::size_t>(rank) >= access->ranks.size() ||
                windows_along(w, *access, rank).empty()) {
                return false;
            }
            const bool direct = plain(access->ranks[static_cast<std::size_t>(rank)]);
            if (users == &t.producers && !direct) {
                return false;
            }
            overlaps = overlaps || !direct;
        }
    }
    return overlaps;
}

using Place = std::pair<int, int>;  ///< Einsum, rank variable of the workload

class Prologues {
public:
    explicit Prologues(const Workload& w) : w_(w) {
        for (std::size_t t = 0; t < w.tensors.size(); ++t) {
            for (std::size_t r = 0; r < w.tensors[t].ranks.size(); ++r) {
                if (slidable(w, static_cast<int>(t), static_cast<int>(r))) {
                    slidable_.emplace_back(static_cast<int>(t), static_cast<int>(r));
                }
            }
        }
        if (slidable_.empty()) {
            return;
        }
        link();
        for (bool more = true; more;) {
            more = false;
            for (const auto& [tensor, rank] : slidable_) {
                more = demand(tensor, rank) || more;
            }
            for (const auto& [one, other] : links_) {
                more = share(one, other) || share(other, one) || more;
            }
        }
    }

    bool windows(int tensor, int rank) const {
        return std::binary_search(slidable_.begin(), slidable_.end(), std::pair(tensor, rank));
    }
    /// The least prologue with which a producer satisfies all readers.
    std::int64_t needed(int tensor, int rank) const {
        std::int64_t most = 0;
        for (const int reader : w_.tensors[static_cast<std::size_t>(tensor)].consumers) {
            const TensorAccess& read =
                *access_of(w_.einsums[static_cast<std::size_t>(reader)], tensor);
            std::int64_t least = std::numeric_limits<std::int64_t>::max();
            for (const Window& s : windows_along(w_, read, rank)) {
                least = std::min(least, s.need);
            }
            most = std::max(most, least);
        }
        return most;
    }
    bool any() const {
        return !slidable_.empty();
    }
    std::vector<Prologue> of(const Place& place) const {
        const auto it = prologues_.find(place);
        return it == prologues_.end() ? std::vector<Prologue>()
                                      : std::vector<Prologue>(it->second.begin(), it->second.end());
    }

private:
    std::int64_t bound(int variable) const {
        return w_.rank_variables[static_cast<std::size_t>(variable)].bound;
    }

    /// Variables that index a rank of some tensor directly in two Einsums.
    void link() {
        for (std::size_t t = 0; t < w_.tensors.size(); ++t) {
            std::vector<int> users = w_.tensors[t].producers;
            users.insert(users.end(), w_.tensors[t].consumers.begin(),
                         w_.tensors[t].consumers.end());
            for (std::size_t r = 0; r < w_.tensors[t].ranks.size(); ++r) {
                std::optional<Place> first;
                for (const int e : users) {
                    const TensorAccess* access =
                        access_of(w_.einsums[static_cast<std::size_t>(e)], static_cast<int>(t));
                    if (access == nullptr || r >= access->ranks.size() ||
                        !plain(access->ranks[r])) {
                        continue;
                    }
                    const Place place{e, access->ranks[r].terms[0].rank_variable};
                    if (first && bound(first->second) == bound(place.second)) {
                        links_.emplace_back(*first, place);
                    }
                    first = first ? first : place;
                }
            }
        }
    }

    /// The producer has a prologue as long as each reader reads beyond its tile.
    bool demand(int tensor, int rank) {
        const Tensor& t = w_.tensors[static_cast<std::size_t>(tensor)];
        const int producer = t.producers.front();
        const TensorAccess& written =
            *access_of(w_.einsums[static_cast<std::size_t>(producer)], tensor);
        const int variable = written.ranks[static_cast<std::size_t>(rank)].terms[0].rank_variable;
        bool more = false;
        for (const int reader : t.consumers) {
            const TensorAccess& read =
                *access_of(w_.einsums[static_cast<std::size_t>(reader)], tensor);
            for (const Window& s : windows_along(w_, read, rank)) {
                std::vector<Prologue> own = of({reader, s.variable});
                own.push_back({bound(s.variable), 0});
                for (const Prologue& prologue : own) {
                    more = add({producer, variable},
                               {s.factor * prologue.base, s.factor * prologue.prologue + s.need}) ||
                           more;
                }
            }
        }
        return more;
    }

    bool share(const Place& from, const Place& to) {
        bool more = false;
        for (const Prologue& prologue : of(from)) {
            more = add(to, prologue) || more;
        }
        return more;
    }

    bool add(const Place& place, const Prologue& prologue) {
        const std::int64_t values = bound(place.second);
        const bool ordinary = prologue.prologue == 0 && prologue.base == values;
        if (ordinary || prologue.base < 2 || values < prologue.base ||
            values > prologue.base + prologue.prologue || prologue.prologue >= values ||
            prologue.prologue > prologue.base) {
            return false;
        }
        std::set<Prologue>& all = prologues_[place];
        const bool fresh = all.insert(prologue).second;
        if (all.size() > max_prologues) {
            const bool last = *std::prev(all.end()) == prologue;
            all.erase(std::prev(all.end()));
            return fresh && !last;
        }
        return fresh;
    }

    const Workload& w_;
    std::vector<std::pair<int, int>> slidable_;  ///< tensor, rank; sorted
    std::vector<std::pair<Place, Place>> links_;
    std::map<Place, std::set<Prologue>> prologues_;
};

}  // namespace

bool reads_overlap(const Workload& w) {
    for (const Einsum& einsum : w.einsums) {
        for (const TensorAccess& access : einsum.accesses) {
            for (const RankAccess& rank : access.ranks) {
                if (!plain(rank) &&
                    !w.tensors[static_cast<std::size_t>(access.tensor)].producers.empty()) {
                    return true;
                }
            }
        }
    }
    return false;
}

void find_windows(const Workload& w, EinsumView& view) {
    if (w.index.nothing_overlaps || !reads_overlap(w)) {
        return;
    }
    const Prologues prologues(w);
    if (!prologues.any()) {
        return;
    }
    const Einsum& einsum = w.einsums[static_cast<std::size_t>(view.einsum)];
    const auto local = [&](int variable) {
        return static_cast<int>(
            std::find(einsum.rank_variables.begin(), einsum.rank_variables.end(), variable) -
            einsum.rank_variables.begin());
    };
    for (LocalTensor& tensor : view.tensors) {
        const TensorAccess& access = *access_of(einsum, tensor.tensor);
        for (std::size_t r = 0; r < tensor.ranks.size(); ++r) {
            if (!prologues.windows(tensor.tensor, static_cast<int>(r))) {
                continue;
            }
            for (Window s : windows_along(w, access, static_cast<int>(r))) {
                s.variable = local(s.variable);
                s.need =
                    tensor.output ? prologues.needed(tensor.tensor, static_cast<int>(r)) : s.need;
                tensor.windows.push_back(s);
            }
        }
    }
    for (LocalRankVariable& v : view.rank_variables) {
        v.prologues = prologues.of({view.einsum, v.rank_variable});
    }
}

}  // namespace tessera::workload
