#include "arch/path_builder.hpp"
#include "spec/quantities.hpp"

namespace tessera::arch {

namespace {

/// True when the compute was reached and the walk is over.
bool walk(const std::vector<TreeNode>& nodes, const std::string& compute,
          std::vector<FlatNode>& out) {
    for (const TreeNode& node : nodes) {
        if (node.kind == TreeNode::Kind::array) {
            for (const TreeNode& child : node.children) {
                out.push_back({&child.component, &node.component});
            }
            out.push_back({&node.component, nullptr});
            continue;
        }
        if (node.kind != TreeNode::Kind::leaf) {
            const bool skip = node.kind == TreeNode::Kind::fork && !node.contains(compute);
            if (!skip && walk(node.children, compute, out)) {
                return true;
            }
            continue;
        }
        if (node.component.kind != LevelKind::compute) {
            out.push_back({&node.component, nullptr});
        } else if (node.component.name == compute) {
            out.push_back({&node.component, nullptr});
            return true;
        }
    }
    return false;
}

/// Collects leaks in one walk over the whole tree. `parents` are the nodes that a component hangs
/// below: everything before it, except what stands inside a fork it is not part of.
class LeakCollector {
public:
    LeakCollector(const std::string& compute, const ComponentValues& values, const Path& path)
        : compute_(compute), values_(values), path_(path) {}

    std::vector<Leak> run(const std::vector<TreeNode>& tree) {
        State state;
        walk(tree, state);
        return std::move(leaks_);
    }

private:
    struct State {
        double instances = 1;
        std::vector<Leak::Gate> gates;
        bool off = false;
    };

    void walk(const std::vector<TreeNode>& nodes, State& state) {
        for (const TreeNode& node : nodes) {
            switch (node.kind) {
                case TreeNode::Kind::leaf:
                    add(node.component, state, true);
                    enter(node.component, state);
                    break;
                case TreeNode::Kind::hierarchical:
                    walk(node.children, state);
                    break;
                case TreeNode::Kind::fork:
                    walk_fork(node, state);
                    break;
                case TreeNode::Kind::array:
                    // The children's own dimensions say where they sit, not how many follow.
                    for (const TreeNode& child : node.children) {
                        add(child.component, state, false);
                    }
                    enter(node.component, state);
                    break;
            }
        }
    }

    void walk_fork(const TreeNode& fork, State& state) {
        const bool used = fork.contains(compute_);
        State inner = state;
        inner.off = inner.off || (fork.forked_power_gateable && !used);
        walk(fork.children, inner);
        state.off = state.off || (fork.non_forked_power_gateable && used);
    }

    void add(const ComponentSpec& component, const State& state, bool own_gates) {
        if (component.kind == LevelKind::container) {
            return;
        }
        State own = state;
        if (own_gates) {
            enter(component, own);
        }
        Leak leak;
        leak.component = component.name;
        // As in the reference, a component's own dimensions do not multiply its own leak.
        leak.leak_power_w = values_.leak_power_w(component) * state.instances;
        leak.gates = own.gates;
        leak.off = own.off;
        leaks_.push_back(std::move(leak));
    }

    void enter(const ComponentSpec& component, State& state) const {
        const int level = path_.find_level(component.name);
        for (std::size_t d = 0; d < component.spatial.size(); ++d) {
            const DimSpec& dim = component.spatial[d];
            const spec::Symbols& scope = values_.scope(component);
            const auto fanout =
                static_cast<double>(spec::integer_in(dim.fanout, scope, spec::extent()));
            state.instances *= fanout;
            if (!dim.power_gateable.empty() && dim.power_gateable.truth(scope)) {
                state.gates.push_back({level, static_cast<int>(d), fanout});
            }
        }
    }

    const std::string& compute_;
    const ComponentValues& values_;
    const Path& path_;
    std::vector<Leak> leaks_;
};

}  // namespace

std::vector<FlatNode> flatten(const std::vector<TreeNode>& tree, const std::string& compute) {
    std::vector<FlatNode> result;
    if (!walk(tree, compute, result)) {
        throw UserError("the architecture has no compute '" + compute + "'");
    }
    return result;
}

std::vector<Leak> collect_leaks(const std::vector<TreeNode>& tree, const std::string& compute,
                                const ComponentValues& values, const Path& path) {
    return LeakCollector(compute, values, path).run(tree);
}

}  // namespace tessera::arch
