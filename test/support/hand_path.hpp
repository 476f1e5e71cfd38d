// Small Einsums and hardware paths built by hand, for tests of the cost model without files.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tessera/arch/path.hpp"
#include "tessera/mapping/pmapping.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::testing {

/// One access: "Z: m, n" or "I: p + r, c"; the first access of an Einsum is its output.
inline workload::RankAccess rank_access(const std::string& text,
                                        const std::vector<workload::RankVariable>& variables) {
    workload::RankAccess rank;
    std::istringstream in(text);
    std::string word;
    std::int64_t coefficient = 1;
    while (in >> word) {
        if (word == "+") {
            coefficient = 1;
        } else if (word.find_first_not_of("0123456789") == std::string::npos) {
            coefficient = std::stoll(word);
        } else {
            for (std::size_t v = 0; v < variables.size(); ++v) {
                if (variables[v].name == word) {
                    rank.terms.push_back({coefficient, static_cast<int>(v)});
                }
            }
        }
    }
    rank.rank = text;
    return rank;
}

inline std::vector<std::string> parts(const std::string& text, char separator) {
    std::vector<std::string> result;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, separator);) {
        const auto first = part.find_first_not_of(' ');
        const auto last = part.find_last_not_of(' ');
        if (first != std::string::npos) {
            result.push_back(part.substr(first, last - first + 1));
        }
    }
    return result;
}

/// A workload of Einsums given as lists of accesses, for example {{"Z: m, n", "A: m, k", "W: k,
/// n"}}.
inline workload::Workload hand_workload(const std::map<std::string, std::int64_t>& bounds,
                                        const std::vector<std::vector<std::string>>& einsums,
                                        double bits_per_value) {
    workload::Workload result;
    for (const auto& [name, bound] : bounds) {
        result.rank_variables.push_back({name, bound});
    }
    for (std::size_t e = 0; e < einsums.size(); ++e) {
        workload::Einsum einsum;
        einsum.name = "E" + std::to_string(e);
        std::uint64_t used = 0;
        for (const std::string& text : einsums[e]) {
            const std::string name = text.substr(0, text.find(':'));
            workload::TensorAccess access;
            access.tensor = result.find_tensor(name);
            if (access.tensor < 0) {
                access.tensor = static_cast<int>(result.tensors.size());
                workload::Tensor tensor;
                tensor.name = name;
                tensor.bits_per_value = bits_per_value;
                result.tensors.push_back(tensor);
            }
            access.output = einsum.accesses.empty();
            for (const std::string& rank : parts(text.substr(text.find(':') + 1), ',')) {
                access.ranks.push_back(rank_access(rank, result.rank_variables));
                for (const workload::AffineTerm& term : access.ranks.back().terms) {
                    used |= std::uint64_t{1} << term.rank_variable;
                }
            }
            workload::Tensor& tensor = result.tensors[access.tensor];
            (access.output ? tensor.producers : tensor.consumers).push_back(static_cast<int>(e));
            einsum.accesses.push_back(access);
        }
        for (std::size_t v = 0; v < result.rank_variables.size(); ++v) {
            if (used >> v & 1) {
                einsum.rank_variables.push_back(static_cast<int>(v));
            }
        }
        result.einsums.push_back(einsum);
    }
    return result;
}

inline arch::LatencyProgram sum_of_calls(const std::vector<arch::PathAction>& actions) {
    using Op = arch::LatencyProgram::Op;
    arch::LatencyProgram program;
    program.steps.push_back({Op::constant, 0, 0});
    for (std::size_t a = 0; a < actions.size(); ++a) {
        program.steps.push_back({Op::n_calls, 0, static_cast<int>(a)});
        program.steps.push_back({Op::constant, actions[a].throughput_per_s, 0});
        program.steps.push_back({Op::div, 0, 0});
        program.steps.push_back({Op::add, 0, 0});
    }
    return program;
}

/// max(max_hops * hop latency, max_link_traffic / hop throughput).
inline arch::LatencyProgram network_latency(double latency_s, double throughput_per_s) {
    using Op = arch::LatencyProgram::Op;
    arch::LatencyProgram program;
    program.steps = {{Op::max_hops, 0, 0},
                     {Op::constant, latency_s, 0},
                     {Op::mul, 0, 0},
                     {Op::max_link_traffic, 0, 0},
                     {Op::constant, throughput_per_s, 0},
                     {Op::div, 0, 0},
                     {Op::max, 0, 0}};
    return program;
}

/// Builds a path from the outermost level to the compute.
class HandPath {
public:
    HandPath(const workload::Workload& workload, int einsum) {
        path.einsum = workload::view(workload, einsum);
    }

    arch::PathLevel& memory(const std::string& name, double energy_j,
                            double throughput_per_s = std::numeric_limits<double>::infinity()) {
        arch::PathLevel& level = add(arch::LevelKind::memory, name);
        level.actions = {action("read", energy_j, throughput_per_s, level),
                         action("write", energy_j, throughput_per_s, level)};
        level.latency = sum_of_calls(level.actions);
        return level;
    }
    arch::PathLevel& toll(const std::string& name, double energy_j) {
        arch::PathLevel& level = add(arch::LevelKind::toll, name);
        level.direction.assign(path.einsum.tensors.size(), arch::Direction::up_and_down);
        level.actions = {action("read", energy_j, std::numeric_limits<double>::infinity(), level)};
        level.latency = sum_of_calls(level.actions);
        return level;
    }
    arch::PathLevel& network(const std::string& name, arch::Topology topology, double latency_s,
                             double throughput_per_s) {
        arch::PathLevel& level = add(arch::LevelKind::network, name);
        level.topology = topology;
        level.actions_per_value = level.bits_per_value;
        level.actions = {action("hop", 1, throughput_per_s, level)};
        level.latency = network_latency(latency_s, throughput_per_s);
        return level;
    }
    arch::PathLevel& compute(const std::string& name, double energy_j, double throughput_per_s) {
        arch::PathLevel& level = add(arch::LevelKind::compute, name);
        level.actions = {action("compute", energy_j, throughput_per_s, level)};
        level.latency = sum_of_calls(level.actions);
        return level;
    }
    static void fanout(arch::PathLevel& level, const std::string& dim, std::int64_t n) {
        arch::PathDim spatial;
        spatial.name = dim;
        spatial.fanout = n;
        level.spatial.push_back(spatial);
    }

    /// "H DRAM A, W; T m 4; S MAC.X k 1; C": holders, temporal and spatial loops, compute.
    mapping::Pmapping nest(const std::string& text) const {
        mapping::Pmapping nodes;
        std::uint64_t seen = 0;
        for (const std::string& part : parts(text, ';')) {
            std::istringstream in(part);
            std::string kind, first;
            in >> kind >> first;
            mapping::PmappingNode node;
            if (kind == "H") {
                std::string rest;
                std::getline(in, rest);
                for (const std::string& tensor : parts(rest, ',')) {
                    node.level = static_cast<std::int8_t>(level(first));
                    node.kind = path.levels[node.level].kind == arch::LevelKind::toll
                                    ? mapping::NodeKind::toll
                                    : mapping::NodeKind::storage;
                    node.tensor = static_cast<std::int8_t>(path.einsum.find_tensor(tensor));
                    node.backing = !(seen >> node.tensor & 1);
                    seen |= std::uint64_t{1} << node.tensor;
                    nodes.push_back(node);
                }
                continue;
            }
            if (kind == "C") {
                node.level = static_cast<std::int8_t>(path.levels.size() - 1);
                nodes.push_back(node);
                continue;
            }
            node.kind = kind == "T" ? mapping::NodeKind::temporal : mapping::NodeKind::spatial;
            std::string variable = first;
            if (kind == "S") {
                const std::string component = first.substr(0, first.find('.'));
                node.level = static_cast<std::int8_t>(level(component));
                const std::string dim = first.substr(first.find('.') + 1);
                const auto& dims = path.levels[node.level].spatial;
                for (std::size_t d = 0; d < dims.size(); ++d) {
                    node.dim = dims[d].name == dim ? static_cast<std::int8_t>(d) : node.dim;
                }
                in >> variable;
            }
            node.rank_variable = static_cast<std::int8_t>(path.einsum.find_rank_variable(variable));
            in >> node.tile;
            nodes.push_back(node);
        }
        return nodes;
    }

    arch::Path path;

private:
    int level(const std::string& name) const {
        for (std::size_t l = 0; l < path.levels.size(); ++l) {
            if (path.levels[l].name == name) {
                return static_cast<int>(l);
            }
        }
        return -1;
    }
    arch::PathLevel& add(arch::LevelKind kind, const std::string& name) {
        arch::PathLevel level;
        level.kind = kind;
        level.name = name;
        for (const workload::LocalTensor& tensor : path.einsum.tensors) {
            level.bits_per_value.push_back(tensor.bits_per_value);
        }
        path.levels.push_back(level);
        return path.levels.back();
    }
    arch::PathAction action(const std::string& name, double energy_j, double throughput_per_s,
                            const arch::PathLevel& level) const {
        arch::PathAction result;
        result.name = name;
        result.energy_j = energy_j;
        result.throughput_per_s = throughput_per_s;
        for (const double bits : level.bits_per_value) {
            result.values_per_action.push_back(1 / bits);  // one bit per action
        }
        return result;
    }
};

}  // namespace tessera::testing
