#include "base/terminal_restore.hpp"

#include <atomic>

namespace tessera::base {

namespace {

std::atomic<void (*)()> hook{nullptr};
static_assert(std::atomic<void (*)()>::is_always_lock_free);

}  // namespace

void set_terminal_restore(void (*restore)()) noexcept {
    hook.store(restore);
}

void restore_terminal() noexcept {
    if (void (*restore)() = hook.load()) {
        restore();
    }
}

}  // namespace tessera::base
