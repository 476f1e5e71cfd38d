#include "telemetry/file_sinks.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

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
void cut_to_whole_lines(int file) {
    off_t end = ::lseek(file, 0, SEEK_END);
    char last = 0;
    while (end > 0 && ::pread(file, &last, 1, end - 1) == 1 && last != '\n') {
        --end;
    }
    if (::ftruncate(file, end) != 0) {
        fail("events.jsonl cannot be cut");
    }
}

}  // namespace

EventsFile::EventsFile(const base::Directory& folder, bool resumed)
    : file_(folder.open_to_append("events.jsonl")), resumed_(resumed) {
    if (resumed) {
        cut_to_whole_lines(file_);
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
        folder_.write("status.json", to_json(*snapshot) + "\n");
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
            folder_.write(mapping_file(i), yaml);
            written_.resize(std::max(written_.size(), i + 1));
            written_[i] = yaml;
        }
    }
    for (; written_.size() > best_.all().size(); written_.pop_back()) {
        folder_.remove(mapping_file(written_.size() - 1));
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
    folder_.write("checkpoint.json", wrap_(state_, snapshot.elapsed_s));
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
