// Dynamic programming over the temporal blocks, inner to outer, for given spatial and bypass
// choices.
//
// A state after block i is (x, open): the temporal factors inside, and for every data space which
// edges have met no relevant temporal loop yet (`open`), and which of them no temporal loop at all
// (`fresh`: a window may still slide). Costs of closed edges are known, open ones depend on what
// comes. So the least cost per state is enough, and the least cost at the end is a lower bound of
// every mapping with these choices.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "timeloop/optimal/edges.hpp"

namespace tessera::timeloop {

/// Four bits per data space: first open edge; four more: first fresh edge.
struct OpenEdges {
    std::uint64_t open = 0, fresh = 0;

    int first_open(int space) const {
        return static_cast<int>(open >> (4 * space) & 15);
    }
    int first_fresh(int space) const {
        return static_cast<int>(fresh >> (4 * space) & 15);
    }
    void set_open(int space, int edge) {
        open = (open & ~(std::uint64_t{15} << (4 * space))) | static_cast<std::uint64_t>(edge)
                                                                  << (4 * space);
    }
    void set_fresh(int space, int edge) {
        fresh = (fresh & ~(std::uint64_t{15} << (4 * space))) | static_cast<std::uint64_t>(edge)
                                                                    << (4 * space);
    }
    bool operator==(const OpenEdges&) const = default;
};

/// One assignment of all temporal loops.
struct TemporalPlan {
    double bound = 0;  ///< lower bound of the linear cost of the mapping
    std::vector<std::vector<std::int64_t>> factors;  ///< per storage level and dimension
    std::vector<std::vector<int>> order;             ///< per storage level, innermost first
};

/// A mapping of all these choices.
Mapping to_mapping(const MapSpace& space, const SpatialChoice& choice,
                   const std::vector<DataSpaceMask>& keep, const TemporalPlan& plan);

class Tables {
public:
    /// `stop` is asked every millisecond of work or less, by all functions: they throw
    /// base::Stopped once it says so.
    Tables(const Edges& edges, std::function<bool()> stop);

    /// Fills the tables. States that cost `limit` or more are dropped.
    /// \return the least cost of a complete assignment, HUGE_VAL if none stays below the limit.
    double solve(double limit);
    /// Calls `visit` for assignments whose bound is at most `limit`, until it returns false.
    /// \pre solve() with at least this limit.
    void plans(double limit, const std::function<bool(const TemporalPlan&)>& visit) const;

private:
    void poll(std::size_t count) const;
    struct Layer {
        OpenEdges open;
        std::vector<double> cost;  // per lattice point
    };
    using Layers = std::vector<Layer>;
    struct Trace;

    void make_orders(int level);
    void extend(std::vector<int> order, DimensionMask placed, std::uint32_t open, int level);
    std::uint32_t closed_by(int d, std::uint32_t open) const;
    /// Loops that are placed, from the outside in.
    struct Prefix {
        std::vector<int> order;
        DimensionMask placed = 0;
        std::uint32_t open = 0;
        bool may_slide = false;  ///< a window over the next loop
    };
    void branch(const Prefix& at, const std::vector<int>& left, int level);
    Layer& layer(Layers& layers, const OpenEdges& open) const;
    bool allowed(int level, int d, std::int64_t factor) const;
    OpenEdges close(const OpenEdges& open, int level, int d) const;
    double closure(const OpenEdges& open, std::size_t y, int d, std::int64_t n, int level) const;
    bool plain(const OpenEdges& open, int d) const;
    void step(const Layers& from, Layers& to, int level, int d) const;
    double end_cost(const OpenEdges& open) const;
    double remaining_floor(const OpenEdges& open) const;
    int edges_inside(int space, int level) const;

    const std::function<bool()> stop_;
    const Edges& edges_;
    const Geometry& g_;
    const Lattice& lattice_;
    // Per data space and edge: cost of closing at each lattice point.
    std::vector<std::vector<std::vector<double>>> full_cost_;
    std::vector<std::vector<double>> least_cost_;
    // Per level: loop orders worth trying. Every order that the constraints allow costs at least as
    // much as one of them, with the same factors.
    std::vector<std::vector<std::vector<int>>> orders_;
    std::vector<Layers> after_;  // per level
    std::vector<std::vector<char>> fits_;
};

}  // namespace tessera::timeloop
