#include "nest_execution.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace tessera::timeloop {

double hops_to(const std::vector<int>& elements, Grid grid) {
    const double centre = static_cast<double>(grid.height - 1) / 2;
    std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> rows_of_column;
    std::int64_t farthest = 0;
    for (int element : elements) {
        const std::int64_t column = element % grid.width, row = element / grid.width;
        farthest = std::max(farthest, column);
        auto [it, first] = rows_of_column.try_emplace(column, row, row);
        it->second.first = std::min(it->second.first, row);
        it->second.second = std::max(it->second.second, row);
    }
    double hops = static_cast<double>(farthest);
    for (const auto& [column, rows] : rows_of_column) {
        hops += std::max(0.0, centre - static_cast<double>(rows.first));
        hops += std::max(0.0, static_cast<double>(rows.second) - centre);
    }
    return hops;
}

std::vector<GroupTable> group_elements(const std::vector<Point>& offsets,
                                       const std::vector<char>& taken, bool separate, Grid grid) {
    std::vector<int> order(offsets.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return offsets[a] < offsets[b]; });
    std::vector<GroupTable> tables;
    std::vector<int> group;
    for (std::size_t begin = 0; begin < order.size();) {
        group.clear();
        std::size_t end = begin;
        for (; end < order.size() && offsets[order[end]] == offsets[order[begin]] &&
               (!separate || end == begin);
             ++end) {
            if (!taken[order[end]]) {
                group.push_back(order[end]);
            }
        }
        begin = end;
        if (group.empty()) {
            continue;
        }
        auto it = std::find_if(tables.begin(), tables.end(), [&](const GroupTable& table) {
            return table.multicast == group.size();
        });
        if (it == tables.end()) {
            tables.push_back({group.size(), 0, 0});
            it = tables.end() - 1;
        }
        it->groups += 1;
        it->hops += hops_to(group, grid);
    }
    std::sort(tables.begin(), tables.end(),
              [](const GroupTable& a, const GroupTable& b) { return a.multicast < b.multicast; });
    return tables;
}

std::uint64_t mark_forwarded(const std::vector<Point>& offsets, const std::vector<Point>& former,
                             const Point& shift, int ranks, Grid grid, std::vector<char>& taken) {
    const auto served = [&](std::int64_t element, std::int64_t neighbour) {
        if (neighbour >= static_cast<std::int64_t>(former.size())) {
            return false;
        }
        for (int r = 0; r < ranks; ++r) {
            if (former[neighbour][r] - offsets[element][r] != shift[r]) {
                return false;
            }
        }
        return true;
    };
    std::uint64_t count = 0;
    for (std::int64_t e = 0; e < static_cast<std::int64_t>(offsets.size()); ++e) {
        const std::int64_t column = e % grid.width, row = e / grid.width;
        taken[e] = (row > 0 && served(e, e - grid.width)) ||
                   (row + 1 < grid.height && served(e, e + grid.width)) ||
                   (column > 0 && served(e, e - 1)) ||
                   (column + 1 < grid.width && served(e, e + 1));
        count += taken[e];
    }
    return count;
}

}  // namespace tessera::timeloop
