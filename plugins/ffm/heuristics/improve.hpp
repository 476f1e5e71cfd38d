// Partial tiles for a known mapping. Its templates stay; what its Einsums share stays, too, but for
// one or two fused loops at a time. Fast and without proof. Map:
//   pairs     tile shapes of two rank variables are explored exactly, all others stay, as long as
//             that improves the mapping
//   proposals pairs with one or two fused loops free: the tile shapes that one Einsum would like
//             them to have (two, as batch and token may have to change together)
//   granted   pairs of every Einsum inside these loops, with what any of them proposes
// Each is done twice: as if the memories were this Einsum's own, and with no more of them than it
// has now, since others hold something there at the same time.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "../explorer.hpp"

namespace tessera::ffm {

/// Pmappings of a template that may improve a mapping.
struct ImprovedRows {
    std::set<TileShapes> best;  ///< those in use, and the best one of every step
    std::set<TileShapes> all;
};

class Improvement {
public:
    explicit Improvement(TemplateExplorer& explorer) : x_(explorer) {}

    /// Looks for pmappings that improve a known mapping, given by Einsum. `total`: its costs.
    void improve(const std::vector<UsedPmapping>& known, const std::vector<double>& total);
    /// Groups with what was found: the best of it, or all.
    void improved(bool all);

private:
    class PairSearch;
    void for_each_improved(const TemplateExplorer::Work& work);

    TemplateExplorer& x_;
    std::vector<std::map<std::size_t, ImprovedRows>> improved_;  ///< by Einsum and template
};

}  // namespace tessera::ffm
