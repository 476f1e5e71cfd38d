// Pmappings -> LoopTree.
//
//   Assembler::build   a range of Einsums from a depth on: spine of common loops, then branches
//   lifted             which holders stand above a split
//   emit_gap           holders of the spine; those that not all Einsums below use name theirs
//   emit_loop          one loop of all Einsums, with their own variables and tile shapes
//
// Chains and merged lists of holders are in chain.cpp. An Einsum's last holder before a loop may be
// charged further down than the others, so their order is kept where it matters.
#include "tessera/mapping/assemble.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "mapping/chain.hpp"
#include "tessera/base/error.hpp"

namespace tessera::mapping {

namespace {

class Assembler {
public:
    Assembler(std::vector<Chain> chains, const std::vector<int>& shared)
        : chains_(std::move(chains)), shared_(shared) {
        for (std::size_t i = 0; i < chains_.size(); ++i) {
            for (const workload::LocalTensor& tensor : chains_[i].path->einsum.tensors) {
                users_[tensor.name].push_back(static_cast<int>(i));
            }
        }
    }

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
    void lift_with_others(int low, std::size_t depth, std::vector<std::size_t>& counts) const;
    void check_backing(const std::vector<std::pair<int, int>>& groups, std::size_t depth) const;

    std::vector<Chain> chains_;
    const std::vector<int>& shared_;
    /// By tensor: the chains that access it, in order. Long cascades are not searched for them.
    std::unordered_map<std::string, std::vector<int>> users_;
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
    const auto own = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
        return group.first <= index && index < group.second;
    });
    std::size_t count = 0;
    for (std::size_t h = 0; h < gap.size(); ++h) {
        const std::vector<int>& users = users_.at(gap[h].tensor);
        for (const int other : users) {
            const bool here = groups.front().first <= other && other < groups.back().second;
            const bool elsewhere = other < own->first || other >= own->second;
            if (!gap[h].backing || !here || !elsewhere) {
                continue;
            }
            const std::vector<Holder>& theirs = chains_[other].gaps[depth];
            if (std::any_of(theirs.begin(), theirs.end(),
                            [&](const Holder& holder) { return holder.same_place(gap[h]); })) {
                count = h + 1;
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

// A backing holder that stands above the split for one of its Einsums stands there for all of them.
void Assembler::lift_with_others(int low, std::size_t depth,
                                 std::vector<std::size_t>& counts) const {
    for (bool more = true; more;) {
        more = false;
        for (std::size_t i = 0; i < counts.size(); ++i) {
            const std::vector<Holder>& gap = chains_[low + static_cast<int>(i)].gaps[depth];
            for (std::size_t h = 0; h < counts[i]; ++h) {
                for (const int user : users_.at(gap[h].tensor)) {
                    const auto other = static_cast<std::size_t>(user - low);
                    if (!gap[h].backing || user < low || other >= counts.size()) {
                        continue;
                    }
                    const std::vector<Holder>& theirs = chains_[user].gaps[depth];
                    for (std::size_t k = counts[other]; k < theirs.size(); ++k) {
                        if (theirs[k].tensor == gap[h].tensor && theirs[k].backing) {
                            counts[other] = k + 1;
                            more = true;
                        }
                    }
                }
            }
        }
    }
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
        node.line_buffer = shared.holder.line_buffer;
        const std::vector<int>& users = users_.at(shared.holder.tensor);
        const bool all = std::all_of(users.begin(), users.end(), [&](int i) {
            return i < low || i >= high || shared.users.count(i) > 0;
        });
        for (const int user : shared.users) {
            if (!all) {
                node.einsums.push_back(chains_[user].einsum());
            }
        }
        TreeNode* last = nested.children.empty() ? nullptr : &nested.children.back();
        const bool joins = last != nullptr && last->kind == node.kind &&
                           last->component == node.component &&
                           last->persistent == node.persistent && last->lower == node.lower &&
                           last->line_buffer == node.line_buffer && last->einsums == node.einsums &&
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
                loop.tile_shape == first.tile_shape && loop.n_iterations == 0;
        node.n_iterations = std::max(node.n_iterations, loop.n_iterations);
        if (std::find(node.rank_variables.begin(), node.rank_variables.end(), loop.rank_variable) ==
            node.rank_variables.end()) {
            node.rank_variables.push_back(loop.rank_variable);
        }
        node.uses.push_back(
            {chains_[i].einsum(), loop.rank_variable, loop.tile_shape, loop.initial_tile_shape});
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
        std::vector<std::pair<int, std::vector<Holder>>> gap;
        for (int i = low; i < high; ++i) {
            gap.emplace_back(i, chains_[i].gaps.at(depth));
        }
        emit_gap(low, high, merged(gap), nested);
        emit_loop(low, high, depth, nested);
    }
    const auto groups = branches(low, high, static_cast<int>(common));
    std::vector<std::pair<int, std::vector<Holder>>> gap;
    std::vector<std::size_t> counts;
    for (int i = low; i < high; ++i) {
        counts.push_back(lifted(groups, i, depth));
    }
    lift_with_others(low, depth, counts);
    for (int i = low; i < high; ++i) {
        std::vector<Holder>& own = chains_[i].gaps[depth];
        const auto end = own.begin() + static_cast<std::ptrdiff_t>(counts[i - low]);
        gap.emplace_back(i, std::vector<Holder>(own.begin(), end));
        own.erase(own.begin(), end);
    }
    check_backing(groups, depth);
    emit_gap(low, high, merged(gap), nested);
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
