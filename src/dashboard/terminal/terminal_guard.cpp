#include "terminal_guard.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/terminal_restore.hpp"

namespace tessera::dashboard::guard {

namespace {

constexpr int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGQUIT, SIGSYS};
constexpr int n_fatal = sizeof fatal / sizeof fatal[0];

// All that the handlers touch. Written before `active` is set, read only while it is.
struct State {
    int tty = -1;
    termios before{};
    char leave[256] = {};
    std::size_t leave_length = 0;
    int saved[3] = {-1, -1, -1};  ///< the real stdout and stderr while they are caught
    int caught_read = -1;
    struct sigaction old_fatal[n_fatal], old_stop, old_continue, old_size;
};

State state;
// Caught output, kept where a handler can reach it: it may hold the reason of the end.
char kept[1 << 16];
std::atomic<std::size_t> kept_length{0};
// Made once and never closed: wake() may come at any time, from any thread.
int wake_ends[2] = {-1, -1};
std::atomic<bool> active{false}, resized{false}, continued{false}, mouse_on{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void write_all(int fd, const char* text, std::size_t length) {
    while (length > 0) {
        const ssize_t n = ::write(fd, text, length);
        if (n < 0 && errno != EINTR) {
            return;
        }
        text += std::max<ssize_t>(n, 0);
        length -= static_cast<std::size_t>(std::max<ssize_t>(n, 0));
    }
}

void write_leave() {
    static constexpr char no_mouse[] = "\033[?1006l\033[?1003l\033[?1002l\033[?1000l";
    if (mouse_on.load()) {
        write_all(state.tty, no_mouse, sizeof no_mouse - 1);
    }
    write_all(state.tty, state.leave, state.leave_length);
}

void release_streams() {
    for (const int fd : {1, 2}) {
        if (state.saved[fd] >= 0) {
            ::dup2(state.saved[fd], fd);
        }
    }
}

void write_caught() {
    write_all(2, kept, kept_length.exchange(0));
    if (state.caught_read < 0) {
        return;
    }
    char buffer[4096];
    ssize_t n = 0;
    while ((n = ::read(state.caught_read, buffer, sizeof buffer)) > 0) {
        write_all(2, buffer, static_cast<std::size_t>(n));
    }
}

void on_fatal(int signal) {
    const int error = errno;
    restore();
    static constexpr char text[] = "tessera: ended by a fatal signal; the terminal was restored\n";
    write_all(2, text, sizeof text - 1);
    for (int i = 0; i < n_fatal; ++i) {
        if (fatal[i] == signal) {
            ::sigaction(signal, &state.old_fatal[i], nullptr);
        }
    }
    errno = error;
    ::raise(signal);
}

void on_stop(int) {
    const int error = errno;
    termios drawing{};
    const bool known = ::tcgetattr(state.tty, &drawing) == 0;
    write_leave();
    ::tcsetattr(state.tty, TCSANOW, &state.before);
    ::raise(SIGSTOP);
    if (known) {
        ::tcsetattr(state.tty, TCSANOW, &drawing);
    }
    errno = error;
}

void on_continue(int) {
    continued.store(true);
    wake();
}

void on_size(int) {
    resized.store(true);
    wake();
}

void set(int signal, void (*handler)(int), struct sigaction* old) {
    struct sigaction action {};
    sigemptyset(&action.sa_mask);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    ::sigaction(signal, &action, old);
}

void close_fd(int& fd) {
    if (fd >= 0) {
        ::close(fd);
    }
    fd = -1;
}

void make_pipe(int ends[2]) {
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        ends[0] = ends[1] = -1;
        return;
    }
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
}

}  // namespace

void begin(int tty, const std::string& leave) {
    state = State{};
    state.tty = tty;
    ::tcgetattr(tty, &state.before);
    state.leave_length = std::min(leave.size(), sizeof state.leave);
    std::memcpy(state.leave, leave.data(), state.leave_length);
    if (wake_ends[0] < 0) {
        make_pipe(wake_ends);
        ::fcntl(wake_ends[1], F_SETFL, O_NONBLOCK);
    }
    kept_length = 0;
    resized = continued = mouse_on = false;
    active = true;
    [[maybe_unused]] static const int registered = std::atexit([] { restore(); });
    base::set_terminal_restore(restore);
    for (int i = 0; i < n_fatal; ++i) {
        set(fatal[i], on_fatal, &state.old_fatal[i]);
    }
    set(SIGTSTP, on_stop, &state.old_stop);
    set(SIGCONT, on_continue, &state.old_continue);
    set(SIGWINCH, on_size, &state.old_size);
}

void catch_output() {
    int ends[2];
    make_pipe(ends);
    if (ends[0] < 0) {
        return;
    }
    state.caught_read = ends[0];
    for (const int fd : {1, 2}) {
        if (::isatty(fd)) {
            state.saved[fd] = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
            ::dup2(ends[1], fd);
        }
    }
    ::close(ends[1]);
    // With both streams elsewhere nobody writes, and an end without a writer is always readable.
    if (state.saved[1] < 0 && state.saved[2] < 0) {
        close_fd(state.caught_read);
    }
}

void restore() noexcept {
    if (!active.exchange(false)) {
        return;
    }
    write_leave();
    ::tcsetattr(state.tty, TCSANOW, &state.before);
    release_streams();
    write_caught();
}

std::string read_caught() {
    std::string result;
    char buffer[4096];
    ssize_t n = 0;
    while (state.caught_read >= 0 && result.size() < sizeof kept &&
           (n = ::read(state.caught_read, buffer, sizeof buffer)) > 0) {
        const auto length = static_cast<std::size_t>(n);
        const std::size_t used = kept_length.load();
        const std::size_t more = std::min(length, sizeof kept - used);
        std::memcpy(kept + used, buffer, more);
        kept_length.store(used + more);
        result.append(buffer, length);
    }
    return result;
}

void end() {
    if (active.exchange(false)) {
        write_leave();
        ::tcsetattr(state.tty, TCSADRAIN, &state.before);
        release_streams();
        write_caught();
    }
    base::set_terminal_restore(nullptr);
    for (int i = 0; i < n_fatal; ++i) {
        ::sigaction(fatal[i], &state.old_fatal[i], nullptr);
    }
    ::sigaction(SIGTSTP, &state.old_stop, nullptr);
    ::sigaction(SIGCONT, &state.old_continue, nullptr);
    ::sigaction(SIGWINCH, &state.old_size, nullptr);
    close_fd(state.saved[1]);
    close_fd(state.saved[2]);
    close_fd(state.caught_read);
}

int wake_fd() {
    return wake_ends[0];
}

int caught_fd() {
    return state.caught_read;
}

void wake() noexcept {
    const int error = errno;
    if (wake_ends[1] >= 0) {
        [[maybe_unused]] const ssize_t n = ::write(wake_ends[1], "", 1);
    }
    errno = error;
}

bool take_resized() noexcept {
    return resized.exchange(false);
}

bool take_continued() noexcept {
    return continued.exchange(false);
}

void set_mouse(bool on) noexcept {
    mouse_on.store(on);
}

}  // namespace tessera::dashboard::guard
