// Small hand-built paths for the tests of templates and legality.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tessera/arch/path.hpp"

namespace template_test {

using tessera::arch::LevelKind;
using tessera::arch::Path;
using tessera::arch::PathDim;
using tessera::arch::PathLevel;

/// One rank of a tensor: the sum of these variables, each with a coefficient.
using Rank = std::vector<std::pair<std::string, int>>;

struct TensorText {
    std::string name;
    std::vector<Rank> ranks;
    bool output = false;
    bool intermediate = false;  ///< also shared with another Einsum
};

inline tessera::spec::Expression set(const std::string& text) {
    return tessera::spec::Expression::parse_text(text, {});
}

/// Tensors and variables must be given in sorted order.
class PathBuilder {
public:
    PathBuilder(std::vector<std::pair<std::string, int>> variables,
                std::vector<TensorText> tensors) {
        auto& einsum = path.einsum;
        einsum.name = "E";
        for (const auto& [name, bound] : variables) {
            einsum.rank_variables.push_back(
                {name, static_cast<int>(einsum.rank_variables.size()), bound, true, {}});
        }
        for (const TensorText& text : tensors) {
            add(text);
        }
        universe();
    }

    PathLevel& memory(const std::string& name) {
        return level(name, LevelKind::memory);
    }
    PathLevel& level(const std::string& name, LevelKind kind) {
        PathLevel& level = path.levels.emplace_back();
        level.kind = kind;
        level.name = name;
        level.bits_per_value.assign(path.einsum.tensors.size(), 1);
        return level;
    }
    /// Appends the compute and computes the cumulative fan-outs.
    const Path& finish() {
        level("MAC", LevelKind::compute);
        double fanout = 1;
        for (PathLevel& level : path.levels) {
            for (const PathDim& dim : level.spatial) {
                fanout *= static_cast<double>(dim.fanout);
            }
            level.cumulative_fanout = fanout;
        }
        return path;
    }
    static PathDim dim(const std::string& name, int fanout) {
        PathDim dim;
        dim.name = name;
        dim.fanout = fanout;
        return dim;
    }

    Path path;

private:
    void add(const TensorText& text) {
        auto& einsum = path.einsum;
        auto& tensor = einsum.tensors.emplace_back();
        tensor.name = text.name;
        tensor.tensor = static_cast<int>(einsum.tensors.size()) - 1;
        tensor.output = text.output;
        tensor.intermediate = tensor.fusable = text.intermediate;
        tensor.bits_per_value = 1;
        tensor.relevancy.assign(einsum.rank_variables.size(),
                                tessera::workload::Relevancy::irrelevant);
        tensor.rank_of_variable.assign(einsum.rank_variables.size(), -1);
        std::uint64_t seen = 0;
        for (std::size_t r = 0; r < text.ranks.size(); ++r) {
            tessera::workload::RankAccess access;
            access.rank = "R" + std::to_string(r);
            for (const auto& [name, coefficient] : text.ranks[r]) {
                const int v = einsum.find_rank_variable(name);
                access.terms.push_back({coefficient, v});
                const std::uint64_t bit = std::uint64_t{1} << v;
                const bool alone = text.ranks[r].size() == 1;
                if (!(seen & bit)) {
                    (alone ? tensor.relevant : tensor.partially_relevant) |= bit;
                    tensor.relevancy[v] = alone ? tessera::workload::Relevancy::relevant
                                                : tessera::workload::Relevancy::partially_relevant;
                }
                seen |= bit;
                if (alone && coefficient == 1) {
                    tensor.directly_indexing |= bit;
                    tensor.rank_of_variable[v] = static_cast<int>(r);
                } else {
                    einsum.rank_variables[v].simple = false;
                }
            }
            tensor.ranks.push_back(access);
        }
        tensor.expression_indexing = seen & ~tensor.directly_indexing;
    }

    void universe() {
        auto u = std::make_shared<tessera::spec::SetUniverse>();
        std::uint64_t inputs = 0, outputs = 0, intermediates = 0, all = 0;
        for (const auto& t : path.einsum.tensors) {
            const std::uint64_t bit = std::uint64_t{1} << u->tensors.size();
            u->tensors.push_back(t.name);
            u->rank_variables_of.push_back(t.relevant | t.partially_relevant);
            u->bits_per_value.push_back(1);
            (t.output ? outputs : inputs) |= bit;
            intermediates |= t.intermediate ? bit : 0;
            all |= bit;
            path.symbols.set(t.name, tessera::spec::TensorSet{bit});
        }
        for (const auto& v : path.einsum.rank_variables) {
            u->rank_variables.push_back(v.name);
        }
        path.symbols.set_universe(u);
        using tessera::spec::TensorSet;
        path.symbols.set("All", TensorSet{all});
        path.symbols.set("Nothing", TensorSet{0});
        path.symbols.set("Inputs", TensorSet{inputs});
        path.symbols.set("Outputs", TensorSet{outputs});
        path.symbols.set("Intermediates", TensorSet{intermediates});
    }
};

/// T1[m,n1] = T0[m,n0] * W0[n0,n1]; T1 read by another Einsum if `fused`.
inline PathBuilder matmul(bool fused = false, int m = 8, int n0 = 8, int n1 = 8) {
    return PathBuilder({{"m", m}, {"n0", n0}, {"n1", n1}},
                       {{"T0", {{{"m", 1}}, {{"n0", 1}}}},
                        {"T1", {{{"m", 1}}, {{"n1", 1}}}, true, fused},
                        {"W0", {{{"n0", 1}}, {{"n1", 1}}}}});
}

}  // namespace template_test
