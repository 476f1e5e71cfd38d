// The dashboard of a search in the search's own process: `tessera map --ui=tui`.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <thread>

#include "dashboard/viewer.hpp"
#include "telemetry/sampler.hpp"

namespace tessera::dashboard {

/// Draws in a thread of its own, which owns the terminal and never holds a lock that workers need.
/// The terminal is given back by finish(), the destructor, the key `d`, and every other end.
class TuiSink : public telemetry::Sink {
public:
    /// `control` must outlive it. \throws UserError if there is no terminal to draw on.
    explicit TuiSink(telemetry::RunControl& control);
    ~TuiSink() override;

    std::string name() const override {
        return "dashboard";
    }
    /// \throws what ended the drawing thread, once.
    void update(const telemetry::SnapshotPtr& snapshot,
                const std::vector<telemetry::Event>& events) override;
    void finish(const telemetry::SnapshotPtr& snapshot,
                const std::vector<telemetry::Event>& events) override;
    /// The user closed the view; the search goes on. Any thread.
    bool closed() const noexcept {
        return ended_.load();
    }

private:
    void end();

    std::unique_ptr<Terminal> terminal_;
    Viewer viewer_;
    std::atomic<bool> ended_{false};
    std::exception_ptr failure_;  ///< written before ended_ is set
    std::jthread thread_;
};

}  // namespace tessera::dashboard
