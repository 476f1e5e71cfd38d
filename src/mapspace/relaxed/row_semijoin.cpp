// Rows without compatible rows. All Einsums that access a tensor hold it in the same memory below
// the same loops, so a row is of no use if another user of one of its tensors has no row that does
// as it does, or only such that the whole cannot beat what is known. Dropping it may leave others
// without compatible rows: repeated while it is worth it.
//
// A tensor's compatibility is compared as a hash of a multiset (loops inside a block may be
// exchanged). Equal compatibilities have equal hashes; a collision keeps a row too many.
#include "mapspace/row_semijoin.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "mapspace/join/join_rows.hpp"
#include "mapspace/join_orders.hpp"
#include "tessera/base/hash.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::mapspace {
namespace {

/// Rows between two looks at the stop token.
constexpr std::size_t poll_every = 256;

std::uint64_t mix(std::uint64_t seed, std::int64_t value) {
    return base::mix(seed * base::golden_ratio + static_cast<std::uint64_t>(value) + 1);
}

std::vector<LoopAbove> loops_above(const GroupStructure& structure, const BackedTensor& tensor) {
    std::vector<LoopAbove> out;
    for (int l = 0; l < tensor.level; ++l) {
        const FusedLoop& loop = structure.loops[static_cast<std::size_t>(l)];
        const int rank = tensor.rank_of_loop[static_cast<std::size_t>(l)];
        out.push_back({rank, loop.spatial_dim, rank < 0 ? 0 : loop.bound,
                       rank < 0 ? 0 : loop.prologue.prologue});
    }
    return out;
}

}  // namespace

Compatibility::Compatibility(const HeldTensor& tensor, const std::vector<LoopAbove>& above)
    : place_(mix(mix(mix(1, tensor.memory), tensor.level), tensor.window_rank)) {
    for (const LoopAbove& loop : above) {
        of_loops_.push_back(
            mix(mix(mix(mix(2, loop.rank), loop.spatial_dim), loop.bound), loop.prologue));
    }
    if (tensor.window_rank >= 0) {
        of_loops_.push_back(mix(3, tensor.window_base));
    }
}

Compatibility::Compatibility(const GroupStructure& structure, const BackedTensor& tensor)
    : Compatibility(tensor, loops_above(structure, tensor)) {}

std::uint64_t Compatibility::of_loop(std::uint64_t loop, std::int64_t trips) {
    return mix(loop, trips);
}

namespace detail {
namespace {

/// One tensor as the rows of a group hold it.
struct Held {
    std::size_t tensor = 0;
    std::size_t user = 0;  ///< place of this Einsum among the tensor's users
    Compatibility compatibility;
};

/// What users of a tensor have with the same compatibility.
struct Semijoin {
    std::uint64_t users = 0;
    std::vector<double> least;  ///< user-major: least of each objective over the user's rows
};

class Compatible {
public:
    Compatible(const workload::Workload& workload, std::vector<std::vector<PmappingGroup>>& groups,
               const StepBound& known)
        : groups_(groups), bound_(known), users_(workload.tensors.size()) {
        for (std::size_t e = 0; e < groups_.size(); ++e) {
            for (const PmappingGroup& g : groups_[e]) {
                objectives_ = static_cast<std::size_t>(g.n_objectives);
                for (const BackedTensor& t : g.structure.tensors) {
                    std::vector<std::size_t>& users = users_[static_cast<std::size_t>(t.tensor)];
                    if (users.empty() || users.back() != e) {
                        users.push_back(e);
                    }
                }
            }
        }
        more_.assign(groups_.size() * objectives_, 0.0);
        for (std::size_t e = 0; e < groups_.size(); ++e) {
            held_.emplace_back();
            for (const PmappingGroup& g : groups_[e]) {
                held_.back().push_back(describe(g, e));
            }
        }
    }

    std::size_t run() {
        std::size_t dropped = 0;
        while (const std::size_t now = pass()) {
            dropped += now;
            // Few more would go, and the join finds them itself.
            std::size_t left = 0;
            for (const auto& einsum : groups_) {
                for (const PmappingGroup& g : einsum) {
                    left += g.rows();
                }
            }
            if (now * 50 < left) {
                break;
            }
        }
        return dropped;
    }

private:
    using Semijoins = std::unordered_map<std::uint64_t, Semijoin>;

    std::vector<Held> describe(const PmappingGroup& g, std::size_t einsum) const {
        std::vector<Held> all;
        for (const BackedTensor& t : g.structure.tensors) {
            const std::vector<std::size_t>& users = users_[static_cast<std::size_t>(t.tensor)];
            const auto tensor = static_cast<std::size_t>(t.tensor);
            const auto user = std::find(users.begin(), users.end(), einsum) - users.begin();
            all.push_back({tensor, static_cast<std::size_t>(user), Compatibility(g.structure, t)});
        }
        return all;
    }

    std::size_t pass() {
        met_.assign(users_.size(), {});
        for (std::size_t e = 0; e < groups_.size(); ++e) {
            for (std::size_t g = 0; g < groups_[e].size(); ++g) {
                for (std::size_t r = 0; r < groups_[e][g].rows(); ++r) {
                    if (r % poll_every == 0) {
                        base::poll_stop();
                    }
                    for (const Held& h : held_[e][g]) {
                        meet(h, groups_[e][g], r);
                    }
                }
            }
        }
        least_ = least_costs(groups_, static_cast<int>(objectives_));
        total_.assign(objectives_, 0.0);
        cost_.assign(objectives_, 0.0);
        for (const std::vector<double>& einsum : least_) {
            for (std::size_t k = 0; k < objectives_; ++k) {
                total_[k] += einsum[k];
            }
        }
        std::size_t dropped = 0;
        for (std::size_t e = 0; e < groups_.size(); ++e) {
            for (std::size_t g = 0; g < groups_[e].size(); ++g) {
                dropped += filter(e, groups_[e][g], held_[e][g]);
            }
        }
        return dropped;
    }

    void meet(const Held& h, const PmappingGroup& g, std::size_t r) {
        Semijoin& m = met_[h.tensor][h.compatibility.of(g.trips_of(r))];
        if (m.least.empty()) {
            m.least.assign(users_[h.tensor].size() * objectives_,
                           std::numeric_limits<double>::infinity());
        }
        for (std::size_t k = 0; k < objectives_; ++k) {
            double& least = m.least[h.user * objectives_ + k];
            least = std::min(least, g.row(r)[k]);
        }
    }

    std::size_t filter(std::size_t e, PmappingGroup& g, const std::vector<Held>& held) {
        std::vector<std::uint32_t> keep;
        for (std::size_t r = 0; r < g.rows(); ++r) {
            if (r % poll_every == 0) {
                base::poll_stop();
            }
            if (useful(e, g, held, r)) {
                keep.push_back(static_cast<std::uint32_t>(r));
            }
        }
        const std::size_t before = g.rows();
        if (keep.size() < before) {
            g.keep(keep);
        }
        return before - keep.size();
    }

    // Every other user of the row's tensors has a row with the same compatibility, and with the
    // cheapest of these the whole can still beat what is known.
    bool useful(std::size_t e, const PmappingGroup& g, const std::vector<Held>& held,
                std::size_t r) {
        touched_.clear();
        bool missing = false;
        for (const Held& h : held) {
            const Semijoin& m = met_[h.tensor].at(h.compatibility.of(g.trips_of(r)));
            for (std::size_t u = 0; u < users_[h.tensor].size(); ++u) {
                const std::size_t user = users_[h.tensor][u];
                missing |= m.least[u * objectives_] == std::numeric_limits<double>::infinity();
                touched_.push_back(user);
                for (std::size_t k = 0; k < objectives_ && user != e; ++k) {
                    double& more = more_[user * objectives_ + k];
                    more = std::max(more, m.least[u * objectives_ + k] - least_[user][k]);
                }
            }
        }
        for (std::size_t k = 0; k < objectives_; ++k) {
            cost_[k] = total_[k] + g.row(r)[k] - least_[e][k];
        }
        for (const std::size_t user : touched_) {
            for (std::size_t k = 0; k < objectives_; ++k) {
                cost_[k] += std::exchange(more_[user * objectives_ + k], 0.0);
            }
        }
        return !missing && !bound_.pruned_by_bound(cost_.data());
    }

    std::vector<std::vector<PmappingGroup>>& groups_;
    StepBound bound_;
    std::size_t objectives_ = 1;
    std::vector<std::vector<std::size_t>> users_;       ///< per tensor: Einsums, ascending
    std::vector<std::vector<std::vector<Held>>> held_;  ///< per Einsum and group
    std::vector<Semijoins> met_;                        ///< per tensor
    std::vector<std::vector<double>> least_;            ///< per Einsum, as the join knows it
    std::vector<double> total_, cost_;
    std::vector<double> more_;  ///< per Einsum, what its part costs above its least; 0 between rows
    std::vector<std::size_t> touched_;
};

}  // namespace
}  // namespace detail

std::size_t semijoin_rows(const workload::Workload& workload,
                          std::vector<std::vector<PmappingGroup>>& groups, JoinGoal goal,
                          const std::vector<std::vector<double>>& incumbents) {
    using namespace detail;
    const std::vector<double> none(goal == JoinGoal::single ? 1 : 2, 0.0);
    const StepBound known{goal, none, &incumbents};
    const std::size_t dropped = Compatible(workload, groups, known).run();
    for (auto& einsum : groups) {
        std::erase_if(einsum, [](const PmappingGroup& g) { return g.rows() == 0; });
    }
    return dropped;
}

}  // namespace tessera::mapspace
