// Which symbols of the Einsums' templates stand for the same fused loop of a mapping.
#pragma once

#include <set>
#include <vector>

#include "../explorer.hpp"

namespace tessera::ffm {

/// Loops above a shared tensor that index the same rank of it, with the same tile shape, count as
/// one. Where they only look alike, whoever asks gets one suggestion too many.
class FusedLoops {
public:
    /// `firsts`: by Einsum, the first one that has an equal pmapping.
    FusedLoops(const std::vector<EinsumSpace>& spaces, const std::vector<UsedPmapping>& known,
               const std::vector<std::size_t>& firsts);
    /// Loops of the Einsum.
    std::set<int> loops(std::size_t e) const;
    /// The Einsum's symbols of a loop.
    std::set<int> symbols(std::size_t e, int loop) const;

private:
    void add(std::size_t e, const EinsumSpace& space, const UsedPmapping& own);
    int find(int loop) const;
    void unite(int a, int b) {
        parent_[static_cast<std::size_t>(find(a))] = find(b);
    }

    struct Place {
        int tensor = 0, rank = 0;
        std::int32_t tile = 0;
        auto operator<=>(const Place&) const = default;
    };

    std::map<Place, int> met_;
    std::vector<int> parent_;
    std::vector<std::vector<int>> of_symbol_;  ///< by Einsum and symbol; -1: none, or one trip
};

}  // namespace tessera::ffm
