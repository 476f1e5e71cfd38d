#include "nest_execution.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::timeloop {

namespace {

Box shifted(const Box& box, const Point& by, int ranks) {
    Box result = box;
    for (int r = 0; r < ranks; ++r) {
        result.low[r] += by[r];
        result.high[r] += by[r];
    }
    return result;
}

const Box& lowest(const BoxSet& set) {
    return *std::min_element(set.begin(), set.end(),
                             [](const Box& a, const Box& b) { return a.low < b.low; });
}

/// The centre of one box as a weighted mean over all boxes comes out: with its rounding errors.
double centre(const Box& box, int rank, double weight) {
    const double middle = static_cast<double>(box.low[rank]) +
                          static_cast<double>(box.high[rank] - 1 - box.low[rank]) / 2;
    return middle * weight / weight;
}

}  // namespace

std::uint64_t size(const Box& box, int ranks) {
    std::uint64_t product = 1;
    for (int r = 0; r < ranks; ++r) {
        product *= static_cast<std::uint64_t>(box.high[r] - box.low[r]);
    }
    return product;
}

std::uint64_t size(const BoxSet& set, int ranks) {
    std::uint64_t sum = 0;
    for (const Box& box : set) {
        sum += size(box, ranks);
    }
    return sum;
}

void subtract(const Box& from, const Box& what, int ranks, BoxSet& result) {
    for (int r = 0; r < ranks; ++r) {
        if (from.high[r] <= what.low[r] || what.high[r] <= from.low[r]) {
            result.push_back(from);
            return;
        }
    }
    Box middle = from;
    for (int r = 0; r < ranks; ++r) {
        if (middle.low[r] < what.low[r]) {
            result.push_back(middle);
            result.back().high[r] = what.low[r];
            middle.low[r] = what.low[r];
        }
        if (what.high[r] < middle.high[r]) {
            result.push_back(middle);
            result.back().low[r] = what.high[r];
            middle.high[r] = what.high[r];
        }
    }
}

Point translation(const Box& from, const Box& to, int ranks) {
    const double from_size = static_cast<double>(size(from, ranks));
    const double to_size = static_cast<double>(size(to, ranks));
    Point result{};
    for (int r = 0; r < ranks; ++r) {
        result[r] = static_cast<std::int64_t>(
            std::round(centre(to, r, to_size) - centre(from, r, from_size)));
    }
    return result;
}

std::optional<Point> shift_between(const BoxSet& from, const BoxSet& to, int ranks) {
    if (from.empty() || from.size() != to.size()) {
        return std::nullopt;
    }
    Point shift{};
    for (int r = 0; r < ranks; ++r) {
        shift[r] = lowest(to).low[r] - lowest(from).low[r];
    }
    for (const Box& box : from) {
        if (std::find(to.begin(), to.end(), shifted(box, shift, ranks)) == to.end()) {
            return std::nullopt;
        }
    }
    return shift;
}

}  // namespace tessera::timeloop
