#include "einsum_orders.hpp"

#include <algorithm>
#include <numeric>

#include "mapspace/join_orders.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::search {

namespace {

using mapspace::detail::Orders;

/// Paths through the sets of Einsums that have run; one more than `most` at the most.
void follow(const Orders& orders, int set, std::vector<int>& order, std::size_t most,
            std::vector<std::vector<int>>& out) {
    const std::size_t n = order.size();
    if (n + 1 == orders.by_size.size()) {
        out.push_back(order);
        return;
    }
    for (const Orders::Next& next : orders.by_size[n][static_cast<std::size_t>(set)].next) {
        if (out.size() > most) {
            return;
        }
        order.push_back(next.einsum);
        follow(orders, next.set, order, most, out);
        order.pop_back();
    }
}

/// Where the tile shapes of each Einsum begin, by its place in the point.
std::vector<std::size_t> starts_of(const OpenSpace::Data& space, const Point& point, bool listed) {
    std::vector<std::size_t> places(point.choices.size()), starts(point.choices.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
        places[listed ? static_cast<std::size_t>(space.order[i]) : i] = i;  // place -> run
    }
    std::size_t at = 0;
    for (std::size_t place = 0; place < places.size(); ++place) {
        starts[place] = at;
        at += space.einsums[places[place]].templates[point.choices[place].tmpl].symbols.size();
    }
    return starts;
}

}  // namespace

EinsumOrders einsum_orders(const workload::Workload& workload, std::size_t most) {
    std::vector<int> file(workload.einsums.size()), order;
    std::iota(file.begin(), file.end(), 0);
    std::vector<std::vector<int>> found;
    const Orders orders = mapspace::detail::orders_of(workload, {}, mapspace::EinsumOrder::all);
    if (orders.complete) {
        follow(orders, 0, order, most, found);
        std::erase(found, file);
    }
    EinsumOrders out{{file}, orders.complete && found.size() < most};
    if (out.complete) {
        out.orders.insert(out.orders.end(), found.begin(), found.end());
    }
    return out;
}

bool has_shape(const OpenSpace::Data& space, const Point& point) {
    std::size_t n = 0;
    if (point.choices.size() != space.einsums.size()) {
        return false;
    }
    for (std::size_t i = 0; i < space.order.size(); ++i) {
        const std::vector<TemplateData>& templates = space.einsums[i].templates;
        const Choice& choice = point.choices[static_cast<std::size_t>(space.order[i])];
        if (choice.tmpl >= templates.size()) {
            return false;
        }
        n += templates[choice.tmpl].symbols.size();
    }
    return n == point.tiles.size();
}

void as_run(const OpenSpace::Data& space, const Point& point, Point& inside) {
    const std::vector<std::size_t> starts = starts_of(space, point, true);
    inside.choices.clear();
    inside.tiles.clear();
    for (std::size_t i = 0; i < space.order.size(); ++i) {
        const auto e = static_cast<std::size_t>(space.order[i]);
        const Choice& choice = point.choices[e];
        const auto begin = point.tiles.begin() + static_cast<std::ptrdiff_t>(starts[e]);
        inside.choices.push_back(choice);
        inside.tiles.insert(inside.tiles.end(), begin,
                            begin + static_cast<std::ptrdiff_t>(
                                        space.einsums[i].templates[choice.tmpl].symbols.size()));
    }
}

void as_listed(const OpenSpace::Data& space, const Point& inside, Point& point) {
    const std::vector<std::size_t> starts = starts_of(space, inside, false);
    point.choices.resize(inside.choices.size());
    point.tiles.clear();
    std::vector<std::size_t> runs(space.order.size());
    for (std::size_t i = 0; i < runs.size(); ++i) {
        runs[static_cast<std::size_t>(space.order[i])] = i;
    }
    for (std::size_t e = 0; e < runs.size(); ++e) {
        const std::size_t i = runs[e];
        const auto begin = inside.tiles.begin() + static_cast<std::ptrdiff_t>(starts[i]);
        point.choices[e] = inside.choices[i];
        point.tiles.insert(
            point.tiles.end(), begin,
            begin + static_cast<std::ptrdiff_t>(
                        space.einsums[i].templates[inside.choices[i].tmpl].symbols.size()));
    }
}

}  // namespace tessera::search
