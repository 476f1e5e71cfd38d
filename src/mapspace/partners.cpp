// Rows without partners. All Einsums that access a tensor hold it in the same memory below the same
// loops, so a row is of no use if another user of one of its tensors has no row that does as it
// does. Dropping it may leave others without partners: repeated until nothing changes.
//
// A tensor's surroundings are compared as a hash of a multiset (loops inside a block may be
// exchanged). Equal surroundings have equal hashes; a collision keeps a row too many.
#include "tessera/mapspace/partners.hpp"

#include <algorithm>
#include <unordered_map>

namespace tessera::mapspace {
namespace {

std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

std::uint64_t mix(std::uint64_t seed, std::int64_t value) {
    return mix(seed * 0x9e3779b97f4a7c15ull + static_cast<std::uint64_t>(value) + 1);
}

/// One tensor as the rows of a group hold it.
struct Held {
    int tensor = 0;
    std::uint64_t user = 0;               ///< bit of this Einsum among the tensor's users
    std::uint64_t place = 0;              ///< hash of memory and depth
    std::vector<std::uint64_t> of_loops;  ///< hash of each loop above it but for its trips
};

/// Surroundings -> the users that have a row with them.
using Known = std::unordered_map<std::uint64_t, std::uint64_t>;

class Partners {
public:
    Partners(const workload::Workload& workload, std::vector<std::vector<PmappingGroup>>& groups)
        : groups_(groups), users_(workload.tensors.size(), 0) {
        for (const auto& einsum : groups_) {
            std::vector<char> counted(users_.size(), 0);
            for (const PmappingGroup& g : einsum) {
                for (const BackedTensor& t : g.structure.tensors) {
                    counted[static_cast<std::size_t>(t.tensor)] = 1;
                }
            }
            held_.emplace_back();
            for (const PmappingGroup& g : einsum) {
                held_.back().push_back(describe(g));
            }
            for (std::size_t t = 0; t < users_.size(); ++t) {
                users_[t] += static_cast<unsigned>(counted[t]);
            }
        }
    }

    std::size_t run() {
        std::size_t dropped = 0;
        while (const std::size_t now = pass()) {
            dropped += now;
        }
        return dropped;
    }

private:
    std::vector<Held> describe(const PmappingGroup& g) const {
        std::vector<Held> all;
        for (const BackedTensor& t : g.structure.tensors) {
            const unsigned user = users_[static_cast<std::size_t>(t.tensor)];
            Held h;
            h.tensor = t.tensor;
            h.user = user < 64 ? std::uint64_t{1} << user : 0;
            h.place = mix(mix(1, t.memory), t.level);
            for (int l = 0; l < t.level; ++l) {
                const FusedLoop& loop = g.structure.loops[static_cast<std::size_t>(l)];
                const int rank = t.rank_of_loop[static_cast<std::size_t>(l)];
                h.of_loops.push_back(
                    mix(mix(mix(2, rank), loop.spatial_dim), rank < 0 ? 0 : loop.bound));
            }
            all.push_back(std::move(h));
        }
        return all;
    }

    static std::uint64_t surroundings(const Held& h, const std::int64_t* trips) {
        std::uint64_t hash = h.place;
        for (std::size_t l = 0; l < h.of_loops.size(); ++l) {
            hash += mix(h.of_loops[l], trips[l]);
        }
        return hash;
    }

    std::size_t pass() {
        std::vector<Known> known(users_.size());
        for (std::size_t e = 0; e < groups_.size(); ++e) {
            for (std::size_t g = 0; g < groups_[e].size(); ++g) {
                for (std::size_t r = 0; r < groups_[e][g].rows(); ++r) {
                    for (const Held& h : held_[e][g]) {
                        known[static_cast<std::size_t>(h.tensor)]
                             [surroundings(h, groups_[e][g].trips_of(r))] |= h.user;
                    }
                }
            }
        }
        std::size_t dropped = 0;
        for (std::size_t e = 0; e < groups_.size(); ++e) {
            for (std::size_t g = 0; g < groups_[e].size(); ++g) {
                dropped += filter(groups_[e][g], held_[e][g], known);
            }
        }
        return dropped;
    }

    std::size_t filter(PmappingGroup& g, const std::vector<Held>& held,
                       const std::vector<Known>& known) const {
        std::vector<std::uint32_t> keep;
        for (std::size_t r = 0; r < g.rows(); ++r) {
            const bool useful = std::all_of(held.begin(), held.end(), [&](const Held& h) {
                const auto t = static_cast<std::size_t>(h.tensor);
                const std::uint64_t all =
                    users_[t] >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << users_[t]) - 1;
                return known[t].at(surroundings(h, g.trips_of(r))) == all;
            });
            if (useful) {
                keep.push_back(static_cast<std::uint32_t>(r));
            }
        }
        const std::size_t before = g.rows();
        if (keep.size() < before) {
            g.keep(keep);
        }
        return before - keep.size();
    }

    std::vector<std::vector<PmappingGroup>>& groups_;
    std::vector<unsigned> users_;                       ///< per tensor
    std::vector<std::vector<std::vector<Held>>> held_;  ///< per Einsum and group
};

}  // namespace

std::size_t drop_rows_without_partners(const workload::Workload& workload,
                                       std::vector<std::vector<PmappingGroup>>& groups) {
    const std::size_t dropped = Partners(workload, groups).run();
    for (auto& einsum : groups) {
        std::erase_if(einsum, [](const PmappingGroup& g) { return g.rows() == 0; });
    }
    return dropped;
}

}  // namespace tessera::mapspace
