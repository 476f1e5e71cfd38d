// Map:
//   feed(), view()  the child: snapshots come, requests go
//   ViewProcess     the parent's end; both ways a line of text each
#include "view_process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <thread>

#include "base/process_pool.hpp"
#include "dashboard/viewer.hpp"
#include "tessera/base/error.hpp"

namespace tessera::cli {

namespace {

using Kind = ViewProcess::Request::Kind;
using dashboard::Viewer;

constexpr std::array<const char*, 5> kinds = {"stop", "inspect", "overview", "stop_search", "page"};

std::string words(Kind kind, std::int64_t number = 0) {
    return std::string(kinds[static_cast<std::size_t>(kind)]) + " " + std::to_string(number) + "\n";
}

std::optional<ViewProcess::Request> request(const std::string& line) {
    char kind[16] = "";
    long long number = 0;
    if (std::sscanf(line.c_str(), "%15s %lld", kind, &number) == 2) {
        for (std::size_t i = 0; i < kinds.size(); ++i) {
            if (std::string(kind) == kinds[i]) {
                return ViewProcess::Request{static_cast<Kind>(i), number};
            }
        }
    }
    return std::nullopt;
}

/// Takes the first whole line out of the text.
std::optional<std::string> take_line(std::string& text) {
    const std::size_t end = text.find('\n');
    if (end == std::string::npos) {
        return std::nullopt;
    }
    std::string line = text.substr(0, end);
    text.erase(0, end + 1);
    return line;
}

std::atomic<Viewer*> shown{nullptr};

void on_end(int) {
    if (Viewer* viewer = shown.load()) {
        viewer->close();
    }
}

void feed(int socket, Viewer& viewer) {
    std::string text;
    std::array<char, 65536> buffer{};
    for (;;) {
        const ssize_t n = ::read(socket, buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            viewer.close();
            return;
        }
        text.append(buffer.data(), static_cast<std::size_t>(n));
        while (const std::optional<std::string> line = take_line(text)) {
            try {
                viewer.publish(
                    std::make_shared<const telemetry::Snapshot>(telemetry::from_json(*line)));
            } catch (const UserError&) {
                // Not a snapshot: nothing to draw.
            }
        }
    }
}

[[noreturn]] void view(int socket) {
    const auto tell = [socket](Kind kind, std::int64_t number = 0) {
        base::write_to_pipe(socket, words(kind, number));
    };
    dashboard::View how = dashboard::initial_view();
    how.owner = true;
    how.focus = dashboard::Panel::comparison;
    how.alone = true;
    Viewer viewer(how, {[&] { tell(Kind::stop); },
                        {},
                        [&](std::optional<std::uint64_t> search) {
                            search ? tell(Kind::inspect, static_cast<std::int64_t>(*search))
                                   : tell(Kind::overview);
                        },
                        [&](std::uint64_t search) {
                            tell(Kind::stop_search, static_cast<std::int64_t>(search));
                        },
                        [&](int by) { tell(Kind::page, by); }});
    shown = &viewer;
    ::signal(SIGTERM, on_end);
    {
        dashboard::Terminal terminal;
        // Ends with the process: it waits in read().
        std::thread([socket, &viewer] { feed(socket, viewer); }).detach();
        viewer.run(terminal);
    }
    ::_exit(0);
}

/// Ctrl-C reaches the whole group: the parent decides what it means.
[[noreturn]] void child(pid_t parent, int socket) {
    try {
        ::signal(SIGINT, SIG_IGN);
        ::signal(SIGPIPE, SIG_IGN);
        ::signal(SIGTERM, SIG_DFL);
        ::prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (::getppid() == parent) {
            view(socket);
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "tessera: the dashboard: %s\n", error.what());
    }
    ::_exit(1);
}

}  // namespace

ViewProcess::ViewProcess() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        throw LimitReached("no connection to the dashboard could be made");
    }
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
        ::close(ends[0]);
        child(parent, ends[1]);
    }
    ::close(ends[1]);
    socket_ = ends[0];
    if (pid_ < 0) {
        end();
        throw LimitReached("no process for the dashboard could be started; ulimit -u limits them");
    }
    ::fcntl(socket_, F_SETFL, O_NONBLOCK);
}

ViewProcess::~ViewProcess() {
    end();
}

void ViewProcess::end() {
    if (socket_ >= 0) {
        ::close(socket_);
    }
    socket_ = -1;
    if (pid_ > 0) {
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
    }
    pid_ = -1;
}

void ViewProcess::flush() {
    while (!unsent_.empty()) {
        const ssize_t n = ::send(socket_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
        if (n > 0) {
            unsent_.erase(0, static_cast<std::size_t>(n));
        } else if (n == 0 || errno != EINTR) {
            return;
        }
    }
}

void ViewProcess::show(const telemetry::Snapshot& snapshot) {
    if (!open()) {
        return;
    }
    flush();
    if (unsent_.empty()) {
        unsent_ = telemetry::to_json(snapshot) + "\n";
        flush();
    }
}

std::vector<ViewProcess::Request> ViewProcess::requests() {
    std::vector<Request> all;
    if (!open()) {
        return all;
    }
    std::array<char, 4096> buffer{};
    ssize_t n = 0;
    while ((n = ::read(socket_, buffer.data(), buffer.size())) > 0 || (n < 0 && errno == EINTR)) {
        unread_.append(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    }
    const bool closed = n == 0;
    while (const std::optional<std::string> line = take_line(unread_)) {
        if (const std::optional<Request> one = request(*line)) {
            all.push_back(*one);
        }
    }
    if (closed) {
        end();
    }
    return all;
}

}  // namespace tessera::cli
