// The oracle's search over whole LoopTrees: every combination of chains that fit together
// (docs/mapspace.md section 3) and fit into the memories (section 4), paired by brute force.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "oracle/oracle_chain.hpp"
#include "tessera/mapspace/template.hpp"
#include "tessera/model/cost_model.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::oracle {

struct Point {
    double energy_j = 0, latency_s = 0;
    double edp_js() const {
        return energy_j * latency_s;
    }
};

struct Optimum {
    std::uint64_t mappings = 0;      ///< legal LoopTrees
    std::uint64_t combinations = 0;  ///< rows paired
    double energy_j = 0, latency_s = 0, edp_js = 0;
    std::vector<Point> pareto;  ///< sorted by energy, exact dominance
    /// One chain per Einsum that reaches the least EDP, with its path.
    std::vector<std::pair<int, mapping::Pmapping>> best_edp;
    /// Least EDP of the mappings in which neighbours share no loop; infinite if there are none.
    double unshared_edp_js = 0;
};

/// Everything a search needs to know of the problem, chains enumerated.
struct Space {
    std::vector<EinsumChains> einsums;  ///< in the order in which they run
    std::vector<int> order;             ///< which Einsum of the workload stands at each place
    std::vector<Memory> memories;       ///< of finite size
    std::vector<std::pair<int, int>>
        life;  ///< per tensor of the workload: places of the first and last user
    const workload::Workload* workload = nullptr;
    bool reference_rules = true;          ///< of `--compat accelforge`: the second half of J6
    std::vector<std::string> components;  ///< of ChainRow::busy_s
};

/// A LoopTree: one group and one of its rows for every Einsum, and the loops that neighbours share.
struct Tree {
    std::vector<const ChainGroup*> groups;
    std::vector<const ChainRow*> rows;
    std::vector<int> shared;
};

/// `busy`: rows know how long each component is busy. \throws TooMany if an Einsum has more than
/// `chain_limit` chains.
Space make_space(const model::Problem& problem, const mapspace::MapSpaceOptions& options,
                 std::uint64_t chain_limit, bool busy = false);

/// Drops rows that another row of the same group matches or betters in energy, latency and all
/// bits: costs add up and bits are only ever added and compared with a size, so no optimum is lost.
/// Counts of mappings no longer mean anything.
void keep_useful_rows(Space& space);

/// Number of row combinations that search() would look at, structure conditions applied.
std::uint64_t combinations(const Space& space);

constexpr std::uint64_t no_limit = ~std::uint64_t{0};

/// Einsums run in the order of the file. \throws TooMany after `limit` combinations of groups and
/// rows.
Optimum search(const Space& space, std::uint64_t limit = no_limit);

/// Every LoopTree in the order of the file that fits into the memories. \throws TooMany likewise.
void for_each_tree(const Space& space, const std::function<void(const Tree&)>& visit,
                   std::uint64_t limit = no_limit);

/// Best over all orders in which producers come before consumers.
Optimum search_all_orders(Space space, std::uint64_t limit = no_limit);

/// What keeps chains from being one LoopTree: the first condition of section 3 that they break.
enum class Fit {
    yes,
    backing,     ///< J1: different memories or depths for one tensor
    loops,       ///< J3, J6: a shared loop is missing or of another kind
    ranks,       ///< J4: a loop above a tensor indexes different ranks of it
    unfinished,  ///< J5: a value would be read before it is finished
    host,        ///< J6: a chain cannot stand inside the loops of a tensor that lives on
};

/// One group per Einsum. `shared` receives the number of loops that neighbours share.
Fit fit(const Space& space, const std::vector<const ChainGroup*>& groups, std::vector<int>& shared);

/// Peak bits of memory `m` over the whole tree, by a walk over its leaves.
double peak_bits(const Space& space, const std::vector<const ChainGroup*>& groups,
                 const std::vector<const ChainRow*>& rows, const std::vector<int>& shared,
                 std::size_t m);

}  // namespace tessera::oracle
