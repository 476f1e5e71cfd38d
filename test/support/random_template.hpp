// Random templates of one Einsum with random fillings, for property tests. They need not be
// sensible: holders of random levels, loops anywhere between them, spatial loops over random
// dimensions.
#pragma once

#include <random>
#include <vector>

#include "tessera/arch/path.hpp"
#include "tessera/mapspace/template.hpp"

namespace tessera::testing {

/// Every rank variable has one to three loops, the innermost of tile shape 1, the others symbols.
mapspace::Template random_template(const arch::Path& path, std::mt19937& random);

/// Tile shapes per symbol: divisor chains; outermost loops of imperfect variables any size.
std::vector<double> random_tiles(const arch::Path& path, const mapspace::Template& tmpl,
                                 std::mt19937& random);

/// The template's nodes with these tile shapes.
mapping::Pmapping filled(const mapspace::Template& tmpl, const std::vector<double>& tiles);

}  // namespace tessera::testing
