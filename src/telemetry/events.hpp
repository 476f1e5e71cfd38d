// Events as lines of JSON: events.jsonl and --ui=json.
#pragma once

#include <string>

#include "telemetry/snapshot.hpp"

namespace tessera::telemetry {

/// {"event": "incumbent", "time_s": 1.5, ...} and a line end. Checkpoints without their state.
std::string event_line(const Event& event);
/// {"event": "status", ...}: the figures that move, for those who follow lines only.
std::string status_line(const Snapshot& snapshot);
/// {"event": "start"|"resume"|"end", ...}
std::string state_line(const std::string& event, const Snapshot& snapshot);

}  // namespace tessera::telemetry
