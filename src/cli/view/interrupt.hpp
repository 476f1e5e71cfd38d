#pragma once

#include <atomic>

namespace tessera::cli {

/// While it lives, signals steer the search:
///   SIGINT, SIGTERM  first: finish and keep the best mapping found; second: end within a second;
///                    third: end at once
///   SIGUSR1          a status line; SIGUSR2: a checkpoint
///   SIGHUP           nothing: the search goes on without its terminal
/// The handlers only set flags; whoever watches the search reads them. One object at a time.
class Interrupt {
public:
    Interrupt();
    ~Interrupt();
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;

    /// Set by the first interrupt, or by request_stop().
    const std::atomic<bool>* stop() const;
    bool happened() const;
    /// How many there were.
    int count() const;
    /// "Ctrl-C" or "SIGTERM": the first one's name; empty before.
    const char* cause() const;
    /// As a first interrupt, without a signal.
    void request_stop();
    /// Whether a status line or a checkpoint was asked for since the last call.
    bool take_status_request();
    bool take_checkpoint_request();
    /// From now on interrupts change flags only, and no alarm ends the process: results are being
    /// written. The third interrupt still ends it at once.
    void hold();
};

}  // namespace tessera::cli
