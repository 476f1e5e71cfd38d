// The checks behind check(), see tessera/mapspace/legality.hpp.
//
//   read_leaves()        one chain of nodes per Einsum, structure of the tree  (legality_tree.cpp)
//   check_nest()         tile shapes, unit loops, fan-outs, order of holders   (legality_nest.cpp)
//   check_states()       running states                                      (legality_states.cpp)
//   check_constraints()  keep, reuse, loop bounds, ...  (legality_storage.cpp, legality_loops.cpp)
//   check_member()       the rest of the mapspace's rules              (legality_member.cpp)
//   check_exchange()     who reads what when                               (legality_exchange.cpp)
//   check_capacity()     bits in every memory at every time                (legality_capacity.cpp)
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tessera/mapspace/legality.hpp"

namespace tessera::mapspace::legality {

enum class Kind : std::uint8_t { storage, toll, temporal, spatial };

/// One node as one Einsum sees it; indices are local to the Einsum's path.
struct Node {
    Kind kind = Kind::storage;
    const mapping::TreeNode* tree = nullptr;
    int tensor = -1, level = -1, dim = -1, variable = -1;
    std::int64_t outer = 1, tile = 1, trips = 1;  ///< loops; trips are rounded up
    /// Of a loop with a prologue: its first tile has so many values more, and all iterations
    /// advance by `base` values together. Else 0.
    std::int64_t prologue = 0, base = 0;
    int previous = -1;   ///< next outer loop over the same variable
    bool first = false;  ///< outermost holder of its tensor

    bool loop() const {
        return kind == Kind::temporal || kind == Kind::spatial;
    }
    bool holder() const {
        return !loop();
    }
};

/// One Einsum with its chain from the root.
struct Leaf {
    Leaf(int e, const arch::Path& p) : einsum(e), path(p) {}

    int einsum;
    const arch::Path& path;
    std::vector<Node> nodes;
    const mapping::TreeNode* compute = nullptr;

    const workload::EinsumView& view() const {
        return path.einsum;
    }
    const workload::LocalTensor& tensor(const Node& node) const {
        return view().tensors[node.tensor];
    }
    const arch::PathLevel& level(const Node& node) const {
        return path.levels[node.level];
    }
    const std::string& variable(const Node& node) const {
        return view().rank_variables[node.variable].name;
    }
    int first_holder(int tensor) const;                ///< node index or -1
    int node_of(const mapping::TreeNode* tree) const;  ///< first node read from it, or -1
    /// The loop with which the line buffer at this node moves; -1 if it is no line buffer.
    int line_buffer_loop(int holder) const;
    /// Node indices of the loops that enclose the holder as its own tensor sees it: temporal loops
    /// above it, and spatial loops of its level or an outer one wherever they are written.
    std::vector<int> loops_around(int holder) const;
};

struct Checker {
    const model::Problem& problem;
    const mapping::Mapping& mapping;
    const MapSpaceOptions* options;
    const std::shared_ptr<arch::Paths> paths = problem.paths_or_new();
    std::vector<std::unique_ptr<Leaf>> leaves = {};  ///< execution order
    std::vector<Violation> found = {};

    const workload::Workload& workload() const {
        return *problem.workload;
    }
    Violation& add(const char* code, Severity severity, const std::string& message,
                   const Leaf* leaf = nullptr, const Node* node = nullptr);

    void read_leaves();
    void check_nest(const Leaf& leaf);
    void check_states(const Leaf& leaf);
    void check_constraints(const Leaf& leaf);
    void check_member(const Leaf& leaf);
    void check_einsum_order();
    void check_exchange();
    void check_capacity();
    std::map<std::string, double> peak_bits();
};

std::string in_quotes(const std::string& name);
std::string number(double value);
/// "'p' (8 -> 4)": variable, enclosing tile, own tile.
std::string loop_text(const Leaf& leaf, const Node& node);

}  // namespace tessera::mapspace::legality
