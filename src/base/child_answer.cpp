#include "base/child_answer.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>

namespace tessera::base {
namespace {

using Clock = std::chrono::steady_clock;

/// False: the time is up.
bool read_until_closed(int pipe, double limit_s, std::string& text) {
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(limit_s));
    for (;;) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
        pollfd wait{pipe, POLLIN, 0};
        const int ready = left > 0 ? ::poll(&wait, 1, static_cast<int>(left)) : 0;
        if (ready == 0) {
            return false;
        }
        char buffer[4096];
        const ssize_t n = ready > 0 ? ::read(pipe, buffer, sizeof buffer) : -1;
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return true;
        }
        text.append(buffer, static_cast<std::size_t>(n));
    }
}

}  // namespace

ChildAnswer answer_of(const std::function<void(int pipe)>& body, double limit_s) {
    ChildAnswer answer;
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        answer.failed = "no pipe to a child process could be made";
        return answer;
    }
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(ends[0]);
        body(ends[1]);
        ::_exit(1);
    }
    ::close(ends[1]);
    if (child < 0) {
        ::close(ends[0]);
        answer.failed = "no child process could be started";
        return answer;
    }
    answer.in_time = read_until_closed(ends[0], limit_s, answer.text);
    ::close(ends[0]);
    if (!answer.in_time) {
        ::kill(child, SIGKILL);
    }
    while (::waitpid(child, &answer.status, 0) < 0 && errno == EINTR) {
    }
    return answer;
}

}  // namespace tessera::base
