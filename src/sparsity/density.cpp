// What the models have in common.
#include "sparsity/density.hpp"

#include <algorithm>

#include "tessera/base/stop.hpp"

namespace tessera::sparsity {

std::uint64_t points_of(const Tile& tile) {
    std::uint64_t points = tile.empty() ? 0 : 1;
    for (const std::int64_t extent : tile) {
        points *= static_cast<std::uint64_t>(extent);
    }
    return points;
}

std::vector<double> Density::probabilities(const Tile& tile, std::uint64_t least,
                                           std::uint64_t most) const {
    std::vector<double> result;
    for (std::uint64_t values = least; values <= most; ++values) {
        base::poll_stop();  // large tiles take long
        result.push_back(probability(tile, values));
    }
    return result;
}

std::uint64_t Density::most_elements(const Tile& fiber, const Tile& element) const {
    const std::uint64_t whole = points_of(fiber), part = points_of(element);
    if (part == 0 || whole % part != 0) {
        throw Unanswerable("a fiber of " + std::to_string(whole) +
                           " points does not divide into tiles of " + std::to_string(part));
    }
    return std::min(most_values(fiber), whole / part);
}

std::unique_ptr<const Density> make_density(const DensitySpec& spec, const Tile& tensor) {
    switch (spec.distribution) {
        case Distribution::hypergeometric:
            return make_hypergeometric(spec.density, points_of(tensor));
        case Distribution::banded:
            return make_banded(spec.band_width, tensor);
        default:
            return make_fixed_structured(spec.density);
    }
}

}  // namespace tessera::sparsity
