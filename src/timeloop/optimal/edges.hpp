// The traffic of one data space between two levels that keep it, as a lower bound of what the cost
// model will count.
//
// An edge leads from a kept level (`child`, -1: the arithmetic) to the next outer kept level
// (`parent`). With x the temporal factors inside the child and y those inside the first temporal
// loop outside that is relevant to the data space, the words that enter all child instances are
//     F = tile(x) * product of bound / y over all dimensions * child instances
// because loops that are irrelevant and lie inside that first relevant loop leave the tile in
// place, and every other temporal iteration loads it anew. Sections of docs/timeloop.md give the
// reasons and the cases in which a sliding window loads less.
#pragma once

#include <algorithm>
#include <vector>

#include "timeloop/optimal/geometry.hpp"

namespace tessera::timeloop {

struct Edge {
    int space = 0, child = -1, parent = 0;
    double child_instances = 1, parent_instances = 1;
    double child_clusters = 1, parent_clusters = 1;
    /// Children served by one word read at the parent: exactly, or at most where neighbours may
    /// forward words to each other.
    double multicast = 1, multicast_linked = 1;
    /// Part of the words that the children count as fills at least, where neighbours forward: what
    /// they get from each other is counted per instance of more than the block.
    double filled_linked = 1;
    double child_partition = 0, parent_partition = 0;  ///< words that need no earlier read
    double ingress_cost = 0, ingress_cost_linked = 0;  ///< network, per word entering the children
};

/// Lattice of the temporal factors: per dimension the divisors of what the spatial blocks leave.
struct Lattice {
    std::vector<std::vector<std::int64_t>> divisors;
    std::vector<std::size_t> stride;
    std::size_t size = 1;

    std::size_t coordinate(std::size_t point, int d) const {
        return point / stride[d] % divisors[d].size();
    }
    std::int64_t value(std::size_t point, int d) const {
        return divisors[d][coordinate(point, d)];
    }
    /// The point with `n` times the factor of d. \pre that divides what the spatial blocks leave
    std::size_t times(std::size_t point, int d, std::int64_t n) const {
        const std::size_t from = coordinate(point, d);
        const auto to =
            std::lower_bound(divisors[d].begin(), divisors[d].end(), divisors[d][from] * n);
        return point + (static_cast<std::size_t>(to - divisors[d].begin()) - from) * stride[d];
    }
};

class Edges {
public:
    /// `keep`: mask per storage level. A data space that no level keeps makes valid() false.
    Edges(const Geometry& geometry, const SpatialChoice& choice,
          const std::vector<DataSpaceMask>& keep);

    bool valid() const {
        return valid_;
    }
    const Geometry& geometry() const {
        return g_;
    }
    const Lattice& lattice() const {
        return lattice_;
    }
    /// Edges of one data space, inner to outer; without the one from the arithmetic, unless
    /// neighbours may forward operands there: otherwise its traffic is constant.
    const std::vector<Edge>& of(int space) const {
        return edges_[space];
    }
    /// Spatial factors of all blocks up to and including `level`.
    const std::int64_t* spatial_inside(int level) const {
        return level < 0 ? ones_.data() : &inside_[static_cast<std::size_t>(level) * g_.dimensions];
    }
    /// Cost of an edge that carries F words. \param linked neighbours may forward.
    double cost(const Edge& edge, double words, bool linked) const;
    /// Words of an edge with nothing reused beyond the closure at lattice point y.
    double full_words(const Edge& edge, std::size_t y) const;
    /// May words be forwarded between neighbours inside this edge, closed at y?
    bool linked(const Edge& edge, std::size_t y) const;
    /// May two steps of different loops of a sliding rank cancel or repeat, closed at y by `d`?
    bool coincident(const Edge& edge, std::size_t y, int d, std::int64_t n, int level,
                    bool fresh) const;
    /// Words when the window slides along d with n steps in temporal block `level`.
    double sliding_words(const Edge& edge, std::size_t y, int d, std::int64_t n, int level) const;
    /// Cost of an edge closed at y by a loop over d of n iterations in temporal block `level`.
    /// \param fresh no loop ran since the child
    double closure(const Edge& edge, std::size_t y, int d, std::int64_t n, int level,
                   bool fresh) const;
    /// Of an edge, whatever the temporal loops.
    double least_cost(const Edge& edge) const;
    /// Part of the cost that no temporal choice changes: computes and the arithmetic's edges.
    double constant() const {
        return constant_;
    }
    /// No mapping with these spatial and bypass choices has fewer cycles.
    double cycles() const {
        return cycles_;
    }
    /// Least cost of every edge added to constant(): a bound before any search.
    double floor() const {
        return floor_;
    }
    /// Do the tiles of level `level` fit at x?
    bool fits(int level, std::size_t x) const;
    /// A level with the temporal factors x inside holds all of `space`.
    bool whole(int space, std::size_t x) const;
    int outermost(int space) const {
        return outermost_[space];
    }

private:
    Edge make_edge(int space, int child, int parent) const;
    bool forwards_to_arithmetic(const Edge& edge) const;
    double partition(int space, int level) const;
    double priced(const Edge& edge, double words, bool linked) const;
    /// Spatial factors of d inside the first temporal block from `level` on that may loop over d.
    std::int64_t inside_next(int level, int d) const {
        return next_[static_cast<std::size_t>(level) * g_.dimensions + d];
    }
    void set_next();
    double least_words(const Edge& edge) const;
    void add_least_traffic(const Edge& edge, double words, bool linked, int level, double& reads,
                           double& writes) const;
    void set_bandwidth_bound(const std::vector<Edge>& arithmetic);

    const Geometry& g_;
    const SpatialChoice& choice_;
    std::vector<DataSpaceMask> keep_;
    Lattice lattice_;
    std::vector<std::int64_t> inside_, next_;  // levels x dimensions
    std::vector<std::int64_t> ones_;
    std::vector<double> instances_;  // of each level
    std::vector<std::vector<Edge>> edges_;
    std::vector<int> outermost_;
    double constant_ = 0, cycles_ = 0, floor_ = 0;
    bool valid_ = true;
};

}  // namespace tessera::timeloop
