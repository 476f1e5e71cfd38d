#include "layout.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/base/divisors.hpp"

namespace tessera::search::cosa {

using mapping::NodeKind;
using mapping::PmappingNode;

namespace {

Memory memory_of(const arch::PathLevel& level, arch::TensorMask tensors, std::size_t n_tensors) {
    Memory memory;
    double n = 0;
    for (std::size_t v = 0; v < n_tensors; ++v) {
        n += (tensors >> v & 1u) != 0 ? 1 : 0;
    }
    for (std::size_t v = 0; v < n_tensors; ++v) {
        const bool holds = (tensors >> v & 1u) != 0;
        const double part = level.size_bits / n;
        const double banks = level.bank_bits > 0 ? std::floor(part / level.bank_bits) : 0;
        const double bits = level.bank_bits > 0 ? banks * level.bank_bits : part;
        const double room = bits / level.bits_per_value[v];
        memory.log2_room.push_back(holds ? std::log2(std::max(room, 1.0))
                                         : std::numeric_limits<double>::infinity());
    }
    return memory;
}

}  // namespace

std::vector<arch::TensorMask> held(const arch::Path& path, const mapspace::Template& tmpl) {
    std::vector<arch::TensorMask> tensors(path.levels.size(), 0);
    for (const PmappingNode& node : tmpl.nodes) {
        if (node.kind == NodeKind::storage) {
            tensors[static_cast<std::size_t>(node.level)] |= 1ull << node.tensor;
        }
    }
    return tensors;
}

Layout layout_of(const arch::Path& path, std::span<const mapspace::Template* const> like,
                 const Weights& weights) {
    Layout layout;
    Programme& p = layout.programme;
    p.weights = weights;
    for (const workload::LocalRankVariable& rank : path.einsum.rank_variables) {
        std::vector<Prime>& primes = p.ranks.emplace_back();
        for (const std::int64_t prime : base::prime_factors(rank.bound)) {
            primes.push_back({prime, 0});
            for (std::int64_t rest = rank.bound; rest % prime == 0; rest /= prime) {
                ++primes.back().count;
            }
        }
    }
    for (std::size_t v = 0; v < path.einsum.tensors.size(); ++v) {
        const workload::LocalTensor& tensor = path.einsum.tensors[v];
        // CoSA weighs weights, its first tensor, a little more: ties are broken.
        p.tensors.push_back(
            {tensor.directly_indexing | tensor.expression_indexing, v == 0 ? 1.01 : 1.0});
    }
    const std::vector<arch::TensorMask> tensors = held(path, *like.front());
    layout.memory_of_level.assign(path.levels.size(), -1);
    for (std::size_t l = path.levels.size(); l-- > 0;) {
        if (tensors[l] != 0) {
            layout.memory_of_level[l] = static_cast<int>(p.memories.size());
            p.memories.push_back(memory_of(path.levels[l], tensors[l], p.tensors.size()));
        }
    }
    p.permuted = std::max(static_cast<int>(p.memories.size()) - 2, 0);
    int memory = static_cast<int>(p.memories.size());
    for (std::size_t l = 0; l < path.levels.size(); ++l) {
        for (std::size_t d = 0; d < path.levels[l].spatial.size(); ++d) {
            Ranks ranks = 0;
            for (const mapspace::Template* tmpl : like) {
                for (const PmappingNode& node : tmpl->nodes) {
                    const bool here = node.kind == NodeKind::spatial &&
                                      node.level == static_cast<int>(l) &&
                                      node.dim == static_cast<int>(d);
                    ranks |= here ? 1ull << node.rank_variable : 0;
                }
            }
            const auto size = static_cast<double>(path.levels[l].spatial[d].fanout);
            p.fan_outs.push_back({memory, std::log2(size), ranks});
            layout.fan_outs.push_back({static_cast<int>(l), static_cast<int>(d)});
        }
        memory = layout.memory_of_level[l] >= 0 ? layout.memory_of_level[l] : memory;
    }
    return layout;
}

namespace {

/// Walks a template from the inside out.
class Fitting {
public:
    Fitting(const Layout& layout, const Assignment& assignment, const arch::Path& path,
            const mapspace::Template& tmpl)
        : layout_(layout), a_(assignment), path_(path), tmpl_(tmpl) {
        region_.reserve(tmpl.nodes.size());
    }

    Fit run(bool innermost) {
        find_regions();
        const std::size_t n = path_.einsum.rank_variables.size();
        std::vector<std::int64_t> tile(n, 1), waiting(n, 1);
        std::vector<int> from(n, 0);  // the first region whose factor was not placed yet
        Fit fit;
        fit.tiles.assign(tmpl_.symbols.size(), 1);
        for (std::size_t i = tmpl_.nodes.size(); i-- > 0;) {
            const PmappingNode& node = tmpl_.nodes[i];
            if (!node.is_loop()) {
                continue;
            }
            const auto j = static_cast<std::size_t>(node.rank_variable);
            if (node.symbol >= 0) {
                fit.tiles[static_cast<std::size_t>(node.symbol)] = tile[j];
            }
            if (node.kind == NodeKind::spatial) {
                tile[j] *= spatial(node);
                continue;
            }
            const int region = region_[i];
            const bool last = innermost || last_of_region(i);
            for (; last && from[j] <= region; ++from[j]) {
                const auto m = static_cast<std::size_t>(from[j]);
                if (m >= a_.temporal.size()) {
                    continue;
                }
                const std::int64_t factor = a_.temporal[m][j];
                fit.away += std::log2(static_cast<double>(factor)) * (region - from[j]);
                tile[j] *= factor;
                note_order(from[j], region, factor, static_cast<int>(j));
            }
        }
        for (std::size_t j = 0; j < n; ++j) {
            const auto left = static_cast<double>(path_.einsum.rank_variables[j].bound) /
                              static_cast<double>(tile[j]);
            fit.away += std::log2(left);
        }
        fit.swapped = swapped();
        return fit;
    }

private:
    /// Per node: the memory whose holders are all above it, and none further out.
    void find_regions() {
        region_.assign(tmpl_.nodes.size(), 0);
        int region = 0;
        for (std::size_t i = tmpl_.nodes.size(); i-- > 0;) {
            const PmappingNode& node = tmpl_.nodes[i];
            if (node.kind == NodeKind::storage) {
                region = std::max(
                    region, layout_.memory_of_level[static_cast<std::size_t>(node.level)] + 1);
            }
            region_[i] = region;
        }
    }

    bool last_of_region(std::size_t at) const {
        for (std::size_t i = at; i-- > 0 && region_[i] == region_[at];) {
            const PmappingNode& node = tmpl_.nodes[i];
            if (node.kind == NodeKind::temporal &&
                node.rank_variable == tmpl_.nodes[at].rank_variable) {
                return false;
            }
        }
        return true;
    }

    std::int64_t spatial(const PmappingNode& node) const {
        for (std::size_t f = 0; f < layout_.fan_outs.size(); ++f) {
            if (layout_.fan_outs[f].level == node.level && layout_.fan_outs[f].dim == node.dim) {
                return a_.spatial[f][static_cast<std::size_t>(node.rank_variable)];
            }
        }
        return 1;
    }

    void note_order(int memory, int region, std::int64_t factor, int rank) {
        if (memory == layout_.programme.permuted && region == memory && factor > 1) {
            order_.push_back(rank);
        }
    }

    int swapped() const {
        const auto place = [&](int rank) {
            return std::find(a_.order.begin(), a_.order.end(), rank) - a_.order.begin();
        };
        int n = 0;
        for (std::size_t i = 0; i < order_.size(); ++i) {
            for (std::size_t k = 0; k < i; ++k) {
                n += place(order_[k]) > place(order_[i]) ? 1 : 0;
            }
        }
        return n;
    }

    const Layout& layout_;
    const Assignment& a_;
    const arch::Path& path_;
    const mapspace::Template& tmpl_;
    std::vector<int> region_;
    std::vector<int> order_;
};

}  // namespace

Fit fit(const Layout& layout, const Assignment& assignment, const arch::Path& path,
        const mapspace::Template& tmpl, bool innermost) {
    return Fitting(layout, assignment, path, tmpl).run(innermost);
}

}  // namespace tessera::search::cosa
