#pragma once

namespace tessera::cli {

/// A handler for std::terminate: says what was thrown, and in which plugin's call (in a destructor,
/// or on a thread of the plugin's own); gives the terminal back and ends the process with the exit
/// code that the error would have had.
[[noreturn]] void report_uncaught() noexcept;

}  // namespace tessera::cli
