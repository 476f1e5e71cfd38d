// Map of this file:
//   spatial_traffic()   words of the base element by kind of move, multiplied by its groups
//   group()             groups of equal offsets, in closed form or by sorting; hops where they cost
//   links()             moves that neighbours serve
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "nest_run.hpp"

namespace tessera::timeloop {

// Offsets are distinct if every relevant loop steps over all that the smaller ones reach.
bool NestRun::group_in_closed_form(int space) {
    std::int64_t steps[FlatMapping::max_loops], ends[FlatMapping::max_loops];
    int relevant = 0;
    std::uint64_t multicast = 1, groups = 1;
    for (int k = 0; k < spatial_count_; ++k) {
        const NestScratch::SpatialLoop& loop = s_.spatial[k];
        const std::int64_t step = std::abs(offset(space, loop));
        if (step == 0) {
            multicast *= static_cast<std::uint64_t>(loop.end);
            continue;
        }
        groups *= static_cast<std::uint64_t>(loop.end);
        int at = relevant++;
        for (; at > 0 && steps[at - 1] > step; --at) {
            steps[at] = steps[at - 1];
            ends[at] = ends[at - 1];
        }
        steps[at] = step;
        ends[at] = loop.end;
    }
    std::int64_t reach = 0;
    for (int k = 0; k < relevant; ++k) {
        if (steps[k] <= reach) {
            return false;
        }
        reach += (ends[k] - 1) * steps[k];
    }
    s_.tables.clear();
    s_.tables.push_back({multicast, groups, 0});
    groups_ = groups;
    return true;
}

void NestRun::enumerate(int space) {
    if (offsets_ready_) {
        return;
    }
    offsets_ready_ = true;
    s_.offsets.resize(elements_);
    s_.offsets[0] = 0;
    std::size_t filled = 1;
    for (int k = 0; k < spatial_count_; ++k) {
        const NestScratch::SpatialLoop& loop = s_.spatial[k];
        const std::int64_t step = offset(space, loop);
        for (std::int64_t index = 1; index < loop.end; ++index) {
            for (std::size_t e = 0; e < filled; ++e) {
                s_.offsets[index * filled + e] = s_.offsets[e] + index * step;
            }
        }
        filled *= static_cast<std::size_t>(loop.end);
    }
    s_.order.resize(elements_);
    std::iota(s_.order.begin(), s_.order.end(), 0);
    std::sort(s_.order.begin(), s_.order.end(), [&](int a, int b) {
        return s_.offsets[a] != s_.offsets[b] ? s_.offsets[a] < s_.offsets[b] : a < b;
    });
}

// As hops_to() of nest_execution.hpp, without allocation.
double NestRun::hops_to_group() {
    const double centre = static_cast<double>(height_ - 1) / 2;
    std::int64_t farthest = 0;
    for (int e : s_.group) {
        farthest = std::max<std::int64_t>(farthest, e % width_);
    }
    s_.rows.assign(2 * (farthest + 1), -1);
    for (int e : s_.group) {
        std::int64_t* rows = &s_.rows[2 * (e % width_)];
        const std::int64_t row = e / width_;
        rows[0] = rows[0] < 0 ? row : std::min(rows[0], row);
        rows[1] = std::max(rows[1], row);
    }
    double hops = static_cast<double>(farthest);
    for (std::int64_t column = 0; column <= farthest; ++column) {
        if (s_.rows[2 * column] >= 0) {
            hops += std::max(0.0, centre - static_cast<double>(s_.rows[2 * column]));
            hops += std::max(0.0, static_cast<double>(s_.rows[2 * column + 1]) - centre);
        }
    }
    return hops;
}

void NestRun::group_elements(bool separate, bool with_taken,
                             std::vector<NestScratch::Table>& tables) {
    tables.clear();
    for (std::size_t begin = 0; begin < s_.order.size();) {
        s_.group.clear();
        std::size_t end = begin;
        const std::int64_t at = s_.offsets[s_.order[begin]];
        for (; end < s_.order.size() && s_.offsets[s_.order[end]] == at &&
               (!separate || end == begin);
             ++end) {
            if (!with_taken || !s_.taken[s_.order[end]]) {
                s_.group.push_back(s_.order[end]);
            }
        }
        begin = end;
        if (s_.group.empty()) {
            continue;
        }
        std::size_t k = 0;
        while (k < tables.size() && tables[k].multicast < s_.group.size()) {
            ++k;
        }
        if (k == tables.size() || tables[k].multicast != s_.group.size()) {
            tables.insert(tables.begin() + static_cast<std::ptrdiff_t>(k), {s_.group.size(), 0, 0});
        }
        tables[k].groups += 1;
        tables[k].hops += hops_needed_ ? hops_to_group() : 0;
    }
}

void NestRun::group(int i, int space, bool separate) {
    separate_ = separate;
    offsets_ready_ = false;
    hops_needed_ = !machine_.level[i].silent_network;
    if (!separate && !hops_needed_ && group_in_closed_form(space)) {
        return;
    }
    enumerate(space);
    group_elements(separate, false, s_.tables);
    groups_ = 0;
    for (const NestScratch::Table& table : s_.tables) {
        groups_ += table.groups;
    }
}

// The differences of offsets between neighbours are those of an odometer: one loop advances, all
// inner ones fall back. Rows that are not filled exactly mix the loops; then only trying helps.
void NestRun::find_differences(int space) {
    const bool one_row = height_ == 1 || elements_ <= static_cast<std::uint64_t>(width_);
    any_difference_ = !one_row && width_ != logical_width_;
    std::int64_t back = 0;
    for (int k = 0; k < spatial_count_; ++k) {
        const NestScratch::SpatialLoop& loop = s_.spatial[k];
        if (!one_row && k > 0 && loop.along_y && !s_.spatial[k - 1].along_y) {
            back = 0;
        }
        const std::int64_t step = offset(space, loop);
        differences_[k] = std::abs(step - back);
        back += (loop.end - 1) * step;
    }
}

bool NestRun::may_forward(std::int64_t shift) const {
    const std::int64_t distance = std::abs(shift);
    for (int k = 0; k < spatial_count_; ++k) {
        if (differences_[k] == distance) {
            return true;
        }
    }
    return any_difference_;
}

std::uint64_t NestRun::mark(std::int64_t shift) {
    const std::int64_t count = static_cast<std::int64_t>(elements_);
    s_.taken.assign(elements_, 0);
    std::uint64_t marked = 0;
    for (std::int64_t e = 0; e < count; ++e) {
        const std::int64_t column = e % width_, row = e / width_;
        const std::int64_t wanted = s_.offsets[e] + shift;
        const auto has = [&](bool inside, std::int64_t neighbour) {
            return inside && neighbour < count && s_.offsets[neighbour] == wanted;
        };
        s_.taken[e] = has(row > 0, e - width_) || has(row + 1 < height_, e + width_) ||
                      has(column > 0, e - 1) || has(column + 1 < width_, e + 1);
        marked += s_.taken[e];
    }
    return marked;
}

void NestRun::add(const std::vector<NestScratch::Table>& tables, std::uint64_t words) {
    for (const NestScratch::Table& table : tables) {
        Record* found = nullptr;
        for (Record& record : s_.records) {
            if (record.multicast == table.multicast && record.scatter == table.groups) {
                found = &record;
            }
        }
        if (found == nullptr) {
            s_.records.push_back({table.multicast, table.groups, 0, 0});
            found = &s_.records.back();
        }
        const double all = static_cast<double>(table.groups) * static_cast<double>(words);
        exact_ = exact_ && all < exact;
        found->accesses += all;
        found->hops += table.hops * static_cast<double>(words);
    }
}

/// `words` of moves by `shift`, served by neighbours where that reads less.
void NestRun::forward(int space, std::int64_t shift, std::uint64_t words) {
    if (words == 0) {
        return;
    }
    enumerate(space);
    const std::uint64_t marked = mark(shift);
    if (marked == 0) {
        return;
    }
    group_elements(separate_, true, s_.others);
    std::uint64_t groups = 0;
    for (const NestScratch::Table& table : s_.others) {
        groups += table.groups;
    }
    if (groups < groups_) {
        link_transfers_ += marked * words;
        remaining_ -= words;
        add(s_.others, words);
    }
}

void NestRun::links(int i, int space, const Moves& m) {
    if (m.first == loop_count_ || m.residue == 0) {
        return;
    }
    find_differences(space);
    const auto offer = [&](std::int64_t shift, std::uint64_t words) {
        if (may_forward(shift)) {
            forward(space, shift, words);
        }
    };
    if (i == 0) {
        for (int q = 0; q < loop_count_; ++q) {
            offer(turn(space, q), s_.weights[q]);
        }
        return;
    }
    const std::int64_t before = prefix(space, m), step = turn(space, m.first) + before;
    if (m.residue < m.whole) {
        offer(step, s_.temporal[m.first].trips * m.equal * m.residue);
        return;
    }
    offer(step, (s_.weights[m.first] + m.equal) * m.whole);
    for (int q = m.first + 1; q < loop_count_; ++q) {
        if (turn(space, q) != turn(space, m.first)) {
            offer(turn(space, q) + before, s_.weights[q] * m.whole);
        }
    }
}

void NestRun::spatial_block(int i) {
    spatial_count_ = 0;
    elements_ = 1;
    width_ = height_ = 1;
    for (int q = blocks_[i].begin; q < blocks_[i].end; ++q) {
        const Loop& loop = flat_.loops[q];
        if (loop.kind == LoopKind::temporal) {
            break;
        }
        const bool along_y = loop.kind == LoopKind::spatial_y;
        s_.spatial[spatial_count_++] = {loop.dimension, along_y, strides_[q], loop.end};
        elements_ *= static_cast<std::uint64_t>(loop.end);
        (along_y ? height_ : width_) *= loop.end;
    }
    logical_width_ = width_;
    width_ = std::max(width_, nest_.fanout_x[i]);
    height_ = std::max(height_, nest_.fanout_y[i]);
}

void NestRun::put(int i, int space, const Record* records, int count) {
    Tile& tile = result_.tiles[i * machine_.spaces + space];
    tile.first_record = record_count_;
    tile.record_count = count;
    tile.link_transfers = static_cast<double>(link_transfers_);
    for (int r = 0; r < count; ++r) {
        result_.records[record_count_++] = records[r];
    }
}

/// Room in the result for `count` records more.
void NestRun::reserve(int count) {
    if (result_.records.size() < static_cast<std::size_t>(record_count_ + count)) {
        result_.records.resize(2 * (record_count_ + count));
    }
}

void NestRun::spatial_traffic(int i, int space) {
    const Moves& m = moves_[space];
    link_transfers_ = 0;
    s_.records.clear();
    remaining_ = m.total;
    group(i, space, flat_.no_multicast_no_reduction[i] >> space & 1);
    if (nest_.link_transfers && !(flat_.no_link_transfer[i] >> space & 1)) {
        links(i, space, m);
    }
    if (remaining_ > 0) {
        add(s_.tables, remaining_);
    }
    if (s_.records.size() > 1) {
        std::sort(s_.records.begin(), s_.records.end(), [](const Record& a, const Record& b) {
            return a.multicast != b.multicast ? a.multicast < b.multicast : a.scatter < b.scatter;
        });
    }
    reserve(static_cast<int>(s_.records.size()) + machine_.spaces * machine_.levels);
    put(i, space, s_.records.data(), static_cast<int>(s_.records.size()));
}

}  // namespace tessera::timeloop
