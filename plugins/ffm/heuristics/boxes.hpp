// Parts of a template: the tile shapes of some rank variables are given, the others are open.
//
// Where a filter moves over an input (`p + r`), costs are sums with negative terms (the halo of a
// tile is p + r - 1 values), whose least values are hard to bound. Filters are small: with every
// tile shape of `r` given, the halo is p plus a number, and all terms are positive.
#pragma once

#include <vector>

#include "../explorer.hpp"

namespace tessera::ffm {

/// Symbols of one rank variable, outermost first.
using Chain = std::vector<int>;

/// The chains of the filters of a template, those with the fewest tile shapes first, as far as all
/// of them together have few.
std::vector<Chain> filter_chains(const TemplateEntry& t);

/// Choices of perfect tile shapes for some chains together.
double count_choices(const TemplateEntry& t, const std::vector<Chain>& chains);
/// The same for all symbols of a template.
double count_rows(const TemplateEntry& t);

/// Every legal choice of perfect tile shapes for a chain.
std::vector<TileShapes> choices_of(const TemplateEntry& t, const Chain& chain);

/// The template with the tile shapes given that are not 0 in `fixed` (by symbol), of whole chains;
/// `open`: its symbols, by their numbers in `t`.
TemplateEntry fix_tile_shapes(const TemplateEntry& t, const TileShapes& fixed,
                              std::vector<int>& open);

}  // namespace tessera::ffm
