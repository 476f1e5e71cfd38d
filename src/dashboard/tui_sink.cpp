#include "dashboard/tui_sink.hpp"

#include <utility>

namespace tessera::dashboard {

namespace {

View owner_view() {
    View view = initial_view();
    view.owner = true;
    return view;
}

}  // namespace

TuiSink::TuiSink(telemetry::RunControl& control)
    : terminal_(std::make_unique<Terminal>()),
      viewer_(owner_view(), {[&control] { control.stop("asked for in the dashboard"); },
                             [&control] { control.checkpoint(); }}),
      thread_([this] {
          try {
              viewer_.run(*terminal_);
          } catch (...) {
              failure_ = std::current_exception();
          }
          // The terminal goes back as soon as the view is closed, not when the search ends.
          terminal_.reset();
          ended_.store(true);
      }) {}

TuiSink::~TuiSink() {
    end();
}

void TuiSink::end() {
    viewer_.close();
    if (thread_.joinable()) {
        thread_.join();
    }
}

void TuiSink::update(const telemetry::SnapshotPtr& snapshot,
                     const std::vector<telemetry::Event>& /*events*/) {
    viewer_.publish(snapshot);
    if (ended_.load() && failure_) {
        std::rethrow_exception(std::exchange(failure_, nullptr));
    }
}

void TuiSink::finish(const telemetry::SnapshotPtr& /*snapshot*/,
                     const std::vector<telemetry::Event>& /*events*/) {
    end();
}

}  // namespace tessera::dashboard
