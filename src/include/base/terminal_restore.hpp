// The way back to a usable terminal for code that is about to end the process from a signal handler
// and knows nothing of the dashboard.
#pragma once

namespace tessera::base {

/// What restore_terminal() calls; null: nothing. Must be safe inside a signal handler.
void set_terminal_restore(void (*restore)()) noexcept;

/// Gives the terminal back if a dashboard owns it. May be called from signal handlers, at any time
/// and more than once.
void restore_terminal() noexcept;

}  // namespace tessera::base
