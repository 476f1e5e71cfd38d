#pragma once

#include <atomic>

namespace tessera::cli {

/// While it lives, Ctrl-C asks the search to stop: once to finish and keep the best mapping found,
/// twice to end within a second, three times to end at once. One at a time.
class Interrupt {
public:
    Interrupt();
    ~Interrupt();
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;

    const std::atomic<bool>* stop() const;
    bool happened() const;
};

}  // namespace tessera::cli
