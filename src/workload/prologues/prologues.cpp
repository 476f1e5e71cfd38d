// Map: slidable() looks at one rank of one tensor; links() collects which loop variables must keep
// step because they index the same rank directly; the constructor spreads the prologues from
// readers to producers until nothing changes. may_keep_step() is in keep_step.cpp.
#include "workload/prologues/prologues.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <string>

namespace tessera::workload {

namespace {

/// Most prologues that are kept of one loop variable: the smallest ones.
constexpr std::size_t max_prologues = 4;

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

}  // namespace

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

namespace {

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

/// The least prologue with which a producer satisfies all readers.
std::int64_t least_prologue(const Workload& w, const std::pair<int, int>& walk) {
    const auto [tensor, rank] = walk;
    std::int64_t most = 0;
    for (const int reader : w.tensors[static_cast<std::size_t>(tensor)].consumers) {
        const TensorAccess& read = *access_of(w.einsums[static_cast<std::size_t>(reader)], tensor);
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        for (const Window& s : windows_along(w, read, rank)) {
            least = std::min(least, s.need);
        }
        most = std::max(most, least);
    }
    return most;
}

/// What prologues depend on, of the whole workload: equal keys mean equal prologues.
std::string key_of(const Workload& w) {
    std::string key;
    const auto put = [&](std::int64_t number) {
        key.append(reinterpret_cast<const char*>(&number), sizeof number);
    };
    for (const RankVariable& variable : w.rank_variables) {
        put(variable.bound);
    }
    for (const Tensor& tensor : w.tensors) {
        put(tensor.persistent);
        put(static_cast<std::int64_t>(tensor.producers.size()));
    }
    for (const Einsum& einsum : w.einsums) {
        put(einsum.is_copy_operation);
        put(static_cast<std::int64_t>(einsum.accesses.size()));
        for (const TensorAccess& access : einsum.accesses) {
            put(access.tensor);
            put(access.output);
            put(static_cast<std::int64_t>(access.state));
            put(static_cast<std::int64_t>(access.ranks.size()));
            for (const RankAccess& rank : access.ranks) {
                put(rank.constant);
                put(static_cast<std::int64_t>(rank.terms.size()));
                for (const AffineTerm& term : rank.terms) {
                    put(term.coefficient);
                    put(term.rank_variable);
                }
            }
        }
    }
    return key;
}

}  // namespace

Prologues::Prologues(const Workload& w) : w_(&w) {
    for (std::size_t t = 0; t < w.tensors.size(); ++t) {
        for (std::size_t r = 0; r < w.tensors[t].ranks.size(); ++r) {
            if (slidable(w, static_cast<int>(t), static_cast<int>(r))) {
                slidable_.emplace_back(static_cast<int>(t), static_cast<int>(r));
                needed_[slidable_.back()] = least_prologue(w, slidable_.back());
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
    w_ = nullptr;
}

/// Variables that index a rank of some tensor directly in two Einsums that may keep step.
void Prologues::link() {
    for (std::size_t t = 0; t < w_->tensors.size(); ++t) {
        for (std::size_t r = 0; r < w_->tensors[t].ranks.size(); ++r) {
            link_users(static_cast<int>(t), r);
        }
    }
}

void Prologues::link_users(int tensor, std::size_t rank) {
    const Tensor& t = w_->tensors[static_cast<std::size_t>(tensor)];
    std::vector<int> users = t.producers;
    users.insert(users.end(), t.consumers.begin(), t.consumers.end());
    std::vector<Place> places;
    for (const int e : users) {
        const TensorAccess* access = access_of(w_->einsums[static_cast<std::size_t>(e)], tensor);
        if (access != nullptr && rank < access->ranks.size() && plain(access->ranks[rank])) {
            places.emplace_back(e, access->ranks[rank].terms[0].rank_variable);
        }
    }
    std::sort(places.begin(), places.end());
    for (std::size_t i = 0; i < places.size(); ++i) {
        for (std::size_t k = i + 1; k < places.size(); ++k) {
            if (bound(places[i].second) == bound(places[k].second) &&
                may_keep_step(*w_, places[i], places[k])) {
                links_.emplace_back(places[i], places[k]);
            }
        }
    }
}

bool Prologues::windows(int tensor, int rank) const {
    return std::binary_search(slidable_.begin(), slidable_.end(), std::pair(tensor, rank));
}

std::int64_t Prologues::needed(int tensor, int rank) const {
    return needed_.at({tensor, rank});
}

std::vector<Prologue> Prologues::of(const Place& place) const {
    const auto it = prologues_.find(place);
    return it == prologues_.end() ? std::vector<Prologue>()
                                  : std::vector<Prologue>(it->second.begin(), it->second.end());
}

/// The producer has a prologue as long as each reader reads beyond its tile.
bool Prologues::demand(int tensor, int rank) {
    const Tensor& t = w_->tensors[static_cast<std::size_t>(tensor)];
    const int producer = t.producers.front();
    const TensorAccess& written =
        *access_of(w_->einsums[static_cast<std::size_t>(producer)], tensor);
    const int variable = written.ranks[static_cast<std::size_t>(rank)].terms[0].rank_variable;
    bool more = false;
    for (const int reader : t.consumers) {
        const TensorAccess& read =
            *access_of(w_->einsums[static_cast<std::size_t>(reader)], tensor);
        for (const Window& s : windows_along(*w_, read, rank)) {
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

bool Prologues::share(const Place& from, const Place& to) {
    bool more = false;
    for (const Prologue& prologue : of(from)) {
        more = add(to, prologue) || more;
    }
    return more;
}

bool Prologues::add(const Place& place, const Prologue& prologue) {
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

std::shared_ptr<const Prologues> prologues_of(const Workload& workload) {
    static std::mutex lock;
    static std::string last_key;
    static std::shared_ptr<const Prologues> last;
    std::string key = key_of(workload);
    const std::lock_guard<std::mutex> guard(lock);
    if (last == nullptr || key != last_key) {
        last = std::make_shared<const Prologues>(workload);
        last_key = std::move(key);
    }
    return last;
}

}  // namespace tessera::workload
