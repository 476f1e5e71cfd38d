// Bits in every memory while every Einsum runs.
//
// An allocation is the tile of one tensor in one memory:
//   outermost holder of a tensor   one for all Einsums that access the tensor, from the first to the last;
//                                  in place of the holder
//   any other holder               one per Einsum; it may be allocated further down, see allocated_at()
//   persistent                     all the time, once per instance of the Einsum
// While a loop below the allocation runs, its next iteration will use the tile again: the allocation
// lives as long as the outermost such loop, for every Einsum inside.
#include <algorithm>
#include <map>

#include "legality_internal.hpp"

namespace tessera::mapspace::legality {

using mapping::TreeNode;
using workload::Relevancy;

namespace {

struct Allocation {
  std::string memory, tensor, einsum;
  double bits = 0;
  double size_bits = 0;
  Position where;
  int first = 0, last = 0;  ///< leaves during which it is alive
};

// Index of the node that the allocation of holder `h` stands right above. It sinks past loops over
// variables of the tensor, past at most one loop of a sum, and stops at everything else.
int allocated_at(const Leaf& leaf, int h) {
  const Node& holder = leaf.nodes[h];
  int at = h + 1;
  if (holder.first || !holder.tree->lower || holder.kind == Kind::toll) {
    return at;
  }
  for (; at < static_cast<int>(leaf.nodes.size()) && leaf.nodes[at].loop(); ++at) {
    const Node& loop = leaf.nodes[at];
    if (loop.kind == Kind::spatial) {
      if (loop.level != holder.level) {
        return at;
      }
      continue;
    }
    const Relevancy relevancy = leaf.tensor(holder).relevancy[loop.variable];
    if (relevancy == Relevancy::irrelevant) {
      return at;
    }
    if (relevancy == Relevancy::partially_relevant) {
      return at + 1;
    }
  }
  return at;
}

// Sizes of all rank variables inside the allocation of holder `h` that stands right above node `at`.
std::vector<std::int64_t> tile_at(const Leaf& leaf, int h, int at) {
  std::vector<std::int64_t> tile;
  for (const auto& variable : leaf.view().rank_variables) {
    tile.push_back(variable.bound);
  }
  std::vector<int> around = leaf.loops_around(h);
  for (int i = h + 1; i < at; ++i) {
    if (leaf.nodes[i].kind == Kind::temporal) {
      around.push_back(i);
    }
  }
  std::sort(around.begin(), around.end());
  for (int i : around) {
    const Node& loop = leaf.nodes[i];
    std::int64_t& size = tile[loop.variable];
    const bool nested = loop.previous < 0 ||
                        std::binary_search(around.begin(), around.end(), loop.previous);
    size = nested ? loop.tile : std::max<std::int64_t>(1, (size + loop.trips - 1) / loop.trips);
  }
  return tile;
}

double values_in(const workload::LocalTensor& tensor, const std::vector<std::int64_t>& tile) {
  double values = 1;
  for (const workload::RankAccess& rank : tensor.ranks) {
    double extent = 1;
    for (const workload::AffineTerm& term : rank.terms) {
      extent += static_cast<double>(std::abs(term.coefficient)) *
                static_cast<double>(tile[term.rank_variable] - 1);
    }
    values *= extent;
  }
  return values;
}

// Units of a distributed memory over which the spatial loops below the holder spread the tile.
double units(const Leaf& leaf, int h) {
  const Node& holder = leaf.nodes[h];
  const arch::PathLevel& level = leaf.level(holder);
  if (!level.distributed()) {
    return 1;
  }
  double units = 1;
  for (const arch::PhysicalDim& dim : level.physical) {
    double used = 1;
    for (std::size_t i = h + 1; i < leaf.nodes.size() && leaf.nodes[i].kind != Kind::storage; ++i) {
      const Node& loop = leaf.nodes[i];
      if (loop.kind == Kind::spatial && leaf.level(loop).spatial[loop.dim].name == dim.name) {
        used *= static_cast<double>(loop.trips);
      }
    }
    units *= std::max(1.0, used / dim.stride);
  }
  return units;
}

class Timeline {
 public:
  explicit Timeline(Checker& checker) : checker_(checker) {}

  void collect() {
    for (int l = 0; l < static_cast<int>(checker_.leaves.size()); ++l) {
      const Leaf& leaf = *checker_.leaves[l];
      for (int h = 0; h < static_cast<int>(leaf.nodes.size()); ++h) {
        if (leaf.nodes[h].kind == Kind::storage) {
          add(l, h);
        }
      }
    }
  }

  void report() {
    std::map<std::string, std::vector<const Allocation*>> memories;
    for (const Allocation& a : allocations_) {
      memories[a.memory].push_back(&a);
    }
    for (const auto& [memory, all] : memories) {
      report(memory, all);
    }
  }

 private:
  void add(int l, int h) {
    const Leaf& leaf = *checker_.leaves[l];
    const Node& holder = leaf.nodes[h];
    const arch::PathLevel& level = leaf.level(holder);
    const workload::LocalTensor& tensor = leaf.tensor(holder);
    const int at = allocated_at(leaf, h);
    Allocation a;
    a.memory = level.name;
    a.tensor = tensor.name;
    a.einsum = leaf.view().name;
    a.bits = values_in(tensor, tile_at(leaf, h, at)) * level.bits_per_value[holder.tensor] / units(leaf, h);
    a.size_bits = level.size_bits;
    a.where = level.where;
    a.first = a.last = l;
    if (tensor.persistent && holder.first) {
      a.bits *= leaf.view().n_instances;
      a.first = 0;
      a.last = static_cast<int>(checker_.leaves.size()) - 1;
    } else {
      extend(a, leaf, at);
    }
    if (!holder.first) {
      allocations_.push_back(std::move(a));
      return;
    }
    const auto [same, fresh] = shared_.try_emplace({tensor.tensor, level.name}, allocations_.size());
    if (fresh) {
      allocations_.push_back(std::move(a));
      return;
    }
    Allocation& other = allocations_[same->second];
    other.bits = std::max(other.bits, a.bits);
    other.first = std::min(other.first, a.first);
    other.last = std::max(other.last, a.last);
  }

  // All Einsums inside the outermost loop below the allocation.
  void extend(Allocation& a, const Leaf& leaf, int at) const {
    for (std::size_t i = at; i < leaf.nodes.size(); ++i) {
      if (!leaf.nodes[i].loop() || leaf.nodes[i].trips == 1) {
        continue;
      }
      for (int l = 0; l < static_cast<int>(checker_.leaves.size()); ++l) {
        if (checker_.leaves[l]->node_of(leaf.nodes[i].tree) >= 0) {
          a.first = std::min(a.first, l);
          a.last = std::max(a.last, l);
        }
      }
      return;
    }
  }

  void report(const std::string& memory, const std::vector<const Allocation*>& all) {
    double worst = 0;
    int when = -1;
    for (int l = 0; l < static_cast<int>(checker_.leaves.size()); ++l) {
      double bits = 0;
      for (const Allocation* a : all) {
        bits += a->first <= l && l <= a->last ? a->bits : 0;
      }
      if (bits > worst) {
        worst = bits;
        when = l;
      }
    }
    const double size = all.front()->size_bits;
    // Shares of distributed memories may be fractions; everything else is exact.
    if (when < 0 || worst <= size * (1 + 1e-12)) {
      return;
    }
    std::string parts;
    for (const Allocation* a : all) {
      if (a->first <= when && when <= a->last) {
        parts += (parts.empty() ? "" : ", ") + a->tensor + " " + number(a->bits);
      }
    }
    const Leaf& leaf = *checker_.leaves[when];
    Violation& v = checker_.add("capacity", Severity::physical,
                                "memory " + quoted(memory) + " holds " + number(worst) +
                                    " bits while Einsum " + quoted(leaf.view().name) + " runs (" +
                                    parts + "), its size is " + number(size) + " bits",
                                &leaf);
    v.level = memory;
    v.found = worst;
    v.limit = size;
    v.where = all.front()->where;
  }

  Checker& checker_;
  std::vector<Allocation> allocations_;
  std::map<std::pair<int, std::string>, std::size_t> shared_;  ///< outermost holders
};

}  // namespace

void Checker::check_capacity() {
  Timeline timeline(*this);
  timeline.collect();
  timeline.report();
}

}  // namespace tessera::mapspace::legality
