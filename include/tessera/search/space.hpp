// The mapspace as a search strategy sees it: points, random legal points, all points.
//
// A point encodes one mapping of the whole workload: an order of the Einsums, and for every Einsum
// a template, one of the ways in which it joins the Einsums that run before it, and the tile
// shapes. Not every point is a legal mapping; the host evaluates points and says what is wrong with
// those that are not.
//
// A strategy must propose points of the space only: an order that there is; one choice per Einsum,
// with a template that there is; one tile shape per symbol of the chosen templates; and each tile
// shape from 1 on and a divisor of that of the symbol's `outer`, or of the rank variable's bound if
// there is none (where the mapspace has partial tiles, one of those instead). Evaluation refuses
// other points with verdict tile_shape or incompatible, and the contract kit fails the strategy.
// `join` may be any number: whether the templates join is for the host to say.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tessera/mapspace/template.hpp"
#include "tessera/search/rng.hpp"

namespace tessera::search {

/// One Einsum of a point.
struct Choice {
    std::uint32_t tmpl = 0;  ///< index of the template
    std::uint32_t join = 0;  ///< which of the ways to run inside the loops that are open before it

    bool operator==(const Choice&) const = default;
};

struct Point {
    std::vector<Choice> choices;      ///< one per Einsum, as the workload lists them
    std::vector<std::int64_t> tiles;  ///< tile shapes, Einsum after Einsum, template symbol order
    std::uint32_t order = 0;          ///< in which the Einsums run; 0: as the workload lists them

    bool operator==(const Point&) const = default;
};

/// Changes that the host makes of a legal point. Einsums after the one that is changed stay as they
/// are where they still fit; else they keep their template with the nearest tile shapes that fit,
/// or get another template.
enum class Move : std::uint8_t {
    factor,   ///< a prime factor goes from one loop to another over the same rank variable
    tile,     ///< one tile shape is drawn anew among its legal values
    tiles,    ///< all tile shapes of the Einsum are drawn anew
    spatial,  ///< those of its spatial loops
    order,    ///< a template with the same holders and spatial loops, in another order
    keep,     ///< a template that keeps its tensors in other memories
    backing,  ///< a template with other backing holders or fused loops: the fusion boundary
    einsum,   ///< template and tile shapes anew
    einsums   ///< those of two to four Einsums in a row, or the order in which all run
};
inline constexpr std::size_t n_moves = 9;

/// What became of a point.
enum class Verdict : std::uint8_t {
    legal,
    no_point,      ///< no legal point was found where one was to be drawn
    incompatible,  ///< the templates do not join: shared tensors or loops differ
    tile_shape,    ///< tile shapes that do not nest: the point is not of the space
    fanout,        ///< more instances used than there are
    capacity,      ///< a memory overflows
    constraint,    ///< a constraint of the architecture or a limit of the mapspace
    refused,       ///< the cost model or the independent legality checker rejects it
    not_evaluated  ///< the search was stopped first
};

/// Costs of a legal point; SI units.
struct Outcome {
    Verdict verdict = Verdict::not_evaluated;
    double energy_j = 0;
    double latency_s = 0;
    double value = 0;  ///< what is minimised; smaller is better

    bool legal() const {
        return verdict == Verdict::legal;
    }
};

/// All points of the space whose Einsums are legal each by itself, in a fixed order. One thread.
class Enumerator {
public:
    virtual ~Enumerator() = default;
    /// False: no points are left.
    virtual bool next(Point& point) = 0;
};

/// Immutable; may be read by several threads.
class Space {
public:
    virtual ~Space() = default;
    virtual std::uint32_t n_einsums() const = 0;
    virtual std::uint32_t n_templates(std::uint32_t einsum) const = 0;
    virtual const mapspace::Template& tmpl(std::uint32_t einsum, std::uint32_t index) const = 0;
    virtual std::unique_ptr<Enumerator> enumerate() const = 0;
    /// Orders in which the Einsums may run.
    virtual std::uint32_t n_orders() const {
        return 1;
    }

    /// Values of the workload's rank variables; empty where spaces of other sizes cannot be had.
    virtual std::vector<std::int64_t> bounds() const {
        return {};
    }
    /// A space of the same family: the same Einsums on the same architecture, other bounds (one per
    /// entry of bounds()). The host opens it, which can take as long as it took to open this one,
    /// and keeps it as long as this one. Null: nothing is legal there, or the workload has no such
    /// size. May be called in SearchStrategy's start(), ask() and restore(). \throws base::Stopped
    virtual const Space* with_bounds(const std::vector<std::int64_t>& bounds) const {
        static_cast<void>(bounds);
        return nullptr;
    }
};

}  // namespace tessera::search
