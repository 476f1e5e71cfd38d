#include "timeloop/optimal/tables.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "tessera/base/stop.hpp"

namespace tessera::timeloop {
namespace {

constexpr std::size_t points_between_polls = 1024;

}  // namespace

Tables::Tables(const Edges& edges, std::function<bool()> stop)
    : stop_(std::move(stop)), edges_(edges), g_(edges.geometry()), lattice_(edges.lattice()) {
    const int spaces = static_cast<int>(g_.spaces.size());
    full_cost_.resize(spaces);
    least_cost_.resize(spaces);
    for (int space = 0; space < spaces; ++space) {
        for (const Edge& edge : edges_.of(space)) {
            std::vector<double> cost(lattice_.size);
            for (std::size_t y = 0; y < lattice_.size; ++y) {
                poll(y);
                cost[y] = edges_.cost(edge, edges_.full_words(edge, y), edges_.linked(edge, y));
            }
            full_cost_[space].push_back(std::move(cost));
            least_cost_[space].push_back(edges_.least_cost(edge));
        }
    }
    orders_.resize(g_.levels);
    fits_.assign(g_.levels, std::vector<char>(lattice_.size));
    for (int level = 0; level < g_.levels; ++level) {
        make_orders(level);
        for (std::size_t x = 0; x < lattice_.size; ++x) {
            poll(x);
            bool ok = edges_.fits(level, x);
            for (int space = 0; ok && space < spaces; ++space) {
                ok = edges_.outermost(space) != level || edges_.whole(space, x);
            }
            fits_[level][x] = ok;
        }
    }
}

void Tables::poll(std::size_t count) const {
    if (count % points_between_polls == 0 && stop_()) {
        throw base::Stopped{};
    }
}

int Tables::edges_inside(int space, int level) const {
    int count = 0;
    for (const Edge& edge : edges_.of(space)) {
        count += edge.child < level;
    }
    return count;
}

// ---- Loop orders ----------------------------------------------------------------------------

void Tables::make_orders(int level) {
    std::uint32_t open = 0;
    for (std::size_t space = 0; space < g_.spaces.size(); ++space) {
        if (edges_inside(static_cast<int>(space), level) > 0) {
            open |= 1U << space;
        }
    }
    extend({}, 0, open, level);
}

/// Of the open data spaces those that a loop is relevant to.
std::uint32_t Tables::closed_by(int d, std::uint32_t open) const {
    std::uint32_t mask = 0;
    for (std::size_t space = 0; space < g_.spaces.size(); ++space) {
        mask |= (g_.spaces[space].relevant >> d & 1) << space;
    }
    return mask & open;
}

// `open`: data spaces that may still have an open edge. A loop irrelevant to all of them costs
// nothing where it stands and only helps the open ones: it goes next, unless a window could still
// slide. Of loops that close the same data spaces one stands for all.
void Tables::extend(std::vector<int> order, DimensionMask placed, std::uint32_t open, int level) {
    const TilingLevel& tiling = g_.space.levels()[g_.temporal[level]];
    const auto closes = [&](int d) { return closed_by(d, open); };
    const auto place = [&](int d) {
        order.push_back(d);
        placed |= DimensionMask{1} << d;
        if (lattice_.divisors[d].size() > 1) {
            open &= ~closes(d);
        }
    };
    // A forced loop closes nothing if it may have one iteration.
    for (std::size_t i = order.size(); i < tiling.prefix.size(); ++i) {
        const std::uint32_t before = open;
        place(tiling.prefix[i]);
        open = allowed(level, tiling.prefix[i], 1) ? before : open;
    }
    // A window can slide over the first loop that runs. If a loop before it has one iteration, an
    // order without that loop in front says the same; only a forced one has no such equal.
    bool may_slide = false;
    for (std::size_t space = 0; space < g_.spaces.size(); ++space) {
        may_slide |= order.size() <= tiling.prefix.size() && (open >> space & 1) != 0 &&
                     g_.spaces[space].sliding;
    }
    std::vector<int> left;
    for (const int d : tiling.free) {
        if (placed >> d & 1) {
            continue;
        }
        if (open == 0 || lattice_.divisors[d].size() == 1 || (closes(d) == 0 && !may_slide)) {
            place(d);
        } else {
            left.push_back(d);
        }
    }
    if (left.empty()) {
        for (const int d : tiling.suffix) {
            place(d);
        }
        orders_[level].push_back(std::move(order));
        return;
    }
    branch({std::move(order), placed, open, may_slide}, left, level);
}

/// Which of `left` comes next.
void Tables::branch(const Prefix& at, const std::vector<int>& left, int level) {
    const std::uint32_t open = at.open;
    const auto slides = [&](int d) {
        bool any = false;
        for (std::size_t space = 0; at.may_slide && space < g_.spaces.size(); ++space) {
            any |= (open >> space & 1) && g_.spaces[space].slides(d);
        }
        return any;
    };
    // Among loops that close the same data spaces, one that slides is never worse than one that
    // does not.
    std::vector<std::uint32_t> closed_sliding, tried;
    for (const int d : left) {
        if (slides(d)) {
            closed_sliding.push_back(closed_by(d, open));
        }
    }
    for (const int d : left) {
        if (!slides(d)) {
            const std::uint32_t closed = closed_by(d, open);
            const auto known = [&](const std::vector<std::uint32_t>& list) {
                return std::find(list.begin(), list.end(), closed) != list.end();
            };
            if (known(closed_sliding) || known(tried)) {
                continue;
            }
            tried.push_back(closed);
        }
        std::vector<int> longer = at.order;
        longer.push_back(d);
        extend(std::move(longer), at.placed | DimensionMask{1} << d, open & ~closed_by(d, open),
               level);
    }
}

// ---- Steps ----------------------------------------------------------------------------------

bool Tables::allowed(int level, int d, std::int64_t factor) const {
    return g_.space.levels()[g_.temporal[level]].allows(d, factor);
}

Tables::Layer& Tables::layer(Layers& layers, const OpenEdges& open) const {
    for (Layer& known : layers) {
        if (known.open == open) {
            return known;
        }
    }
    layers.push_back({open, std::vector<double>(lattice_.size, HUGE_VAL)});
    return layers.back();
}

// State after a loop over d of more than one iteration.
OpenEdges Tables::close(const OpenEdges& open, int level, int d) const {
    OpenEdges next = open;
    for (int space = 0; space < static_cast<int>(g_.spaces.size()); ++space) {
        const int inside = edges_inside(space, level);
        if (g_.spaces[space].relevant >> d & 1) {
            next.set_open(space, inside);
        }
        if (g_.spaces[space].sliding) {
            next.set_fresh(space, inside);
        }
    }
    return next;
}

// Does closing cost the same for every number of iterations?
bool Tables::plain(const OpenEdges& open, int d) const {
    for (int space = 0; space < static_cast<int>(g_.spaces.size()); ++space) {
        if (g_.spaces[space].slides(d) &&
            open.first_open(space) < static_cast<int>(edges_.of(space).size())) {
            return false;
        }
    }
    return true;
}

double Tables::closure(const OpenEdges& open, std::size_t y, int d, std::int64_t n,
                       int level) const {
    double total = 0;
    for (int space = 0; space < static_cast<int>(g_.spaces.size()); ++space) {
        const SpaceShape& shape = g_.spaces[space];
        if (!(shape.relevant >> d & 1)) {
            continue;
        }
        const int inside = edges_inside(space, level);
        for (int j = open.first_open(space); j < inside; ++j) {
            const Edge& edge = edges_.of(space)[j];
            total += shape.sliding
                         ? edges_.closure(edge, y, d, n, level, j >= open.first_fresh(space))
                         : full_cost_[space][j][y];
        }
    }
    return total;
}

void Tables::step(const Layers& from, Layers& to, int level, int d) const {
    const std::vector<std::int64_t>& divisors = lattice_.divisors[d];
    const std::size_t stride = lattice_.stride[d], count = divisors.size();
    const bool stay = allowed(level, d, 1);
    for (const Layer& source : from) {
        if (stay) {
            Layer& same = layer(to, source.open);
            for (std::size_t x = 0; x < lattice_.size; ++x) {
                same.cost[x] = std::min(same.cost[x], source.cost[x]);
            }
        }
        if (count == 1) {
            continue;
        }
        const OpenEdges next = close(source.open, level, d);
        const bool plain = this->plain(source.open, d);
        Layer& target = layer(to, next);
        for (std::size_t x = 0; x < lattice_.size; ++x) {
            poll(x);
            const double before = source.cost[x];
            if (before == HUGE_VAL) {
                continue;
            }
            const std::size_t c = x / stride % count;
            if (c + 1 == count) {
                continue;
            }
            double after = plain ? before + closure(source.open, x, d, 2, level) : 0;
            for (std::size_t k = c + 1; k < count; ++k) {
                if (divisors[k] % divisors[c] != 0) {
                    continue;
                }
                const std::int64_t n = divisors[k] / divisors[c];
                if (!allowed(level, d, n)) {
                    continue;
                }
                if (!plain) {
                    after = before + closure(source.open, x, d, n, level);
                }
                double& slot = target.cost[x + (k - c) * stride];
                slot = std::min(slot, after);
            }
        }
    }
}

double Tables::end_cost(const OpenEdges& open) const {
    double total = 0;
    for (int space = 0; space < static_cast<int>(g_.spaces.size()); ++space) {
        const int all = static_cast<int>(edges_.of(space).size());
        for (int j = open.first_open(space); j < all; ++j) {
            total += full_cost_[space][j][lattice_.size - 1];
        }
    }
    return total;
}

// Every edge that is not closed yet costs at least its least.
double Tables::remaining_floor(const OpenEdges& open) const {
    double total = 0;
    for (int space = 0; space < static_cast<int>(g_.spaces.size()); ++space) {
        for (std::size_t j = open.first_open(space); j < least_cost_[space].size(); ++j) {
            total += least_cost_[space][j];
        }
    }
    return total;
}

double Tables::solve(double limit) {
    after_.assign(g_.levels, {});
    Layers layers;
    layer(layers, {}).cost[0] = edges_.constant();
    for (int level = 0; level < g_.levels; ++level) {
        Layers merged;
        for (const std::vector<int>& order : orders_[level]) {
            Layers current = layers;
            for (const int d : order) {
                Layers next;
                step(current, next, level, d);
                current = std::move(next);
            }
            for (Layer& reached : current) {
                Layer& best = layer(merged, reached.open);
                for (std::size_t x = 0; x < lattice_.size; ++x) {
                    best.cost[x] = std::min(best.cost[x], reached.cost[x]);
                }
            }
        }
        for (Layer& reached : merged) {
            const double most = limit - remaining_floor(reached.open);
            for (std::size_t x = 0; x < lattice_.size; ++x) {
                if (!fits_[level][x] || reached.cost[x] > most) {
                    reached.cost[x] = HUGE_VAL;
                }
            }
        }
        std::erase_if(merged, [](const Layer& reached) {
            return std::all_of(reached.cost.begin(), reached.cost.end(),
                               [](double c) { return c == HUGE_VAL; });
        });
        after_[level] = merged;
        layers = std::move(merged);
    }
    double best = HUGE_VAL;
    for (const Layer& last : layers) {
        best = std::min(best, last.cost.back() + end_cost(last.open));
    }
    return best;
}

}  // namespace tessera::timeloop
