// A layer, a machine, and mappings of it as ZigZag writes them.
#pragma once

#include <string>

namespace tessera::testing {

/// Architecture and workload; SIZE stands for the bounds.
inline const std::string zigzag_spec = R"(arch:
  nodes:
  - !Memory
    name: L3
    size: inf
    actions: [{name: read, energy: 16000e-12 / 512, throughput: inf}, {name: write, energy: 24000e-12 / 512, throughput: inf}]
    tensors: {keep: ~Intermediates, may_keep: All}
  - !Memory
    name: L1
    size: 943718
    actions: [{name: read, energy: 0, throughput: inf}, {name: write, energy: 0, throughput: inf}]
    tensors: {may_keep: All}
  - !Container
    name: Rows
    spatial: [{name: D1, fanout: 8}, {name: D3, fanout: 8}]
  - !Memory
    name: Reg
    size: 64
    actions: [{name: read, energy: 0, throughput: inf}, {name: write, energy: 0, throughput: inf}]
    tensors: {may_keep: All}
  - !Container
    name: Lanes
    spatial: [{name: D2, fanout: 8}]
  - !Compute
    name: MAC
    actions: [{name: compute, energy: 0.04e-12, throughput: 1e9}]
workload:
  rank_sizes: {D0: SIZE, D1: SIZE, D2: SIZE}
  bits_per_value: {All: 8}
  einsums:
  - {name: Gemm, tensor_accesses: [{name: I, projection: [d0, d2]}, {name: W, projection: [d2, d1]},
     {name: O, projection: [d0, d1], output: True}]}
)";

/// What ZigZag writes, as far as it is read.
inline std::string zigzag_document(const std::string& temporal, const std::string& spatial) {
    const std::string shared =
        R"x("MemoryLevel(instance=l1,operands=[I1, I2, O], x)", "MemoryLevel(instance=l3,operands=[I1, I2, O], x)"])x";
    return R"x({"outputs": {}, "inputs": {"accelerator": {"mem_hierarchy_dict": {)x"
           R"x("O": ["MemoryLevel(instance=reg,operands=[O], x)", )x" +
           shared + R"x(, "I1": [)x" + shared + R"x(, "I2": [)x" + shared +
           R"x(}}, "layer": {"memory_operand_links": {"O": "O", "W": "I2", "I": "I1"}, )x"
           R"x("user_spatial_mapping": )x" +
           spatial + R"x(}, "temporal_mapping": )x" + temporal + "}}";
}

/// What ZigZag 3.9.1 found for SIZE 128.
inline std::string zigzag_found() {
    const std::string six = R"x("(D1, 4)", "(D2, 4)", "(D0, 4)", "(D2, 4)", "(D1, 4)", "(D0, 4)")x";
    return zigzag_document(
        "{\"O\": [[], [" + six + "], []], \"I\": [[" + six + "], []], \"W\": [[" + six + "], []]}",
        R"({"D1": {"D0": 8}, "D2": {"D2": 8}, "D3": {"D1": 8}})");
}

}  // namespace tessera::testing
