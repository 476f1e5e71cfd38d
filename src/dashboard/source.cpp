#include "dashboard/source.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "telemetry/live_socket.hpp"
#include "tessera/base/error.hpp"

namespace tessera::dashboard {

using namespace std::chrono_literals;
using telemetry::SnapshotPtr;

namespace {

namespace fs = std::filesystem;

// A search tells its state four times a second.
constexpr auto first_answer = 3s;

class SocketSource : public Source {
public:
    explicit SocketSource(const std::string& id) : client_(id) {}
    SnapshotPtr next(std::chrono::milliseconds at_most) override {
        return client_.next(at_most);
    }
    bool ended() const override {
        return client_.ended();
    }

private:
    telemetry::SocketClient client_;
};

bool over(telemetry::RunState state) {
    return state != telemetry::RunState::running && state != telemetry::RunState::stopping;
}

// status.json is replaced as a whole: what is read is always one complete snapshot.
class DirectorySource : public Source {
public:
    explicit DirectorySource(fs::path file) : file_(std::move(file)) {}

    SnapshotPtr next(std::chrono::milliseconds at_most) override {
        const auto until = std::chrono::steady_clock::now() + at_most;
        for (;;) {
            if (SnapshotPtr snapshot = read()) {
                return snapshot;
            }
            const auto left = until - std::chrono::steady_clock::now();
            if (left <= 0s) {
                return nullptr;
            }
            std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(left, 100ms));
        }
    }
    bool ended() const override {
        return ended_;
    }

private:
    SnapshotPtr read() {
        std::error_code error;
        const auto changed = fs::last_write_time(file_, error);
        if (error || (known_ && changed == changed_)) {
            return nullptr;
        }
        std::ifstream file(file_, std::ios::binary);
        std::ostringstream text;
        text << file.rdbuf();
        if (!file || text.str().empty()) {
            return nullptr;
        }
        auto snapshot =
            std::make_shared<const telemetry::Snapshot>(telemetry::from_json(text.str()));
        known_ = true;
        changed_ = changed;
        // A resumed run writes on in the same folder: keep looking at a killed one, not at a done
        // one.
        ended_ = over(snapshot->state);
        return snapshot;
    }

    const fs::path file_;
    fs::file_time_type changed_;
    bool known_ = false, ended_ = false;
};

std::string listed(const std::vector<std::string>& names) {
    std::string result;
    for (const std::string& name : names) {
        result += (result.empty() ? "" : ", ") + name;
    }
    return result.empty() ? "none is running" : "running: " + result;
}

std::string host_name() {
    char name[256] = {};
    return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

// The socket is livelier than the file: used if the folder's run is one of this host's.
std::unique_ptr<Source> open_directory(const fs::path& folder) {
    const fs::path file = folder / "status.json";
    if (!fs::exists(file)) {
        throw UserError("there is no " + file.string() +
                        ": the folder is not that of a run with telemetry (tessera map -o DIR)");
    }
    auto source = std::make_unique<DirectorySource>(file);
    const SnapshotPtr snapshot = source->next(0ms);
    const std::vector<std::string> ids = telemetry::running_runs();
    if (snapshot && snapshot->run.host == host_name() && !over(snapshot->state) &&
        std::find(ids.begin(), ids.end(), snapshot->run.id) != ids.end()) {
        return std::make_unique<SocketSource>(snapshot->run.id);
    }
    return std::make_unique<DirectorySource>(file);
}

std::unique_ptr<Source> open_named(const std::string& run) {
    const std::vector<std::string> ids = telemetry::running_runs();
    std::vector<std::string> fitting;
    for (const std::string& id : ids) {
        if (id == run) {
            return std::make_unique<SocketSource>(id);
        }
        if (id.compare(0, run.size(), run) == 0) {
            fitting.push_back(id);
        }
    }
    if (fitting.size() != 1) {
        throw UserError("'" + run + "' is " +
                        (fitting.empty() ? "neither a run directory nor a running search of yours"
                                         : "the beginning of several searches' names") +
                        " (" + listed(fitting.empty() ? ids : fitting) + ")");
    }
    return std::make_unique<SocketSource>(fitting.front());
}

}  // namespace

std::vector<SnapshotPtr> running_searches() {
    std::vector<SnapshotPtr> result;
    for (const std::string& id : telemetry::running_runs()) {
        try {
            if (SnapshotPtr snapshot = telemetry::SocketClient(id).next(first_answer)) {
                result.push_back(std::move(snapshot));
            }
        } catch (const UserError&) {
            // It ended in between.
        }
    }
    std::stable_sort(result.begin(), result.end(), [](const SnapshotPtr& a, const SnapshotPtr& b) {
        return a->run.started > b->run.started;
    });
    return result;
}

std::unique_ptr<Source> open_source(const std::string& run) {
    if (run.empty()) {
        const std::vector<SnapshotPtr> running = running_searches();
        if (running.empty()) {
            throw UserError(
                "no search of yours is running on this host; name a run directory to see its last "
                "state: tessera top DIR");
        }
        return std::make_unique<SocketSource>(running.front()->run.id);
    }
    std::error_code ignored;
    return fs::is_directory(run, ignored) ? open_directory(run) : open_named(run);
}

}  // namespace tessera::dashboard
