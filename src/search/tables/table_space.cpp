#include "search/tables/table_space.hpp"

#include <algorithm>
#include <cmath>

#include "search/join/joiner.hpp"
#include "search/join/link.hpp"
#include "search/tables/table_partial.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/stop.hpp"

namespace tessera::search {
namespace {

/// All choices of rows that join, Einsum after Einsum.
class AllRows final : public Enumerator {
public:
    explicit AllRows(const TableSpace& space)
        : space_(space),
          states_(space.data()),
          joiner_(space.data(), states_),
          stages_(space.einsums.size()) {
        stages_[0].before.start();
    }

    bool next(Point& point) override {
        std::size_t e = started_ ? stages_.size() - 1 : 0;
        started_ = true;
        while (!done_) {
            base::poll_stop();
            if (advance(e)) {
                if (e + 1 == stages_.size()) {
                    write(point);
                    return true;
                }
                enter(++e);
            } else if (e-- == 0) {
                done_ = true;
            }
        }
        return false;
    }

private:
    struct Stage {
        Followed before;
        std::uint32_t group = 0;
        std::size_t way = 0;
        std::uint32_t row = 0;  ///< the next one
        bool open = false;      ///< the group joins in this way
    };

    void enter(std::size_t e) {
        const Stage& last = stages_[e - 1];
        const CompatibilityGroup& group = space_.group(e - 1, last.group);
        Stage& s = stages_[e];
        s = {};
        s.before = last.before;
        s.before.join(joiner_.ways(last.before.state, group.structure)[last.way], group.trips);
    }

    /// The next row, way or group that joins.
    bool advance(std::size_t e) {
        Stage& s = stages_[e];
        const std::vector<CompatibilityGroup>& groups = space_.einsums[e].groups;
        for (; s.group < groups.size(); ++s.group, s.way = 0) {
            const CompatibilityGroup& group = groups[s.group];
            const std::vector<Way>& ways = joiner_.ways(s.before.state, group.structure);
            for (; s.way < ways.size(); ++s.way) {
                s.open = s.open || s.before.fits(ways[s.way], group.trips);
                if (s.open && s.row < group.rows) {
                    ++s.row;
                    return true;
                }
                s.open = false;
                s.row = 0;
            }
        }
        return false;
    }

    void write(Point& point) const {
        point.choices.clear();
        point.tiles.clear();
        for (const Stage& s : stages_) {
            point.choices.push_back({s.group, static_cast<std::uint32_t>(s.way)});
            point.tiles.push_back(s.row - 1);
        }
    }

    const TableSpace& space_;
    JoinStates states_;
    Joiner joiner_;
    std::vector<Stage> stages_;
    bool started_ = false, done_ = false;
};

/// A place among `n`, as a number from 0 to 1.
float to_number(std::uint64_t place, std::uint64_t n) {
    return n > 1 ? static_cast<float>(place) / static_cast<float>(n - 1) : 0.0F;
}
std::uint64_t from_number(float number, std::uint64_t n) {
    const double place =
        static_cast<double>(std::clamp(number, 0.0F, 1.0F)) * static_cast<double>(n - 1);
    return std::min(static_cast<std::uint64_t>(std::lround(place)), n - 1);
}

}  // namespace

const mapspace::Template& TableSpace::tmpl(std::uint32_t, std::uint32_t) const {
    throw UserError(
        "the strategy goes by templates, which the rows of pmapping tables do not show; use "
        "space=templates, or annealing, genetic, mcts, es, pagmo, random or exhaustive");
}

std::unique_ptr<Enumerator> TableSpace::enumerate() const {
    return std::make_unique<AllRows>(*this);
}

void TableSpace::to_numbers(const Point& point, std::span<float> numbers) const {
    for (std::size_t e = 0; e < einsums.size(); ++e) {
        const std::uint32_t group = point.choices[e].tmpl;
        numbers[3 * e] = to_number(group, einsums[e].groups.size());
        numbers[3 * e + 1] =
            to_number(static_cast<std::uint64_t>(point.tiles[e]), this->group(e, group).rows);
        numbers[3 * e + 2] = static_cast<float>(point.choices[e].join);
    }
}

void TableSpace::from_numbers(std::span<const float> numbers, Point& point) const {
    point.choices.clear();
    point.tiles.clear();
    for (std::size_t e = 0; e < einsums.size(); ++e) {
        const auto group =
            static_cast<std::uint32_t>(from_number(numbers[3 * e], einsums[e].groups.size()));
        const float way = std::clamp(numbers[3 * e + 2], 0.0F, 1e6F);
        point.choices.push_back({group, static_cast<std::uint32_t>(std::lround(way))});
        point.tiles.push_back(
            static_cast<std::int64_t>(from_number(numbers[3 * e + 1], this->group(e, group).rows)));
    }
}

Point TableSpace::any_point() const {
    Point point;
    point.choices.resize(einsums.size());
    point.tiles.assign(einsums.size(), 0);
    return point;
}

std::unique_ptr<PartialPoint> TableSpace::partial() const {
    return std::make_unique<TablePartial>(*this);
}

bool TableSpace::has(const Point& point) const {
    if (point.choices.size() != einsums.size() || point.tiles.size() != einsums.size()) {
        return false;
    }
    for (std::size_t e = 0; e < einsums.size(); ++e) {
        const std::uint32_t at = point.choices[e].tmpl;
        if (at >= einsums[e].groups.size() || point.tiles[e] < 0 ||
            point.tiles[e] >= static_cast<std::int64_t>(group(e, at).rows)) {
            return false;
        }
    }
    return true;
}

void TableSpace::translate(const Point& rows, Point& point) const {
    point.choices.clear();
    point.tiles.clear();
    for (std::size_t e = 0; e < einsums.size(); ++e) {
        const TableRow& own = row(e, rows.choices[e].tmpl, rows.tiles[e]);
        point.choices.push_back({own.tmpl, rows.choices[e].join});
        const auto tiles = einsums[e].tiles.begin() + own.tiles;
        const std::size_t n = data().einsums[e].templates[own.tmpl].symbols.size();
        point.tiles.insert(point.tiles.end(), tiles, tiles + static_cast<std::ptrdiff_t>(n));
    }
}

}  // namespace tessera::search
