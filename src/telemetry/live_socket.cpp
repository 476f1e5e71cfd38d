#include "telemetry/live_socket.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <thread>

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

/// Process id of the other end; nothing if it is another user's.
std::optional<int> peer_of_same_user(int socket) {
    ucred peer{};
    socklen_t size = sizeof peer;
    const bool known = ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
    return known && (peer.uid == ::getuid() || peer.uid == 0) ? std::optional(peer.pid)
                                                              : std::nullopt;
}

bool is_plain(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
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

bool SocketServer::somebody_waits() const {
    pollfd wanted{listener_, POLLIN, 0};
    return ::poll(&wanted, 1, 0) > 0;
}

void SocketServer::accept_viewers(const std::string& line) {
    for (;;) {
        const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (socket < 0) {
            return;
        }
        const bool served = peer_of_same_user(socket).has_value();
        if (served && viewers_.size() < most_viewers) {
            viewers_.push_back({socket, ""});
            continue;
        }
        if (served) {
            [[maybe_unused]] const ssize_t sent =
                ::send(socket, line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        }
        ::close(socket);
    }
}

void SocketServer::update(const SnapshotPtr& snapshot, const std::vector<Event>&) {
    if (viewers_.empty() && !somebody_waits()) {
        return;
    }
    const std::string line = to_json(*snapshot) + "\n";
    accept_viewers(line);
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

std::string run_id(std::string text) {
    constexpr std::size_t longest = 64;
    std::replace_if(
        text.begin(), text.end(), [](char c) { return !is_plain(c); }, '-');
    return text.size() <= longest ? text : text.substr(text.size() - longest);
}

std::vector<std::string> running_runs() {
    // Lines end in the name; '@' stands for the zero byte of an abstract one.
    std::ifstream sockets("/proc/net/unix");
    std::vector<std::string> ids;
    const std::string mark = " @" + prefix();
    for (std::string line; std::getline(sockets, line);) {
        const std::size_t at = line.find(mark);
        // Connections of viewers carry the name too; only listeners have flag 00010000.
        if (at == std::string::npos || line.find(" 00010000 ") == std::string::npos) {
            continue;
        }
        std::string id = line.substr(at + mark.size());
        if (id == run_id(id)) {
            ids.push_back(std::move(id));
        }
    }
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
}

SocketClient::SocketClient(const std::string& run_id, Clock::time_point until) : run_id_(run_id) {
    // A socket that blocks would wait as long as the listener likes, whoever that is.
    socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const auto [a, size] = address(run_id);
    while (socket_ < 0 || ::connect(socket_, reinterpret_cast<const sockaddr*>(&a), size) != 0) {
        const int reason = errno;
        if (socket_ >= 0 && (reason == EAGAIN || reason == EINTR) && Clock::now() < until) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            continue;
        }
        ::close(socket_);
        errno = reason;
        fail("run " + run_id + " cannot be reached");
    }
    const std::optional<int> peer = peer_of_same_user(socket_);
    if (!peer) {
        ::close(socket_);
        throw UserError("run " + run_id + " belongs to another user");
    }
    pid_ = *peer;
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
    if (newest.empty()) {
        return nullptr;
    }
    try {
        return std::make_shared<const Snapshot>(from_json(newest));
    } catch (const UserError& error) {
        throw UserError("run " + run_id_ + ": " + error.what());
    }
}

}  // namespace tessera::telemetry
