// Which loops of a cascade may have a prologue (S2 of docs/mapspace.md), for all Einsums at once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "tessera/workload/workload.hpp"

namespace tessera::workload {

/// The access of the Einsum to the tensor, or null.
const TensorAccess* access_of(const Einsum& einsum, int tensor);
/// The rank is indexed by one variable, as it is.
bool plain(const RankAccess& rank);
/// The ways to walk along one rank of a tensor in one Einsum. Variables are global.
std::vector<Window> windows_along(const Workload& w, const TensorAccess& access, int rank);

using Place = std::pair<int, int>;  ///< Einsum, rank variable of the workload

class Prologues {
public:
    explicit Prologues(const Workload& workload);

    /// Whether the tensor may be passed on piece by piece along the rank.
    bool windows(int tensor, int rank) const;
    /// The least prologue with which a producer satisfies all readers.
    std::int64_t needed(int tensor, int rank) const;
    bool any() const {
        return !slidable_.empty();
    }
    std::vector<Prologue> of(const Place& place) const;

private:
    std::int64_t bound(int variable) const {
        return w_->rank_variables[static_cast<std::size_t>(variable)].bound;
    }
    void link();
    void link_users(int tensor, std::size_t rank);
    bool demand(int tensor, int rank);
    bool share(const Place& from, const Place& to);
    bool add(const Place& place, const Prologue& prologue);

    const Workload* w_;                          ///< while it is looked at
    std::vector<std::pair<int, int>> slidable_;  ///< tensor, rank; sorted
    std::map<std::pair<int, int>, std::int64_t> needed_;
    std::vector<std::pair<Place, Place>> links_;
    std::map<Place, std::set<Prologue>> prologues_;
};

/// Whether two Einsums can run inside one loop that both have in the same steps: `first` stands
/// before `second` in the file, the loop is over the variables of the places. False: on some way
/// of the data from one to the other an Einsum would have to be ahead of the next one, or the loop
/// has no place there.
bool may_keep_step(const Workload& workload, const Place& first, const Place& second);

/// Of this workload. What was asked for last is kept. Thread rule: any.
std::shared_ptr<const Prologues> prologues_of(const Workload& workload);

}  // namespace tessera::workload
