#include "telemetry/file_sinks.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/atomic_file.hpp"
#include "telemetry/events.hpp"
#include "tessera/base/error.hpp"

namespace tessera::telemetry {

namespace {

constexpr double status_every_s = 10, checkpoint_every_s = 2, status_file_every_s = 0.9;

[[noreturn]] void fail(const std::string& what) {
    throw UserError(what + ": " + std::strerror(errno));
}

std::string mapping_file(std::size_t index) {
    return index == 0 ? "mapping.yaml" : "mapping-" + std::to_string(index + 1) + ".yaml";
}

/// Drops a line that a killed process left unfinished.
void cut_to_whole_lines(const std::filesystem::path& path) {
    const std::string text = base::read_file(path);
    const std::size_t end = text.rfind('\n');
    const std::size_t whole = end == std::string::npos ? 0 : end + 1;
    if (whole < text.size()) {
        std::filesystem::resize_file(path, whole);
    }
}

}  // namespace

EventsFile::EventsFile(const std::filesystem::path& path, bool resumed) : resumed_(resumed) {
    if (resumed) {
        cut_to_whole_lines(path);
    }
    file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file_ < 0) {
        fail(path.string() + " cannot be written");
    }
}

EventsFile::~EventsFile() {
    ::close(file_);
}

void EventsFile::append(const std::string& lines) {
    std::size_t done = 0;
    while (done < lines.size()) {
        const ssize_t n = ::write(file_, lines.data() + done, lines.size() - done);
        if (n < 0 && errno != EINTR) {
            fail("cannot be written");
        }
        done += n > 0 ? static_cast<std::size_t>(n) : 0;
    }
}

void EventsFile::update(const SnapshotPtr& snapshot, const std::vector<Event>& events) {
    std::string lines;
    if (!begun_) {
        begun_ = true;
        lines = state_line(resumed_ ? "resume" : "start", *snapshot);
    }
    for (const Event& event : events) {
        lines += event_line(event);
    }
    if (snapshot->elapsed_s - last_status_s_ >= status_every_s) {
        last_status_s_ = snapshot->elapsed_s;
        lines += status_line(*snapshot);
    }
    append(lines);
}

void EventsFile::finish(const SnapshotPtr& snapshot, const std::vector<Event>& events) {
    update(snapshot, events);
    append(state_line("end", *snapshot));
}

void StatusFile::update(const SnapshotPtr& snapshot, const std::vector<Event>&) {
    // A snapshot comes four times a second, and its text takes a while.
    if (snapshot->elapsed_s >= next_s_ || snapshot->state != written_) {
        base::write_atomically(path_, to_json(*snapshot) + "\n");
        next_s_ = snapshot->elapsed_s + status_file_every_s;
        written_ = snapshot->state;
    }
}

void IncumbentFiles::update(const SnapshotPtr&, const std::vector<Event>& events) {
    if (!best_.take(events) || !(best_.all().front().value < known_)) {
        return;
    }
    for (std::size_t i = 0; i < best_.all().size(); ++i) {
        const std::string yaml = best_.all()[i].mapping();
        if (i >= written_.size() || written_[i] != yaml) {
            base::write_atomically(folder_ / mapping_file(i), yaml);
            written_.resize(std::max(written_.size(), i + 1));
            written_[i] = yaml;
        }
    }
    for (; written_.size() > best_.all().size(); written_.pop_back()) {
        std::filesystem::remove(folder_ / mapping_file(written_.size() - 1));
    }
}

bool CheckpointFile::take_state(const std::vector<Event>& events) {
    bool any = false;
    for (const Event& event : events) {
        if (event.kind == Event::Kind::checkpoint) {
            state_ = event.text;
            any = true;
        }
    }
    return any;
}

void CheckpointFile::write(const Snapshot& snapshot) {
    base::write_atomically(path_, wrap_(state_, snapshot.elapsed_s));
}

void CheckpointFile::update(const SnapshotPtr& snapshot, const std::vector<Event>& events) {
    const bool due = snapshot->elapsed_s - written_s_ >= checkpoint_every_s;
    if (take_state(events) || due) {
        write(*snapshot);
    }
    if (due) {
        written_s_ = snapshot->elapsed_s;
        recorder_.ask_for_checkpoint();
    }
}

void CheckpointFile::finish(const SnapshotPtr& snapshot, const std::vector<Event>& events) {
    take_state(events);
    write(*snapshot);
}

}  // namespace tessera::telemetry
