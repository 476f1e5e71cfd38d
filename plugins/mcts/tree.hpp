// A search tree over the tile shapes of structures, in flat arrays.
#pragma once

#include <cmath>
#include <cstdint>
#include <istream>
#include <limits>
#include <ostream>
#include <vector>

#include "tessera/search/rng.hpp"

namespace tessera::search::mcts {

struct Child {
    std::int64_t value = 0;
    std::uint32_t node = 0;
};

struct Node {
    std::uint64_t visits = 0;
    double mean = 0;  ///< of the rewards
    bool expanded = false;
    bool closed = false;  ///< all below it has been evaluated
    std::vector<Child> children;
};

class Tree {
public:
    std::uint32_t add() {
        nodes_.emplace_back();
        return static_cast<std::uint32_t>(nodes_.size() - 1);
    }
    Node& operator[](std::uint32_t node) {
        return nodes_[node];
    }
    const Node& operator[](std::uint32_t node) const {
        return nodes_[node];
    }
    std::size_t size() const {
        return nodes_.size();
    }
    void clear() {
        nodes_.clear();
    }

    /// Of the children that are not closed: one that was never visited, else the one of largest
    /// upper confidence bound. Null: all are closed.
    const Child* select(const std::vector<Child>& children, std::uint64_t visits,
                        double exploration, Rng& rng) const {
        const Child* best = nullptr;
        double bound = -std::numeric_limits<double>::infinity();
        std::uint64_t fresh = 0;
        for (const Child& child : children) {
            const Node& node = nodes_[child.node];
            if (node.closed) {
                continue;
            }
            if (node.visits == 0) {
                ++fresh;
                best = rng.below(fresh) == 0 ? &child : best;
                continue;
            }
            if (fresh > 0) {
                continue;
            }
            const double n = static_cast<double>(node.visits);
            const double own =
                node.mean +
                exploration * std::sqrt(std::log(static_cast<double>(visits < 1 ? 1 : visits)) / n);
            if (best == nullptr || own > bound) {
                bound = own;
                best = &child;
            }
        }
        return best;
    }

    void reward(const std::vector<std::uint32_t>& path, double reward) {
        for (const std::uint32_t i : path) {
            Node& node = nodes_[i];
            node.mean += (reward - node.mean) / static_cast<double>(++node.visits);
        }
    }

    /// The end of a path is done with: so is what has nothing else below it.
    void close(const std::vector<std::uint32_t>& path) {
        for (std::size_t i = path.size(); i-- > 0;) {
            Node& node = nodes_[path[i]];
            if (i + 1 < path.size()) {
                for (const Child& child : node.children) {
                    if (!nodes_[child.node].closed) {
                        return;
                    }
                }
            }
            node.closed = true;
            std::vector<Child>().swap(node.children);
        }
    }

    void save(std::ostream& out) const {
        out << nodes_.size() << '\n';
        for (const Node& node : nodes_) {
            out << node.visits << ' ' << node.mean << ' ' << node.expanded << ' ' << node.closed
                << ' ' << node.children.size();
            for (const Child& child : node.children) {
                out << ' ' << child.value << ' ' << child.node;
            }
            out << '\n';
        }
    }

    bool restore(std::istream& in) {
        std::size_t n = 0;
        nodes_.clear();
        if (!(in >> n)) {
            return false;
        }
        for (std::size_t i = 0; i < n; ++i) {
            Node node;
            std::size_t children = 0;
            if (!(in >> node.visits >> node.mean >> node.expanded >> node.closed >> children)) {
                return false;
            }
            for (std::size_t c = 0; c < children; ++c) {
                Child child;
                if (!(in >> child.value >> child.node) || child.node >= n) {
                    return false;
                }
                node.children.push_back(child);
            }
            nodes_.push_back(std::move(node));
        }
        return true;
    }

private:
    std::vector<Node> nodes_;
};

}  // namespace tessera::search::mcts
