// The values of the tensor lie anywhere in it: how many of them a tile of n points gets is
// hypergeometric, with the rounded up number of values of the whole tensor.
#include <algorithm>
#include <boost/math/distributions/hypergeometric.hpp>
#include <boost/math/special_functions/binomial.hpp>
#include <cmath>
#include <limits>

#include "sparsity/density.hpp"

namespace tessera::sparsity {

namespace {

/// Of `values` among `n` points, where `r` of `all` points have values.
double pdf(std::uint64_t values, std::uint64_t r, std::uint64_t n, std::uint64_t all) {
    if ((n + r > all && values < n + r - all) || values > r) {
        return 0;
    }
    if (all > std::numeric_limits<unsigned>::max()) {
        throw Unanswerable("a tensor of " + std::to_string(all) +
                           " points; hypergeometric densities are worked out up to 2^32");
    }
    if (r > all || n > all) {
        throw Unanswerable("a tile is larger than what it lies in");
    }
    try {
        const boost::math::hypergeometric_distribution<double> distribution(
            static_cast<unsigned>(r), static_cast<unsigned>(n), static_cast<unsigned>(all));
        return boost::math::pdf(distribution, values);
    } catch (const std::exception&) {
        // Too large for the closed form; the binomials have a wider range.
    }
    try {
        const auto choose = [](std::uint64_t from, std::uint64_t some) {
            return boost::math::binomial_coefficient<long double>(static_cast<unsigned>(from),
                                                                  static_cast<unsigned>(some));
        };
        const auto ways = static_cast<double>(choose(r, values) * choose(all - r, n - values));
        return static_cast<double>(ways / choose(all, n));
    } catch (const std::exception&) {
        throw Unanswerable("a probability is out of range; use a smaller tensor");
    }
}

class Hypergeometric : public Density {
public:
    Hypergeometric(double density, std::uint64_t points)
        : points_(points), values_(std::ceil(density * static_cast<double>(points))) {}

    std::uint64_t most_values(const Tile& tile) const override {
        return most_values_of(points_of(tile));
    }
    std::uint64_t most_values_of(std::uint64_t points) const override {
        return static_cast<double>(points) >= values_ ? static_cast<std::uint64_t>(values_)
                                                      : points;
    }
    double least_density(const Tile& tile) const override {
        const std::uint64_t points = points_of(tile);
        if (static_cast<double>(points) <= static_cast<double>(points_) - values_) {
            return 0;
        }
        // The difference wraps around below zero: Sparseloop's, and so is what follows from it.
        return (static_cast<double>(points - points_) + values_) / static_cast<double>(points);
    }
    double expected_values(const Tile& tile) const override {
        const auto most =
            static_cast<std::uint64_t>(std::min(static_cast<double>(points_of(tile)), values_));
        double expected = 0;
        for (std::uint64_t values = 0; values <= most; ++values) {
            expected += probability(tile, values, nullptr) * static_cast<double>(values);
        }
        return expected;
    }
    double probability(const Tile& tile, std::uint64_t values, const Known* inside) const override {
        return inside == nullptr
                   ? pdf(values, static_cast<std::uint64_t>(values_), points_of(tile), points_)
                   : pdf(values, inside->values, points_of(tile), inside->points);
    }

private:
    std::uint64_t points_;
    double values_;  ///< of the whole tensor
};

}  // namespace

std::unique_ptr<const Density> make_hypergeometric(double density, std::uint64_t points) {
    return std::make_unique<Hypergeometric>(density, points);
}

}  // namespace tessera::sparsity
