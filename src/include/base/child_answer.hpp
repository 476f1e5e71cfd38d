// What a child process says through a pipe before it ends.
#pragma once

#include <sys/types.h>

#include <string>

namespace tessera::base {

struct ChildAnswer {
    std::string text;      ///< all that was written
    bool in_time = false;  ///< false: it was killed when its time was up
    int status = 0;        ///< as of waitpid()
};

/// Reads from `pipe` until the other end is closed or the time is up, closes it, and waits for the
/// child's end.
ChildAnswer answer_of(pid_t child, int pipe, double limit_s);

}  // namespace tessera::base
