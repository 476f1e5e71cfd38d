#include "lines.hpp"

#include <sys/socket.h>

#include <cerrno>

namespace tessera::ranks {

/// False: nothing more is there now.
bool Lines::read(bool wait) {
    char buffer[65536];
    for (;;) {
        const ssize_t n = ::recv(socket_, buffer, sizeof buffer, wait ? 0 : MSG_DONTWAIT);
        if (n > 0) {
            text_.append(buffer, static_cast<std::size_t>(n));
            return true;
        }
        if (n < 0 && errno == EINTR) {
            continue;
        }
        closed_ = n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
        return false;
    }
}

std::optional<std::string> Lines::next(bool wait) {
    for (;;) {
        const std::size_t end = text_.find('\n', seen_);
        if (end != std::string::npos) {
            std::string line = text_.substr(begin_, end - begin_);
            begin_ = seen_ = end + 1;
            return line;
        }
        text_.erase(0, begin_);
        begin_ = 0;
        seen_ = text_.size();
        if (!read(wait)) {
            return std::nullopt;
        }
    }
}

}  // namespace tessera::ranks
