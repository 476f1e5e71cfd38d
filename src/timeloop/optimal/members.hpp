// All mappings that share index factors, spatial factors and bypasses: every order of the loops
// that run and every arrangement of the spatial ones along X and Y.
#pragma once

#include <functional>

#include "timeloop/optimal/geometry.hpp"

namespace tessera::timeloop {

class Members {
public:
    /// `mapping` gives the factors and the keep masks.
    Members(const Geometry& geometry, const Mapping& mapping);

    double count() const;
    /// Calls `visit` for each until it returns false. \return all were visited.
    bool each(const std::function<bool(const Mapping&)>& visit);

private:
    struct Choice {
        std::vector<int> order;
        int split = 0;
    };
    void add_orders(const TilingLevel& tiling, const LoopBlock& block, std::vector<Choice>& out);
    void add_splits(const TilingLevel& tiling, const LoopBlock& block, std::vector<Choice>& out);
    bool visit_from(std::size_t level, const std::function<bool(const Mapping&)>& visit);

    const Geometry& g_;
    Mapping mapping_;
    std::vector<std::vector<Choice>> choices_;  // per tiling level
};

}  // namespace tessera::timeloop
