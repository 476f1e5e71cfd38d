// The templates of an Einsum as a tree: from the innermost holder outwards, one holder a step.
//
// A node says which holders stand innermost, in which order, and nothing about those further out.
// Its relaxation is a set of templates in which the outermost memory stands for all that may still
// stand above: it never overflows, takes no time, and a value costs what the cheapest of these
// memories asks for it. No template below the node costs less (docs/ffm-proofs.md, 2.33).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "tessera/mapspace/template.hpp"

namespace tessera::mapspace {

/// Thread rule: calls of const functions from several threads at once are safe.
class TemplateTree {
public:
    struct Holder {
        std::int8_t tensor = 0, level = 0;
        bool backing = false;  ///< no memory further out holds the tensor
    };
    using Node = std::vector<Holder>;  ///< innermost first
    using Sink = std::function<void(Template&&)>;

    /// Path and options must outlive it.
    TemplateTree(const arch::Path& path, const MapSpaceOptions& options);
    ~TemplateTree();
    TemplateTree(const TemplateTree&) = delete;
    TemplateTree& operator=(const TemplateTree&) = delete;

    /// Whether templates of this Einsum can be made so: one chain of memories in their order,
    /// nothing but whole tiles in them, no copies or running states, and persistent tensors in the
    /// outermost memory alone.
    bool applies() const;

    /// The node with one more holder, in every way.
    std::vector<Node> children(const Node& node) const;

    /// The hardware of relaxations of nodes whose outermost holder stands at the level; -1: there
    /// is none.
    const arch::Path& relaxed_path(int level) const;
    static int top(const Node& node) {
        return node.empty() ? -1 : node.back().level;
    }
    /// On relaxed_path(top(node)). None: no template is below the node. `key`: equal for nodes
    /// whose holders differ in an order alone that changes nothing.
    void relaxation(const Node& node, const Sink& sink, std::string& key) const;

    /// What passes from the memories outside a level to those inside it: a memory without bounds
    /// and, for all that is inside, one that has as much room as these have together. Its templates
    /// for TemplateTree::crossing_options() cost, beside `rest_j`, no more energy than by how much
    /// the memories outside are dearer than the level itself, for what passes in any mapping. None
    /// if that is nothing, or not known.
    struct Crossing {
        arch::Path path;
        double rest_j = 0;  ///< of tensors that `path` leaves out
    };
    std::optional<Crossing> crossing(int level) const;
    /// The same for the time of the outermost memory: no mapping takes less than its templates. Of
    /// the largest tensors that have to be there.
    std::optional<arch::Path> outermost_time() const;
    static MapSpaceOptions crossing_options();

    /// Templates of which the node has all holders but those of the outermost memory, in families:
    /// no member costs less than the convex bound of the template that stands for all of them.
    /// `members` calls its argument with each, until that returns false.
    using Members = std::function<void(const std::function<bool(Template&&)>&)>;
    using Families = std::function<void(const Template& all, const Members& members)>;
    void complete(const Node& node, const Families& sink) const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::mapspace
