// Sets of tasks as bits, and the neighbours of every task.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/schedule/dag.hpp"

namespace tessera::schedule {

using Set = std::uint64_t;

constexpr Set bit(int task) {
    return Set{1} << task;
}

/// All tasks of a Dag.
inline Set all_tasks(std::size_t n) {
    return n == 64 ? ~Set{0} : (Set{1} << n) - 1;
}

struct Graph {
    explicit Graph(std::size_t n) : before(n), after(n) {}
    Graph(std::size_t n, const std::vector<Edge>& edges) : Graph(n) {
        for (const Edge& edge : edges) {
            add(edge);
        }
    }
    void add(const Edge& edge) {
        before[edge.to] |= bit(edge.from);
        after[edge.from] |= bit(edge.to);
    }
    int size() const {
        return static_cast<int>(before.size());
    }

    std::vector<Set> before, after;  ///< direct neighbours of each task
};

}  // namespace tessera::schedule
