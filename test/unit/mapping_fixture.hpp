// A small cascade and a machine with every kind of node, for tests of the mapping layer.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "spec/reader.hpp"
#include "tessera/arch/architecture.hpp"
#include "tessera/mapping/mapping.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::mapping_test {

// K is made over m and read over p, as in attention; C reads I again.
inline constexpr const char* workload_text = R"(
workload:
  rank_sizes: {M: 8, D: 4, E: 6, P: 8}
  bits_per_value: {All: 8}
  einsums:
  - {name: K, tensor_accesses: [{name: I, projection: [m, d]}, {name: W, projection: [d, e]},
     {name: K, projection: [m, e], output: True}]}
  - {name: QK, tensor_accesses: [{name: Q, projection: [m, e]}, {name: K, projection: {M: p, E: e}},
     {name: S, projection: [m, p], output: True}]}
  - {name: A, tensor_accesses: [{name: S, projection: [m, p]}, {name: I, projection: {M: p, D: d}},
     {name: O, projection: [m, d], output: True}]}
)";

inline constexpr const char* arch_text = R"(
arch:
  nodes:
  - !Memory
    name: Main
    size: inf
    actions: [{name: read, energy: 1, throughput: inf}, {name: write, energy: 1, throughput: inf}]
  - !Toll
    name: Link
    direction: up_and_down
    actions: [{name: read, energy: 1, throughput: inf}]
  - !Memory
    name: Buffer
    size: 1e9
    spatial: [{name: X, fanout: 8}, {name: Y, fanout: 8}]
    actions: [{name: read, energy: 1, throughput: inf}, {name: write, energy: 1, throughput: inf}]
  - !Memory
    name: Local
    size: 1e9
    actions: [{name: read, energy: 1, throughput: inf}, {name: write, energy: 1, throughput: inf}]
  - !Compute
    name: MAC
    actions: [{name: compute, energy: 1, throughput: 1}]
)";

struct Fixture {
    workload::Workload workload;
    arch::Architecture architecture = architecture_of(arch_text);

    Fixture() {
        const auto path = std::filesystem::temp_directory_path() /
                          ("tessera-mapping-" + std::to_string(::getpid()) + ".yaml");
        std::ofstream(path) << workload_text;
        workload = workload::load_workload(path.string(), {});
        std::filesystem::remove(path);
    }

    static arch::Architecture architecture_of(const std::string& text) {
        spec::Node root = spec::read_text(text, "arch.yaml");
        spec::assign_paths(root);
        return arch::Architecture(root, {});
    }
};

inline mapping::Mapping mapping_of(const std::string& text) {
    spec::Node root = spec::read_text(text, "m.yaml");
    spec::assign_paths(root);
    return mapping::read_mapping(*root.find("mapping"));
}

}  // namespace tessera::mapping_test
