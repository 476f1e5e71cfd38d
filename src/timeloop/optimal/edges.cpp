#include "timeloop/optimal/edges.hpp"

#include <algorithm>
#include <cmath>

#include "tessera/base/divisors.hpp"

namespace tessera::timeloop {
namespace {

// Vector accesses, never more than the model's.
double vectors(double words, double block) {
    return words <= 0 ? 0 : std::ceil(words / block * (1 - 1e-12) - 1e-9);
}

}  // namespace

Edges::Edges(const Geometry& geometry, const SpatialChoice& choice,
             const std::vector<DataSpaceMask>& keep)
    : g_(geometry), choice_(choice), keep_(keep) {
    const int dimensions = g_.dimensions;
    inside_.assign(static_cast<std::size_t>(g_.levels) * dimensions, 1);
    ones_.assign(dimensions, 1);
    instances_.assign(g_.levels, 1);
    for (int level = 0; level < g_.levels; ++level) {
        for (int d = 0; d < dimensions; ++d) {
            const std::int64_t inner = level ? inside_[(level - 1) * dimensions + d] : 1;
            inside_[level * dimensions + d] = inner * choice.factor[level * dimensions + d];
        }
    }
    set_next();
    for (int level = g_.levels - 2; level >= 0; --level) {
        instances_[level] = instances_[level + 1];
        for (int d = 0; d < dimensions; ++d) {
            instances_[level] *= static_cast<double>(choice.factor[(level + 1) * dimensions + d]);
        }
    }
    for (int d = 0; d < dimensions; ++d) {
        lattice_.divisors.push_back(
            base::divisors(g_.bounds[d] / inside_[(g_.levels - 1) * dimensions + d]));
        lattice_.stride.push_back(lattice_.size);
        lattice_.size *= lattice_.divisors.back().size();
    }
    constant_ = g_.compute_cost;
    cycles_ = choice.cycles;
    edges_.resize(g_.spaces.size());
    outermost_.assign(g_.spaces.size(), -1);
    std::vector<Edge> arithmetic;
    for (int space = 0; space < static_cast<int>(g_.spaces.size()); ++space) {
        int child = -1;
        for (int level = 0; level < g_.levels; ++level) {
            if (!(keep[level] >> space & 1)) {
                continue;
            }
            const Edge edge = make_edge(space, child, level);
            if (child < 0 && !forwards_to_arithmetic(edge)) {
                constant_ += cost(edge, g_.computes, false);
                arithmetic.push_back(edge);
            } else {
                edges_[space].push_back(edge);
            }
            child = level;
        }
        outermost_[space] = child;
        valid_ = valid_ && child >= 0;
    }
    set_bandwidth_bound(arithmetic);
    floor_ = constant_;
    for (const auto& edges : edges_) {
        for (const Edge& edge : edges) {
            floor_ += least_cost(edge);
        }
    }
}

// Every word that is used enters the children once, and once per instance that shares nothing with
// others. Neighbours that forward sliding windows may count as little as that one time for all.
double Edges::least_words(const Edge& edge) const {
    const SpaceShape& shape = g_.spaces[edge.space];
    double words = shape.distinct;
    for (int level = edge.child + 1; level < g_.levels && !shape.sliding; ++level) {
        for (int d = 0; d < g_.dimensions; ++d) {
            if (!(shape.relevant >> d & 1)) {
                words *= static_cast<double>(choice_.factor[level * g_.dimensions + d]);
            }
        }
    }
    return words;
}

double Edges::least_cost(const Edge& edge) const {
    return cost(edge, least_words(edge), g_.spaces[edge.space].sliding);
}

void Edges::set_next() {
    next_ = inside_;
    for (int level = g_.levels - 2; level >= 0; --level) {
        const TilingLevel& tiling = g_.space.levels()[g_.temporal[level]];
        for (int d = 0; d < g_.dimensions; ++d) {
            if (tiling.fixed[d] == 1 || tiling.at_most[d] == 1) {
                next_[level * g_.dimensions + d] = next_[(level + 1) * g_.dimensions + d];
            }
        }
    }
}

Edge Edges::make_edge(int space, int child, int parent) const {
    const SpaceShape& shape = g_.spaces[space];
    Edge edge;
    edge.space = space;
    edge.child = child;
    edge.parent = parent;
    edge.parent_instances = instances_[parent];
    const auto clusters = [&](int level) {
        const auto macros = static_cast<double>(g_.costs[level].clusters);
        return macros == 0 ? instances_[level] : std::min(instances_[level], macros);
    };
    edge.parent_clusters = clusters(parent);
    edge.child_instances = instances_[0];
    for (int d = 0; child < 0 && d < g_.dimensions; ++d) {
        edge.child_instances *= static_cast<double>(choice_.factor[d]);
    }
    if (child >= 0) {
        edge.child_instances = instances_[child];
        edge.child_clusters = clusters(child);
        edge.child_partition = partition(space, child);
    }
    edge.parent_partition = partition(space, parent);
    const Architecture& architecture = g_.space.architecture();
    for (int level = child + 1; level <= parent; ++level) {
        const std::int64_t* factor = &choice_.factor[level * g_.dimensions];
        double own = 1, near = 1;
        DimensionMask alone = 0;  // dimensions with a rank of their own
        for (const RankShape& rank : shape.ranks) {
            alone |= rank.sliding() ? 0 : rank.dimensions;
        }
        for (int d = 0; d < g_.dimensions; ++d) {
            if (!(shape.relevant >> d & 1)) {
                own *= static_cast<double>(factor[d]);
            }
            // Along a rank of its own a dimension moves in time by more than its spatial block is
            // wide, so that no neighbour there ever had the same words.
            if (!(alone >> d & 1)) {
                near *= static_cast<double>(factor[d]);
            }
        }
        for (const RankShape& rank : shape.ranks) {
            // Elements of equal position: at most all but the longest dimension of the rank.
            double product = 1, longest = 1;
            for (int d = 0; rank.sliding() && d < g_.dimensions; ++d) {
                if (rank.dimensions >> d & 1) {
                    product *= static_cast<double>(factor[d]);
                    longest = std::max(longest, static_cast<double>(factor[d]));
                }
            }
            own *= product / longest;
        }
        edge.multicast *= own;
        edge.multicast_linked *= shape.sliding && g_.links ? near : own;
        if (level == child + 1 && shape.sliding && g_.links) {
            edge.filled_linked = own / near;
        }
        const Network& network = architecture.storage[level].network;
        const double per_word = network.energy_per_ingress_pj.value_or(0);
        if (g_.compute_cost > 0 || g_.times_cycles) {
            edge.ingress_cost += per_word / edge.multicast;
            edge.ingress_cost_linked += per_word / edge.multicast_linked;
        }
    }
    return edge;
}

// The arithmetic keeps no operand, but a neighbour that had the same one in the step before passes
// it on: loops that do not move the data space then cost its parent nothing.
bool Edges::forwards_to_arithmetic(const Edge& edge) const {
    const SpaceShape& shape = g_.spaces[edge.space];
    double shared = 1, all = 1;
    for (int d = 0; d < g_.dimensions; ++d) {
        all *= static_cast<double>(choice_.factor[d]);
        shared *= shape.relevant >> d & 1 ? 1.0 : static_cast<double>(choice_.factor[d]);
    }
    return g_.links && (shared > 1 || (shape.sliding && all > 1));
}

double Edges::partition(int space, int level) const {
    const SpaceShape& shape = g_.spaces[space];
    if (!shape.read_write || !g_.elision) {
        return 0;
    }
    double words = shape.tile(g_.bounds.data());
    if (shape.sliding || words > shape.distinct) {
        return HUGE_VAL;  // not known in advance: its reads are not counted on
    }
    for (int outer = level + 1; outer < g_.levels; ++outer) {
        for (int d = 0; d < g_.dimensions; ++d) {
            if (shape.relevant >> d & 1) {
                words /= static_cast<double>(choice_.factor[outer * g_.dimensions + d]);
            }
        }
    }
    return words;
}

double Edges::cost(const Edge& edge, double words, bool linked) const {
    const LevelCost& parent = g_.costs[edge.parent];
    const bool read_write = g_.spaces[edge.space].read_write;
    const double served =
        words / (linked ? edge.multicast_linked : edge.multicast) / edge.parent_instances;
    double total = words * (linked ? edge.ingress_cost_linked : edge.ingress_cost);
    if (read_write) {
        total += edge.parent_clusters *
                 (vectors(served, parent.block) * parent.update +
                  vectors(served - edge.parent_partition, parent.block) * parent.read);
    } else {
        total += edge.parent_clusters * vectors(served, parent.block) * parent.read;
    }
    if (edge.child >= 0) {
        const LevelCost& child = g_.costs[edge.child];
        const double filled = words * (linked ? edge.filled_linked : 1) / edge.child_instances -
                              (read_write ? edge.child_partition : 0);
        total += edge.child_clusters * vectors(filled, child.block) * child.fill;
    }
    return g_.prices.empty() ? total : total + priced(edge, words, linked);
}

// As cost() with vectors of one word and no macros: the words that the model counts.
double Edges::priced(const Edge& edge, double words, bool linked) const {
    const bool read_write = g_.spaces[edge.space].read_write;
    const double served =
        words / (linked ? edge.multicast_linked : edge.multicast) / edge.parent_instances;
    const double counted =
        vectors(served, 1) + (read_write ? vectors(served - edge.parent_partition, 1) : 0);
    double total = edge.parent_instances * counted * g_.prices[edge.parent];
    if (edge.child >= 0) {
        const double filled = words * (linked ? edge.filled_linked : 1) / edge.child_instances -
                              (read_write ? edge.child_partition : 0);
        total += edge.child_instances * vectors(filled, 1) * g_.prices[edge.child];
    }
    return total;
}

bool Edges::fits(int level, std::size_t x) const {
    const StorageLevel& storage = g_.space.architecture().storage[level];
    if (!storage.size) {
        return true;
    }
    std::int64_t extents[32];
    for (int d = 0; d < g_.dimensions; ++d) {
        extents[d] = lattice_.value(x, d) * spatial_inside(level)[d];
    }
    double used = 0;
    for (std::size_t space = 0; space < g_.spaces.size(); ++space) {
        if (keep_[level] >> space & 1) {
            used += g_.spaces[space].tile(extents);
        }
    }
    const auto room = static_cast<double>(storage.effective_size());
    return used <= room && used >= room * storage.min_utilization * (1 - 1e-12);
}

// Spread over instances counts as whole; what a temporal loop outside would bring is forgotten.
bool Edges::whole(int space, std::size_t x) const {
    for (int d = 0; d < g_.dimensions; ++d) {
        if (g_.spaces[space].relevant >> d & 1 &&
            lattice_.value(x, d) != lattice_.divisors[d].back()) {
            return false;
        }
    }
    return true;
}

// Reads and writes of one instance of a level that an edge causes at least.
void Edges::add_least_traffic(const Edge& edge, double words, bool linked, int level, double& reads,
                              double& writes) const {
    const bool read_write = g_.spaces[edge.space].read_write;
    if (edge.parent == level) {
        const double served =
            words / (linked ? edge.multicast_linked : edge.multicast) / edge.parent_instances;
        reads += read_write ? std::max(0.0, served - edge.parent_partition) : served;
        writes += read_write ? served : 0;
    }
    if (edge.child == level) {
        const double filled = words * (linked ? edge.filled_linked : 1) / edge.child_instances;
        writes += std::max(0.0, filled - (read_write ? edge.child_partition : 0));
    }
}

// What must pass through a level may keep it busy longer than the arithmetic.
void Edges::set_bandwidth_bound(const std::vector<Edge>& arithmetic) {
    const Architecture& architecture = g_.space.architecture();
    const double base = cycles_;
    for (int level = 0; level < g_.levels; ++level) {
        const StorageLevel& storage = architecture.storage[level];
        double reads = 0, writes = 0;
        for (const Edge& edge : arithmetic) {
            add_least_traffic(edge, g_.computes, false, level, reads, writes);
        }
        for (const auto& edges : edges_) {
            for (const Edge& edge : edges) {
                add_least_traffic(edge, least_words(edge), g_.spaces[edge.space].sliding, level,
                                  reads, writes);
            }
        }
        const auto busy = [&](double words, const std::optional<double>& bandwidth) {
            if (bandwidth && *bandwidth > 0 && words / *bandwidth > base) {
                cycles_ = std::max(cycles_, std::floor(words / *bandwidth * (1 - 1e-12)));
            }
        };
        busy(reads, storage.read_bandwidth);
        busy(writes, storage.write_bandwidth);
        busy(reads + writes, storage.shared_bandwidth);
    }
}

}  // namespace tessera::timeloop
