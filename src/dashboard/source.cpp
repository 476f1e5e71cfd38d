#include "dashboard/source.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "telemetry/live_socket.hpp"
#include "tessera/base/error.hpp"

namespace tessera::dashboard {

using namespace std::chrono_literals;
using telemetry::SnapshotPtr;

namespace {

namespace fs = std::filesystem;

// A search tells its state four times a second.
constexpr auto first_answer = 3s, connecting = 1s;

bool over(telemetry::RunState state) {
    return state != telemetry::RunState::running && state != telemetry::RunState::stopping;
}

std::string host_name() {
    char name[256] = {};
    return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

// status.json is replaced as a whole: what is read is always one complete snapshot.
class DirectorySource : public Source {
public:
    explicit DirectorySource(const fs::path& folder) : folder_(folder) {}

    SnapshotPtr next(std::chrono::milliseconds at_most) override {
        const auto until = std::chrono::steady_clock::now() + at_most;
        for (;;) {
            if (SnapshotPtr snapshot = news()) {
                return snapshot;
            }
            const auto left = until - std::chrono::steady_clock::now();
            if (left <= 0s) {
                return nullptr;
            }
            std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(left, 100ms));
        }
    }
    // A resumed run writes on in the same folder: keep looking at a killed one, not at a done one.
    bool ended() const override {
        return newest_ && over(newest_->state);
    }
    std::optional<telemetry::RunProcess> process() const override {
        std::optional<telemetry::RunProcess> result;
        if (newest_ && newest_->run.host == host_name()) {
            result = telemetry::run_process(newest_->run.pid);
        }
        // Asked when the process is held already: its number is not another's by now.
        if (telemetry::presence(folder_, newest_ ? newest_->run.pid : 0) !=
            telemetry::Presence::writes) {
            result.reset();
        }
        return result;
    }
    const base::Directory& folder() const {
        return folder_;
    }

private:
    SnapshotPtr news() {
        const bool changed = read();
        if (!newest_ || over(newest_->state) || newest_->run.host != host_name() ||
            telemetry::presence(folder_, newest_->run.pid) != telemetry::Presence::gone) {
            return changed ? newest_ : nullptr;
        }
        if (read()) {  // it ended in between
            return newest_;
        }
        if (!changed && lost_) {
            return nullptr;
        }
        lost_ = true;
        auto lost = std::make_shared<telemetry::Snapshot>(*newest_);
        lost->state = telemetry::RunState::lost;
        return lost;
    }

    /// Whether status.json has changed.
    bool read() {
        const std::optional<base::FileStamp> stamp = folder_.stamp(file_name);
        if (stamp && stamp == stamp_) {
            return false;
        }
        const std::optional<std::string> text = folder_.read(file_name);
        if (!text || text->empty()) {
            return false;
        }
        try {
            newest_ = std::make_shared<const telemetry::Snapshot>(telemetry::from_json(*text));
        } catch (const UserError& error) {
            throw UserError((folder_.path() / file_name).string() + ": " + error.what());
        }
        stamp_ = stamp;
        lost_ = false;
        return true;
    }

    static constexpr const char* file_name = "status.json";
    const base::Directory folder_;
    std::optional<base::FileStamp> stamp_;
    SnapshotPtr newest_;
    bool lost_ = false;
};

/// The socket as long as it serves, then the folder of the run, if it has one.
class SocketSource : public Source {
public:
    explicit SocketSource(const std::string& id) : client_(id) {}
    SocketSource(const std::string& id, std::unique_ptr<DirectorySource> folder)
        : client_(id), folder_(std::move(folder)) {}

    SnapshotPtr next(std::chrono::milliseconds at_most) override {
        if (client_.ended() && folder_) {
            return folder_->next(at_most);
        }
        SnapshotPtr snapshot = client_.next(at_most);
        newest_ = snapshot ? snapshot : newest_;
        if (client_.ended() && !folder_ && newest_ && !over(newest_->state)) {
            open_folder(newest_->run.directory);
        }
        return snapshot;
    }
    bool ended() const override {
        return client_.ended() &&
               (!folder_ || folder_->ended() || (newest_ && over(newest_->state)));
    }
    std::optional<telemetry::RunProcess> process() const override {
        if (client_.ended()) {
            return folder_ ? folder_->process() : std::nullopt;
        }
        return telemetry::run_process(client_.pid());
    }
    int pid() const {
        return client_.pid();
    }

private:
    void open_folder(const std::string& path) {
        std::error_code ignored;
        if (!path.empty() && fs::exists(fs::path(path) / "status.json", ignored)) {
            folder_ = std::make_unique<DirectorySource>(path);
        }
    }

    telemetry::SocketClient client_;
    std::unique_ptr<DirectorySource> folder_;
    SnapshotPtr newest_;
};

std::string listed(const std::vector<std::string>& names) {
    std::string result;
    for (const std::string& name : names) {
        result += (result.empty() ? "" : ", ") + name;
    }
    return result.empty() ? "none is running" : "running: " + result;
}

// The socket is livelier than the file: used if its process is the one that writes to the folder.
std::unique_ptr<Source> open_directory(const fs::path& folder) {
    auto source = std::make_unique<DirectorySource>(folder);
    if (!source->folder().has("status.json")) {
        throw UserError("there is no " + (folder / "status.json").string() +
                        ": the folder is not that of a run with telemetry (tessera map -o DIR)");
    }
    const SnapshotPtr snapshot = source->next(0ms);
    const std::vector<std::string> ids = telemetry::running_runs();
    if (!snapshot || over(snapshot->state) || snapshot->run.host != host_name() ||
        std::find(ids.begin(), ids.end(), snapshot->run.id) == ids.end()) {
        return std::make_unique<DirectorySource>(folder);
    }
    try {
        auto live = std::make_unique<SocketSource>(snapshot->run.id,
                                                   std::make_unique<DirectorySource>(folder));
        if (telemetry::presence(source->folder(), live->pid()) == telemetry::Presence::writes) {
            return live;
        }
    } catch (const UserError&) {
        // It ended in between, or has too many viewers.
    }
    return std::make_unique<DirectorySource>(folder);
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
    using Clock = std::chrono::steady_clock;
    std::vector<std::unique_ptr<telemetry::SocketClient>> silent;
    const auto connected = Clock::now() + connecting;
    for (const std::string& id : telemetry::running_runs()) {
        try {
            silent.push_back(std::make_unique<telemetry::SocketClient>(id, connected));
        } catch (const UserError&) {
            // It ended in between, or is another user's.
        }
    }
    std::vector<SnapshotPtr> result;
    const auto until = Clock::now() + first_answer;
    while (!silent.empty() && Clock::now() < until) {
        std::erase_if(silent, [&](const auto& client) {
            try {
                if (SnapshotPtr snapshot = client->next(10ms)) {
                    result.push_back(std::move(snapshot));
                    return true;
                }
            } catch (const UserError&) {
                return true;  // no snapshot of this version
            }
            return client->ended();
        });
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
