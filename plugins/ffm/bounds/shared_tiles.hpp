// Tile shapes that the other users of shared tensors have in use: see docs/ffm-proofs.md, 2.20.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "../explorer.hpp"

namespace tessera::ffm {

/// All users of a shared tensor run inside the same loops above it, with the same tile shapes. So
/// where some of them are explored, only their tile shapes are of use to the others.
class SharedTiles {
public:
    SharedTiles(const ExploreContext& context, const std::vector<EinsumSpace>& spaces);

    /// Takes the groups of an Einsum.
    void add(std::size_t e);
    /// Sets `only` of the fused symbols that may leave partial tiles. Thread rule: any, while
    /// nothing is added.
    void limit(std::size_t e, const TemplateEntry& t, const mapspace::TabulateContext& table,
               std::vector<mapspace::TileShapeSymbol>& symbols) const;

private:
    using Values = std::set<double>;
    /// Memory, rank of the tensor, whether the loop is spatial.
    using Place = std::array<int, 3>;
    using Known = std::map<Place, Values>;

    std::optional<Values> of_loop(std::size_t e, int local_tensor, const Place& place) const;

    const ExploreContext& c_;
    const std::vector<EinsumSpace>& spaces_;
    std::vector<std::map<std::size_t, Known>> known_;  ///< by tensor and explored user
};

}  // namespace tessera::ffm
