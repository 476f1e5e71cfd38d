#include "tessera/arch/path.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::arch {

namespace {

template <class Item>
int index_of(const std::vector<Item>& items, const std::string& name) {
    const auto found = std::find_if(items.begin(), items.end(),
                                    [&](const Item& item) { return item.name == name; });
    return found == items.end() ? -1 : static_cast<int>(found - items.begin());
}

}  // namespace

bool PathLevel::distributed() const {
    return std::any_of(physical.begin(), physical.end(),
                       [](const PhysicalDim& dim) { return dim.fanout > 1; });
}

int PathLevel::find_dim(const std::string& dim) const {
    return index_of(spatial, dim);
}

double values_in(const workload::LocalTensor& tensor, const std::vector<std::int64_t>& sizes,
                 const Convention& convention) {
    if (convention.extent_ignores_offset) {
        return workload::box_values(tensor, sizes);
    }
    double values = 1;
    for (const workload::RankAccess& rank : tensor.ranks) {
        double extent = 1 + static_cast<double>(rank.constant);
        for (const workload::AffineTerm& term : rank.terms) {
            extent += static_cast<double>(term.coefficient) *
                      static_cast<double>(sizes[term.rank_variable] - 1);
        }
        values *= extent;
    }
    return values;
}

double share_in_use(const PathDim& dim, double used) {
    return used / static_cast<double>(dim.fanout) * dim.usage_scale;
}

double most_used(const PathDim& dim, bool physical) {
    const double scale = physical ? std::max(1.0, dim.usage_scale) : dim.usage_scale;
    return std::max(1.0, static_cast<double>(dim.fanout) / scale);
}

double least_used(const PathDim& dim) {
    double used = dim.min_usage * static_cast<double>(dim.fanout) / dim.usage_scale;
    for (double less = used; share_in_use(dim, less) >= dim.min_usage && less > 0;) {
        used = less;
        less = std::nextafter(used, 0.0);
    }
    while (share_in_use(dim, used) < dim.min_usage) {
        used = std::nextafter(used, std::numeric_limits<double>::infinity());
    }
    return used;
}

int Path::find_level(const std::string& level) const {
    return index_of(levels, level);
}

int Path::first_memory() const {
    const auto found = std::find_if(levels.begin(), levels.end(), [](const PathLevel& level) {
        return level.kind == LevelKind::memory;
    });
    return found == levels.end() ? -1 : static_cast<int>(found - levels.begin());
}

bool Path::spreads_over_network(int level) const {
    return std::any_of(levels.begin(), levels.begin() + level + 1,
                       [](const PathLevel& outer) { return outer.kind == LevelKind::network; });
}

std::string Path::refusal() const {
    const PathLevel& level = compute();
    if (!level.lacks_operation.empty()) {
        return "'" + level.name + "' has no operation " + level.lacks_operation;
    }
    return level.enabled ? "" : "`enabled` of '" + level.name + "' is false";
}

TensorMask evaluate_tensors(const spec::Expression& expression, const spec::Symbols& extra) {
    return expression.tensors(extra);
}

}  // namespace tessera::arch
