#include "timeloop/mapspace.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::timeloop {

namespace {

class Explainer {
public:
    explicit Explainer(const MapSpace& space)
        : space_(space), problem_(space.problem()), arch_(space.architecture()) {}

    std::vector<std::string> run() {
        for (int level = 0; level < arch_.levels(); ++level) {
            capacity(level);
            fanout(level);
        }
        std::stable_sort(found_.begin(), found_.end(),
                         [](const Found& a, const Found& b) { return a.excess < b.excess; });
        std::vector<std::string> result;
        for (const Found& one : found_) {
            result.push_back(one.text);
        }
        return result;
    }

private:
    struct Found {
        double excess;  ///< needed / available
        std::string text;
    };

    std::int64_t bound(std::size_t d) const {
        return problem_.dimensions[d].bound;
    }

    /// Least and greatest factor of a dimension at a tiling level.
    std::int64_t least(const TilingLevel& level, std::size_t d) const {
        return level.fixed[d] > 0 ? level.fixed[d] : std::max<std::int64_t>(level.at_least[d], 1);
    }
    std::int64_t greatest(const TilingLevel& level, std::size_t d) const {
        if (level.fixed[d] > 0) {
            return level.fixed[d];
        }
        std::int64_t most = level.at_most[d] > 0 ? level.at_most[d] : bound(d);
        if (level.spatial) {
            most = std::min(most, std::max(level.fanout_x, level.fanout_y));
        }
        return std::max<std::int64_t>(most, 1);
    }

    /// The least extent of a dimension in the tile of a storage level: what its own loops and the
    /// inner ones must have, and what the outer ones cannot take.
    double extent(int storage, std::size_t d) const {
        double inner = 1, outer = 1;
        for (const TilingLevel& level : space_.levels()) {
            if (level.storage <= storage) {
                inner *= static_cast<double>(least(level, d));
            } else {
                outer *= static_cast<double>(greatest(level, d));
            }
        }
        return std::min(std::max(inner, std::ceil(static_cast<double>(bound(d)) / outer)),
                        static_cast<double>(bound(d)));
    }

    void capacity(int storage) {
        const StorageLevel& level = arch_.storage[static_cast<std::size_t>(storage)];
        if (!level.size) {
            return;
        }
        DataSpaceMask kept = ~DataSpaceMask{0};
        for (const std::vector<DataSpaceMask>& choice : space_.bypasses()) {
            kept &= choice[static_cast<std::size_t>(storage)];
        }
        double words = 0;
        std::string parts;
        for (std::size_t s = 0; s < problem_.data_spaces.size(); ++s) {
            if ((kept >> s & 1U) == 0) {
                continue;
            }
            const double tile = tile_size(storage, problem_.data_spaces[s]);
            words += tile;
            parts += (parts.empty() ? "" : ", ") + problem_.data_spaces[s].name + " " + text(tile);
        }
        const auto room = static_cast<double>(level.effective_size());
        if (words > room) {
            found_.push_back({words / std::max(room, 0.5),
                              "level '" + level.name + "' must hold at least " + text(words) +
                                  " words (" + parts + ") but has room for " + text(room) +
                                  "; it lacks " + text(words - room)});
        }
    }

    double tile_size(int storage, const DataSpace& space) const {
        double size = 1;
        for (const std::vector<Term>& rank : space.ranks) {
            size *= rank_extent<double>(
                rank, [&](int d) { return extent(storage, static_cast<std::size_t>(d)) - 1; });
        }
        return size;
    }

    void fanout(int storage) {
        for (const TilingLevel& level : space_.levels()) {
            if (level.storage != storage || !level.spatial || level.exceeds_fanout) {
                continue;
            }
            double used = 1;
            std::string parts;
            for (std::size_t d = 0; d < problem_.dimensions.size(); ++d) {
                const std::int64_t factor = least(level, d);
                used *= static_cast<double>(factor);
                if (factor > 1) {
                    parts += (parts.empty() ? "" : ", ") + problem_.dimensions[d].name + " " +
                             std::to_string(factor);
                }
            }
            const auto there = static_cast<double>(level.fanout_x * level.fanout_y);
            if (used > there) {
                found_.push_back(
                    {used / there, "level '" +
                                       arch_.storage[static_cast<std::size_t>(storage)].name +
                                       "' must spread over at least " + text(used) +
                                       " instances (" + parts + ") but there are " + text(there)});
            }
        }
    }

    static std::string text(double words) {
        return words < 1e15 ? std::to_string(static_cast<std::int64_t>(words))
                            : std::to_string(words);
    }

    const MapSpace& space_;
    const Problem& problem_;
    const Architecture& arch_;
    std::vector<Found> found_;
};

}  // namespace

std::vector<std::string> unavoidable_failures(const MapSpace& space) {
    return Explainer(space).run();
}

}  // namespace tessera::timeloop
