// Map:
//   draw        Einsum after Einsum; goes back where nothing follows
//   move        Einsums before the one that is changed stay, those after it follow: as they are, or
//               with a row of the same structure, or with any group
//   charge      of the rows that were asked for
#include "search/tables/table_worker.hpp"

#include <algorithm>
#include <utility>

#include "search/draw/steps_back.hpp"
#include "tessera/base/stop.hpp"

namespace tessera::search {
namespace {

constexpr int draw_attempts = 4096, move_attempts = 16;
constexpr std::size_t most_einsums = 4;
// Of these many groups that fit the cheapest replaces one that does not.
constexpr int replacements = 8;

}  // namespace

const TableOptions& TableWorker::options() {
    return options_.of(next(), followed_);
}

void TableWorker::start() {
    built_.choices.clear();
    built_.tiles.clear();
    followed_.start();
    options_.forget();
}

/// With the Einsums of base_ before this one.
void TableWorker::start(std::size_t einsum) {
    start();
    const auto n = static_cast<std::ptrdiff_t>(einsum);
    built_.choices.assign(base_.choices.begin(), base_.choices.begin() + n);
    built_.tiles.assign(base_.tiles.begin(), base_.tiles.begin() + n);
    followed_ = befores_[einsum];
}

void TableWorker::add(const TableOption& option, std::int64_t row) {
    const CompatibilityGroup& own = group(option.group);
    const Way& way = joiner_.ways(followed_.state, own.structure)[option.way];
    built_.choices.push_back({option.group, option.way});
    built_.tiles.push_back(row);
    followed_.join(way, own.trips);
    ++work_;
}

/// As it is; `join` first among its ways.
bool TableWorker::keep(const Choice& choice, std::int64_t row) {
    const CompatibilityGroup& own = group(choice.tmpl);
    const std::vector<Way>& ways = joiner_.ways(followed_.state, own.structure);
    const std::size_t way = followed_.way_in(ways, own.trips, choice.join);
    if (way == ways.size()) {
        return false;
    }
    add({choice.tmpl, static_cast<std::uint32_t>(way)}, row);
    return true;
}

/// Every other time the cheapest.
std::int64_t TableWorker::some_row(Rng& rng, const TableOption& option) const {
    return rng.below(2) == 0 ? 0 : static_cast<std::int64_t>(rng.below(group(option.group).rows));
}

/// A row of another group of the structure.
bool TableWorker::add_similar(Rng& rng, int structure, std::uint32_t but) {
    const EinsumRows& own = space_.einsums[next()];
    const std::uint32_t begin = own.begin[structure], end = own.begin[structure + 1];
    const TableOptions& all = options();
    const std::uint64_t first = all.before(begin), n = all.before(end) - first;
    if (n == 0) {
        return false;
    }
    const TableOption option = all[first + rng.below(n)];
    if (option.group == but) {
        return false;
    }
    add(option, some_row(rng, option));
    return true;
}

/// Any group: the one of several whose best row is the cheapest.
bool TableWorker::replace(Rng& rng) {
    const TableOptions& all = options();
    if (all.size() == 0) {
        return false;
    }
    TableOption best = all[rng.below(all.size())];
    for (int i = 1; i < replacements; ++i) {
        const TableOption option = all[rng.below(all.size())];
        if (space_.row(next(), option.group, 0).cost < space_.row(next(), best.group, 0).cost) {
            best = option;
        }
    }
    work_ += replacements;
    add(best, some_row(rng, best));
    return true;
}

bool TableWorker::follow(Rng& rng, const Choice& choice, std::int64_t row) {
    base::poll_stop();
    return keep(choice, row) || add_similar(rng, group(choice.tmpl).structure, choice.tmpl) ||
           replace(rng);
}

bool TableWorker::draw_next(Rng& rng) {
    const TableOptions& all = options();
    if (all.size() == 0) {
        return false;
    }
    const TableOption option = all[rng.below(all.size())];
    add(option, static_cast<std::int64_t>(rng.below(group(option.group).rows)));
    return true;
}

bool TableWorker::draw_all(Rng& rng) {
    start();
    const std::size_t n = space_.einsums.size();
    stages_.resize(n);
    StepsBack back;
    while (next() < n) {
        base::poll_stop();
        std::size_t e = next();
        stages_[e] = followed_;
        if (draw_next(rng)) {
            continue;
        }
        if (!back.from(e)) {
            return false;
        }
        ++failures_[static_cast<std::size_t>(Verdict::incompatible)];
        built_.choices.resize(e);
        built_.tiles.resize(e);
        followed_ = stages_[e];
    }
    return true;
}

/// Another row, or a group of the same structure.
bool TableWorker::change_row(Rng& rng, Move move, const TableOption& now, std::int64_t row) {
    const std::int64_t rows = group(now.group).rows;
    const bool near = move == Move::factor || move == Move::tile;
    if (rows == 1 || rng.below(2) == 0) {
        return add_similar(rng, group(now.group).structure, now.group);
    }
    std::int64_t other = 0;
    if (near) {  // rows are in order of their costs
        const auto step = static_cast<std::int64_t>(1 + rng.below(4));
        other = rng.below(2) == 0 ? row - step : row + step;
        if (other < 0 || other >= rows) {
            return false;
        }
    } else {
        other = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(rows)));
    }
    add(now, other);
    return true;
}

bool TableWorker::change(Rng& rng, Move move, std::size_t einsum) {
    const Choice& own = base_.choices[einsum];
    switch (move) {
        case Move::factor:
        case Move::tile:
        case Move::tiles:
        case Move::spatial:
        case Move::order:
        case Move::keep:
            return change_row(rng, move, {own.tmpl, own.join}, base_.tiles[einsum]);
        case Move::backing:
            return replace(rng);
        default:
            return draw_next(rng);
    }
}

bool TableWorker::attempt(Rng& rng, Move move, std::size_t einsum) {
    start(einsum);
    if (!change(rng, move, einsum)) {
        return false;
    }
    if (move == Move::einsums) {
        const std::size_t end =
            std::min(space_.einsums.size(), einsum + 2 + rng.below(most_einsums - 1));
        while (next() < end) {
            if (!draw_next(rng)) {
                return false;
            }
        }
    }
    while (next() < space_.einsums.size()) {
        const std::size_t e = next();
        if (followed_ == befores_[e]) {
            // So nothing is different for all that follow it.
            const auto from = static_cast<std::ptrdiff_t>(e);
            built_.choices.insert(built_.choices.end(), base_.choices.begin() + from,
                                  base_.choices.end());
            built_.tiles.insert(built_.tiles.end(), base_.tiles.begin() + from, base_.tiles.end());
        } else if (!follow(rng, base_.choices[e], base_.tiles[e])) {
            return false;
        }
    }
    return true;
}

Outcome TableWorker::look(const Point& point) {
    space_.translate(point, translated_);
    return evaluation_.evaluate(translated_);
}

/// The point that moves go out from.
Outcome TableWorker::begin(const Point& point) {
    if (of_base_.legal() && point == base_) {
        evaluation_.count_known();
        return of_base_;
    }
    of_base_ = {};  // until it is taken apart: memory may run out
    if (!space_.has(point)) {
        return {Verdict::tile_shape};
    }
    const Outcome outcome = look(point);
    if (!outcome.legal()) {
        return outcome;
    }
    base_ = point;
    befores_.clear();
    const std::uint64_t work = work_;  // the same whether the point is remembered or not
    start();
    for (std::size_t e = 0; e < space_.einsums.size(); ++e) {
        befores_.push_back(followed_);
        add({point.choices[e].tmpl, point.choices[e].join}, point.tiles[e]);
    }
    work_ = work;
    of_base_ = outcome;
    return outcome;
}

void TableWorker::charge_changes(const Point& from, const Point* mate) {
    const auto same = [&](const Point& p, std::size_t e) {
        return p.choices[e].tmpl == built_.choices[e].tmpl && p.tiles[e] == built_.tiles[e];
    };
    for (std::size_t e = 0; e < built_.choices.size(); ++e) {
        if (!same(from, e) && (mate == nullptr || !same(*mate, e))) {
            charge_ += space_.group(e, built_.choices[e].tmpl).charge;
        }
    }
}

/// The first legal point that `attempt` gives goes into `point`.
template <class Attempt>
Outcome TableWorker::make(int attempts, Point& point, const Attempt& attempt) {
    const Outcome outcome = first_legal(attempts, failures_, attempt, [&] { return look(built_); });
    if (outcome.legal()) {
        point = built_;
    }
    return outcome;
}

Outcome TableWorker::draw(std::uint64_t seed, Point& point) {
    Rng rng(seed);
    return make(draw_attempts, point, [&] {
        if (!draw_all(rng)) {
            return false;
        }
        for (std::size_t e = 0; e < built_.choices.size(); ++e) {
            charge_ += space_.group(e, built_.choices[e].tmpl).charge;
        }
        return true;
    });
}

Outcome TableWorker::move(Move move, std::uint64_t seed, std::uint32_t einsum, Point& point) {
    const Outcome before = begin(point);
    if (!before.legal()) {
        return before;
    }
    Rng rng(seed);
    const std::size_t e = std::min<std::size_t>(einsum, point.choices.size() - 1);
    return make(move_attempts, point, [&] {
        if (!attempt(rng, move, e) || built_ == base_) {
            return false;
        }
        charge_changes(base_, nullptr);
        return true;
    });
}

bool TableWorker::cross_once(Rng& rng, const Point& point, const Point& mate, std::size_t einsum,
                             std::size_t end) {
    start();
    for (std::size_t e = 0; e < space_.einsums.size(); ++e) {
        const Point& from = e >= einsum && e < end ? mate : point;
        if (!follow(rng, from.choices[e], from.tiles[e])) {
            return false;
        }
    }
    charge_changes(point, &mate);
    return true;
}

Outcome TableWorker::cross(std::uint64_t seed, const Point& mate, std::uint32_t einsum,
                           std::uint32_t end, Point& point) {
    if (!space_.has(point) || !space_.has(mate)) {
        return {Verdict::tile_shape};
    }
    Rng rng(seed);
    const Point own = point;
    return make(move_attempts, point, [&] { return cross_once(rng, own, mate, einsum, end); });
}

Outcome TableWorker::repair(std::uint64_t seed, Point& point) {
    return cross(seed, Point(point), 0, 0, point);
}

Outcome TableWorker::evaluate(const Point& point) {
    if (!space_.has(point)) {
        return {Verdict::tile_shape};
    }
    for (std::size_t e = 0; e < point.choices.size(); ++e) {
        charge_ += space_.group(e, point.choices[e].tmpl).charge;
    }
    return look(point);
}

TableWorker::Failures TableWorker::take_failures() {
    return std::exchange(failures_, {});
}

std::uint64_t TableWorker::take_work() {
    return std::exchange(work_, 0) + evaluation_.take_work();
}

double TableWorker::take_charge() {
    return std::exchange(charge_, 0);
}

}  // namespace tessera::search
