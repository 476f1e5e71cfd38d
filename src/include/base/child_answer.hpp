// What a child process says through a pipe before it ends.
#pragma once

#include <functional>
#include <string>

namespace tessera::base {

struct ChildAnswer {
    std::string failed;    ///< why there was no child; empty: there was one
    std::string text;      ///< all that was written
    bool in_time = false;  ///< false: it was killed when its time was up
    int status = 0;        ///< as of waitpid()
};

/// Runs `body` in a child process and waits for its end. It writes to the pipe that it is given,
/// and does not return. Thread rule: as for fork().
ChildAnswer answer_of(const std::function<void(int pipe)>& body, double limit_s);

}  // namespace tessera::base
