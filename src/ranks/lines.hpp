// Lines that come through a socket between two processes.
#pragma once

#include <optional>
#include <string>

namespace tessera::ranks {

class Lines {
public:
    explicit Lines(int socket) : socket_(socket) {}

    /// The next line; nothing: none is there yet, or the other end is closed. `wait`: for it.
    std::optional<std::string> next(bool wait);
    bool closed() const {
        return closed_;
    }

private:
    bool read(bool wait);

    const int socket_;
    std::string text_;
    std::size_t begin_ = 0, seen_ = 0;
    bool closed_ = false;
};

}  // namespace tessera::ranks
