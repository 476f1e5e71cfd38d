// Dynamic programming over sets: every order of a set of Einsums ends in the same states, so orders
// cost as many steps as there are sets between which producers come before consumers.
#include "mapspace/join_orders.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/base/stop.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::mapspace::detail {
namespace {

constexpr std::size_t max_sets = 20000;

/// For every Einsum the Einsums that write its inputs.
std::vector<std::vector<std::size_t>> producers_of(const workload::Workload& w) {
    std::vector<std::vector<std::size_t>> writers(w.tensors.size()), out(w.einsums.size());
    for (const workload::Tensor& tensor : w.tensors) {
        for (const int writer : tensor.producers) {
            // The older state of a running state is read before it is replaced.
            out[static_cast<std::size_t>(writer)].assign(tensor.previous_readers.begin(),
                                                         tensor.previous_readers.end());
        }
    }
    for (std::size_t e = 0; e < w.einsums.size(); ++e) {
        for (const workload::TensorAccess& a : w.einsums[e].accesses) {
            if (a.output) {
                writers[static_cast<std::size_t>(a.tensor)].push_back(e);
            }
        }
    }
    for (std::size_t e = 0; e < w.einsums.size(); ++e) {
        for (const workload::TensorAccess& a : w.einsums[e].accesses) {
            for (const std::size_t p : writers[static_cast<std::size_t>(a.tensor)]) {
                if (p < e) {
                    out[e].push_back(p);
                }
            }
        }
    }
    return out;
}

/// For every Einsum the first Einsum of its part of the workload. Parts share no tensor with each
/// other. Run in turn they never coexist, so orders that mix them gain nothing.
std::vector<std::size_t> parts_of(const workload::Workload& w) {
    const std::size_t n = w.einsums.size();
    std::vector<std::size_t> part(n), first_user(w.tensors.size(), n);
    for (std::size_t e = 0; e < n; ++e) {
        part[e] = e;
        for (const workload::TensorAccess& a : w.einsums[e].accesses) {
            std::size_t& user = first_user[static_cast<std::size_t>(a.tensor)];
            if (user == n) {
                user = e;
            } else if (part[user] != part[e]) {
                const auto [low, high] = std::minmax(part[user], part[e]);
                const std::size_t keep = low, drop = high;
                std::replace(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(e) + 1, drop,
                             keep);
            }
        }
    }
    return part;
}

Orders::Set describe(const workload::Workload& w, const std::vector<std::vector<double>>& least,
                     const EinsumSet& done) {
    Orders::Set out;
    out.done = done;
    out.future.assign(least.empty() ? 0 : least.front().size(), 0.0);
    out.needed.assign(w.tensors.size(), 0);
    for (std::size_t e = w.einsums.size(); e-- > 0;) {
        if (contains(done, e)) {
            continue;
        }
        for (std::size_t k = 0; k < out.future.size(); ++k) {
            out.future[k] += least[e][k];
        }
        for (const workload::TensorAccess& a : w.einsums[e].accesses) {
            out.needed[static_cast<std::size_t>(a.tensor)] = 1;
        }
    }
    return out;
}

/// All sets reachable under the order rule; false if there are too many.
bool enumerate_sets(const workload::Workload& w, const std::vector<std::vector<double>>& least,
                    EinsumOrder order, Orders& out) {
    const std::size_t n = w.einsums.size();
    const std::vector<std::vector<std::size_t>> producers = producers_of(w);
    const std::vector<std::size_t> part = parts_of(w);
    std::vector<EinsumSet> sets{EinsumSet(n / 64 + 1, 0)};
    std::size_t total = 0;
    out.by_size.assign(1, {describe(w, least, sets.front())});
    for (std::size_t size = 0; size < n; ++size) {
        std::map<EinsumSet, int> next;
        std::vector<EinsumSet> next_sets;
        std::vector<Orders::Set> described;
        for (std::size_t i = 0; i < sets.size(); ++i) {
            std::size_t current = n;  // the first part that is not done
            for (std::size_t e = 0; e < n; ++e) {
                current = contains(sets[i], e) ? current : std::min(current, part[e]);
            }
            for (std::size_t e = 0; e < n; ++e) {
                const bool ready = std::all_of(producers[e].begin(), producers[e].end(),
                                               [&](std::size_t p) { return contains(sets[i], p); });
                const bool in_turn = order == EinsumOrder::file ? e == size : part[e] == current;
                if (contains(sets[i], e) || !ready || !in_turn) {
                    continue;
                }
                EinsumSet grown = sets[i];
                grown[e / 64] |= 1ull << (e % 64);
                const auto [it, fresh] =
                    next.try_emplace(grown, static_cast<int>(next_sets.size()));
                if (fresh) {
                    described.push_back(describe(w, least, grown));
                    next_sets.push_back(std::move(grown));
                }
                out.by_size[size][i].next.push_back({static_cast<int>(e), it->second});
            }
        }
        total += next_sets.size();
        if (total > max_sets && order == EinsumOrder::all) {
            return false;
        }
        sets = std::move(next_sets);
        out.by_size.push_back(std::move(described));
    }
    return true;
}

}  // namespace

std::vector<std::vector<double>> least_costs(const std::vector<std::vector<PmappingGroup>>& groups,
                                             int objectives) {
    std::vector<std::vector<double>> least(
        groups.size(), std::vector<double>(static_cast<std::size_t>(objectives),
                                           std::numeric_limits<double>::infinity()));
    for (std::size_t e = 0; e < groups.size(); ++e) {
        for (const PmappingGroup& g : groups[e]) {
            base::poll_stop();
            for (std::size_t r = 0; r < g.rows(); ++r) {
                for (std::size_t k = 0; k < least[e].size(); ++k) {
                    least[e][k] = std::min(least[e][k], g.row(r)[k]);
                }
            }
        }
        for (double& v : least[e]) {
            v = std::isfinite(v) ? v : 0;
        }
    }
    return least;
}

Orders orders_of(const workload::Workload& w, const std::vector<std::vector<double>>& least,
                 EinsumOrder order) {
    Orders out;
    if (!enumerate_sets(w, least, order, out)) {
        out = {};
        enumerate_sets(w, least, EinsumOrder::file, out);
        out.complete = false;
    }
    return out;
}

Lookahead::Lookahead(const workload::Workload& w,
                     const std::vector<std::vector<PmappingGroup>>& groups,
                     const std::vector<std::vector<double>>& least)
    : groups_(groups), least_(least), memo_(groups.size()), users_(w.tensors.size()) {
    for (std::size_t e = 0; e < w.einsums.size(); ++e) {
        for (const workload::TensorAccess& a : w.einsums[e].accesses) {
            std::vector<int>& users = users_[static_cast<std::size_t>(a.tensor)];
            if (users.empty() || users.back() != static_cast<int>(e)) {
                users.push_back(static_cast<int>(e));
            }
        }
    }
    for (const std::vector<PmappingGroup>& einsum : groups) {
        minima_.emplace_back();
        for (const PmappingGroup& g : einsum) {
            std::vector<double> m(least.front().size(), std::numeric_limits<double>::infinity());
            for (std::size_t r = 0; r < g.rows(); ++r) {
                for (std::size_t k = 0; k < m.size(); ++k) {
                    m[k] = std::min(m[k], g.row(r)[k]);
                }
            }
            minima_.back().push_back(std::move(m));
        }
    }
}

bool Lookahead::future(const StateStructure& st, const Orders::Set& set, std::vector<double>& out) {
    out = set.future;
    std::map<int, std::vector<int>>
        asked;  // Einsum -> (tensor, memory, level) of the live tensors it uses
    for (const LiveTensor& t : st.live) {
        for (const int e : users_[static_cast<std::size_t>(t.tensor)]) {
            if (!contains(set.done, static_cast<std::size_t>(e))) {
                std::vector<int>& key = asked[e];
                key.insert(key.end(), {t.tensor, t.memory, t.level});
            }
        }
    }
    for (const auto& [e, key] : asked) {
        const std::vector<double>& m = minimum(static_cast<std::size_t>(e), key);
        if (m.empty()) {
            return false;
        }
        for (std::size_t k = 0; k < out.size(); ++k) {
            out[k] += m[k] - least_[static_cast<std::size_t>(e)][k];
        }
    }
    for (double& v : out) {
        v = std::max(v, 0.0);
    }
    return true;
}

/// Least costs over the Einsum's groups that back the tensors so; empty if there are none.
const std::vector<double>& Lookahead::minimum(std::size_t e, const std::vector<int>& key) {
    const auto [it, fresh] = memo_[e].try_emplace(key);
    if (!fresh) {
        return it->second;
    }
    for (std::size_t g = 0; g < groups_[e].size(); ++g) {
        if (!fits(groups_[e][g].structure, key)) {
            continue;
        }
        const std::vector<double>& m = minima_[e][g];
        if (it->second.empty()) {
            it->second = m;
        }
        for (std::size_t k = 0; k < m.size(); ++k) {
            it->second[k] = std::min(it->second[k], m[k]);
        }
    }
    return it->second;
}

}  // namespace tessera::mapspace::detail
