// Every tile has the density of the tensor: of n points, dn rounded down or up hold values.
#include <cmath>

#include "sparsity/density.hpp"

namespace tessera::sparsity {

namespace {

class FixedStructured : public Density {
public:
    explicit FixedStructured(double density) : density_(density) {}

    std::uint64_t most_values(const Tile& tile) const override {
        return most_values_of(points_of(tile));
    }
    std::uint64_t most_values_of(std::uint64_t points) const override {
        const double mean = static_cast<double>(points) * density_;
        const double down = 1 - (mean - std::floor(mean));  // 1 also for the tiniest of fractions
        return static_cast<std::uint64_t>(down >= 1 ? std::floor(mean) : std::ceil(mean));
    }
    double least_density(const Tile& tile) const override {
        const auto points = static_cast<double>(points_of(tile));
        return points == 0 ? 0 : std::floor(points * density_) / points;
    }
    double expected_values(const Tile& tile) const override {
        return static_cast<double>(points_of(tile)) * density_;
    }
    double probability(const Tile& tile, std::uint64_t values, const Known* inside) const override {
        const double density = inside == nullptr ? density_
                                                 : static_cast<double>(inside->values) /
                                                       static_cast<double>(inside->points);
        const double mean = static_cast<double>(points_of(tile)) * density;
        const double up = mean - std::floor(mean);
        const auto asked = static_cast<double>(values);
        return std::floor(mean) == asked ? 1 - up : std::ceil(mean) == asked ? up : 0;
    }

private:
    double density_;
};

}  // namespace

std::unique_ptr<const Density> make_fixed_structured(double density) {
    return std::make_unique<FixedStructured>(density);
}

}  // namespace tessera::sparsity
