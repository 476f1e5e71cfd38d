// The execution of one loop nest.
//   nest_analysis.cpp   positions, invocations, temporal loops
//   nest_spatial.cpp    spatial blocks, and what is collected per level in the end
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "machine.hpp"
#include "nest_result.hpp"

namespace tessera::timeloop {

// ---- point_set.cpp: sets of points of one data space as lists of axis-aligned boxes: exact
// difference, translation as Timeloop measures it, equality up to a shift.

using Point = std::array<std::int64_t, max_ranks>;  ///< unused ranks are 0

/// Half-open box [low, high); unused ranks are [0, 1).
struct Box {
    Point low{}, high{};
    bool operator==(const Box&) const = default;
};

using BoxSet = std::vector<Box>;  ///< disjoint boxes

std::uint64_t size(const Box& box, int ranks);
std::uint64_t size(const BoxSet& set, int ranks);

/// Appends `from` minus `what` to `result`.
void subtract(const Box& from, const Box& what, int ranks, BoxSet& result);

/// Rounded difference of the centroids.
Point translation(const Box& from, const Box& to, int ranks);

/// The shift that turns `from` into `to`, if there is one. Empty sets have none.
std::optional<Point> shift_between(const BoxSet& from, const BoxSet& to, int ranks);

// ---- multicast.cpp: elements of a spatial block on their physical grid: groups that receive the
// same words, the hops their words take, and elements that can be served by a neighbour.

/// The grid on which the linear index of an element is laid out, row by row.
struct Grid {
    std::int64_t width = 1, height = 1;
};

/// All groups of `multicast` elements.
struct GroupTable {
    std::uint64_t multicast = 1, groups = 0;
    double hops = 0;  ///< sum over the groups
};

/// Hops to one group: along row 0 to the farthest column, then up and down in every column used;
/// the words enter in the middle of the left side.
double hops_to(const std::vector<int>& elements, Grid grid);

/// Groups the elements with `taken` false by equal offsets; `separate`: every element on its own.
/// The result ascends by multicast.
std::vector<GroupTable> group_elements(const std::vector<Point>& offsets,
                                       const std::vector<char>& taken, bool separate, Grid grid);

/// Marks the elements whose words a neighbour had one step before: those with a neighbour whose
/// former offset minus the element's offset is `shift`. Returns their number.
std::uint64_t mark_forwarded(const std::vector<Point>& offsets, const std::vector<Point>& former,
                             const Point& shift, int ranks, Grid grid, std::vector<char>& taken);

// ---- The execution itself

using NestExtents = std::array<std::int64_t, max_dimensions>;

struct NestPosition {
    Loop loop;
    int level = 0;
    bool boundary = false;
    bool master = false;  ///< outermost loop of a spatial block
    std::int64_t stride = 1;
    NestExtents extent{};       ///< of the tile below and with this loop
    NestExtents last_extent{};  ///< the same in the last pass of all outer loops
    std::int64_t index = 0;

    bool spatial() const {
        return loop.kind != LoopKind::temporal;
    }
};

/// What one position remembers of one data space.
struct NestMemory {
    std::uint64_t max_size = 0;
    bool seen = false;
    Box last;
    std::optional<Point> translation;
    // Records of the loop, and what a spatial block needs of its former invocation.
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::pair<double, double>> records;
    std::uint64_t link_transfers = 0;
    bool has_former = false;
    BoxSet former_base;
    std::vector<Point> former_offsets;
};

class NestExecution {
public:
    NestExecution(const Problem& problem, const Architecture& architecture, const FlatMapping& flat,
                  const ModelOptions& options)
        : problem_(problem),
          architecture_(architecture),
          flat_(flat),
          options_(options),
          spaces_(static_cast<int>(problem.data_spaces.size())) {
        build(flat);
    }

    NestResult run() {
        visit(static_cast<int>(positions_.size()) - 1);
        return collect();
    }

private:
    void build(const FlatMapping& flat);
    void visit(int at);
    void temporal(int at);
    void spatial(int at);
    void spatial_space(int at, int space, int last, bool with_link);
    NestResult collect() const;
    void collect_level(int level, int first, int boundary, NestResult& result) const;

    int ranks(int space) const {
        return static_cast<int>(problem_.data_spaces[space].ranks.size());
    }
    NestMemory& memory(int at, int space) {
        return memories_[at * spaces_ + space];
    }
    const NestMemory& memory(int at, int space) const {
        return memories_[at * spaces_ + space];
    }
    BoxSet& delta(int at, int space) {
        return deltas_[at * spaces_ + space];
    }
    static bool flag(const DataSpaceMask (&which)[FlatMapping::max_levels], int level, int space) {
        return which[level] >> space & 1;
    }

    /// True if all loops of `dimension` at position `from` and outside it are in their last pass.
    bool in_last_pass(int from, int dimension) const {
        for (std::size_t q = from; q < positions_.size(); ++q) {
            const NestPosition& p = positions_[q];
            if (p.loop.dimension == dimension && p.index + 1 < p.loop.residual) {
                return false;
            }
        }
        return true;
    }
    std::int64_t trips(int at) const {
        const Loop& loop = positions_[at].loop;
        return imperfect_ && in_last_pass(at + 1, loop.dimension) ? loop.residual : loop.end;
    }
    Box working_set(int at, int space) const;
    Point project(int space, const NestExtents& offset) const;
    /// One call of the next inner position standing for `weight` iterations.
    void call(int at, std::uint64_t weight, std::uint64_t advance, bool counted,
              std::vector<std::uint64_t>& sums);

    const Problem& problem_;
    const Architecture& architecture_;
    const FlatMapping& flat_;
    const ModelOptions& options_;
    const int spaces_;
    std::vector<NestPosition> positions_;
    std::vector<int> boundaries_;  ///< per level
    bool imperfect_ = false;
    std::vector<NestMemory> memories_;
    std::vector<BoxSet> deltas_;
    NestExtents offset_{};
    std::uint64_t epochs_ = 1;
    std::vector<std::uint64_t> compute_counts_;  ///< per arithmetic element of the innermost block
    std::vector<std::vector<Point>> offsets_;    ///< scratch: per data space, per element
    std::vector<char> taken_;
};

}  // namespace tessera::timeloop
