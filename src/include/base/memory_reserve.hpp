// What is done when the system has no more memory.
#pragma once

namespace tessera::base {

/// While it lives, the first allocation that finds no memory is served from a reserve: what was
/// found can still be written. memory_ran_out() then says that the search should end. Allocations
/// that fail after it throw std::bad_alloc. One object at a time; does nothing if there is no
/// memory for a reserve.
class MemoryReserve {
public:
    MemoryReserve();
    ~MemoryReserve();
    MemoryReserve(const MemoryReserve&) = delete;
    MemoryReserve& operator=(const MemoryReserve&) = delete;
};

/// The reserve is used up. Any thread.
bool memory_ran_out() noexcept;

/// How a search ended that this happened to (mapper::Result::stopped_by).
inline constexpr const char* out_of_memory = "out-of-memory";

}  // namespace tessera::base
