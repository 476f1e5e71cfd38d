// How the values of a sparse tensor lie in it, and what that means for its tiles: how probable it
// is that a tile holds so many of them. The models, and their roundings, are Sparseloop's.
//
//   fixed structured   every tile of n points holds dn values: dn down or up
//   hypergeometric     the values of the whole tensor lie anywhere in it
//   banded             a square matrix with values at most so far from its diagonal
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace tessera::sparsity {

enum class Distribution : std::uint8_t { fixed_structured, hypergeometric, banded };

/// As written in an input.
struct DensitySpec {
    Distribution distribution = Distribution::fixed_structured;
    double density = 1;           ///< not of banded tensors
    std::int64_t band_width = 0;  ///< off the diagonal on either side
    bool operator==(const DensitySpec&) const = default;
};

/// The extents of a tile along the ranks of its tensor.
using Tile = std::vector<std::int64_t>;
/// Points of a tile; 0 of one without ranks.
std::uint64_t points_of(const Tile& tile);

/// A tile of which it is known how many values it holds.
struct Known {
    Tile tile;
    std::uint64_t points = 0, values = 0;
};

/// A question that a model cannot answer: its text says which.
class Unanswerable : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Of one tensor. Questions throw Unanswerable. Answers do not depend on earlier questions.
class Density {
public:
    virtual ~Density() = default;

    /// The most values that a tile can hold.
    virtual std::uint64_t most_values(const Tile& tile) const = 0;
    /// The same by the number of points alone, for a first look at capacities.
    virtual std::uint64_t most_values_of(std::uint64_t points) const = 0;
    virtual double least_density(const Tile& tile) const = 0;
    virtual double expected_values(const Tile& tile) const = 0;
    /// That a tile holds exactly so many values; `inside`: of a larger tile, or nullptr.
    virtual double probability(const Tile& tile, std::uint64_t values,
                               const Known* inside = nullptr) const = 0;
    /// The same for all numbers of values from `least` to `most`.
    virtual std::vector<double> probabilities(const Tile& tile, std::uint64_t least,
                                              std::uint64_t most) const;
    /// The most of the `element` tiles that a `fiber` is made of which are not empty.
    virtual std::uint64_t most_elements(const Tile& fiber, const Tile& element) const;
};

/// \throws Unanswerable if the model does not fit a tensor of these extents
std::unique_ptr<const Density> make_density(const DensitySpec& spec, const Tile& tensor);

// ---- The models, for make_density() ----------------------------------------------------------

std::unique_ptr<const Density> make_fixed_structured(double density);
std::unique_ptr<const Density> make_hypergeometric(double density, std::uint64_t points);
std::unique_ptr<const Density> make_banded(std::int64_t band_width, const Tile& tensor);

}  // namespace tessera::sparsity
