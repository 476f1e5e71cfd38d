#include "search/tables/table_partial.hpp"

#include <numeric>

#include "search/join/link.hpp"

namespace tessera::search {

bool TablePartial::start(const Point& point) {
    if (!space_.has(point)) {
        return false;
    }
    structure_.clear();
    depth_ = 0;
    Followed followed;
    followed.start();
    for (std::size_t e = 0; e < space_.einsums.size(); ++e) {
        const auto [at, join] = point.choices[e];
        const CompatibilityGroup& group = space_.group(e, at);
        const std::vector<Way>& ways = joiner_.ways(followed.state, group.structure);
        if (join >= ways.size() || !followed.fits(ways[join], group.trips)) {
            return false;
        }
        followed.join(ways[join], group.trips);
        structure_.push_back(at);
        structure_.push_back(join);
    }
    point_ = point;
    return true;
}

const std::vector<std::int64_t>& TablePartial::values() {
    values_.resize(space_.group(depth_, point_.choices[depth_].tmpl).rows);
    std::iota(values_.begin(), values_.end(), std::int64_t{0});
    return values_;
}

void TablePartial::choose(std::int64_t value) {
    point_.tiles[depth_++] = value;
}

bool TablePartial::fill(Rng& rng) {
    while (!complete()) {
        const std::uint32_t rows = space_.group(depth_, point_.choices[depth_].tmpl).rows;
        choose(static_cast<std::int64_t>(rng.below(rows)));
    }
    return true;
}

}  // namespace tessera::search
