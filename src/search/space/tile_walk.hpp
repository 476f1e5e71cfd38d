// All tile shapes of one template under given fused loops, depth first, in a fixed order.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "tile_chooser.hpp"

namespace tessera::search {

class TileWalk {
public:
    TileWalk(const TemplateData& t, mapspace::DivisorCache& divisors,
             model::FormulaWorkspace& workspace)
        : chooser_(t, divisors, workspace), levels_(t.order.size()) {}

    /// As TileChooser::start. next() ends after that many choices.
    void start(std::uint32_t running, const std::vector<std::int64_t>& trips,
               std::uint64_t most_steps = std::numeric_limits<std::uint64_t>::max()) {
        chooser_.start(running, trips);
        fresh_ = true;
        steps_ = most_steps;
    }

    /// False: there are no more, or as many choices were made as start() allowed.
    bool next();
    bool cut() const {
        return steps_ == 0;
    }

    const std::vector<double>& values() const {
        return chooser_.values();
    }
    TileChooser& chooser() {
        return chooser_;
    }

private:
    struct Level {
        std::vector<double> values;
        std::size_t place = 0;
    };
    void enter(std::size_t k) {
        chooser_.candidates(k, levels_[k].values);
        levels_[k].place = 0;
    }

    TileChooser chooser_;
    std::vector<Level> levels_;
    std::uint64_t steps_ = 0;
    bool fresh_ = true;
};

}  // namespace tessera::search
