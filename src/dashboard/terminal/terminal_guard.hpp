// The part of the terminal that works inside signal handlers: plain data and system calls only.
#pragma once

#include <termios.h>

#include <string>

namespace tessera::dashboard::guard {

/// Remembers how the terminal was and catches fatal signals, stop and continue, and new sizes.
/// `tty`: the terminal. `leave`: what to write to it at the end.
void begin(int tty, const std::string& leave);
/// Catches what is written to stdout and stderr as far as these are terminals.
void catch_output();
/// What was caught since the last call; it is kept for the end as well.
std::string read_caught();
/// Gives everything back, signal handlers too, and writes to stderr what was caught (the first 64
/// KiB and what nobody has read).
void end();

/// Gives the terminal and the two streams back. Inside signal handlers too, more than once.
void restore() noexcept;

/// Read ends to poll: something to do (a byte each), output of others; -1: none.
int wake_fd();
int caught_fd();
void wake() noexcept;

/// True once after each of these signals.
bool take_resized() noexcept;
bool take_continued() noexcept;
void set_mouse(bool on) noexcept;

}  // namespace tessera::dashboard::guard
