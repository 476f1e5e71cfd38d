// Bits in every memory while every Einsum runs.
//
// An allocation is the tile of one tensor in one memory:
//   outermost holder  one for all Einsums that access the tensor, from the first to the last; in
//                     place of the holder
//   any other holder  one per Einsum; it may be allocated further down, see allocated_at()
//   persistent        all the time, once per instance of the Einsum
// The outermost holders that a copy has in one memory hold the same data: all their names stand for
// one allocation. While a loop below the allocation runs, its next iteration will use the tile
// again: the allocation lives as long as the outermost such loop, for every Einsum inside.
#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "legality_internal.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::mapspace::legality {

using mapping::TreeNode;
using workload::Relevancy;

namespace {

struct Allocation {
    std::string memory, tensor, einsum;
    double bits = 0;
    double size_bits = 0;
    Position where;
    int first = 0, last = 0;  ///< leaves during which it is alive
    /// Users that share it, each with the leaf from which it needs so many bits: a copy may enlarge
    /// what it copies, a consumer may see a halo that the producer does not.
    std::vector<std::pair<int, double>> users;
    /// The same users: their leaf, and above which of its nodes they keep it; and the tensor.
    struct Place {
        int leaf = 0, at = 0, tensor = 0;
    };
    std::vector<Place> places;
    bool of_all = false;   ///< an outermost holder
    bool lasting = false;  ///< persistent

    bool alive(int leaf) const {
        return first <= leaf && leaf <= last;
    }
    double bits_during(int leaf) const {
        double most = 0;
        for (const auto& [from, needed] : users) {
            most = from <= leaf ? std::max(most, needed) : most;
        }
        return alive(leaf) ? most : 0;
    }
    /// At least so many bits are in the reference's sums, from which a user takes off what the
    /// first one needs before it adds its own.
    double summed_during(int leaf) const {
        const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
        const auto [least, most] = std::minmax_element(users.begin(), users.end(), less);
        if (least->second == most->second) {
            return bits_during(leaf);
        }
        return alive(leaf) && std::is_sorted(users.begin(), users.end(), less) ? least->second : 0;
    }
};

// Index of the node that the allocation of holder `h` stands right above. It sinks past loops over
// variables of the tensor, past at most one loop of a sum, and stops at everything else.
int allocated_at(const Leaf& leaf, int h) {
    const Node& holder = leaf.nodes[h];
    int at = h + 1;
    if (const int slid = leaf.line_buffer_loop(h); slid >= 0) {
        return slid + 1;
    }
    if (holder.first || !holder.tree->lower || holder.kind == Kind::toll) {
        return at;
    }
    for (; at < static_cast<int>(leaf.nodes.size()) && leaf.nodes[at].loop(); ++at) {
        const Node& loop = leaf.nodes[at];
        if (loop.kind == Kind::spatial) {
            if (loop.level != holder.level) {
                return at;
            }
            continue;
        }
        const Relevancy relevancy = leaf.tensor(holder).relevancy[loop.variable];
        if (relevancy == Relevancy::irrelevant) {
            return at;
        }
        if (relevancy == Relevancy::partially_relevant) {
            return at + 1;
        }
    }
    return at;
}

// Sizes of all rank variables inside the allocation of holder `h` that stands right above node
// `at`.
std::vector<std::int64_t> tile_at(const Leaf& leaf, int h, int at) {
    std::vector<std::int64_t> tile = leaf.view().bounds();
    std::vector<int> around = leaf.loops_around(h);
    for (int i = h + 1; i < at; ++i) {
        if (leaf.nodes[i].kind == Kind::temporal) {
            around.push_back(i);
        }
    }
    std::sort(around.begin(), around.end());
    for (int i : around) {
        const Node& loop = leaf.nodes[i];
        std::int64_t& size = tile[loop.variable];
        const bool nested =
            loop.previous < 0 || std::binary_search(around.begin(), around.end(), loop.previous);
        size = nested ? loop.tile + loop.prologue
                      : std::max<std::int64_t>(1, (size + loop.trips - 1) / loop.trips);
    }
    return tile;
}

// Units of a distributed memory over which the array's spatial loops spread the tile.
double units(const Leaf& leaf, const Node& holder) {
    const arch::PathLevel& level = leaf.level(holder);
    if (!level.distributed()) {
        return 1;
    }
    std::size_t array = holder.level + 1;
    while (array < leaf.path.levels.size() && leaf.path.levels[array].spatial.empty()) {
        ++array;
    }
    double units = 1;
    for (const arch::PhysicalDim& dim : level.physical) {
        double used = 1;
        for (const Node& loop : leaf.nodes) {
            if (loop.kind == Kind::spatial && loop.level == static_cast<int>(array) &&
                leaf.level(loop).spatial[loop.dim].name == dim.name) {
                used *= static_cast<double>(loop.trips);
            }
        }
        units *= std::max(1.0, used / dim.stride);
    }
    return units;
}

class Timeline {
public:
    explicit Timeline(Checker& checker) : checker_(checker) {}

    void collect() {
        find_copies();
        find_ranges();
        for (int l = 0; l < static_cast<int>(checker_.leaves.size()); ++l) {
            const Leaf& leaf = *checker_.leaves[l];
            int end = static_cast<int>(leaf.nodes.size());
            if (leaf.view().is_copy_operation) {
                // Nothing reads what a copy holds below its outermost holders.
                while (end > 0 && !(leaf.nodes[end - 1].holder() && leaf.nodes[end - 1].first)) {
                    --end;
                }
            }
            for (int h = 0; h < end; ++h) {
                // Other rules say that a component which is no memory holds nothing.
                const bool memory = leaf.nodes[h].kind == Kind::storage &&
                                    leaf.level(leaf.nodes[h]).kind == arch::LevelKind::memory;
                if (memory && !beside_its_copy(leaf, h)) {
                    add(l, h);
                }
            }
        }
    }

    void report() {
        for (const auto& [memory, all] : memories()) {
            report(memory, all);
        }
    }

    /// Branches of one !Pipeline: all that they and others hold meanwhile, each share of a memory
    /// once for every tile that is in flight.
    void report(const TreeNode& split) {
        const auto [first, last] = range_below(split);
        const std::vector<int> stages = stages_below(first, last);
        std::map<std::string, double> filled;
        for (const Allocation& a : allocations_) {
            double bits = 0;
            for (int l = first; l <= last; ++l) {
                bits = std::max(bits, a.bits_during(l));
            }
            if (bits > 0) {
                filled[a.memory] += bits / a.size_bits * tiles_in_flight(a, first, stages);
            }
        }
        for (const auto& [memory, share] : filled) {
            if (share > arch::most_bits(1)) {
                const Leaf& leaf = *checker_.leaves[first];
                Violation& v = checker_.add(
                    "capacity", Severity::physical,
                    "memory " + in_quotes(memory) + " is full to " + number(100 * share) +
                        " % while the branches of a !Pipeline run at once, from Einsum " +
                        in_quotes(leaf.view().name) + " on",
                    &leaf);
                v.level = memory;
                v.found = share;
                v.limit = 1;
            }
        }
    }

    std::map<std::string, double> peaks() const {
        std::map<std::string, double> result;
        for (const auto& [memory, all] : memories()) {
            result[memory] = peak(memory, all, &Allocation::bits_during).bits;
        }
        return result;
    }

private:
    std::pair<int, int> range_below(const TreeNode& split) const {
        const TreeNode* begin = &split.children.front();
        const TreeNode* end = &split.children.back();
        for (const TreeNode** node : {&begin, &end}) {
            while (!(*node)->children.empty()) {
                *node = &(*node)->children.back();
            }
        }
        const auto leaf_of = [&](const TreeNode* compute) {
            return static_cast<int>(
                std::ranges::find_if(checker_.leaves,
                                     [&](const auto& leaf) { return leaf->compute == compute; }) -
                checker_.leaves.begin());
        };
        return {leaf_of(begin), leaf_of(end)};
    }

    /// The loop over the iterative variable of a state turns around these branches alone.
    bool state_turns(int l, int tensor, int first, int last) const {
        const Leaf& leaf = *checker_.leaves[l];
        for (const workload::LocalTensor& one : leaf.view().tensors) {
            for (const Node& node : leaf.nodes) {
                if (one.tensor == tensor && one.state_variable >= 0 && node.loop() &&
                    node.variable == one.state_variable && node.trips > 1 &&
                    ranges_.at(node.tree) == std::pair(first, last)) {
                    return true;
                }
            }
        }
        return false;
    }

    /// How many rounds branch `to` has to be behind branch `from` by itself; -1: it need not be.
    int behind(int from, int to, int first, int last) const {
        int most = -1;
        const std::vector<workload::Tensor>& tensors = checker_.workload().tensors;
        const auto has = [&](const std::vector<int>& einsums, int l) {
            return l >= 0 && std::ranges::count(einsums, checker_.leaves[l]->einsum) > 0;
        };
        for (std::size_t t = 0; t < tensors.size() && from != to; ++t) {
            const bool turns = state_turns(from, static_cast<int>(t), first, last);
            if (has(tensors[t].producers, from) && has(tensors[t].consumers, to)) {
                most = std::max(most, 1);
            }
            if (has(tensors[t].producers, from) && has(tensors[t].previous_readers, to) && turns) {
                most = std::max(most, 0);
            }
            if (has(tensors[t].producers, to) && has(tensors[t].previous_readers, from) && !turns) {
                most = std::max(most, 1);
            }
        }
        return most;
    }

    /// The longest way between two branches: entry [from][to], -1 if there is none. Branches on a
    /// way that leads back to its begin, longer than 0, take turns within a round.
    struct Ways {
        std::vector<std::vector<int>> longest;
        bool turns(std::size_t i, std::size_t j) const {
            return i != j && longest[i][j] >= 0 && longest[j][i] >= 0 &&
                   longest[i][j] + longest[j][i] > 0;
        }
    };

    Ways ways(int first, int last) const {
        const auto n = static_cast<std::size_t>(last - first + 1);
        Ways made{std::vector<std::vector<int>>(n, std::vector<int>(n, -1))};
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < n; ++j) {
                made.longest[i][j] =
                    behind(first + static_cast<int>(i), first + static_cast<int>(j), first, last);
            }
        }
        // Ways through more than n branches go in circles, which one pass may not see.
        for (std::size_t pass = 0; pass < 2 * n; ++pass) {
            const std::size_t k = pass % n;
            for (std::size_t i = 0; i < n; ++i) {
                for (std::size_t j = 0; j < n; ++j) {
                    const int a = made.longest[i][k], b = made.longest[k][j];
                    if (a >= 0 && b >= 0) {
                        made.longest[i][j] =
                            std::min(std::max(made.longest[i][j], a + b), static_cast<int>(n));
                    }
                }
            }
        }
        return made;
    }

    /// Rounds by which each branch lags behind, by leaf from `first` on: as many as the longest way
    /// to it has, those that take turns at the same time.
    std::vector<int> stages_below(int first, int last) const {
        const Ways made = ways(first, last);
        const auto n = static_cast<std::size_t>(last - first + 1);
        std::vector<int> stages(n, 0);
        for (std::size_t round = 0; round < n; ++round) {
            for (std::size_t i = 0; i < n; ++i) {
                for (std::size_t j = 0; j < n; ++j) {
                    const int distance = behind(first + static_cast<int>(i),
                                                first + static_cast<int>(j), first, last);
                    if (made.turns(i, j)) {
                        stages[j] = std::max(stages[j], stages[i]);
                    } else if (distance >= 0) {
                        stages[j] = std::max(stages[j], stages[i] + distance);
                    }
                }
            }
        }
        return stages;
    }

    /// The most tiles of it that neighbouring rounds use: the oldest is needed by the branch of the
    /// last stage, the newest by that of the first. One tile serves all rounds until a loop around
    /// the branches, above the allocation, turns.
    double tiles_in_flight(const Allocation& a, int first, const std::vector<int>& stages) const {
        if (!a.of_all || a.lasting) {
            return 1;
        }
        const int last = first + static_cast<int>(stages.size()) - 1;
        int newest = -1;
        double oldest = 0, rounds = 1, of_one = 1;
        for (const Allocation::Place& place : a.places) {
            if (place.leaf < first || place.leaf > last) {
                continue;
            }
            rounds = of_one = 1;
            const Leaf& leaf = *checker_.leaves[place.leaf];
            for (int i = 0; i < static_cast<int>(leaf.nodes.size()); ++i) {
                const Node& node = leaf.nodes[i];
                if (node.kind == Kind::temporal &&
                    ranges_.at(node.tree) == std::pair(first, last)) {
                    rounds *= static_cast<double>(node.trips);
                    of_one *= i >= place.at ? static_cast<double>(node.trips) : 1;
                }
            }
            const int stage = stages[static_cast<std::size_t>(place.leaf - first)];
            newest = newest < 0 ? stage : std::min(newest, stage);
            const bool older = reads_older_state(place, first, last) &&
                               state_turns(place.leaf, place.tensor, first, last);
            oldest = std::max(oldest, stage + (older ? of_one : 0));
        }
        if (newest < 0) {
            return 1;
        }
        // The oldest round stands last in its tile: then the others reach furthest beyond.
        const double end = std::min(of_one - 1 + oldest - newest, rounds - 1);
        return std::floor(end / of_one) + 1;
    }

    bool reads_older_state(const Allocation::Place& place, int first, int last) const {
        const workload::Tensor& tensor =
            checker_.workload().tensors[static_cast<std::size_t>(place.tensor)];
        if (std::ranges::count(tensor.previous_readers, checker_.leaves[place.leaf]->einsum) == 0) {
            return false;
        }
        const Ways made = ways(first, last);
        for (int l = first; l <= last; ++l) {
            if (std::ranges::count(tensor.producers, checker_.leaves[l]->einsum) > 0 &&
                (l == place.leaf || made.turns(static_cast<std::size_t>(l - first),
                                               static_cast<std::size_t>(place.leaf - first)))) {
                return false;
            }
        }
        return true;
    }

    /// What a copy makes persistent has a place of its own where the input is live for a while.
    static bool apart(const Leaf& leaf, const Node& node) {
        const auto persistent = [&](const Node& one) { return leaf.tensor(one).persistent; };
        return persistent(node) &&
               std::any_of(leaf.nodes.begin(), leaf.nodes.end(), [&](const Node& other) {
                   return other.kind == Kind::storage && other.first && other.level == node.level &&
                          leaf.tensor(other).fusable && !leaf.tensor(other).output &&
                          !persistent(other);
               });
    }

    /// The tensors of a copy are the same data: where one has its outermost holder, another needs
    /// no room of its own.
    static bool beside_its_copy(const Leaf& leaf, int h) {
        const Node& holder = leaf.nodes[h];
        return leaf.view().is_copy_operation && !holder.first &&
               std::any_of(leaf.nodes.begin(), leaf.nodes.end(), [&](const Node& other) {
                   return other.kind == Kind::storage && other.first && other.level == holder.level;
               });
    }

    /// Whatever is copied within one memory or into it has one place there, under the name of the
    /// input if this is among it.
    void find_copies() {
        for (const auto& leaf : checker_.leaves) {
            if (!leaf->view().is_copy_operation) {
                continue;
            }
            std::map<std::pair<std::string, bool>, std::vector<const Node*>> places;
            for (const Node& node : leaf->nodes) {
                if (node.kind == Kind::storage && node.first) {
                    std::vector<const Node*>& names =
                        places[{leaf->level(node).name, apart(*leaf, node)}];
                    names.insert(leaf->tensor(node).output ? names.end() : names.begin(), &node);
                }
            }
            for (const auto& [place, names] : places) {
                const std::string& memory = place.first;
                const int source = owner(leaf->tensor(*names.front()).tensor, memory);
                for (const Node* const name : names) {
                    const int target = owner(leaf->tensor(*name).tensor, memory);
                    if (source != target) {
                        alias_[{target, memory}] = source;
                    }
                }
            }
        }
    }

    // First and last leaf below every node.
    void find_ranges() {
        for (int l = 0; l < static_cast<int>(checker_.leaves.size()); ++l) {
            for (const Node& node : checker_.leaves[l]->nodes) {
                ranges_.try_emplace(node.tree, l, l).first->second.second = l;
            }
        }
    }

    void add(int l, int h) {
        const Leaf& leaf = *checker_.leaves[l];
        const Node& holder = leaf.nodes[h];
        const arch::PathLevel& level = leaf.level(holder);
        const workload::LocalTensor& tensor = leaf.tensor(holder);
        const int at = allocated_at(leaf, h);
        Allocation a;
        a.memory = level.name;
        a.tensor = tensor.name;
        a.einsum = leaf.view().name;
        a.bits = arch::values_in(tensor, tile_at(leaf, h, at), checker_.problem.convention()) *
                 level.bits_per_value[holder.tensor] / units(leaf, holder);
        if (level.bank_bits > 0) {
            a.bits = model::ceil(a.bits / level.bank_bits) * level.bank_bits;
        }
        a.size_bits = level.size_bits;
        a.where = level.where;
        a.first = a.last = l;
        if (tensor.persistent && holder.first) {
            a.bits *= leaf.view().n_instances;
            a.first = 0;
            a.last = static_cast<int>(checker_.leaves.size()) - 1;
        } else {
            // What a line buffer keeps is needed in the next iteration, too.
            extend(a, leaf, leaf.line_buffer_loop(h) >= 0 ? at - 1 : at);
        }
        a.users.emplace_back(a.first, a.bits);
        a.places.push_back({l, at, tensor.tensor});
        a.of_all = holder.first;
        a.lasting = tensor.persistent && holder.first;
        if (!holder.first) {
            allocations_.push_back(std::move(a));
            return;
        }
        const auto [same, fresh] = shared_.try_emplace(
            {owner(tensor.tensor, level.name), level.name}, allocations_.size());
        if (fresh) {
            allocations_.push_back(std::move(a));
            return;
        }
        Allocation& other = allocations_[same->second];
        if (other.tensor.find(a.tensor) == std::string::npos) {
            other.tensor += "=" + a.tensor;
        }
        other.users.emplace_back(a.first, a.bits);
        other.places.push_back(a.places.front());
        other.first = std::min(other.first, a.first);
        other.last = std::max(other.last, a.last);
    }

    // The tensor under whose name the outermost holder in a memory is kept.
    int owner(int tensor, const std::string& memory) const {
        for (auto next = alias_.find({tensor, memory}); next != alias_.end();
             next = alias_.find({tensor, memory})) {
            tensor = next->second;
        }
        return tensor;
    }

    // All Einsums inside the outermost loop below the allocation.
    void extend(Allocation& a, const Leaf& leaf, int at) const {
        for (std::size_t i = at; i < leaf.nodes.size(); ++i) {
            if (!leaf.nodes[i].loop() || leaf.nodes[i].trips == 1) {
                continue;
            }
            const auto& [first, last] = ranges_.at(leaf.nodes[i].tree);
            a.first = std::min(a.first, first);
            a.last = std::max(a.last, last);
            return;
        }
    }

    using Allocations = std::vector<const Allocation*>;

    std::map<std::string, Allocations> memories() const {
        std::map<std::string, Allocations> result;
        for (const Allocation& a : allocations_) {
            result[a.memory].push_back(&a);
        }
        return result;
    }

    struct Peak {
        double share = 0;
        double bits = 0;
        double size_bits = 0;
        int leaf = -1;
    };

    // The size may follow the Einsum that runs (a register as wide as its weights).
    double size_during(int l, const std::string& memory, const Allocations& all) const {
        const arch::Path& path = checker_.leaves[l]->path;
        const int level = path.find_level(memory);
        return level >= 0 ? path.levels[static_cast<std::size_t>(level)].size_bits
                          : all.front()->size_bits;
    }

    // The time at which the memory is fullest.
    Peak peak(const std::string& memory, const Allocations& all,
              double (Allocation::*bits_of)(int) const) const {
        Peak worst;
        std::vector<Allocations> alive(checker_.leaves.size());
        for (const Allocation* a : all) {
            for (int l = a->first; l <= a->last; ++l) {
                alive[static_cast<std::size_t>(l)].push_back(a);
            }
        }
        for (int l = 0; l < static_cast<int>(checker_.leaves.size()); ++l) {
            double bits = 0;
            for (const Allocation* a : alive[static_cast<std::size_t>(l)]) {
                bits += (a->*bits_of)(l);
            }
            const double size = size_during(l, memory, all);
            const double share = bits > 0 ? bits / size : 0;
            if (share > worst.share || (share == worst.share && bits > worst.bits)) {
                worst = {share, bits, size, l};
            }
        }
        return worst;
    }

    void report(const std::string& memory, const Allocations& all) {
        const auto bits_of = checker_.problem.convention().exchange_by_tree
                                 ? &Allocation::bits_during
                                 : &Allocation::summed_during;
        const Peak at = peak(memory, all, bits_of);
        const double worst = at.bits, size = at.size_bits;
        const int when = at.leaf;
        // Shares of distributed memories may be fractions; everything else is exact.
        if (when < 0 || worst <= arch::most_bits(size)) {
            return;
        }
        std::string parts;
        for (const Allocation* a : all) {
            if (a->alive(when)) {
                parts +=
                    (parts.empty() ? "" : ", ") + a->tensor + " " + number((a->*bits_of)(when));
            }
        }
        const Leaf& leaf = *checker_.leaves[when];
        Violation& v =
            checker_.add("capacity", Severity::physical,
                         "memory " + in_quotes(memory) + " holds " + number(worst) +
                             " bits while Einsum " + in_quotes(leaf.view().name) + " runs (" +
                             parts + "), its size is " + number(size) + " bits",
                         &leaf);
        v.level = memory;
        v.found = worst;
        v.limit = size;
        v.where = all.front()->where;
    }

    Checker& checker_;
    std::vector<Allocation> allocations_;
    std::unordered_map<const TreeNode*, std::pair<int, int>> ranges_;
    std::map<std::pair<int, std::string>, int> alias_;  ///< copies: tensor, memory -> source
    std::map<std::pair<int, std::string>, std::size_t> shared_;  ///< outermost holders
};

void report_pipelines(const TreeNode& node, Timeline& timeline) {
    if (node.kind == mapping::TreeKind::pipeline) {
        timeline.report(node);
    }
    for (const TreeNode& child : node.children) {
        report_pipelines(child, timeline);
    }
}

}  // namespace

std::map<std::string, double> Checker::peak_bits() {
    Timeline timeline(*this);
    timeline.collect();
    return timeline.peaks();
}

void Checker::check_capacity() {
    Timeline timeline(*this);
    timeline.collect();
    timeline.report();
    report_pipelines(mapping.root, timeline);
}

}  // namespace tessera::mapspace::legality
