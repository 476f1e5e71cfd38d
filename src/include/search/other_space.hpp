// What a mapspace other than that of templates says of its points: as numbers, for VectorEncoding,
// and as choices one after the other, for Partial.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/search/rng.hpp"
#include "tessera/search/space.hpp"

namespace tessera::search {

/// See VectorEncoding. Immutable; may be read by several threads.
class VectorSpace {
public:
    virtual ~VectorSpace() = default;
    /// Names as in tessera/search/vector.hpp; the first `n_bounds()` are bounds.
    virtual const std::vector<std::string>& numbers() const = 0;
    virtual std::size_t n_bounds() const = 0;
    virtual void to_numbers(const Point& point, std::span<float> numbers) const = 0;
    /// \pre all are finite
    virtual void from_numbers(std::span<const float> numbers, Point& point) const = 0;
    virtual Point any_point() const = 0;
};

/// See Partial, whose functions these are.
class PartialPoint {
public:
    virtual ~PartialPoint() = default;
    virtual bool start(const Point& point) = 0;
    virtual const std::vector<std::uint32_t>& structure() const = 0;
    virtual bool complete() const = 0;
    virtual const std::vector<std::int64_t>& values() = 0;
    virtual std::size_t place() = 0;
    virtual void choose(std::int64_t value) = 0;
    virtual std::size_t depth() const = 0;
    virtual void rewind(std::size_t depth) = 0;
    virtual bool fill(Rng& rng) = 0;
    virtual const Point& point() = 0;
};

class PartialSpace {
public:
    virtual ~PartialSpace() = default;
    virtual std::unique_ptr<PartialPoint> partial() const = 0;
};

}  // namespace tessera::search
