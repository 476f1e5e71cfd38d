// Mappings written in a test and what the legality checker says about them.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "spec/reader.hpp"
#include "support/evaluate_text.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/workload/workload.hpp"

namespace legality_test {

using namespace tessera;
using mapspace::Severity;
using mapspace::Violation;

/// One memory of an architecture text; `more`: further lines at field level.
inline std::string memory(const std::string& name, const std::string& size,
                          const std::string& tensors, const std::string& more = "") {
    return "  - !Memory\n    name: " + name + "\n    size: " + size +
           "\n    leak_power: 0\n    area: 0\n    actions:\n"
           "    - {name: read, energy: 1, throughput: inf}\n"
           "    - {name: write, energy: 1, throughput: inf}\n    tensors: " +
           tensors + "\n" + more;
}

inline std::string machine(const std::string& nodes) {
    return "arch:\n  nodes:\n" + nodes +
           "  - !Compute\n    name: MAC\n    leak_power: 0\n    area: 0\n    actions:\n"
           "    - {name: compute, energy: 1, throughput: 1}\n";
}

/// T1[m,n1] = T0[m,n0] W0[n0,n1], and with `chain` T2[m,n2] = T1[m,n1] W1[n1,n2]; all bounds 8, 1
/// bit.
inline std::string matmuls(bool chain = false) {
    std::string text =
        "workload:\n  iteration_space_shape: {m: 0 <= m < 8, n0: 0 <= n0 < 8, n1: 0 <= n1 < 8";
    text += chain ? ", n2: 0 <= n2 < 8}\n" : "}\n";
    text +=
        "  bits_per_value: {All: 1}\n  einsums:\n  - name: E0\n    tensor_accesses:\n"
        "    - {name: T0, projection: [m, n0]}\n    - {name: W0, projection: [n0, n1]}\n"
        "    - {name: T1, projection: [m, n1], output: True}\n";
    if (chain) {
        text +=
            "  - name: E1\n    tensor_accesses:\n    - {name: T1, projection: [m, n1]}\n"
            "    - {name: W1, projection: [n1, n2]}\n"
            "    - {name: T2, projection: [m, n2], output: True}\n";
    }
    return text;
}

class Case {
public:
    arch::Compat compat = arch::Compat::none;

    Case(const std::string& arch, const std::string& workload)
        : architecture_(testing::architecture_of(arch)),
          workload_(testing::workload_of(workload)) {}

    model::Problem problem() const {
        return {&workload_, &architecture_, compat};
    }
    /// `nodes`: one node a line, without the leading "- "; ">" and "<" open and close a branch of a
    /// split.
    static mapping::Mapping mapping(const std::vector<std::string>& nodes) {
        std::string text = "mapping:\n  nodes:\n", indent = "  ";
        for (const std::string& node : nodes) {
            if (node == "split") {
                text += indent + "- !Sequential\n" + indent + "  nodes:\n";
                indent += "  ";
            } else if (node == ">") {
                text += indent + "- !Nested\n" + indent + "  nodes:\n";
                indent += "  ";
            } else if (node == "<") {
                indent.resize(indent.size() - 2);
            } else {
                text += indent + "- " + node + "\n";
            }
        }
        return mapping::read_mapping(*spec::read_text(text, "mapping.yaml").find("mapping"));
    }
    std::vector<Violation> violations(const std::vector<std::string>& nodes,
                                      const mapspace::MapSpaceOptions* options = nullptr) const {
        return mapspace::check(problem(), mapping(nodes), options);
    }
    /// Codes of all violations, each once, sorted, separated by blanks.
    std::string codes(const std::vector<std::string>& nodes,
                      const mapspace::MapSpaceOptions* options = nullptr) const {
        std::vector<std::string> found;
        for (const Violation& violation : violations(nodes, options)) {
            found.push_back(violation.code);
        }
        std::sort(found.begin(), found.end());
        found.erase(std::unique(found.begin(), found.end()), found.end());
        std::string text;
        for (const std::string& code : found) {
            text += (text.empty() ? "" : " ") + code;
        }
        return text;
    }

private:
    arch::Architecture architecture_;
    workload::Workload workload_;
};

inline std::string store(const std::string& tensors, const std::string& memory) {
    return "!Storage {tensors: [" + tensors + "], component: " + memory + "}";
}
inline std::string loop(const std::string& variable, int tile) {
    return "!Temporal {rank_variable: " + variable + ", tile_shape: " + std::to_string(tile) + "}";
}
inline std::string array(const std::string& variable, int tile, const std::string& memory,
                         const std::string& dim = "X") {
    return "!Spatial {rank_variable: " + variable + ", tile_shape: " + std::to_string(tile) +
           ", name: " + dim + ", component: " + memory + "}";
}
inline std::string compute(const std::string& einsum) {
    return "!Compute {einsum: " + einsum + ", component: MAC}";
}

}  // namespace legality_test
