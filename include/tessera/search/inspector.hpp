// What a strategy can know of a point beyond its outcome: bounds and legal values of its tile
// shapes, what each Einsum costs, how full the memories get, and by how much limits are exceeded.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tessera/search/space.hpp"

namespace tessera::search {

/// One Einsum of a point by itself.
struct EinsumFacts {
    Verdict verdict = Verdict::legal;    ///< tile_shape, fanout, capacity, constraint or legal
    double energy_j = 0, latency_s = 0;  ///< if it is legal
    /// Sum over the limits that are broken of |output - limit| / limit (of |output - limit| where
    /// the limit is 0). 0 if its tile shapes do not nest, for then nothing can be said.
    double excess = 0;
};

/// A finite memory.
struct MemoryFacts {
    std::string component;
    double size_bits = 0;
    double most_bits = 0;  ///< in use at any time; more than there are if the point is not legal
    std::uint32_t einsum = 0;  ///< which runs then
};

struct PointFacts {
    Verdict verdict = Verdict::legal;    ///< as the host's evaluation says
    double energy_j = 0, latency_s = 0;  ///< if the Einsums join
    std::vector<EinsumFacts> einsums;    ///< empty where `choices` or `tiles` have the wrong size
    std::vector<MemoryFacts> memories;   ///< if the Einsums join
    /// Excess of all Einsums and memories; 0 for legal points, and where they do not join.
    double violation = 0;
};

/// For one thread. Results depend on the arguments alone.
class Inspector {
public:
    /// `space` is one that the host opened (OpenSpace), and outlives this. \throws Bug: it is
    /// another
    explicit Inspector(const Space& space);
    ~Inspector();

    /// Valid until the next call.
    const PointFacts& facts(const Point& point);

    /// The largest tile shape of a symbol: the bound of its rank variable. \pre they exist
    std::int64_t bound(std::uint32_t einsum, std::uint32_t tmpl, std::uint32_t symbol) const;
    /// The tile shapes that a symbol of an Einsum can have while all others of the point stay,
    /// ascending: those that nest and break no limit of the Einsum itself. Empty where `choices` or
    /// `tiles` have the wrong size, or there is no such symbol. Valid until the next call.
    const std::vector<std::int64_t>& values(const Point& point, std::uint32_t einsum,
                                            std::uint32_t symbol);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::search
