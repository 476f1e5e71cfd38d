#include "telemetry/events.hpp"

#include "tessera/base/json.hpp"

namespace tessera::telemetry {

namespace {

using base::Json;

std::string line(const Json& json) {
    return json.dump() + "\n";
}

Json number(const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
}

void add_incumbent(Json& json, const Incumbent& found) {
    json["value"] = found.value;
    json["energy_j"] = found.energy_j;
    json["latency_s"] = found.latency_s;
    json["found_by"] = found.found_by;
    json["detail"] = found.detail;
    json["worker"] = found.worker;
    json["evaluated"] = found.evaluated;
    json["cpu_s"] = found.cpu_s;
    if (found.charged > 0) {
        json["charged"] = found.charged;
    }
}

void add_figures(Json& json, const Snapshot& s) {
    json["state"] = name(s.state);
    json["stop_reason"] = s.stop_reason;
    json["generated"] = s.funnel.generated;
    json["evaluated"] = s.funnel.evaluated;
    json["rate_per_s"] = s.rate_per_s;
    json["best"] = number(s.best);
    json["bound"] = number(s.bound);
    json["gap"] = number(s.gap);
    json["memory_bytes"] = s.memory_bytes;
    for (const PhaseView& phase : s.phases) {
        if (phase.active) {
            json["phase"] = phase.name;
            json["done"] = phase.done;
            json["total"] = phase.total;
        }
    }
}

}  // namespace

std::string event_line(const Event& event) {
    static constexpr const char* kinds[] = {"phase", "incumbent", "bound", "log", "checkpoint"};
    static constexpr const char* levels[] = {"info", "warning", "error"};
    Json json;
    json["event"] = kinds[static_cast<std::size_t>(event.kind)];
    json["time_s"] = event.time_s;
    switch (event.kind) {
        case Event::Kind::phase:
            json["phase"] = event.text;
            break;
        case Event::Kind::incumbent:
            add_incumbent(json, *event.incumbent);
            break;
        case Event::Kind::bound:
            json["value"] = event.value;
            break;
        case Event::Kind::log:
            json["level"] = levels[static_cast<std::size_t>(event.level)];
            json["text"] = event.text;
            break;
        case Event::Kind::checkpoint:
            break;
    }
    return line(json);
}

std::string status_line(const Snapshot& snapshot) {
    Json json;
    json["event"] = "status";
    json["time_s"] = snapshot.elapsed_s;
    add_figures(json, snapshot);
    return line(json);
}

std::string state_line(const std::string& event, const Snapshot& snapshot) {
    Json json;
    json["event"] = event;
    json["time_s"] = snapshot.elapsed_s;
    json["run"] = snapshot.run.id;
    json["pid"] = snapshot.run.pid;
    json["host"] = snapshot.run.host;
    add_figures(json, snapshot);
    return line(json);
}

}  // namespace tessera::telemetry
