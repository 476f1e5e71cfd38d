// Partial assignments of a space, for tree search: the tile shapes of one structure (order of the
// Einsums, templates, ways to join, which fused loops run), chosen one after the other, each among
// those that what was chosen before still allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tessera/search/space.hpp"

namespace tessera::search {

class PartialPoint;

/// For one thread. Results depend on the arguments alone.
class Partial {
public:
    /// Which tile shape is chosen next. An Einsum's own tile shapes keep the order of its template:
    /// fused loops from the outside in, then the others; and an Einsum waits for the fused loops of
    /// those before it.
    enum class Order : std::uint8_t {
        einsums,      ///< Einsum after Einsum
        fused_first,  ///< the fused loops of all Einsums, then the others
        fewest        ///< of all that can be next, the one with the fewest values left
    };

    /// `space` is one that the host opened, and outlives this; in Timeloop's mapspace the trip
    /// counts are chosen level after level, whatever the order says. \throws Bug: it is another
    explicit Partial(const Space& space, Order order = Order::einsums);
    ~Partial();

    /// Takes the structure of a point; no tile shape is chosen yet. False: its Einsums are not
    /// legal each by itself, or do not join.
    bool start(const Point& point);
    /// Template, way to join and running fused loops (bit per loop) of every Einsum; the order in
    /// which they run unless it is 0. Points of one structure differ in tile shapes alone.
    const std::vector<std::uint32_t>& structure() const;

    /// All tile shapes are chosen. What several Einsums hold in one memory together is not known
    /// before the point is evaluated.
    bool complete() const;
    /// The tile shapes that can be chosen next, ascending; every limit of their Einsum can still be
    /// met as far as the smallest (or largest) of the others tells. Empty: a dead end.
    /// \pre !complete()
    const std::vector<std::int64_t>& values();
    /// Where in Point::tiles the next tile shape stands. \pre !complete()
    std::size_t place();
    /// Chooses one of values().
    void choose(std::int64_t value);

    /// How many are chosen; rewind() takes back all but the first `depth` of them.
    std::size_t depth() const;
    void rewind(std::size_t depth);

    /// Chooses all others at random, each uniformly among what does not contradict the ones before
    /// it. False: none were found within a few dozen steps each, and nothing is chosen.
    bool fill(Rng& rng);

    /// The point, once it is complete.
    const Point& point();

private:
    struct Impl;
    static std::unique_ptr<PartialPoint> made(const Space& space, Order order);
    std::unique_ptr<PartialPoint> impl_;
};

}  // namespace tessera::search
