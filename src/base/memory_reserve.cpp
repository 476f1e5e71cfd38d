#include "base/memory_reserve.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <new>

namespace tessera::base {
namespace {

/// Enough for the mappings, reports and files of the largest problems; pages that nobody writes to
/// cost no memory.
constexpr std::size_t reserve_bytes = std::size_t{16} << 20;

std::atomic<void*> reserve{nullptr};
std::atomic<bool> ran_out{false};

bool give_back() {
    void* const block = reserve.exchange(nullptr);
    if (block != nullptr) {
        ::munmap(block, reserve_bytes);
    }
    return block != nullptr;
}

void on_no_memory() {
    ran_out = true;
    if (!give_back()) {
        throw std::bad_alloc();
    }
}

}  // namespace

MemoryReserve::MemoryReserve() {
    ran_out = false;
    void* const block =
        ::mmap(nullptr, reserve_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block != MAP_FAILED) {
        reserve = block;
        std::set_new_handler(on_no_memory);
    }
}

MemoryReserve::~MemoryReserve() {
    std::set_new_handler(nullptr);
    give_back();
}

bool memory_ran_out() noexcept {
    return ran_out;
}

}  // namespace tessera::base
