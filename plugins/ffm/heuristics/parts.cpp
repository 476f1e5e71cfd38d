// Map: parts_of() cuts by dynamic programming and compares by Numbering, which numbers names in the
// order of their appearance; in_sequence() renames by the same numbers, and takes the holders that
// stand first out of each part to the top of the tree.
#include "parts.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "tessera/workload/workload.hpp"

namespace tessera::ffm {
namespace {

using mapping::TreeKind;
using mapping::TreeNode;
using workload::Workload;

/// Bits of the tensors that Einsums before `cut` make and later ones read.
std::vector<double> bits_across(const Workload& w) {
    std::vector<double> bits(w.einsums.size() + 1);
    for (const workload::Tensor& tensor : w.tensors) {
        if (tensor.producers.empty() || tensor.consumers.empty()) {
            continue;
        }
        const int last = *std::ranges::max_element(tensor.consumers);
        for (int cut = tensor.producers.front() + 1; cut <= last; ++cut) {
            bits[static_cast<std::size_t>(cut)] += tensor.size_values * tensor.bits_per_value;
        }
    }
    return bits;
}

/// What stands in a part, with names by number.
struct Numbering {
    std::vector<int> tensors, variables;
    std::vector<double> key;  ///< equal keys: equal up to names

    Numbering(const Workload& w, const Part& part) {
        for (int e = part.first; e < part.last; ++e) {
            add(w, w.einsums[static_cast<std::size_t>(e)]);
        }
    }

private:
    static int number(std::vector<int>& known, int name) {
        const auto found = std::ranges::find(known, name);
        if (found != known.end()) {
            return static_cast<int>(found - known.begin());
        }
        known.push_back(name);
        return static_cast<int>(known.size()) - 1;
    }

    void put(double value) {
        key.push_back(value);
    }

    void add(const Workload& w, const workload::Einsum& einsum) {
        put(einsum.is_copy_operation);
        put(einsum.n_instances);
        put(static_cast<double>(einsum.accesses.size()));
        for (const workload::TensorAccess& access : einsum.accesses) {
            const workload::Tensor& tensor = w.tensors[static_cast<std::size_t>(access.tensor)];
            for (const double value :
                 {static_cast<double>(number(tensors, access.tensor)),
                  static_cast<double>(access.output), static_cast<double>(access.state),
                  tensor.bits_per_value, tensor.size_values, static_cast<double>(tensor.persistent),
                  static_cast<double>(access.ranks.size())}) {
                put(value);
            }
            for (const workload::RankAccess& rank : access.ranks) {
                put(static_cast<double>(rank.constant));
                put(static_cast<double>(rank.terms.size()));
                for (const workload::AffineTerm& term : rank.terms) {
                    put(static_cast<double>(term.coefficient));
                    put(number(variables, term.rank_variable));
                    put(static_cast<double>(
                        w.rank_variables[static_cast<std::size_t>(term.rank_variable)].bound));
                }
            }
        }
        put(static_cast<double>(einsum.operations.size()));
        for (const workload::Rename& rename : einsum.renames) {
            put(static_cast<double>(rename.tensors.size()));
            for (const int tensor : rename.tensors) {
                put(number(tensors, tensor));
            }
        }
    }
};

using Names = std::map<std::string, std::string>;

/// From the names of one part to those of an equal one.
struct Renaming {
    Names tensors, variables, einsums;

    Renaming(const Workload& w, const Part& from, const Part& to) {
        const Numbering a(w, from), b(w, to);
        for (std::size_t t = 0; t < a.tensors.size(); ++t) {
            tensors[w.tensors[static_cast<std::size_t>(a.tensors[t])].name] =
                w.tensors[static_cast<std::size_t>(b.tensors[t])].name;
        }
        for (std::size_t v = 0; v < a.variables.size(); ++v) {
            variables[w.rank_variables[static_cast<std::size_t>(a.variables[v])].name] =
                w.rank_variables[static_cast<std::size_t>(b.variables[v])].name;
        }
        for (int e = 0; e < from.last - from.first; ++e) {
            einsums[w.einsums[static_cast<std::size_t>(from.first + e)].name] =
                w.einsums[static_cast<std::size_t>(to.first + e)].name;
        }
    }

    void apply(TreeNode& node) const {
        for (std::string& name : node.tensors) {
            rename(tensors, name);
        }
        for (std::string& name : node.rank_variables) {
            rename(variables, name);
        }
        for (mapping::LoopUse& use : node.uses) {
            rename(einsums, use.einsum);
            rename(variables, use.rank_variable);
        }
        rename(einsums, node.einsum);
        for (std::string& name : node.einsums) {
            rename(einsums, name);
        }
        for (TreeNode& child : node.children) {
            apply(child);
        }
    }

private:
    static void rename(const Names& names, std::string& name) {
        const auto found = names.find(name);
        if (found != names.end()) {
            name = found->second;
        }
    }
};

TreeNode node_of(TreeKind kind) {
    TreeNode node;
    node.kind = kind;
    return node;
}

/// The whole tree: holders of the outermost memory, of persistent tensors first; others that
/// several branches of a part share; the branches.
class Sequence {
public:
    void add(TreeNode root, const std::vector<std::string>& einsums,
             const std::set<std::string>& outside) {
        std::vector<TreeNode>& nodes = root.children;
        const auto rest = std::ranges::find_if(
            nodes, [](const TreeNode& node) { return node.kind != TreeKind::storage; });
        const bool split = rest != nodes.end() && rest->kind == TreeKind::sequential;
        TreeNode branch = node_of(TreeKind::nested);
        for (auto node = nodes.begin(); node != rest; ++node) {
            outermost_ = outermost_.empty() ? node->component : outermost_;
            if (node->component == outermost_) {
                hoist(*node);
            } else if (split) {
                const bool shared = std::ranges::any_of(
                    node->tensors, [&](const auto& name) { return outside.contains(name); });
                if (shared && node->einsums.empty()) {
                    node->einsums = einsums;
                }
                inner_.push_back(std::move(*node));
            } else {
                branch.children.push_back(std::move(*node));
            }
        }
        if (split) {
            std::ranges::move(rest->children, std::back_inserter(branches_));
            return;
        }
        std::move(rest, nodes.end(), std::back_inserter(branch.children));
        branches_.push_back(std::move(branch));
    }

    mapping::Mapping take() {
        mapping::Mapping result;
        result.root = node_of(TreeKind::nested);
        std::vector<TreeNode>& nodes = result.root.children;
        for (const std::vector<std::string>* tensors : {&persistent_, &others_}) {
            if (!tensors->empty()) {
                TreeNode holder = node_of(TreeKind::storage);
                holder.component = outermost_;
                holder.tensors = *tensors;
                holder.persistent = tensors == &persistent_;
                nodes.push_back(std::move(holder));
            }
        }
        std::ranges::move(inner_, std::back_inserter(nodes));
        TreeNode sequential = node_of(TreeKind::sequential);
        sequential.children = std::move(branches_);
        nodes.push_back(std::move(sequential));
        return result;
    }

private:
    void hoist(const TreeNode& holder) {
        for (const std::string& tensor : holder.tensors) {
            if (seen_.insert(tensor).second) {
                (holder.persistent ? persistent_ : others_).push_back(tensor);
            }
        }
    }

    std::string outermost_;
    std::vector<std::string> persistent_, others_;
    std::set<std::string> seen_;
    std::vector<TreeNode> inner_, branches_;
};

/// Tensors that Einsums outside of the part access, too.
std::set<std::string> shared_outside(const Workload& w, const Part& part) {
    std::set<std::string> names;
    const auto outside = [&](int e) { return e < part.first || e >= part.last; };
    for (int e = part.first; e < part.last; ++e) {
        for (const workload::TensorAccess& access :
             w.einsums[static_cast<std::size_t>(e)].accesses) {
            const workload::Tensor& tensor = w.tensors[static_cast<std::size_t>(access.tensor)];
            if (std::ranges::any_of(tensor.producers, outside) ||
                std::ranges::any_of(tensor.consumers, outside)) {
                names.insert(tensor.name);
            }
        }
    }
    return names;
}

}  // namespace

std::vector<Part> parts_of(const Workload& w, int most) {
    const int n = static_cast<int>(w.einsums.size());
    const std::vector<double> bits = bits_across(w);
    std::vector<double> least(static_cast<std::size_t>(n) + 1,
                              std::numeric_limits<double>::infinity());
    std::vector<int> from(least.size());
    least[0] = 0;
    for (int end = 1; end <= n; ++end) {
        for (int begin = std::max(0, end - most); begin < end; ++begin) {
            const double cost = least[static_cast<std::size_t>(begin)] +
                                (begin > 0 ? bits[static_cast<std::size_t>(begin)] : 0);
            if (cost < least[static_cast<std::size_t>(end)]) {
                least[static_cast<std::size_t>(end)] = cost;
                from[static_cast<std::size_t>(end)] = begin;
            }
        }
    }
    std::vector<Part> parts;
    for (int end = n; end > 0; end = from[static_cast<std::size_t>(end)]) {
        parts.push_back({from[static_cast<std::size_t>(end)], end, 0});
    }
    std::ranges::reverse(parts);
    std::map<std::vector<double>, std::size_t> seen;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        parts[i].same = seen.try_emplace(Numbering(w, parts[i]).key, i).first->second;
    }
    return parts;
}

std::vector<std::string> einsums_of(const Workload& w, const Part& part) {
    std::vector<std::string> names;
    for (int e = part.first; e < part.last; ++e) {
        names.push_back(w.einsums[static_cast<std::size_t>(e)].name);
    }
    return names;
}

mapping::Mapping in_sequence(const Workload& w, const std::vector<Part>& parts,
                             const std::vector<mapping::Mapping>& mappings) {
    Sequence sequence;
    for (const Part& part : parts) {
        TreeNode root = mappings[part.same].root;
        Renaming(w, parts[part.same], part).apply(root);
        sequence.add(std::move(root), einsums_of(w, part), shared_outside(w, part));
    }
    return sequence.take();
}

}  // namespace tessera::ffm
