// Snapshots as JSON, both ways from one list of fields a type.
#include <cmath>
#include <stdexcept>
#include <type_traits>

#include "base/parsed_json.hpp"
#include "telemetry/snapshot.hpp"
#include "tessera/base/error.hpp"

namespace tessera::telemetry {

namespace {

using base::Json;
using base::ParsedJson;

// One list of fields a type: `f` is a Writer or a Reader.
template <class F, class T>
void fields(F& f, T& v) requires std::is_same_v<std::remove_const_t<T>, RunIdentity> {
    f("id", v.id), f("directory", v.directory), f("workload", v.workload);
    f("architecture", v.architecture), f("mapper", v.mapper), f("model", v.model);
    f("metrics", v.metrics), f("unit", v.unit), f("version", v.version), f("host", v.host);
    f("started", v.started), f("pid", v.pid), f("threads", v.threads), f("seed", v.seed);
    f("command", v.command);
}
template <class F, class T>
void fields(F& f, T& v) requires std::is_same_v<std::remove_const_t<T>, PhaseView> {
    f("name", v.name), f("unit", v.unit), f("done", v.done), f("total", v.total);
    f("seconds", v.seconds), f("passes", v.passes), f("active", v.active);
}
template <class F, class T>
void fields(F& f, T& v) requires std::is_same_v<std::remove_const_t<T>, WorkerView> {
    f("id", v.id), f("source", v.source), f("state", v.state), f("einsum", v.einsum);
    f("item", v.item), f("generated", v.generated), f("evaluated", v.evaluated);
    f("rate_per_s", v.rate_per_s), f("quiet_s", v.quiet_s), f("improved", v.improved);
    f("best", v.best), f("age_s", v.age_s);
}
template <class F, class T>
void fields(F& f, T& v) requires std::is_same_v<std::remove_const_t<T>, FunnelView> {
    f("generated", v.generated), f("evaluated", v.evaluated), f("improved", v.improved);
    f("rejected", v.rejected);
}
template <class F, class T>
void fields(F& f, T& v) requires std::is_same_v<std::remove_const_t<T>, IncumbentView> {
    f("time_s", v.time_s), f("value", v.value), f("energy_j", v.energy_j);
    f("latency_s", v.latency_s), f("found_by", v.found_by), f("detail", v.detail);
    f("worker", v.worker), f("evaluated", v.evaluated);
}
template <class F, class T>
void fields(F& f, T& v) requires std::is_same_v<std::remove_const_t<T>, Step> {
    f("time_s", v.time_s), f("value", v.value);
}
template <class F, class T>
void fields(F& f, T& v) requires std::is_same_v<std::remove_const_t<T>, ContenderView> {
    f("name", v.name), f("search", v.search), f("state", v.state), f("ending", v.ending);
    f("elapsed_s", v.elapsed_s), f("best", v.best), f("gap", v.gap), f("bound_gap", v.bound_gap);
    f("time_to_best_s", v.time_to_best_s), f("evaluated", v.evaluated);
    f("improved", v.improved), f("rate_per_s", v.rate_per_s), f("history", v.history);
}
template <class F, class T>
void fields(F& f, T& v) requires std::is_same_v<std::remove_const_t<T>, EinsumView> {
    f("name", v.name), f("templates_done", v.templates_done);
    f("templates_total", v.templates_total), f("pareto", v.pareto), f("joined", v.joined);
}
template <class F, class T>
void fields(F& f, T& v) requires std::is_same_v<std::remove_const_t<T>, PointView> {
    f("energy_j", v.energy_j), f("latency_s", v.latency_s);
}
template <class F, class T>
void fields(F& f, T& v) requires std::is_same_v<std::remove_const_t<T>, PluginView> {
    f("kind", v.kind), f("name", v.name), f("version", v.version), f("file", v.file);
    f("state", v.state), f("knobs", v.knobs);
}
template <class F, class T>
void fields(F& f, T& v) requires std::is_same_v<std::remove_const_t<T>, LogView> {
    f("time_s", v.time_s), f("level", v.level), f("text", v.text);
}
template <class F, class T>
void fields(F& f, T& v) requires std::is_same_v<std::remove_const_t<T>, BudgetView> {
    f("name", v.name), f("unit", v.unit), f("used", v.used), f("limit", v.limit);
    f("fraction", v.fraction);
}
template <class F, class T>
void fields(F& f, T& v) requires std::is_same_v<std::remove_const_t<T>, FieldView> {
    f("name", v.name), f("unit", v.unit), f("value", v.value);
}
template <class F, class T>
void fields(F& f, T& v) requires std::is_same_v<std::remove_const_t<T>, ComponentCostView> {
    f("name", v.name), f("energy_j", v.energy_j), f("limits_s", v.limits_s);
    f("occupancy", v.occupancy);
}
template <class F, class T>
void fields(F& f, T& v) requires std::is_same_v<std::remove_const_t<T>, EinsumCostView> {
    f("name", v.name), f("energy_j", v.energy_j), f("latency_s", v.latency_s);
    f("limit", v.limit), f("compute_use", v.compute_use);
}
template <class F, class T>
void fields(F& f, T& v) requires std::is_same_v<std::remove_const_t<T>, MappingView> {
    f("lines", v.lines), f("energy_j", v.energy_j), f("latency_s", v.latency_s);
    f("compute_use", v.compute_use), f("components", v.components), f("einsums", v.einsums);
}
template <class F, class T>
void fields(F& f, T& v) requires std::is_same_v<std::remove_const_t<T>, RestView> {
    f("least_s", v.least_s), f("most_s", v.most_s);
}
template <class F, class T>
void fields(F& f, T& v) requires std::is_same_v<std::remove_const_t<T>, Snapshot> {
    f("serial", v.serial), f("state", v.state), f("stop_reason", v.stop_reason);
    f("compares", v.compares);
    f("run", v.run), f("elapsed_s", v.elapsed_s), f("cpu_s", v.cpu_s);
    f("memory_bytes", v.memory_bytes), f("peak_memory_bytes", v.peak_memory_bytes);
    f("best", v.best), f("bound", v.bound), f("gap", v.gap);
    f("incumbent_age_s", v.incumbent_age_s), f("rate_per_s", v.rate_per_s);
    f("rate_history", v.rate_history), f("phases", v.phases), f("einsums", v.einsums);
    f("workers", v.workers), f("funnel", v.funnel), f("incumbents", v.incumbents);
    f("bounds", v.bounds), f("front", v.front), f("mapping", v.mapping), f("rest", v.rest);
    f("comparison", v.comparison), f("plugins", v.plugins);
    f("budgets", v.budgets), f("fields", v.fields), f("log", v.log);
    f("checkpoint_s", v.checkpoint_s);
}

constexpr const char* worker_states[] = {"idle", "running", "done", "failed"};
constexpr const char* run_states[] = {"running",     "stopping", "finished",
                                      "interrupted", "failed",   "lost"};
constexpr const char* levels[] = {"info", "warning", "error"};

// Above 2^53 a number would lose digits in most readers of JSON.
constexpr std::uint64_t largest_number = 1ull << 53;

struct Writer {
    Json json = Json::object();

    template <class T>
    void operator()(const char* key, const T& value) {
        json[key] = write(value);
    }

    static Json write(const std::string& v) {
        return v;
    }
    static Json write(bool v) {
        return v;
    }
    static Json write(int v) {
        return v;
    }
    static Json write(std::uint64_t v) {
        return v > largest_number ? Json(std::to_string(v)) : Json(v);
    }
    static Json write(double v) {
        return std::isfinite(v) ? Json(v) : Json(nullptr);
    }
    static Json write(WorkerState v) {
        return worker_states[static_cast<std::size_t>(v)];
    }
    static Json write(RunState v) {
        return run_states[static_cast<std::size_t>(v)];
    }
    static Json write(LogLevel v) {
        return levels[static_cast<std::size_t>(v)];
    }
    static Json write(const std::optional<double>& v) {
        return v ? write(*v) : Json(nullptr);
    }
    static Json write(const std::optional<std::uint64_t>& v) {
        return v ? write(*v) : Json(nullptr);
    }
    static Json write(const std::array<std::uint64_t, n_reasons>& v) {
        Json out = Json::object();
        for (std::size_t r = 0; r < n_reasons; ++r) {
            out[name(static_cast<Reason>(r))] = write(v[r]);
        }
        return out;
    }
    static Json write(const std::vector<std::pair<std::string, std::string>>& v) {
        Json out = Json::object();
        for (const auto& [key, value] : v) {
            out[key] = value;
        }
        return out;
    }
    template <class T>
    static Json write(const std::vector<T>& v) {
        Json out = Json::array();
        for (const T& item : v) {
            out.push_back(write(item));
        }
        return out;
    }
    template <class T>
    requires std::is_class_v<T>
    static Json write(const T& v) {
        Writer writer;
        fields(writer, v);
        return std::move(writer.json);
    }
};

struct Reader {
    const ParsedJson& json;

    template <class T>
    void operator()(const char* key, T& value) {
        if (const auto at = json.find(key); at != json.end()) {
            read(*at, value);
        }
    }

    static void read(const ParsedJson& j, std::string& v) {
        v = j.get<std::string>();
    }
    static void read(const ParsedJson& j, bool& v) {
        v = j.get<bool>();
    }
    static void read(const ParsedJson& j, int& v) {
        v = j.get<int>();
    }
    static void read(const ParsedJson& j, std::uint64_t& v) {
        v = j.is_string() ? std::stoull(j.get<std::string>()) : j.get<std::uint64_t>();
    }
    static void read(const ParsedJson& j, double& v) {
        v = j.is_null() ? 0.0 : j.get<double>();
    }
    template <std::size_t n, class T>
    static void read_name(const ParsedJson& j, const char* const (&names)[n], T& v) {
        const std::string text = j.get<std::string>();
        for (std::size_t i = 0; i < n; ++i) {
            if (text == names[i]) {
                v = static_cast<T>(i);
            }
        }
    }
    static void read(const ParsedJson& j, WorkerState& v) {
        read_name(j, worker_states, v);
    }
    static void read(const ParsedJson& j, RunState& v) {
        read_name(j, run_states, v);
    }
    static void read(const ParsedJson& j, LogLevel& v) {
        read_name(j, levels, v);
    }
    static void read(const ParsedJson& j, std::optional<double>& v) {
        v = j.is_null() ? std::nullopt : std::optional<double>(j.get<double>());
    }
    static void read(const ParsedJson& j, std::optional<std::uint64_t>& v) {
        v.reset();
        if (!j.is_null()) {
            read(j, v.emplace());
        }
    }
    static void read(const ParsedJson& j, std::array<std::uint64_t, n_reasons>& v) {
        for (std::size_t r = 0; r < n_reasons; ++r) {
            if (const auto at = j.find(name(static_cast<Reason>(r))); at != j.end()) {
                read(*at, v[r]);
            }
        }
    }
    static void read(const ParsedJson& j, std::vector<std::pair<std::string, std::string>>& v) {
        for (const auto& [key, value] : j.items()) {
            v.emplace_back(key, value.get<std::string>());
        }
    }
    template <class T>
    static void read(const ParsedJson& j, std::vector<T>& v) {
        expect(j.is_array());
        for (const ParsedJson& item : j) {
            read(item, v.emplace_back());
        }
    }
    template <class T>
    requires std::is_class_v<T>
    static void read(const ParsedJson& j, T& v) {
        expect(j.is_object());
        Reader reader{j};
        fields(reader, v);
    }
    static void expect(bool condition) {
        if (!condition) {
            throw std::invalid_argument("a value has another type than expected");
        }
    }
};

}  // namespace

const char* name(RunState state) {
    return run_states[static_cast<std::size_t>(state)];
}

std::uint64_t FunnelView::pruned() const {
    std::uint64_t sum = 0;
    for (std::size_t r = 0; r < n_reasons; ++r) {
        sum += is_pruning(static_cast<Reason>(r)) ? rejected[r] : 0;
    }
    return sum;
}

std::uint64_t FunnelView::invalid() const {
    std::uint64_t sum = 0;
    for (std::size_t r = 0; r < n_reasons; ++r) {
        sum += is_pruning(static_cast<Reason>(r)) ? 0 : rejected[r];
    }
    return sum;
}

std::string to_json(const Snapshot& snapshot) {
    Writer writer;
    writer.json["tessera_snapshot"] = snapshot_version;
    fields(writer, snapshot);
    return writer.json.dump();
}

Snapshot from_json(const std::string& text) {
    Snapshot snapshot;
    try {
        const ParsedJson json = base::parsed_json(text);
        const auto version = json.is_object() ? json.find("tessera_snapshot") : json.end();
        if (version == json.end()) {
            throw UserError("this is no status of a tessera run (no key tessera_snapshot)");
        }
        if (*version != snapshot_version) {
            throw UserError("the status is of format " + version->dump() +
                            ", this program reads format " + std::to_string(snapshot_version));
        }
        Reader reader{json};
        fields(reader, snapshot);
    } catch (const ParsedJson::exception& error) {
        throw UserError(std::string("this is no status of a tessera run: ") + error.what());
    } catch (const std::logic_error& error) {  // std::stoull
        throw UserError(std::string("this is no status of a tessera run: ") + error.what());
    }
    return snapshot;
}

}  // namespace tessera::telemetry
