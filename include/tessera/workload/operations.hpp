// What an Einsum does at a point of its iteration space, and how it accesses a running state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::workload {

/// Operations of one kind at every point.
struct OperationCount {
    std::string kind;  ///< one of operation_kinds()
    double count = 1;

    friend bool operator==(const OperationCount&, const OperationCount&) = default;
};

/// mac, multiply, add, ...: the kinds that Einsums and compute nodes may name, sorted.
const std::vector<std::string>& operation_kinds();

/// "6 mac + 1 add"; empty if the Einsum says nothing.
std::string operations_text(const std::vector<OperationCount>& operations);

/// How an access stands to the running states of an iterative rank. In iteration m the writer makes
/// state m + 1.
enum class StateAccess : std::uint8_t {
    none,      ///< the tensor is no running state
    write,     ///< makes state m + 1 from other tensors
    update,    ///< makes state m + 1 from state m and other tensors
    previous,  ///< reads state m, before its writer makes the next one
    next,      ///< reads state m + 1, after its writer
    last       ///< reads the state after the last iteration
};

}  // namespace tessera::workload
