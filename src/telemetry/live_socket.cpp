#include "telemetry/live_socket.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "tessera/base/error.hpp"

namespace tessera::telemetry {

namespace {

constexpr std::size_t most_viewers = 64, most_text = 64u << 20;

std::string prefix() {
    return "tessera-" + std::to_string(::getuid()) + "-";
}

/// Address of the abstract name.
std::pair<sockaddr_un, socklen_t> address(const std::string& run_id) {
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    const std::string text = (prefix() + run_id).substr(0, sizeof a.sun_path - 1);
    std::memcpy(a.sun_path + 1, text.data(), text.size());
    return {a, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size())};
}

bool same_user(int socket) {
    ucred peer{};
    socklen_t size = sizeof peer;
    return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == ::getuid() || peer.uid == 0);
}

[[noreturn]] void fail(const std::string& what) {
    throw UserError(what + ": " + std::strerror(errno));
}

}  // namespace

SocketServer::SocketServer(const std::string& run_id) {
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const auto [a, size] = address(run_id);
    if (listener_ < 0 || ::bind(listener_, reinterpret_cast<const sockaddr*>(&a), size) != 0 ||
        ::listen(listener_, 16) != 0) {
        const int reason = errno;
        ::close(listener_);
        errno = reason;
        fail("the socket for viewers cannot be made");
    }
}

SocketServer::~SocketServer() {
    for (const Viewer& viewer : viewers_) {
        ::close(viewer.socket);
    }
    ::close(listener_);
}

void SocketServer::accept_viewers() {
    for (;;) {
        const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (socket < 0) {
            return;
        }
        if (viewers_.size() >= most_viewers || !same_user(socket)) {
            ::close(socket);
            continue;
        }
        viewers_.push_back({socket, ""});
    }
}

void SocketServer::update(const SnapshotPtr& snapshot, const std::vector<Event>&) {
    accept_viewers();
    if (viewers_.empty()) {
        return;
    }
    const std::string line = to_json(*snapshot) + "\n";
    for (Viewer& viewer : viewers_) {
        viewer.rest = viewer.rest.empty() ? line : viewer.rest;
        const ssize_t n = ::send(viewer.socket, viewer.rest.data(), viewer.rest.size(),
                                 MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0) {
            viewer.rest.erase(0, static_cast<std::size_t>(n));
        } else if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
            ::close(viewer.socket);
            viewer.socket = -1;
        }
    }
    std::erase_if(viewers_, [](const Viewer& viewer) { return viewer.socket < 0; });
}

void SocketServer::finish(const SnapshotPtr& snapshot, const std::vector<Event>& events) {
    // Once for what a viewer still has to get, once for the last snapshot.
    update(snapshot, events);
    if (std::any_of(viewers_.begin(), viewers_.end(),
                    [](const Viewer& viewer) { return !viewer.rest.empty(); })) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    update(snapshot, events);
}

std::vector<std::string> running_runs() {
    // Lines end in the name; '@' stands for the zero byte of an abstract one.
    std::ifstream sockets("/proc/net/unix");
    std::vector<std::string> ids;
    const std::string mark = " @" + prefix();
    for (std::string line; std::getline(sockets, line);) {
        const std::size_t at = line.find(mark);
        // Connections of viewers carry the name too; only listeners have flag 00010000.
        if (at != std::string::npos && line.find(" 00010000 ") != std::string::npos) {
            ids.push_back(line.substr(at + mark.size()));
        }
    }
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
}

SocketClient::SocketClient(const std::string& run_id) {
    socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto [a, size] = address(run_id);
    if (socket_ < 0 || ::connect(socket_, reinterpret_cast<const sockaddr*>(&a), size) != 0) {
        const int reason = errno;
        ::close(socket_);
        errno = reason;
        fail("run " + run_id + " cannot be reached");
    }
    if (!same_user(socket_)) {
        ::close(socket_);
        throw UserError("run " + run_id + " belongs to another user");
    }
}

SocketClient::~SocketClient() {
    ::close(socket_);
}

SnapshotPtr SocketClient::next(std::chrono::milliseconds at_most) {
    const auto until = std::chrono::steady_clock::now() + at_most;
    std::string newest;
    while (!ended_) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            until - std::chrono::steady_clock::now());
        pollfd wanted{socket_, POLLIN, 0};
        const int wait = newest.empty() ? static_cast<int>(std::max<long>(0, left.count())) : 0;
        const int ready = ::poll(&wanted, 1, wait);
        if (ready <= 0) {
            if (ready < 0 && errno == EINTR && left.count() > 0) {
                continue;
            }
            break;
        }
        char piece[65536];
        const ssize_t n = ::recv(socket_, piece, sizeof piece, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) || text_.size() > most_text) {
            ended_ = true;
        }
        text_.append(piece, n > 0 ? static_cast<std::size_t>(n) : 0);
        if (const std::size_t end = text_.rfind('\n'); end != std::string::npos) {
            const std::size_t before = end == 0 ? std::string::npos : text_.rfind('\n', end - 1);
            const std::size_t begin = before == std::string::npos ? 0 : before + 1;
            newest = text_.substr(begin, end - begin);
            text_.erase(0, end + 1);
        }
    }
    return newest.empty() ? nullptr : std::make_shared<const Snapshot>(from_json(newest));
}

}  // namespace tessera::telemetry
