// In which orders Einsums may be joined, and what the rest costs at least.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "mapspace/join_state.hpp"
#include "tessera/mapspace/join.hpp"
#include "tessera/workload/einsum_view.hpp"

namespace tessera::mapspace::detail {

/// Einsums already joined, as a bit set.
using EinsumSet = std::vector<std::uint64_t>;

inline bool contains(const EinsumSet& s, std::size_t e) {
    return (s[e / 64] >> (e % 64) & 1u) != 0;
}

/// The sets of joined Einsums that some order passes through, by size.
struct Orders {
    /// An Einsum that may run next, and the set that results.
    struct Next {
        int einsum = 0;
        int set = 0;
    };
    struct Set {
        std::vector<Next> next;
        std::vector<double> future;  ///< per objective: least that the Einsums outside still add
        std::vector<char> needed;    ///< per tensor: some Einsum outside accesses it
        EinsumSet done;
    };
    std::vector<std::vector<Set>> by_size;  ///< [0..n]
    bool complete = true;                   ///< false: too many sets, the file's order alone
};

/// Least of every objective over an Einsum's pmappings, per Einsum.
std::vector<std::vector<double>> least_costs(const std::vector<std::vector<PmappingGroup>>& groups,
                                             int objectives);

/// All sets that the order rule reaches; the file's alone if there are too many.
Orders orders_of(const workload::Workload& w, const std::vector<std::vector<double>>& least,
                 EinsumOrder order);

/// What later Einsums cost at least, given where the live tensors lie. Every later user of a live
/// tensor must back it in the same memory at the same depth, whatever order is taken.
class Lookahead {
public:
    Lookahead(const workload::Workload& w, const std::vector<std::vector<PmappingGroup>>& groups,
              const std::vector<std::vector<double>>& least);

    /// Least that the Einsums outside the set add; false if one of them has no pmapping that fits.
    bool future(const StateStructure& st, const Orders::Set& set, std::vector<double>& out);

private:
    const std::vector<double>& minimum(std::size_t e, const std::vector<int>& key);

    const std::vector<std::vector<PmappingGroup>>& groups_;
    const std::vector<std::vector<double>>& least_;
    std::vector<std::vector<std::vector<double>>> minima_;  ///< [Einsum][group][objective]
    std::vector<std::map<std::vector<int>, std::vector<double>>> memo_;
    std::vector<std::vector<int>> users_;  ///< per tensor
};

}  // namespace tessera::mapspace::detail
