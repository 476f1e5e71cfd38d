// Map of this file: NestRun is one analysis.
//   loops()     strides of all loops, the list of temporal loops and its prefix sums
//   level()     moves, traffic, then sizes and extents
//   *_traffic() words of the base element by kind of move, multiplied by its groups
//   group()     groups of equal offsets, in closed form or by sorting; hops where they cost
//   links()     moves that neighbours serve
#include "timeloop/compiled_nest.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace tessera::timeloop {

namespace {

constexpr double exact = 9007199254740992.0;  // 2^53

}  // namespace

class NestRun {
public:
    NestRun(const CompiledNest& nest, const FlatMapping& mapping, NestScratch& scratch,
            NestResult& result)
        : nest_(nest), machine_(nest.machine_), flat_(mapping), s_(scratch), result_(result) {}

    bool run();

private:
    struct Block {
        int first_temporal;  ///< of this block in the list of temporal loops
        int begin, end;      ///< loops of the mapping
    };
    struct Moves {
        std::uint64_t whole, residue;  ///< W, R
        int first = -1;                ///< loop number 0
        std::uint64_t total;           ///< weighted words
        std::uint64_t equal;           ///< sum of w(q), q > 0, T(q) = T(0)
    };

    void loops();
    void geometry();
    void level(int i);
    void spatial_block(int i);
    void temporal_traffic(int i);
    void spatial_traffic(int i, int space);
    void update_moves(int i);
    void update(int i, int space, Moves& moves) const;
    std::uint64_t equal_moves(int space, int first) const;
    void group(int i, int space, bool separate);
    bool group_in_closed_form(int space);
    void enumerate(int space);
    void group_elements(bool separate, bool with_taken, std::vector<NestScratch::Table>& tables);
    double hops_to_group();
    void links(int i, int space, const Moves& moves);
    void find_differences(int space);
    bool may_forward(std::int64_t shift) const;
    void forward(int space, std::int64_t shift, std::uint64_t words);
    std::uint64_t mark(std::int64_t shift);
    void add(const std::vector<NestScratch::Table>& tables, std::uint64_t words);

    std::int64_t turn(int space, int q) const {
        return s_.turns[space].turn[q];
    }
    /// S(q) of the loop that counts as number 0.
    std::int64_t prefix(int space, const Moves& moves) const {
        return s_.turns[space].prefix[moves.first];
    }
    std::int64_t offset(int space, const NestScratch::SpatialLoop& loop) const {
        return nest_.tables_.step(space, loop.dimension) * loop.stride;
    }
    void put(int i, int space, const Record* records, int count);
    void reserve(int count);

    const CompiledNest& nest_;
    const Machine& machine_;
    const FlatMapping& flat_;
    NestScratch& s_;
    NestResult& result_;
    Block blocks_[FlatMapping::max_levels];
    std::int64_t strides_[FlatMapping::max_loops];
    std::int64_t tile_[SpaceTables::max_dimensions];
    std::int64_t extents_[SpaceTables::max_ranks];  ///< of the tile at hand
    std::uint64_t words_[max_spaces];               ///< of the tile of the level below
    Moves moves_[max_spaces];                       ///< of the level at hand
    int loop_count_ = 0, record_count_ = 0;
    // The spatial block at hand.
    int spatial_count_ = 0;
    std::uint64_t elements_ = 1;
    std::int64_t width_ = 1, height_ = 1, logical_width_ = 1;
    std::int64_t differences_[FlatMapping::max_loops];  ///< of neighbours' offsets
    bool any_difference_ = false;                       ///< others are possible
    bool hops_needed_ = false, separate_ = false, offsets_ready_ = false;
    std::uint64_t groups_ = 0;     ///< of the space at hand, nothing taken
    std::uint64_t remaining_ = 0;  ///< words of moves that no neighbour serves
    std::uint64_t link_transfers_ = 0;
    bool exact_ = true;
};

void NestRun::loops() {
    std::fill_n(tile_, nest_.tables_.dimensions(), 1);
    int next = 0;
    for (int i = 0; i < machine_.levels; ++i) {
        blocks_[i] = {loop_count_, next, flat_.level_end[i]};
        for (; next < flat_.level_end[i]; ++next) {
            const Loop& loop = flat_.loops[next];
            strides_[next] = tile_[loop.dimension];
            if (loop.kind == LoopKind::temporal) {
                s_.temporal[loop_count_++] = {loop.dimension, tile_[loop.dimension],
                                              static_cast<std::uint64_t>(loop.end), 1};
            }
            tile_[loop.dimension] *= loop.end;
        }
    }
    std::uint64_t outer = 1;
    for (int q = loop_count_ - 1; q >= 0; --q) {
        NestScratch::TemporalLoop& loop = s_.temporal[q];
        loop.outer = outer;
        s_.weights[q] = (loop.trips - 1) * outer;
        outer *= loop.trips;
    }
    result_.temporal_product = outer;
    for (int space = 0; space < machine_.spaces; ++space) {
        NestScratch::Turns& turns = s_.turns[space];
        std::int64_t sum = 0;
        for (int q = 0; q < loop_count_; ++q) {
            const std::int64_t step =
                nest_.tables_.step(space, s_.temporal[q].dimension) * s_.temporal[q].stride;
            turns.prefix[q] = sum;
            turns.turn[q] = step - sum;
            sum += step;
        }
    }
}

void NestRun::geometry() {
    std::uint64_t x = 1, y = 1;
    for (int i = machine_.levels - 1; i >= 0; --i) {
        LevelGeometry& geometry = result_.levels[i];
        geometry.outer_x = x;
        geometry.outer_y = y;
        geometry.replication = x * y;
        geometry.fanout = 1;
        for (int q = blocks_[i].begin; q < blocks_[i].end; ++q) {
            const Loop& loop = flat_.loops[q];
            if (loop.kind == LoopKind::temporal) {
                break;
            }
            (loop.kind == LoopKind::spatial_x ? x : y) *= loop.end;
            geometry.fanout *= loop.end;
        }
    }
    result_.arithmetic_x = x;
    result_.arithmetic_y = y;
    result_.arithmetic_instances = x * y;
    result_.average_computes = static_cast<double>(result_.temporal_product);
    result_.imperfect = false;
}

/// Sum of w(q) over the loops outside `first` that turn by the same step.
std::uint64_t NestRun::equal_moves(int space, int first) const {
    const std::int64_t* turns = s_.turns[space].turn;
    const std::int64_t turn = turns[first];
    std::uint64_t sum = 0;
    for (int q = first + 1; q < loop_count_; ++q) {
        sum += turns[q] == turn ? s_.weights[q] : 0;
    }
    return sum;
}

void NestRun::update(int i, int space, Moves& m) const {
    const int first = blocks_[i].first_temporal;
    const bool same_loops = m.first == first;
    m.first = first;
    if (i == 0) {
        // Single points: never subtracted.
        m.whole = m.residue = 1;
        m.total = result_.temporal_product;
        return;
    }
    m.whole = words_[space];
    if (first == loop_count_) {
        m.residue = m.total = m.whole;
        m.equal = 0;
        return;
    }
    const NestScratch::TemporalLoop& zero = s_.temporal[first];
    m.residue = m.whole;
    if (!(flat_.no_temporal_reuse[i - 1] >> space & 1)) {
        m.residue = nest_.tables_.step(space, zero.dimension) == 0
                        ? 0
                        : nest_.tables_.residue(extents_, space, zero.dimension, zero.stride);
    }
    if (!same_loops || i == 1) {
        m.equal = equal_moves(space, first);
    }
    m.total =
        zero.outer * (m.whole + (zero.trips - 1) * m.residue) - m.equal * (m.whole - m.residue);
}

// Below an empty block nothing changes.
void NestRun::update_moves(int i) {
    if (i >= 2 && blocks_[i - 1].begin == blocks_[i - 1].end &&
        flat_.no_temporal_reuse[i - 1] == flat_.no_temporal_reuse[i - 2]) {
        return;
    }
    for (int space = 0; space < machine_.spaces; ++space) {
        update(i, space, moves_[space]);
    }
}

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

// As hops_to() of multicast.hpp, without allocation.
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
    width_ = std::max(width_, nest_.fanout_x_[i]);
    height_ = std::max(height_, nest_.fanout_y_[i]);
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

/// A level without fan-out: one receiver.
void NestRun::temporal_traffic(int i) {
    Tile* const tiles = &result_.tiles[i * machine_.spaces];
    Record* const records = result_.records.data() + record_count_;
    for (int space = 0; space < machine_.spaces; ++space) {
        const double accesses = static_cast<double>(moves_[space].total);
        exact_ = exact_ && accesses < exact;
        records[space] = {1, 1, accesses, 0};
        tiles[space].first_record = record_count_ + space;
        tiles[space].record_count = 1;
        tiles[space].link_transfers = 0;
        tiles[space].spatial_size = 0;
    }
    record_count_ += machine_.spaces;
}

void NestRun::spatial_traffic(int i, int space) {
    const Moves& m = moves_[space];
    link_transfers_ = 0;
    s_.records.clear();
    remaining_ = m.total;
    group(i, space, flat_.no_multicast_no_reduction[i] >> space & 1);
    if (nest_.link_transfers_ && !(flat_.no_link_transfer[i] >> space & 1)) {
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

void NestRun::level(int i) {
    const Block& block = blocks_[i];
    const auto advance = [&](int q) {
        const Loop& loop = flat_.loops[q];
        nest_.tables_.grow(extents_, loop.dimension, strides_[q] * (loop.end - 1));
    };
    Tile* const tiles = &result_.tiles[i * machine_.spaces];
    update_moves(i);
    int q = block.begin;
    if (q == block.end || flat_.loops[q].kind == LoopKind::temporal) {
        temporal_traffic(i);
    } else {
        spatial_block(i);
        for (int space = 0; space < machine_.spaces; ++space) {
            spatial_traffic(i, space);
        }
        for (; q < block.begin + spatial_count_; ++q) {
            advance(q);
        }
        for (int space = 0; space < machine_.spaces; ++space) {
            tiles[space].spatial_size =
                machine_.writes(space) ? nest_.tables_.words(extents_, space) : 0;
        }
    }
    for (; q < block.end; ++q) {
        advance(q);
    }
    for (int space = 0; space < machine_.spaces; ++space) {
        if (block.begin != block.end) {
            words_[space] = nest_.tables_.words(extents_, space);
        }
        tiles[space].size = words_[space];
    }
}

bool NestRun::run() {
    loops();
    geometry();
    std::fill_n(extents_, nest_.tables_.ranks(), 1);
    std::fill_n(words_, machine_.spaces, 1);
    reserve(machine_.spaces * machine_.levels);
    for (int i = 0; i < machine_.levels; ++i) {
        level(i);
    }
    return exact_;
}

CompiledNest::CompiledNest(const Problem& problem, const Architecture& architecture,
                           const Machine& machine, const ModelOptions& options)
    : machine_(machine), tables_(problem), link_transfers_(options.link_transfers) {
    for (int i = 0; i < architecture.levels(); ++i) {
        fanout_x_.push_back(architecture.fanout_x(i));
        fanout_y_.push_back(architecture.fanout_y(i));
    }
}

Fit CompiledNest::check_capacity(const FlatMapping& mapping) const {
    if (!tables_.valid()) {
        return {};
    }
    std::int64_t tile[SpaceTables::max_dimensions], extents[SpaceTables::max_ranks];
    std::fill_n(tile, tables_.dimensions(), 1);
    std::fill_n(extents, SpaceTables::max_ranks, 1);
    int next = 0;
    for (int i = 0; i < machine_.levels; ++i) {
        for (; next < mapping.level_end[i]; ++next) {
            const Loop& loop = mapping.loops[next];
            tables_.grow(extents, loop.dimension, tile[loop.dimension] * (loop.end - 1));
            tile[loop.dimension] *= loop.end;
        }
        const LevelConstants& level = machine_.level[i];
        if (!level.bounded) {
            continue;
        }
        std::uint64_t used = 0;
        for (int s = 0; s < machine_.spaces; ++s) {
            used += mapping.keep[i] >> s & 1 ? tables_.words(extents, s) : 0;
        }
        if (used > level.effective_size) {
            return {Fit::Kind::capacity, i, used, static_cast<double>(level.effective_size)};
        }
        if (static_cast<double>(used) < level.least_used) {
            return {Fit::Kind::min_utilization, i, used, level.least_used};
        }
    }
    return {};
}

bool CompiledNest::analyse(const FlatMapping& mapping, NestScratch& scratch,
                           NestResult& result) const {
    return NestRun(*this, mapping, scratch, result).run();
}

}  // namespace tessera::timeloop
