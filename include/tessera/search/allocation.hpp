// Tile shapes from an order of loops, for mappers that look for orders (LOMA, SALSA): the loops of
// one Einsum as factors of its rank variables from the inside out, and memories that take as many
// of the innermost ones as they hold.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tessera/arch/path.hpp"
#include "tessera/search/space.hpp"

namespace tessera::search {

/// A loop: so many iterations over one rank variable of the Einsum.
struct LoopFactor {
    int rank_variable = 0;
    std::int64_t trips = 1;

    auto operator<=>(const LoopFactor&) const = default;
};

/// For one thread. Results depend on the arguments alone.
class Allocation {
public:
    /// `space` is one of templates (OpenSpace), and outlives this. \throws UserError: it is another
    explicit Allocation(const Space& space);
    ~Allocation();

    /// Templates of an Einsum that share nothing with others but in the outermost memory; all of
    /// them if there is none.
    const std::vector<std::uint32_t>& unfused(std::uint32_t einsum) const;

    /// The hardware as the Einsum sees it in this template.
    const arch::Path& path(std::uint32_t einsum, std::uint32_t tmpl) const;

    /// Whether all templates of the point are of unfused() and none of its fused loops runs.
    /// \pre it is a point of the space
    bool unfused(const Point& point) const;

    /// Takes a template: its spatial loops are filled up with prime factors as the limits of arrays
    /// and memories allow. How is drawn from `rng`: one loop after the other in any order, large
    /// factors first; the factors of all loops in any order; or these without a quarter of them.
    /// No fused loop runs. False: it has no tile shapes without them.
    bool start(std::uint32_t einsum, std::uint32_t tmpl, Rng& rng);
    /// The prime factors that are left for temporal loops, by rank variable, ascending.
    const std::vector<LoopFactor>& factors() const;

    /// The tile shapes of an order of these factors (or products of some), innermost first. Each
    /// stands as far inside as the template has a loop for it and the limits allow, none further
    /// inside than the one before it. Empty: they break a limit.
    const std::vector<std::int64_t>& allocate(std::span<const LoopFactor> order);

    /// A point of unfused() templates, each with spatial loops and an order that are drawn. False:
    /// no legal tile shapes were found for one of the Einsums. Takes templates as start() does.
    bool draw(Rng& rng, Point& point);

    /// The point with the template and tile shapes of one Einsum. \pre it is a point of the space
    Point with(const Point& point, std::uint32_t einsum, std::uint32_t tmpl,
               const std::vector<std::int64_t>& tiles) const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Factors of one rank variable are multiplied, the smallest two of the variable that has most of
/// them first, until `most` are left or each variable has one (LOMA's limit of loops).
void merge_factors(std::vector<LoopFactor>& factors, std::size_t most);

}  // namespace tessera::search
