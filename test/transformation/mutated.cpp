#include "transformation/mutated.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace tessera::transformation {

namespace {

using mapping::TreeKind;
using mapping::TreeNode;

bool is_loop(const TreeNode& node) {
    return node.kind == TreeKind::temporal || node.kind == TreeKind::spatial;
}

std::size_t index(Random& r, std::size_t n) {
    return static_cast<std::size_t>(r.below(static_cast<int>(n)));
}

class Mutation {
public:
    Mutation(mapping::Mapping& mapping, const Problem& problem, Random& r)
        : mapping_(mapping), problem_(problem), r_(r) {}

    void apply() {
        lists_.clear();
        collect(mapping_.root);
        std::vector<TreeNode>& list = *lists_[index(r_, lists_.size())];
        switch (r_.below(11)) {
            case 0:
            case 1:
                drop_tensor(list);
                break;
            case 2:
                insert(list, holder());
                break;
            case 3:
            case 4:
                move(list);
                break;
            case 5:
            case 6:
                reshape(list);
                break;
            case 7:
                insert(list, loop());
                break;
            case 8:
                drop_loop(list);
                break;
            case 9:
                turn(list);
                break;
            default:
                part_or_fuse(list);
                break;
        }
    }

    void finish() {
        std::map<std::string, std::int64_t> tile;
        for (const auto& [variable, bound] : problem_.bounds) {
            tile[variable] = bound;
        }
        finish(mapping_.root, tile);
    }

private:
    void collect(TreeNode& node) {
        if (node.kind == TreeKind::nested) {
            lists_.push_back(&node.children);
        }
        for (TreeNode& child : node.children) {
            collect(child);
        }
    }

    /// The last node of a list is a compute or a split, and stays.
    static std::size_t movable(const std::vector<TreeNode>& list) {
        return list.size() - 1;
    }

    void insert(std::vector<TreeNode>& list, TreeNode node) {
        const auto at = static_cast<std::ptrdiff_t>(index(r_, list.size()));
        list.insert(list.begin() + at, std::move(node));
    }

    template <class Wanted>
    TreeNode* any(std::vector<TreeNode>& list, Wanted&& wanted) {
        std::vector<TreeNode*> found;
        for (TreeNode& node : list) {
            if (wanted(node)) {
                found.push_back(&node);
            }
        }
        return found.empty() ? nullptr : found[index(r_, found.size())];
    }

    static void erase(std::vector<TreeNode>& list, const TreeNode* node) {
        list.erase(list.begin() + (node - list.data()));
    }

    void drop_tensor(std::vector<TreeNode>& list) {
        TreeNode* const node =
            any(list, [](const TreeNode& n) { return n.kind == TreeKind::storage; });
        if (node != nullptr) {
            node->tensors.erase(node->tensors.begin() +
                                static_cast<std::ptrdiff_t>(index(r_, node->tensors.size())));
            if (node->tensors.empty()) {
                erase(list, node);
            }
        }
    }

    TreeNode holder() {
        TreeNode node;
        node.kind = TreeKind::storage;
        std::vector<std::string> memories;
        for (const Component& c : problem_.components) {
            if (c.kind == "Memory") {
                memories.push_back(c.name);
            }
        }
        node.component = r_.pick(memories);
        node.tensors = {
            std::next(problem_.bits_per_value.begin(),
                      static_cast<std::ptrdiff_t>(index(r_, problem_.bits_per_value.size())))
                ->first};
        return node;
    }

    std::int64_t tile_shape(const std::string& variable) {
        for (const auto& [name, bound] : problem_.bounds) {
            if (name == variable) {
                const int tile = 1 + r_.below(bound);
                return bound % tile == 0 || r_.chance(40) ? tile : 1;
            }
        }
        return 1;
    }

    /// Makes the loop temporal, or spatial over any dimension.
    void place(TreeNode& node, bool spatial) {
        std::vector<std::pair<std::string, std::string>> dimensions;
        for (const Component& c : problem_.components) {
            for (const Dimension& d : c.dimensions) {
                dimensions.emplace_back(c.name, d.name);
            }
        }
        spatial = spatial && !dimensions.empty();
        node.kind = spatial ? TreeKind::spatial : TreeKind::temporal;
        const auto chosen = spatial ? r_.pick(dimensions) : std::pair<std::string, std::string>();
        node.component = chosen.first;
        node.dim = chosen.second;
    }

    TreeNode loop() {
        TreeNode node;
        node.rank_variables = {problem_.bounds[index(r_, problem_.bounds.size())].first};
        node.tile_shape = tile_shape(node.rank_variables.front());
        place(node, r_.chance(30));
        return node;
    }

    /// Within its list, or into one of another depth.
    void move(std::vector<TreeNode>& list) {
        if (movable(list) == 0) {
            return;
        }
        const auto from = static_cast<std::ptrdiff_t>(index(r_, movable(list)));
        TreeNode node = list[static_cast<std::size_t>(from)];
        list.erase(list.begin() + from);
        insert(r_.chance(70) ? list : *lists_[index(r_, lists_.size())], std::move(node));
    }

    void reshape(std::vector<TreeNode>& list) {
        TreeNode* const node = any(list, [](const TreeNode& n) {
            return is_loop(n) && n.uses.empty() && !n.rank_variables.empty();
        });
        if (node != nullptr) {
            node->tile_shape = tile_shape(node->rank_variables.front());
        }
    }

    void drop_loop(std::vector<TreeNode>& list) {
        if (TreeNode* const node = any(list, is_loop)) {
            erase(list, node);
        }
    }

    void turn(std::vector<TreeNode>& list) {
        if (TreeNode* const node = any(list, is_loop); node != nullptr && node->uses.empty()) {
            place(*node, node->kind == TreeKind::temporal);
        }
    }

    /// The last node above a split goes into each of its branches, or the first of a branch above
    /// it, and equal ones of the others with it.
    void part_or_fuse(std::vector<TreeNode>& list) {
        TreeNode split = list.back();
        if (split.kind != TreeKind::sequential) {
            return;
        }
        if (r_.chance(50) && movable(list) > 0) {
            for (TreeNode& branch : split.children) {
                branch.children.insert(branch.children.begin(), list[movable(list) - 1]);
            }
            list.erase(list.end() - 2);
        } else {
            const TreeNode first =
                split.children[index(r_, split.children.size())].children.front();
            if (first.kind == TreeKind::compute || first.kind == TreeKind::sequential) {
                return;
            }
            for (TreeNode& branch : split.children) {
                const TreeNode& own = branch.children.front();
                if (own.kind == first.kind && own.component == first.component &&
                    own.rank_variables == first.rank_variables) {
                    branch.children.erase(branch.children.begin());
                }
            }
            list.insert(list.end() - 1, first);
        }
        list.back() = std::move(split);
    }

    void finish(TreeNode& nested, std::map<std::string, std::int64_t> tile) {
        for (TreeNode& node : nested.children) {
            for (const std::string& variable : node.rank_variables) {
                tile[variable] = node.tile_shape;
            }
            for (const mapping::LoopUse& use : node.uses) {
                tile[use.rank_variable] = use.tile_shape;
            }
        }
        TreeNode& last = nested.children.back();
        if (last.kind == TreeKind::sequential) {
            for (TreeNode& branch : last.children) {
                finish(branch, tile);
            }
            return;
        }
        const auto einsum = std::ranges::find_if(
            problem_.einsums, [&](const Einsum& e) { return e.name == last.einsum; });
        std::set<std::string> variables;
        for (const Term& term : einsum->terms()) {
            variables.insert(term.variable);
        }
        for (const std::string& variable : variables) {
            if (tile[variable] != 1) {
                TreeNode node;
                node.kind = TreeKind::temporal;
                node.rank_variables = {variable};
                nested.children.insert(nested.children.end() - 1, node);
            }
        }
    }

    mapping::Mapping& mapping_;
    const Problem& problem_;
    Random& r_;
    std::vector<std::vector<TreeNode>*> lists_;
};

}  // namespace

mapping::Mapping mutated(mapping::Mapping mapping, const Problem& problem, Random& r) {
    Mutation mutation(mapping, problem, r);
    for (int n = 1 + r.below(4); n > 0; --n) {
        mutation.apply();
    }
    mutation.finish();
    return mapping;
}

}  // namespace tessera::transformation
