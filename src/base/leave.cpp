#include "base/leave.hpp"

#include <atomic>
#include <mutex>
#include <vector>

#include "base/memory_reserve.hpp"

namespace tessera::base {
namespace {

std::atomic<bool> ends{false};
std::mutex lock;

/// Never destroyed itself.
std::vector<std::shared_ptr<void>>& kept() {
    static auto* const all = new std::vector<std::shared_ptr<void>>;
    return *all;
}

}  // namespace

void end_process_after_search() noexcept {
    ends = true;
}

std::size_t objects_left() noexcept {
    const std::lock_guard guard(lock);
    return kept().size();
}

namespace detail {

bool process_ends() noexcept {
    // Without memory even the result could not be written.
    return ends && !memory_ran_out();
}

void keep_to_end(std::shared_ptr<void> object) {
    const std::lock_guard guard(lock);
    kept().push_back(std::move(object));
}

}  // namespace detail
}  // namespace tessera::base
