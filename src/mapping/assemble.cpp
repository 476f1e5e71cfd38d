// Pmappings -> LoopTree.
//
//   without_null_loops   loops that run once disappear
//   Chain                one Einsum as gaps and loops: gap 0, loop 0, gap 1, loop 1, ..., gap n,
//   compute Assembler::build     a range of Einsums from a depth on: spine of common loops, then
//   branches merge_gap            the holders of several Einsums between two loops as one list
//
// Order inside a gap is kept for every Einsum, because the last holder before a loop is charged
// further down than the others (AF 2.10). A holder in the spine is seen by every Einsum below that
// has the tensor; where that is not wanted the node lists its Einsums.
#include "tessera/mapping/assemble.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "tessera/base/error.hpp"

namespace tessera::mapping {

namespace {

struct Holder {
    TreeKind kind = TreeKind::storage;
    std::string component, tensor;
    bool persistent = false;
    bool lower = true;
    bool backing = false;

    bool same_place(const Holder& other) const {
        return kind == other.kind && component == other.component && tensor == other.tensor &&
               persistent == other.persistent && lower == other.lower && backing == other.backing;
    }
    /// Its place among the holders of the gap matters: its capacity may be charged further down.
    bool sinks() const {
        return kind == TreeKind::storage && lower && !backing;
    }
};

struct Loop {
    TreeKind kind = TreeKind::temporal;
    std::string component, dim, rank_variable;
    std::int64_t tile_shape = 1;
};

struct Chain {
    const arch::Path* path = nullptr;
    std::vector<std::vector<Holder>> gaps{1};
    std::vector<Loop> loops;

    const std::string& einsum() const {
        return path->einsum.name;
    }
    bool accesses(const std::string& tensor) const {
        return path->einsum.find_tensor(tensor) >= 0;
    }
};

// Whether `lower` makes a difference for a holder that `next` follows: only loops that do not end
// its reservation anyway (AF 2.10). Keeps the file free of flags without effect.
bool lower_matters(const arch::Path& path, const PmappingNode& holder, const PmappingNode& next) {
    if (holder.kind != NodeKind::storage || holder.backing) {
        return false;
    }
    if (next.kind == NodeKind::spatial) {
        return next.level == holder.level;
    }
    return next.kind == NodeKind::temporal &&
           path.einsum.tensors[holder.tensor].relevancy[next.rank_variable] !=
               workload::Relevancy::irrelevant;
}

Chain chain_of(const Branch& branch) {
    Chain chain;
    chain.path = branch.path;
    const workload::EinsumView& einsum = branch.path->einsum;
    const Pmapping nodes = without_null_loops(*branch.path, branch.nodes);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const PmappingNode& node = nodes[i];
        if (node.kind == NodeKind::storage || node.kind == NodeKind::toll) {
            const bool toll = node.kind == NodeKind::toll;
            chain.gaps.back().push_back({toll ? TreeKind::toll : TreeKind::storage,
                                         branch.path->levels[node.level].name,
                                         einsum.tensors[node.tensor].name, node.persistent,
                                         node.lower || i + 1 == nodes.size() ||
                                             !lower_matters(*branch.path, node, nodes[i + 1]),
                                         node.backing});
        } else if (node.kind != NodeKind::compute) {
            Loop loop;
            loop.rank_variable = einsum.rank_variables[node.rank_variable].name;
            loop.tile_shape = node.tile;
            if (node.kind == NodeKind::spatial) {
                loop.kind = TreeKind::spatial;
                loop.component = branch.path->levels[node.level].name;
                loop.dim = branch.path->levels[node.level].spatial[node.dim].name;
            }
            chain.loops.push_back(loop);
            chain.gaps.emplace_back();
        }
    }
    return chain;
}

// A holder of a merged gap and the Einsums (indices into the chains) that use it.
struct Shared {
    Holder holder;
    std::set<int> users;
};

void merge_gap(std::vector<Shared>& merged, const std::vector<Holder>& holders, int user) {
    std::size_t next = 0;  // where the Einsum's next holder goes at the earliest
    for (const Holder& holder : holders) {
        std::size_t at = 0;
        while (at < merged.size() && !merged[at].holder.same_place(holder)) {
            ++at;
        }
        const bool found = at < merged.size();
        if (found && (at >= next || !holder.sinks())) {
            merged[at].users.insert(user);
            next = std::max(next, at + 1);
        } else {
            merged.insert(merged.begin() + next, {holder, {user}});
            ++next;
        }
    }
}

class Assembler {
public:
    Assembler(std::vector<Chain> chains, const std::vector<int>& shared)
        : chains_(std::move(chains)), shared_(shared) {}

    Mapping run();

private:
    void build(int low, int high, std::size_t depth, TreeNode& nested);
    void build_rest(int index, std::size_t depth, TreeNode& nested);
    std::vector<std::pair<int, int>> branches(int low, int high, int depth) const;
    void emit_gap(int low, int high, std::vector<Shared> gap, TreeNode& nested) const;
    void arrange(std::vector<Shared>& gap) const;
    void emit_loop(int low, int high, std::size_t depth, TreeNode& nested) const;
    std::size_t lifted(const std::vector<std::pair<int, int>>& groups, int index,
                       std::size_t depth) const;
    void check_backing(const std::vector<std::pair<int, int>>& groups, std::size_t depth) const;

    std::vector<Chain> chains_;
    const std::vector<int>& shared_;
};

Mapping Assembler::run() {
    Mapping mapping;
    mapping.root.kind = TreeKind::nested;
    build(0, static_cast<int>(chains_.size()), 0, mapping.root);
    return mapping;
}

// Splits [low, high) where two neighbours share no loop beyond `depth`.
std::vector<std::pair<int, int>> Assembler::branches(int low, int high, int depth) const {
    std::vector<std::pair<int, int>> result;
    int begin = low;
    for (int i = low; i < high; ++i) {
        if (i + 1 == high || shared_[i] <= depth) {
            result.emplace_back(begin, i + 1);
            begin = i + 1;
        }
    }
    return result;
}

// How many holders of an Einsum's gap stand above the split: up to the last one that another branch
// shares as backing, then those of the outermost memory, which read best at the top.
std::size_t Assembler::lifted(const std::vector<std::pair<int, int>>& groups, int index,
                              std::size_t depth) const {
    const std::vector<Holder>& gap = chains_[index].gaps[depth];
    std::size_t count = 0;
    for (std::size_t h = 0; h < gap.size(); ++h) {
        for (const auto& [low, high] : groups) {
            for (int other = low; other < high; ++other) {
                const bool elsewhere = index < low || index >= high;
                const std::vector<Holder>& theirs = chains_[other].gaps[depth];
                if (elsewhere && gap[h].backing &&
                    std::any_of(theirs.begin(), theirs.end(),
                                [&](const Holder& holder) { return holder.same_place(gap[h]); })) {
                    count = h + 1;
                }
            }
        }
    }
    const std::string& outermost =
        chains_[index].path->levels[chains_[index].path->first_memory()].name;
    while (depth == 0 && count < gap.size() && gap[count].component == outermost) {
        ++count;
    }
    return count;
}

// An intermediate that two branches back in the same memory must be above the split by now.
void Assembler::check_backing(const std::vector<std::pair<int, int>>& groups,
                              std::size_t depth) const {
    std::map<std::string, std::size_t> seen;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        for (int i = groups[g].first; i < groups[g].second; ++i) {
            for (std::size_t d = depth; d < chains_[i].gaps.size(); ++d) {
                for (const Holder& holder : chains_[i].gaps[d]) {
                    const int tensor = chains_[i].path->einsum.find_tensor(holder.tensor);
                    if (!holder.backing || !chains_[i].path->einsum.tensors[tensor].intermediate) {
                        continue;
                    }
                    if (!seen.emplace(holder.tensor, g).second && seen[holder.tensor] != g) {
                        throw Bug("assemble: the Einsums around intermediate '" + holder.tensor +
                                  "' share fewer loops than its backing holder has above");
                    }
                }
            }
        }
    }
}

// Backing holders next to each other may stand in any order: outer memories first reads best and
// lets tensors of one memory share a node.
void Assembler::arrange(std::vector<Shared>& gap) const {
    const auto rank = [&](const Shared& shared) {
        const arch::Path& path = *chains_[*shared.users.begin()].path;
        return std::pair(path.find_level(shared.holder.component), !shared.holder.persistent);
    };
    for (auto begin = gap.begin(); begin != gap.end();) {
        const auto end = std::find_if(begin, gap.end(),
                                      [](const Shared& shared) { return !shared.holder.backing; });
        std::stable_sort(begin, end,
                         [&](const Shared& a, const Shared& b) { return rank(a) < rank(b); });
        begin = end == gap.end() ? end : end + 1;
    }
}

void Assembler::emit_gap(int low, int high, std::vector<Shared> gap, TreeNode& nested) const {
    arrange(gap);
    for (const Shared& shared : gap) {
        TreeNode node;
        node.kind = shared.holder.kind;
        node.component = shared.holder.component;
        node.tensors = {shared.holder.tensor};
        node.persistent = shared.holder.persistent;
        node.lower = shared.holder.lower;
        bool all = true;
        for (int i = low; i < high; ++i) {
            all = all && (shared.users.count(i) > 0 || !chains_[i].accesses(shared.holder.tensor));
        }
        for (const int user : shared.users) {
            if (!all) {
                node.einsums.push_back(chains_[user].einsum());
            }
        }
        TreeNode* last = nested.children.empty() ? nullptr : &nested.children.back();
        const bool joins = last != nullptr && last->kind == node.kind &&
                           last->component == node.component &&
                           last->persistent == node.persistent && last->lower == node.lower &&
                           last->einsums == node.einsums &&
                           std::find(last->tensors.begin(), last->tensors.end(), node.tensors[0]) ==
                               last->tensors.end();
        if (joins) {
            last->tensors.push_back(node.tensors[0]);
        } else {
            nested.children.push_back(std::move(node));
        }
    }
}

void Assembler::emit_loop(int low, int high, std::size_t depth, TreeNode& nested) const {
    TreeNode node;
    bool alike = true;
    for (int i = low; i < high; ++i) {
        if (chains_[i].loops.size() <= depth) {
            throw Bug("assemble: Einsum '" + chains_[i].einsum() +
                      "' has fewer loops than it shares");
        }
        const Loop& loop = chains_[i].loops[depth];
        const Loop& first = chains_[low].loops[depth];
        if (loop.kind != first.kind || loop.component != first.component || loop.dim != first.dim) {
            throw Bug("assemble: shared loop " + std::to_string(depth) +
                      " differs between Einsums '" + chains_[low].einsum() + "' and '" +
                      chains_[i].einsum() + "'");
        }
        alike = alike && loop.rank_variable == first.rank_variable &&
                loop.tile_shape == first.tile_shape;
        if (std::find(node.rank_variables.begin(), node.rank_variables.end(), loop.rank_variable) ==
            node.rank_variables.end()) {
            node.rank_variables.push_back(loop.rank_variable);
        }
        node.uses.push_back({chains_[i].einsum(), loop.rank_variable, loop.tile_shape});
    }
    if (alike) {
        node.uses.clear();
    }
    node.kind = chains_[low].loops[depth].kind;
    node.component = chains_[low].loops[depth].component;
    node.dim = chains_[low].loops[depth].dim;
    node.tile_shape = chains_[low].loops[depth].tile_shape;
    nested.children.push_back(std::move(node));
}

void Assembler::build_rest(int index, std::size_t depth, TreeNode& nested) {
    const Chain& chain = chains_[index];
    for (; depth < chain.gaps.size(); ++depth) {
        std::vector<Shared> gap;
        for (const Holder& holder : chain.gaps[depth]) {
            gap.push_back({holder, {index}});
        }
        emit_gap(index, index + 1, gap, nested);
        if (depth < chain.loops.size()) {
            emit_loop(index, index + 1, depth, nested);
        }
    }
    TreeNode compute;
    compute.kind = TreeKind::compute;
    compute.einsum = chain.einsum();
    compute.component = chain.path->compute().name;
    nested.children.push_back(std::move(compute));
}

void Assembler::build(int low, int high, std::size_t depth, TreeNode& nested) {
    if (high - low == 1) {
        build_rest(low, depth, nested);
        return;
    }
    const std::size_t common = *std::min_element(shared_.begin() + low, shared_.begin() + high - 1);
    for (; depth < common; ++depth) {
        std::vector<Shared> gap;
        for (int i = low; i < high; ++i) {
            merge_gap(gap, chains_[i].gaps.at(depth), i);
        }
        emit_gap(low, high, gap, nested);
        emit_loop(low, high, depth, nested);
    }
    const auto groups = branches(low, high, static_cast<int>(common));
    std::vector<Shared> gap;
    std::vector<std::size_t> counts;
    for (int i = low; i < high; ++i) {
        counts.push_back(lifted(groups, i, depth));
    }
    for (int i = low; i < high; ++i) {
        std::vector<Holder>& own = chains_[i].gaps[depth];
        const auto end = own.begin() + static_cast<std::ptrdiff_t>(counts[i - low]);
        merge_gap(gap, {own.begin(), end}, i);
        own.erase(own.begin(), end);
    }
    check_backing(groups, depth);
    emit_gap(low, high, gap, nested);
    TreeNode sequential;
    sequential.kind = TreeKind::sequential;
    for (const auto& [begin, end] : groups) {
        TreeNode branch;
        branch.kind = TreeKind::nested;
        build(begin, end, depth, branch);
        sequential.children.push_back(std::move(branch));
    }
    nested.children.push_back(std::move(sequential));
}

}  // namespace

Pmapping without_null_loops(const arch::Path& path, const Pmapping& nodes) {
    std::vector<std::int64_t> enclosing;
    for (const workload::LocalRankVariable& variable : path.einsum.rank_variables) {
        enclosing.push_back(variable.bound);
    }
    Pmapping result;
    for (const PmappingNode& node : nodes) {
        if (node.kind == NodeKind::reservation) {
            continue;
        }
        if (node.rank_variable >= 0) {
            if (node.symbol >= 0) {
                throw Bug("assemble: a loop of Einsum '" + path.einsum.name +
                          "' has no tile shape");
            }
            if (node.tile == enclosing[node.rank_variable]) {
                continue;
            }
            enclosing[node.rank_variable] = node.tile;
        }
        result.push_back(node);
    }
    return result;
}

Mapping assemble(const std::vector<Branch>& branches, const std::vector<int>& shared_loops) {
    if (branches.empty() || shared_loops.size() + 1 != branches.size()) {
        throw Bug("assemble: one count of shared loops is needed per pair of neighbours");
    }
    std::vector<Chain> chains;
    for (const Branch& branch : branches) {
        chains.push_back(chain_of(branch));
    }
    return Assembler(std::move(chains), shared_loops).run();
}

}  // namespace tessera::mapping
